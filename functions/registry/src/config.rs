//! The registry's settings.

use std::num::NonZeroU32;

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
    /// `MQTT_BRIDGE_URL` and `PLATFORM_KEY_SECRET`: the bridge that has the cards of agents on an MQTT broker, and the name or ARN of
    /// the secret with the platform's signing key (PKCS#8 PEM), by which it knows the registry.
    pub broker: Option<Broker>,
    /// `CHECK_SHARDS`: into how many shards the agents fall, of which each minute's look has one.
    pub check_shards: u32,
}

/// A broker's bridge.
#[derive(Debug, Clone)]
pub struct Broker {
    /// Its URL.
    pub bridge: Url,
    /// The secret with the platform's signing key.
    pub platform_key: String,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let url = env.required("REGISTRY_URL");
        let issuers = env.required_json("TRUSTED_ISSUERS");
        let bridge: Result<Option<Url>, ConfigError> = env.optional("MQTT_BRIDGE_URL");
        let platform_key: Result<Option<String>, ConfigError> = env.optional("PLATFORM_KEY_SECRET");
        let broker = match (bridge?, platform_key?) {
            (Some(bridge), Some(platform_key)) => Some(Broker { bridge, platform_key }),
            (Some(_), None) => {
                let reason = "a bridge wants the platform's key".to_owned();
                return Err(env.problem("PLATFORM_KEY_SECRET", reason));
            }
            (None, _) => None,
        };
        Ok(Self {
            url: url?,
            issuers: issuers?,
            broker,
            check_shards: env.or("CHECK_SHARDS", NonZeroU32::MIN)?.get(),
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
