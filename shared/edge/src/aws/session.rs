//! Credentials of one tenant: a session of a role that names the tenant in its tags, so that the role's policy can name it in the keys of
//! what it allows (`${aws:PrincipalTag/tenant}`).

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, future};
use aws_sdk_sts::Client;
use aws_sdk_sts::types::Tag;
use domain::Tenant;
use tokio::sync::Mutex;
use url::Url;

use super::Caller;

/// The session tag with the tenant's prefix, which its keys begin with.
pub const PREFIX_TAG: &str = "tenant";
/// The session tag with its name, by which its record is found.
pub const NAME_TAG: &str = "tenant_name";

/// How long a session lasts: a role that assumes another one gets no more than an hour.
const LASTS: Duration = Duration::from_secs(3600);
/// How long before its end another one is asked for, so that no call of work that runs meanwhile is refused.
const BEFORE_ITS_END: Duration = Duration::from_secs(600);

/// How a function's own role comes by sessions of its tenants' role.
#[derive(Debug, Clone)]
pub struct Sessions {
    /// The ARN of the tenants' role.
    pub role: String,
    /// Another endpoint of STS than AWS's own.
    pub endpoint: Option<Url>,
    /// Another region than the environment's.
    pub region: Option<String>,
}

impl Sessions {
    pub(super) fn of(&self, tenant: &Tenant) -> TenantSession {
        TenantSession {
            sessions: self.clone(),
            tenant: tenant.clone(),
            last: Mutex::default(),
        }
    }
}

/// A tenant's session. All clients of a process share one, and whoever comes while it is asked for waits for it.
#[derive(Debug)]
pub(super) struct TenantSession {
    sessions: Sessions,
    tenant: Tenant,
    last: Mutex<Option<Credentials>>,
}

/// The time by which AWS ends sessions, whatever clock the rest of a process has.
#[expect(clippy::disallowed_methods, reason = "it is AWS's clock that counts here")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Why there are no credentials of a tenant.
#[derive(Debug, thiserror::Error)]
#[error("no session of {role} for the tenant {tenant}: {reason}")]
struct NoSession {
    role: String,
    tenant: String,
    reason: String,
}

impl TenantSession {
    async fn current(&self) -> Result<Credentials, CredentialsError> {
        // Held while asking: clients that start together ask once.
        let mut last = self.last.lock().await;
        let lasts = |known: &&Credentials| {
            let end = known.expiry();
            end.is_some_and(|end| now() + BEFORE_ITS_END < end)
        };
        if let Some(known) = last.as_ref().filter(lasts) {
            return Ok(known.clone());
        }
        let asked = self.ask().await.map_err(|reason| {
            CredentialsError::provider_error(NoSession {
                role: self.sessions.role.clone(),
                tenant: self.tenant.prefix().to_owned(),
                reason,
            })
        })?;
        Ok(last.insert(asked).clone())
    }

    async fn ask(&self) -> Result<Credentials, String> {
        let Sessions {
            role,
            endpoint,
            region,
        } = &self.sessions;
        let client = Client::new(&Caller::own().config(endpoint.as_ref(), region.as_deref()));
        let seconds = i32::try_from(LASTS.as_secs()).unwrap_or(i32::MAX);
        let mut request = client
            .assume_role()
            .role_arn(role)
            // What CloudTrail names beside each call.
            .role_session_name(self.tenant.prefix())
            .duration_seconds(seconds);
        for (key, value) in [(PREFIX_TAG, self.tenant.prefix()), (NAME_TAG, self.tenant.name())] {
            let tag = Tag::builder().key(key).value(value).build();
            request = request.tags(tag.map_err(|error| error.to_string())?);
        }
        let answer = request.send().await;
        let answer = answer.map_err(|error| aws_sdk_sts::error::DisplayErrorContext(error).to_string())?;
        let given = answer.credentials.ok_or("STS gave none")?;
        let end = SystemTime::try_from(given.expiration).map_err(|error| error.to_string())?;
        let (id, key, token) = (given.access_key_id, given.secret_access_key, given.session_token);
        Ok(Credentials::new(
            id,
            key,
            Some(token),
            Some(end),
            "session of a tenant",
        ))
    }
}

impl ProvideCredentials for TenantSession {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.current())
    }
}
