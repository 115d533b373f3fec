//! The function's settings.

use std::sync::Arc;
use std::time::Duration;

use agent::Agent;
use edge::agent_parts::AgentConfig;
use edge::config::{ConfigError, Env};

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
    /// Everything that is missing or wrong, in one error.
    pub fn read(mut env: Env) -> Result<Self, ConfigError> {
        let agent = AgentConfig::read(&mut env);
        let step = env.seconds_or("REPORT_STEP", STEP);
        env.finish()?;
        Ok(Self {
            step: step?,
            agent: agent?,
        })
    }

    /// Builds the agent.
    ///
    /// # Errors
    /// What is missing: keys, the way out.
    pub async fn build(self) -> Result<Arc<Agent>, edge::Error> {
        Ok(crate::build(self.agent.parts().await?, self.step)?)
    }
}
