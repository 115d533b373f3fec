//! The function's settings.

use std::sync::Arc;

use auth::{KeyError, Sealer};
use domain::{Clock, Entropy, ExposeSecret, SecretString, SystemClock, SystemEntropy, Tenant};
use edge::config::{ConfigError, Env, Platform};
use edge::queue::SqsDoor;
use edge::secrets::{Secrets, SecretsError};
use outbound::oauth::Providers;
use outbound::{Outbound, Policy, SetupError};
use serde::de::DeserializeOwned;
use store::{Store, Tables};
use url::Url;

use crate::State;

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
    /// `ALLOW_LOOPBACK`: `true` lets providers be called at a loopback address, for local work.
    pub allow_loopback: bool,
    /// What every function has; `WAKE_QUEUES` must name the queue of each agent whose tasks wait for consent.
    pub platform: Platform,
}

/// Why the function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A secret cannot be read.
    #[error("a secret cannot be read")]
    Secret(#[from] SecretsError),
    /// A secret does not hold what it should; without the secret itself.
    #[error("the secret {0} does not hold the JSON it should")]
    Form(String),
    /// The sealing keys are none.
    #[error("the sealing keys")]
    Key(#[from] KeyError),
    /// The way out cannot be opened.
    #[error("the way out")]
    Outbound(#[from] SetupError),
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// Everything that is missing or wrong, in one error.
    pub fn read(mut env: Env) -> Result<Self, ConfigError> {
        let tenant = env.required("TENANT_ID");
        let base = env.required("TENANT_BASE_URL");
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let providers = env.required("OAUTH_PROVIDERS_SECRET");
        let allow_loopback = env.or("ALLOW_LOOPBACK", false);
        let platform = Platform::read(&mut env);
        env.finish()?;
        Ok(Self {
            tenant: tenant?,
            base: base?,
            sealing_keys: sealing_keys?,
            providers: providers?,
            allow_loopback: allow_loopback?,
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
        let keys: Vec<(String, String)> =
            held(&self.sealing_keys, &secrets.value(&self.sealing_keys).await?)?;
        let keys = keys.into_iter().map(|(name, key)| (name, key.into()));
        let providers: Providers = held(&self.providers, &secrets.value(&self.providers).await?)?;
        let sdk = edge::aws::sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref());
        let policy = Policy {
            allow_loopback: self.allow_loopback,
            ..Policy::default()
        };
        Ok(State {
            tenant: self.tenant.clone(),
            base: self.base.clone(),
            store: Store::new(&sdk, Tables::prefixed(&platform.table_prefix)),
            sealer: Arc::new(Sealer::new(keys.collect())?),
            providers,
            outbound: Outbound::new(policy, entropy.clone())?,
            wake: Arc::new(SqsDoor::new(platform.queues.clone())),
            clock,
            entropy,
        })
    }
}

/// What a secret holds. The parser's own words might quote it.
fn held<T: DeserializeOwned>(name: &str, secret: &SecretString) -> Result<T, StartError> {
    serde_json::from_str(secret.expose_secret()).map_err(|_| StartError::Form(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_missing_is_told_at_once() {
        let error = Config::read(Env::of([("ALLOW_LOOPBACK", "maybe")])).unwrap_err();
        let names: Vec<&str> = error
            .problems
            .iter()
            .map(|problem| problem.name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "TENANT_ID",
                "TENANT_BASE_URL",
                "SEALING_KEYS_SECRET",
                "OAUTH_PROVIDERS_SECRET",
                "ALLOW_LOOPBACK"
            ]
        );
    }

    #[test]
    fn a_secret_of_another_form_is_not_quoted() {
        let error = held::<Providers>("providers", &r#"{"idp": "hunter2"}"#.into()).unwrap_err();
        assert!(!format!("{error:?} {error}").contains("hunter2"));
        let good = r#"{"idp": {"issuer": "https://idp.example/acme", "client_id": "host", "client_secret": "hunter2"}}"#;
        let good = held::<Providers>("providers", &good.into()).unwrap();
        assert_eq!(good.get("idp").map(|idp| idp.client.id.as_str()), Some("host"));
        assert!(!format!("{good:?}").contains("hunter2"));
    }
}
