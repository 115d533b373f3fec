//! The function's settings.

use std::time::Duration;

use edge::config::{ConfigError, Env};
use url::Url;

use crate::state::MAX_ACCESS_TOKEN;

/// The function's settings, read once.
#[derive(Debug, Clone)]
pub struct Config {
    /// `IDP_URL`: its own URL; each tenant's issuer lies below it.
    pub url: Url,
    /// `IDP_KEYS_SECRET`: the name or ARN of the secret that holds the key set.
    pub keys: String,
    /// `ACCESS_TOKEN_TTL` (seconds, 60 to 600, the default): how long an access token is good.
    pub access_token: Duration,
}

/// The shortest life of an access token, in seconds.
const MIN_ACCESS_TOKEN: u64 = 60;

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let url = env.required("IDP_URL");
        let keys = env.required("IDP_KEYS_SECRET");
        let within = MIN_ACCESS_TOKEN..=MAX_ACCESS_TOKEN.as_secs();
        let access_token = env.seconds_or("ACCESS_TOKEN_TTL", MAX_ACCESS_TOKEN, within);
        Ok(Self {
            url: url?,
            keys: keys?,
            access_token: access_token?,
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

    #[test]
    fn a_token_lives_a_minute_at_least_and_ten_at_most() {
        let read = |seconds: &str| {
            let known = [
                ("IDP_URL", "https://idp.example"),
                ("IDP_KEYS_SECRET", "k"),
                ("ACCESS_TOKEN_TTL", seconds),
            ];
            edge::config::read(Env::of(known), Config::read).map(|(_, config)| config.access_token.as_secs())
        };
        assert_eq!((read("60").ok(), read("600").ok()), (Some(60), Some(600)));
        for bad in ["59", "601", "0", "x", "-1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
