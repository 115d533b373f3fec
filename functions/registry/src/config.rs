//! The registry's settings.

use auth::Issuer;
use edge::config::{ConfigError, Env};
use url::Url;

/// What the registry reads from its environment, once.
pub struct Config {
    /// `REGISTRY_URL`: its own URL, the audience of tokens for it.
    pub url: Url,
    /// `TRUSTED_ISSUERS`: JSON list of `{issuer, tenant, keys}` and what else an [`Issuer`] may say; `tenant: null` is the
    /// platform's own issuer.
    pub issuers: Vec<Issuer>,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let url = env.required("REGISTRY_URL");
        let issuers = env.required_json("TRUSTED_ISSUERS");
        Ok(Self {
            url: url?,
            issuers: issuers?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_named_at_once() {
        let read = edge::config::read(Env::of::<&str, &str>([]), Config::read);
        let fault = read.err().unwrap().to_string();
        assert!(
            fault.contains("REGISTRY_URL") && fault.contains("TRUSTED_ISSUERS"),
            "{fault}"
        );
    }
}
