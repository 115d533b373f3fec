//! The function's settings.

use std::time::Duration;

use domain::Tenant;
use edge::config::{ConfigError, Env};
use url::Url;

use crate::ChatSettings;

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
    /// `CHAT_GRACE` (seconds, default 60): how long a turn stays open at most, while the host itself works.
    pub grace: Duration,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let usual = ChatSettings::default();
        let tenant = env.tenant();
        let base = env.required("TENANT_BASE_URL");
        let host_url = env.required("HOST_AGENT_URL");
        let session_key = env.required("SESSION_KEY_SECRET");
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let providers = env.optional("OAUTH_PROVIDERS_SECRET");
        let grace = env.seconds_or("CHAT_GRACE", usual.grace);
        Ok(Self {
            tenant: tenant?,
            base: base?,
            host_url: host_url?,
            session_key: session_key?,
            sealing_keys: sealing_keys?,
            providers: providers?,
            grace: grace?,
        })
    }
}
