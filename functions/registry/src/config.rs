//! The registry's settings.

use std::sync::Arc;

use auth::{Issuer, JwksCache, Verifier};
use domain::{Entropy, SystemClock, SystemEntropy};
use edge::config::{ConfigError, Env, Platform};
use outbound::{FetchedKeys, Outbound, Policy};
use store::{Store, Tables};
use url::Url;

use crate::State;

/// What the registry reads from its environment, once.
pub struct Config {
    /// What every function has: tables, logs, answers.
    pub platform: Platform,
    /// `REGISTRY_URL`: its own URL, the audience of tokens for it.
    pub url: Url,
    /// `TRUSTED_ISSUERS`: JSON list of `{issuer, tenant, keys}` and what else an [`Issuer`] may say; `tenant: null` is the
    /// platform's own issuer.
    pub issuers: Vec<Issuer>,
    /// `ALLOW_LOOPBACK`: `true` lets cards be fetched from loopback addresses, for local work.
    pub allow_loopback: bool,
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// [`ConfigError`] names everything that is missing or wrong.
    pub fn read(mut env: Env) -> Result<Self, ConfigError> {
        let platform = Platform::read(&mut env);
        let url = env.required("REGISTRY_URL");
        let issuers = env.required_json("TRUSTED_ISSUERS");
        let allow_loopback = env.or("ALLOW_LOOPBACK", false);
        env.finish()?;
        Ok(Self {
            platform: platform?,
            url: url?,
            issuers: issuers?,
            allow_loopback: allow_loopback?,
        })
    }

    /// Builds what the registry works with.
    ///
    /// # Errors
    /// Where TLS cannot be set up, or the key of an issuer is none.
    pub fn state(&self) -> Result<State, edge::Error> {
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let platform = &self.platform;
        let aws = edge::aws::sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref());
        let policy = Policy {
            allow_loopback: self.allow_loopback,
            ..Policy::default()
        };
        let outbound = Outbound::new(policy, entropy.clone())?;
        let keys = JwksCache::new(Arc::new(FetchedKeys(outbound.clone())));
        Ok(State {
            store: Store::new(&aws, Tables::prefixed(&platform.table_prefix)),
            outbound,
            verifier: Verifier::with_issuers(self.url.to_string(), self.issuers.clone(), &keys)?,
            clock: Arc::new(SystemClock),
            entropy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_named_at_once() {
        let fault = Config::read(Env::of::<&str, &str>([])).err().unwrap().to_string();
        assert!(
            fault.contains("REGISTRY_URL") && fault.contains("TRUSTED_ISSUERS"),
            "{fault}"
        );
    }
}
