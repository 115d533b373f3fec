//! The function's settings.

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
    /// The first that is missing or wrong; all of them by [`Env::finish`].
    pub fn read(env: &mut Env) -> Result<Self, ConfigError> {
        let agent = AgentConfig::read(env);
        let geocoding = env.optional("OPEN_METEO_GEOCODING_URL");
        let forecast = env.optional("OPEN_METEO_FORECAST_URL");
        Ok(Self {
            geocoding: geocoding?,
            forecast: forecast?,
            agent: agent?,
        })
    }

    /// Where weather comes from.
    pub(crate) fn open_meteo(&self) -> Result<Bases, url::ParseError> {
        let live = Bases::live()?;
        Ok(Bases {
            geocoding: self.geocoding.clone().unwrap_or(live.geocoding),
            forecast: self.forecast.clone().unwrap_or(live.forecast),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_named_at_once() {
        let fault = edge::config::read(Env::of::<&str, &str>([]), Config::read)
            .err()
            .unwrap()
            .to_string();
        for name in ["AGENT_URL", "TRUSTED_ISSUERS", "SEALING_KEYS_SECRET"] {
            assert!(fault.contains(name), "{fault}");
        }
    }
}
