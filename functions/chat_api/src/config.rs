//! The function's settings.

use std::sync::Arc;
use std::time::Duration;

use auth::{KeyError, Sealer, SigningKey};
use domain::{
    AgentName, Clock, Entropy, ExposeSecret, InvalidId, SecretString, SystemClock, SystemEntropy, Tenant,
};
use edge::config::{ConfigError, Env, Platform};
use edge::secrets::Secrets;
use outbound::oauth::Providers;
use outbound::{Outbound, Policy};
use serde::de::DeserializeOwned;
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
    /// `SEALING_KEYS_SECRET`: the name or ARN of the secret that holds the sealing keys, newest first, as JSON
    /// `[["key id", "32 bytes in base64url"]]`.
    pub sealing_keys: String,
    /// `OAUTH_PROVIDERS_SECRET`: the name or ARN of the secret that holds the authorization servers that know us, as
    /// JSON `{"idp": {"issuer", "client_id", "client_secret"}}`; without it connections are ended here alone.
    pub providers: Option<String>,
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
    /// A secret cannot be read.
    #[error("a secret cannot be read")]
    Secret(#[from] edge::secrets::SecretsError),
    /// A secret holds no key.
    #[error("a secret holds no key")]
    Key(#[from] KeyError),
    /// A secret does not hold what it should; without the secret itself.
    #[error("the secret {0} does not hold the JSON it should")]
    Form(String),
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
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let providers = env.optional("OAUTH_PROVIDERS_SECRET");
        let allow_loopback = env.or("ALLOW_LOOPBACK", false);
        let grace = env.seconds_or("CHAT_GRACE", usual.grace);
        let platform = Platform::read(&mut env);
        env.finish()?;
        Ok(Self {
            tenant: tenant?,
            base: base?,
            host_url: host_url?,
            session_key: session_key?,
            sealing_keys: sealing_keys?,
            providers: providers?,
            allow_loopback: allow_loopback?,
            grace: grace?,
            platform: platform?,
        })
    }

    /// Builds what the function works with.
    ///
    /// # Errors
    /// An error says what is missing.
    pub async fn state(&self) -> Result<State, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let platform = &self.platform;
        let secrets = Secrets::new(platform.secrets.clone(), clock.clone());
        let key = SigningKey::from_pem(&secrets.value(&self.session_key).await?)?;
        let keys: Vec<(String, String)> =
            held(&self.sealing_keys, &secrets.value(&self.sealing_keys).await?)?;
        let keys = keys.into_iter().map(|(name, key)| (name, key.into()));
        let providers = match &self.providers {
            Some(name) => held(name, &secrets.value(name).await?)?,
            None => Providers::new(),
        };
        let sdk = edge::aws::sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref());
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
            sealer: Arc::new(Sealer::new(keys.collect())?),
            providers,
            clock,
            entropy,
            settings: Settings {
                grace: self.grace,
                ..Settings::default()
            },
        })
    }
}

/// What a secret holds. The parser's own words might quote it.
fn held<T: DeserializeOwned>(name: &str, secret: &SecretString) -> Result<T, StartError> {
    serde_json::from_str(secret.expose_secret()).map_err(|_| StartError::Form(name.to_owned()))
}
