//! The function's settings.

use std::sync::Arc;

use agent::{PushSchedule, Settings};
use auth::{KeyError, Sealer, TrustedIssuer, Verifier};
use domain::{Clock, Entropy, ExposeSecret, SecretString, SystemClock, SystemEntropy};
use edge::config::{ConfigError, Env, Platform};
use edge::queue::SqsDoor;
use edge::secrets::{Secrets, SecretsError};
use outbound::open_meteo::Bases;
use outbound::{Outbound, Policy, SetupError};
use store::{Store, Tables};
use url::Url;

use crate::State;

/// The function's settings, read once.
#[derive(Clone)]
pub struct Config {
    /// `AGENT_URL`: the agent's own URL, in its card and the audience of tokens for it.
    pub url: Url,
    /// `TRUSTED_ISSUERS`: JSON list of `{issuer, tenant, keys}`.
    pub issuers: Vec<TrustedIssuer>,
    /// `SEALING_KEYS_SECRET`: the name or ARN of the secret that holds `[["name", "32 bytes in base64url"], …]`, the
    /// newest key first.
    pub sealing_keys: String,
    /// `OPEN_METEO_GEOCODING_URL`: in front of `/v1/search`; Open-Meteo itself by default.
    pub geocoding: Option<Url>,
    /// `OPEN_METEO_FORECAST_URL`: in front of `/v1/forecast`; Open-Meteo itself by default.
    pub forecast: Option<Url>,
    /// `ALLOW_LOOPBACK`: `true` lets calls go to loopback addresses, for local work.
    pub allow_loopback: bool,
    /// `A2A_PUSH_SCHEDULE`: when a delivery that failed is tried again.
    pub push_schedule: PushSchedule,
    /// What every function has.
    pub platform: Platform,
}

/// Why the function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The secret with the sealing keys cannot be read.
    #[error("the sealing keys")]
    Secret(#[from] SecretsError),
    /// The secret holds no list of keys. Its text is not quoted.
    #[error("the secret of SEALING_KEYS_SECRET is not a JSON list of name and key")]
    NoKeys,
    /// A key is none.
    #[error("a key")]
    Key(#[from] KeyError),
    /// The way out cannot be opened.
    #[error("the way out")]
    Outbound(#[from] SetupError),
    /// A constant address is none.
    #[error("an address")]
    Address(#[from] url::ParseError),
}

impl Config {
    /// Reads the settings.
    ///
    /// # Errors
    /// Everything that is missing or wrong, in one error.
    pub fn read(mut env: Env) -> Result<Self, ConfigError> {
        let platform = Platform::read(&mut env);
        let url = env.required("AGENT_URL");
        let issuers = env.required_json("TRUSTED_ISSUERS");
        let sealing_keys = env.required("SEALING_KEYS_SECRET");
        let geocoding = env.optional("OPEN_METEO_GEOCODING_URL");
        let forecast = env.optional("OPEN_METEO_FORECAST_URL");
        let allow_loopback = env.or("ALLOW_LOOPBACK", false);
        let push_schedule = env.or("A2A_PUSH_SCHEDULE", PushSchedule::default());
        env.finish()?;
        Ok(Self {
            url: url?,
            issuers: issuers?,
            sealing_keys: sealing_keys?,
            geocoding: geocoding?,
            forecast: forecast?,
            allow_loopback: allow_loopback?,
            push_schedule: push_schedule?,
            platform: platform?,
        })
    }

    /// Builds what the function works with.
    ///
    /// # Errors
    /// [`StartError`] says what is missing.
    pub async fn state(self) -> Result<State, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let platform = self.platform;
        let secrets = Secrets::new(platform.secrets.clone(), clock.clone());
        let keys = sealing_keys(&secrets.value(&self.sealing_keys).await?)?;
        let sdk = edge::aws::sdk_config(platform.dynamodb.as_ref(), platform.region.as_deref()).await;
        let policy = Policy {
            allow_loopback: self.allow_loopback,
            ..Policy::default()
        };
        let live = Bases::live()?;
        Ok(State {
            verifier: Verifier::new(self.url.to_string(), self.issuers)?,
            url: self.url,
            open_meteo: Bases {
                geocoding: self.geocoding.unwrap_or(live.geocoding),
                forecast: self.forecast.unwrap_or(live.forecast),
            },
            store: Store::new(&sdk, Tables::prefixed(&platform.table_prefix)),
            wake: Arc::new(SqsDoor::new(platform.queues)),
            sealer: Arc::new(Sealer::new(keys)?),
            outbound: Outbound::new(policy, entropy.clone())?,
            clock,
            entropy,
            settings: Settings {
                push_schedule: self.push_schedule,
                ..Settings::default()
            },
        })
    }
}

fn sealing_keys(secret: &SecretString) -> Result<Vec<(String, SecretString)>, StartError> {
    let keys: Vec<(String, String)> =
        serde_json::from_str(secret.expose_secret()).map_err(|_| StartError::NoKeys)?;
    Ok(keys.into_iter().map(|(name, key)| (name, key.into())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_named_at_once() {
        let fault = Config::read(Env::of::<&str, &str>([])).err().unwrap().to_string();
        for name in ["AGENT_URL", "TRUSTED_ISSUERS", "SEALING_KEYS_SECRET"] {
            assert!(fault.contains(name), "{fault}");
        }
    }

    #[test]
    fn sealing_keys_keep_their_order() {
        let keys = sealing_keys(&SecretString::from(r#"[["k2","b"],["k1","a"]]"#)).unwrap();
        assert_eq!(
            keys.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["k2", "k1"]
        );
        assert!(sealing_keys(&SecretString::from("abc")).is_err());
    }
}
