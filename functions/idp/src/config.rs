//! The function's settings.

use std::sync::Arc;

use auth::{KeyError, KeySet};
use domain::{Clock, Entropy, SystemClock, SystemEntropy};
use edge::config::{ConfigError, Env, Platform};
use edge::secrets::{Secrets, SecretsError};
use store::{Store, Tables};
use url::Url;

use crate::{Keyring, Settings, State};

/// The function's settings, read once.
#[derive(Debug, Clone)]
pub struct Config {
    /// `IDP_URL`: its own URL; each tenant's issuer lies below it.
    pub url: Url,
    /// `IDP_KEYS_SECRET`: the name or ARN of the secret that holds the key set.
    pub keys: String,
    /// What every function has.
    pub platform: Platform,
}

/// Why the function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The key set's secret cannot be read.
    #[error("the key set")]
    Secret(#[from] SecretsError),
    /// The secret holds no key set.
    #[error("the key set")]
    Keys(#[from] KeyError),
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// Everything that is missing or wrong, in one error.
    pub fn read(mut env: Env) -> Result<Self, ConfigError> {
        let url = env.required("IDP_URL");
        let keys = env.required("IDP_KEYS_SECRET");
        let platform = Platform::read(&mut env);
        env.finish()?;
        Ok(Self {
            url: url?,
            keys: keys?,
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
        let keys = KeySet::from_secret(&secrets.value(&self.keys).await?)?;
        let sdk = edge::aws::sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref());
        Ok(State {
            url: self.url.clone(),
            store: Store::new(&sdk, Tables::prefixed(&platform.table_prefix)),
            keys: Keyring::new(keys),
            clock,
            entropy,
            settings: Settings::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_named_at_once() {
        let fault = Config::read(Env::of::<&str, &str>([])).unwrap_err().to_string();
        assert!(
            fault.contains("IDP_URL") && fault.contains("IDP_KEYS_SECRET"),
            "{fault}"
        );
    }
}
