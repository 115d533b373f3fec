//! The agent's work on one task.

use agent::{ExecuteError, Executor, Outcome, Run};
use async_trait::async_trait;
use nlu::Takes;
use outbound::open_meteo::{OpenMeteo, OpenMeteoError};

use crate::forecaster::{Forecaster, Trouble};
use crate::question;

/// How far back a follow-up reaches, in questions.
const EARLIER_MAX: usize = 4;

/// Answers a question about the weather.
pub struct WeatherExecutor(Forecaster);

impl WeatherExecutor {
    /// An executor over this client.
    #[must_use]
    pub fn new(open_meteo: OpenMeteo) -> Self {
        let takes = question::takes();
        Self(Forecaster { open_meteo, takes })
    }
}

#[async_trait]
impl Executor for WeatherExecutor {
    fn takes(&self) -> Option<&Takes> {
        Some(&self.0.takes)
    }

    fn recalls(&self) -> usize {
        EARLIER_MAX
    }

    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let error = match self.0.reply(run).await {
            Ok(outcome) => return Ok(outcome),
            Err(Trouble::Stopped(error)) => return Err(error),
            Err(Trouble::Service(error)) => error,
        };
        let retryable = error.is_retryable();
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            retryable,
            "Open-Meteo gave no answer"
        );
        match error {
            OpenMeteoError::Refused { reason } => Ok(Outcome::Failed(format!(
                "The weather service refused the question: {reason}"
            ))),
            OpenMeteoError::Call(_) if retryable => Err(ExecuteError::Retry(
                "The weather service cannot be reached at the moment.".into(),
            )),
            OpenMeteoError::Call(_) => Ok(Outcome::Failed(
                "The weather service gave an answer that cannot be used.".into(),
            )),
        }
    }
}
