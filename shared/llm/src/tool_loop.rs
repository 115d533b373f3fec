//! The tool loop: asks the model, runs the tools it calls, shows it the results, until it speaks or work is under way
//! elsewhere.

use async_trait::async_trait;
use tracing::Instrument as _;

use crate::{Model, ModelError, Prompt, Step, ToolCall, ToolResult, Turn};

/// Runs tools for the loop.
#[async_trait]
pub trait Toolbox: Send {
    /// What goes wrong beside a tool's own failure, such as a store that does not answer.
    type Error: Send;

    /// Runs the calls of one step, all of them.
    ///
    /// # Errors
    /// Only what ends the whole loop; a tool that could not do its work says so in its result.
    async fn call(&mut self, calls: Vec<ToolCall>) -> Result<Called, Self::Error>;
}

/// What became of the calls of one step.
#[derive(Debug, Clone, PartialEq)]
pub enum Called {
    /// All are answered.
    Results(Vec<ToolResult>),
    /// The work goes on elsewhere; the loop is taken up again when its results are there.
    Parked,
}

/// How the loop ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The model answers the user with this.
    Said(String),
    /// Work goes on elsewhere.
    Parked,
}

/// What bounds a loop, whatever the model wants.
#[derive(Debug, Clone, Copy)]
pub struct LoopLimits {
    /// Most steps.
    pub steps: usize,
    /// Most calls in one step.
    pub calls: usize,
}

impl Default for LoopLimits {
    fn default() -> Self {
        Self { steps: 8, calls: 8 }
    }
}

/// Why a loop ended without an answer.
#[derive(Debug, thiserror::Error)]
pub enum LoopError<E> {
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model wanted more than the limits allow.
    #[error("the model did not come to an answer within its limits")]
    TooMuch,
    /// The toolbox failed.
    #[error("a tool failed")]
    Tool(E),
}

/// Runs the loop to its end. The `first` step, where there is one, is what the model was asked for already, or needs not be
/// asked for.
///
/// # Errors
/// [`LoopError`] where it ended without an answer.
pub async fn run<T: Toolbox>(
    model: &dyn Model,
    mut prompt: Prompt,
    mut first: Option<Step>,
    toolbox: &mut T,
    limits: LoopLimits,
) -> Result<Ended, LoopError<T::Error>> {
    for number in 1..=limits.steps {
        let span = tracing::debug_span!("llm.model.step", number);
        let step = match first.take() {
            Some(step) => step,
            None => model.step(&prompt).instrument(span).await?,
        };
        let calls = match step {
            Step::Say(text) => return Ok(Ended::Said(text)),
            Step::Call(calls) if calls.is_empty() || calls.len() > limits.calls => {
                return Err(LoopError::TooMuch);
            }
            Step::Call(calls) => calls,
        };
        tracing::debug!(calls = calls.len(), "the model calls tools");
        match toolbox.call(calls.clone()).await.map_err(LoopError::Tool)? {
            Called::Parked => return Ok(Ended::Parked),
            Called::Results(results) => {
                prompt.turns.push(Turn::Calls(calls));
                prompt.turns.push(Turn::Results(results));
            }
        }
    }
    Err(LoopError::TooMuch)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{Tool, ToolOutcome};

    /// Calls a tool this many times, then speaks of what it saw.
    struct Scripted(Mutex<usize>);

    #[async_trait]
    impl Model for Scripted {
        async fn step(&self, prompt: &Prompt) -> Result<Step, ModelError> {
            let mut left = self.0.lock().unwrap();
            if *left == 0 {
                return Ok(Step::Say(format!("{} turns", prompt.turns.len())));
            }
            *left -= 1;
            let call = ToolCall {
                id: left.to_string(),
                tool: Tool::TaskStatus { task_id: None },
            };
            Ok(Step::Call(vec![call]))
        }
    }

    struct Counting {
        park_at: usize,
        calls: usize,
    }

    #[async_trait]
    impl Toolbox for Counting {
        type Error = &'static str;
        async fn call(&mut self, calls: Vec<ToolCall>) -> Result<Called, Self::Error> {
            self.calls += 1;
            if self.calls == self.park_at {
                return Ok(Called::Parked);
            }
            let result = |call: ToolCall| ToolResult {
                call_id: call.id,
                agent: None,
                outcome: ToolOutcome::Done("well".into()),
            };
            Ok(Called::Results(calls.into_iter().map(result).collect()))
        }
    }

    async fn ended(steps: usize, park_at: usize) -> Result<Ended, LoopError<&'static str>> {
        let model = Scripted(Mutex::new(steps));
        let prompt = Prompt {
            agents: Vec::new(),
            turns: vec![Turn::User("x".into())],
        };
        run(
            &model,
            prompt,
            None,
            &mut Counting { park_at, calls: 0 },
            LoopLimits { steps: 3, calls: 1 },
        )
        .await
    }

    #[tokio::test]
    async fn results_are_shown_to_the_model_until_it_speaks() {
        assert_eq!(ended(2, 0).await.unwrap(), Ended::Said("5 turns".into()));
    }

    #[tokio::test]
    async fn work_under_way_ends_the_loop() {
        assert_eq!(ended(2, 2).await.unwrap(), Ended::Parked);
    }

    #[tokio::test]
    async fn a_model_that_never_speaks_is_stopped() {
        assert!(matches!(ended(9, 0).await, Err(LoopError::TooMuch)));
    }
}
