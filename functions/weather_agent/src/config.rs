//! The function's settings.

use edge::agent_parts::{AgentConfig, AgentError};
use edge::config::{ConfigError, Env};
use outbound::open_meteo::Bases;
use url::Url;

use crate::State;

/// The function's settings, read once.
#[derive(Clone)]
pub struct Config {
    /// `OPEN_METEO_GEOCODING_URL`: in front of `/v1/search`; Open-Meteo itself by default.
    pub geocoding: Option<Url>,
    /// `OPEN_METEO_FORECAST_URL`: in front of `/v1/forecast`; Open-Meteo itself by default.
    pub forecast: Option<Url>,
    /// What every agent has.
    pub agent: AgentConfig,
}

/// Why the function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What every agent has cannot be built.
    #[error(transparent)]
    Agent(#[from] AgentError),
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
        let agent = AgentConfig::read(&mut env);
        let geocoding = env.optional("OPEN_METEO_GEOCODING_URL");
        let forecast = env.optional("OPEN_METEO_FORECAST_URL");
        env.finish()?;
        Ok(Self {
            geocoding: geocoding?,
            forecast: forecast?,
            agent: agent?,
        })
    }

    /// Builds what the function works with.
    ///
    /// # Errors
    /// [`StartError`] says what is missing.
    pub async fn state(self) -> Result<State, StartError> {
        let parts = self.agent.parts().await?;
        let live = Bases::live()?;
        Ok(State {
            url: parts.url,
            open_meteo: Bases {
                geocoding: self.geocoding.unwrap_or(live.geocoding),
                forecast: self.forecast.unwrap_or(live.forecast),
            },
            store: parts.store,
            wake: parts.wake,
            verifier: parts.verifier,
            sealer: parts.sealer,
            outbound: parts.outbound,
            clock: parts.clock,
            entropy: parts.entropy,
            settings: parts.settings,
        })
    }
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
}
