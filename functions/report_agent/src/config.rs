//! The function's settings.

use std::time::Duration;

use edge::agent_parts::AgentConfig;
use edge::config::{ConfigError, Env, YEAR};

/// How long a step of a report takes where nothing else is said.
pub const STEP: Duration = Duration::from_secs(5);

/// The function's settings, read once.
#[derive(Clone)]
pub struct Config {
    /// `REPORT_STEP`: how long each step of a report takes.
    pub step: Duration,
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
        let step = env.seconds_or("REPORT_STEP", STEP, 0..=YEAR);
        Ok(Self {
            step: step?,
            agent: agent?,
        })
    }
}
