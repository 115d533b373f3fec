//! The function's settings.

use domain::Tenant;
use edge::config::{ConfigError, Env};
use url::Url;

/// The function's settings, read once.
#[derive(Debug, Clone)]
pub struct Config {
    /// `TENANT_ID`: the one tenant it serves.
    pub tenant: Tenant,
    /// `TENANT_BASE_URL`: the tenant's base URL; the redirect URI is `callback` below it.
    pub base: Url,
    /// `SEALING_KEYS_SECRET`: the name or ARN of the secret that holds the sealing keys, newest first, as JSON
    /// `[["key id", "32 bytes in base64url"]]`.
    pub sealing_keys: String,
    /// `OAUTH_PROVIDERS_SECRET`: the name or ARN of the secret that holds the providers that know us, as JSON
    /// `{"idp": {"issuer", "client_id", "client_secret"}}`.
    pub providers: String,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let tenant = env.tenant();
        let base = env.required("TENANT_BASE_URL");
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let providers = env.required("OAUTH_PROVIDERS_SECRET");
        Ok(Self {
            tenant: tenant?,
            base: base?,
            sealing_keys: sealing_keys?,
            providers: providers?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_missing_is_told_at_once() {
        let read = edge::config::read(Env::of([("ALLOW_LOOPBACK", "maybe")]), Config::read);
        let error = read.unwrap_err();
        let error: &ConfigError = error.downcast_ref().unwrap();
        let names: Vec<&str> = error
            .problems
            .iter()
            .map(|problem| problem.name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "ALLOW_LOOPBACK",
                "TENANT_ID",
                "TENANT_BASE_URL",
                "SEALING_KEYS_SECRET",
                "OAUTH_PROVIDERS_SECRET"
            ]
        );
    }
}
