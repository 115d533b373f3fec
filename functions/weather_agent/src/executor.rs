//! The agent's work on one task.

use agent::{ExecuteError, Executor, Outcome, Run};
use async_trait::async_trait;
use domain::{Artifact, Message, Part, Role, TaskState, UserContext};

use crate::forecaster::{Forecaster, Progress, Reply, Trouble};
use crate::said::Said;

/// How far back a follow-up reaches, in questions.
const EARLIER_MAX: usize = 4;

/// Answers a question about the weather.
pub struct WeatherExecutor {
    forecaster: Forecaster,
}

impl WeatherExecutor {
    /// An executor over this forecaster.
    #[must_use]
    pub fn new(forecaster: Forecaster) -> Self {
        Self { forecaster }
    }
}

#[async_trait]
impl Executor for WeatherExecutor {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let said: Vec<Said> = said(&run.task().history);
        let user = UserContext::newest(run.task().history.iter());
        let now = run.now();
        let before = match Forecaster::goes_on(&said) {
            true => asked_before(run).await?,
            false => Vec::new(),
        };
        match self.forecaster.reply((&said, &before), &user, now, run).await {
            Ok(Reply::Answer { text, data }) => {
                let artifact = Artifact::new("forecast", vec![Part::text(text), Part::data(data)]);
                Ok(Outcome::Completed {
                    artifacts: vec![artifact.named("Weather forecast")],
                    say: None,
                })
            }
            Ok(Reply::Ask(question)) => Ok(Outcome::InputRequired(question)),
            Err(Trouble::Later(reason)) => Err(ExecuteError::Retry(reason)),
            Err(Trouble::Never(reason)) => Ok(Outcome::Failed(reason)),
            Err(Trouble::Stopped(error)) => Err(error),
        }
    }
}

#[async_trait]
impl Progress for Run {
    async fn working(&mut self, text: &str) -> Result<(), ExecuteError> {
        Self::working(self, text).await
    }
}

/// What was said of the newest question of the same context that named a place and was answered, and of those after it that
/// went on from it: "and is it windy there?"
async fn asked_before(run: &Run) -> Result<Vec<Vec<Said>>, ExecuteError> {
    let earlier = run.earlier(EARLIER_MAX).await?;
    let answered = earlier
        .iter()
        .rev()
        .filter(|task| task.status.state == TaskState::Completed);
    let mut before: Vec<Vec<Said>> = Vec::new();
    for said in answered.map(|task| said(&task.history)) {
        let goes_on = Forecaster::goes_on(&said);
        before.push(said);
        if !goes_on {
            before.reverse();
            return Ok(before);
        }
    }
    // What goes on from nothing that is known begins with the oldest that names a place.
    while before.last().is_some_and(|said| Forecaster::lacks_place(said)) {
        before.pop();
    }
    before.reverse();
    Ok(before)
}

/// What the user said, oldest first.
fn said(history: &[Message]) -> Vec<Said> {
    let users = history.iter().filter(|message| message.role == Role::User);
    users.map(Said::from).collect()
}
