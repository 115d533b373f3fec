//! The function's settings.

use std::sync::Arc;

use agent::Agent;
use edge::agent_parts::AgentConfig;
use edge::config::{ConfigError, Env};
use outbound::open_meteo::Bases;
use url::Url;

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

    /// Builds the agent.
    ///
    /// # Errors
    /// What is missing: keys, the way out.
    pub async fn build(self) -> Result<Arc<Agent>, edge::Error> {
        let live = Bases::live()?;
        let open_meteo = Bases {
            geocoding: self.geocoding.unwrap_or(live.geocoding),
            forecast: self.forecast.unwrap_or(live.forecast),
        };
        Ok(crate::build(self.agent.parts().await?, open_meteo)?)
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
