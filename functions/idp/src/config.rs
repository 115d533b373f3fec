//! The function's settings.

use edge::config::{ConfigError, Env};
use url::Url;

/// The function's settings, read once.
#[derive(Debug, Clone)]
pub struct Config {
    /// `IDP_URL`: its own URL; each tenant's issuer lies below it.
    pub url: Url,
    /// `IDP_KEYS_SECRET`: the name or ARN of the secret that holds the key set.
    pub keys: String,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let url = env.required("IDP_URL");
        let keys = env.required("IDP_KEYS_SECRET");
        Ok(Self {
            url: url?,
            keys: keys?,
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
            fault.contains("IDP_URL") && fault.contains("IDP_KEYS_SECRET"),
            "{fault}"
        );
    }
}
