//! The function's settings.

use edge::agent_parts::AgentConfig;
use edge::config::{ConfigError, Env};
use outbound::google_calendar::GoogleCalendar;
use url::Url;

/// The function's settings, read once.
#[derive(Clone)]
pub struct Config {
    /// `GOOGLE_CALENDAR_URL`: in front of `/freeBusy`; Google itself by default.
    pub calendar: Option<Url>,
    /// `CONSENT_BASE_URL`: where users go to agree: `oauth_callback`, deployed for this agent.
    pub consent: Url,
    /// `OAUTH_PROVIDERS_SECRET`: the name or ARN of the secret with `{"google": {"issuer", "dialect": "google", "client_id",
    /// "client_secret"}}`.
    pub providers: String,
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
        let calendar = env.optional("GOOGLE_CALENDAR_URL");
        let consent = env.required("CONSENT_BASE_URL");
        let providers = env.required("OAUTH_PROVIDERS_SECRET");
        Ok(Self {
            calendar: calendar?,
            consent: consent?,
            providers: providers?,
            agent: agent?,
        })
    }

    /// Where the calendar is.
    pub(crate) fn calendar(&self) -> Result<Url, url::ParseError> {
        match &self.calendar {
            Some(url) => Ok(url.clone()),
            None => GoogleCalendar::live(),
        }
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
        for name in [
            "AGENT_URL",
            "CONSENT_BASE_URL",
            "OAUTH_PROVIDERS_SECRET",
            "SEALING_KEYS_SECRET",
        ] {
            assert!(fault.contains(name), "{fault}");
        }
    }
}
