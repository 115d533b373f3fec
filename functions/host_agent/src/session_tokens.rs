//! The JWTs that the host signs for the services it calls, each for one audience alone.

use std::sync::Arc;
use std::time::Duration;

use auth::scope::DELEGATED;
use auth::{Grant, KeyError, SigningKey};
use domain::{Entropy, Owner, SecretString, Tenant, Timestamp};

/// How long a token lives: one call and a little clock skew.
const LIFETIME: Duration = Duration::from_secs(300);

/// Signs tokens in the tenant's name.
pub(crate) struct SessionTokens {
    pub(crate) issuer: String,
    pub(crate) tenant: Tenant,
    pub(crate) key: Arc<SigningKey>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl SessionTokens {
    /// A token for an agent, in the name of the task's owner.
    pub(crate) fn agent(
        &self,
        owner: &Owner,
        audience: &str,
        now: Timestamp,
    ) -> Result<SecretString, KeyError> {
        self.sign(owner.as_str(), audience, &["tasks", DELEGATED], now)
    }

    /// A token for the registry, in the host's own name.
    pub(crate) fn registry(&self, audience: &str, now: Timestamp) -> Result<SecretString, KeyError> {
        self.sign("host", audience, &["registry:read"], now)
    }

    /// A token for the bridge to a broker, in the host's own name.
    pub(crate) fn bridge(&self, audience: &str, now: Timestamp) -> Result<SecretString, KeyError> {
        self.sign("host", audience, &["mqtt:call"], now)
    }

    fn sign(
        &self,
        subject: &str,
        audience: &str,
        scopes: &[&str],
        now: Timestamp,
    ) -> Result<SecretString, KeyError> {
        let grant = Grant {
            issuer: &self.issuer,
            subject,
            tenant: Some(&self.tenant),
            audience,
            scopes,
            lifetime: LIFETIME,
        };
        self.key.sign(&grant, now, self.entropy.as_ref())
    }
}
