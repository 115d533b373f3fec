//! The function's settings.

use std::sync::Arc;
use std::time::Duration;

use auth::{KeyError, SigningKey};
use domain::{AgentName, Clock, Entropy, InvalidId, SystemClock, SystemEntropy, Tenant};
use edge::config::{ConfigError, Env, Platform};
use edge::secrets::Secrets;
use outbound::{Outbound, Policy};
use store::{Store, Tables};
use url::Url;

use crate::{Settings, State};

/// The function's settings, read once.
#[derive(Debug, Clone)]
pub struct Config {
    /// `TENANT_ID`: the one tenant it serves.
    pub tenant: Tenant,
    /// `TENANT_BASE_URL`: the tenant's base URL, where its page is; also the issuer of the tokens made here.
    pub base: Url,
    /// `HOST_AGENT_URL`: the tenant's host agent.
    pub host_url: Url,
    /// `SESSION_KEY_SECRET`: the name or ARN of the secret that holds the tenant's session key.
    pub session_key: String,
    /// `ALLOW_LOOPBACK`: `true` lets the host agent be called at a loopback address, for local work.
    pub allow_loopback: bool,
    /// `CHAT_GRACE` (seconds, default 20): how long an answer is waited for in the same turn.
    pub grace: Duration,
    /// What every function has.
    pub platform: Platform,
}

/// Why the function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The session key's secret cannot be read.
    #[error("the session key")]
    Secret(#[from] edge::secrets::SecretsError),
    /// The secret holds no key.
    #[error("the session key")]
    Key(#[from] KeyError),
    /// The host's name is none.
    #[error("the host agent's name")]
    Host(#[from] InvalidId),
    /// The way out cannot be opened.
    #[error("the way out")]
    Outbound(#[from] outbound::SetupError),
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// Everything that is missing or wrong, in one error.
    pub fn read(mut env: Env) -> Result<Self, ConfigError> {
        let usual = Settings::default();
        let tenant = env.required("TENANT_ID");
        let base = env.required("TENANT_BASE_URL");
        let host_url = env.required("HOST_AGENT_URL");
        let session_key = env.required("SESSION_KEY_SECRET");
        let allow_loopback = env.or("ALLOW_LOOPBACK", false);
        let grace = env.seconds_or("CHAT_GRACE", usual.grace);
        let platform = Platform::read(&mut env);
        env.finish()?;
        Ok(Self {
            tenant: tenant?,
            base: base?,
            host_url: host_url?,
            session_key: session_key?,
            allow_loopback: allow_loopback?,
            grace: grace?,
            platform: platform?,
        })
    }

    /// Builds what the function works with.
    ///
    /// # Errors
    /// [`StartError`] says what is missing.
    pub async fn state(&self) -> Result<State, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let platform = &self.platform;
        let secrets = Secrets::new(platform.secrets.clone(), clock.clone());
        let key = SigningKey::from_pem(&secrets.value(&self.session_key).await?)?;
        let sdk = edge::aws::sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref()).await;
        let policy = Policy {
            allow_loopback: self.allow_loopback,
            ..Policy::default()
        };
        Ok(State {
            tenant: self.tenant.clone(),
            base: self.base.clone(),
            host: AgentName::parse("host")?,
            host_url: self.host_url.clone(),
            store: Store::new(&sdk, Tables::prefixed(&platform.table_prefix)),
            key: Arc::new(key),
            outbound: Outbound::new(policy, entropy.clone())?,
            clock,
            entropy,
            settings: Settings {
                grace: self.grace,
                ..Settings::default()
            },
        })
    }
}
