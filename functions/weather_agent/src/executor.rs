//! The agent's work on one task.

use agent::{ExecuteError, Executor, Outcome, Run};
use async_trait::async_trait;
use domain::{Artifact, Message, Part, PartContent, Role, TaskState, UserContext};
use serde_json::Value;

use crate::forecaster::{Forecaster, Progress, Reply, Trouble};

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
        let said: Vec<String> = said(&run.task().history);
        let user = UserContext::newest(run.task().history.iter());
        let now = run.now();
        let before = match Forecaster::lacks_place(&said) {
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

/// What was said of the newest question of the same context that named a place and was answered: "and is it windy there?"
async fn asked_before(run: &Run) -> Result<Vec<String>, ExecuteError> {
    let earlier = run.earlier(EARLIER_MAX).await?;
    let answered = earlier
        .iter()
        .rev()
        .filter(|task| task.status.state == TaskState::Completed);
    Ok(answered
        .map(|task| said(&task.history))
        .find(|said| !Forecaster::lacks_place(said))
        .unwrap_or_default())
}

/// What the user said, oldest first. A message without any text is read from its data.
fn said(history: &[Message]) -> Vec<String> {
    let users = history.iter().filter(|message| message.role == Role::User);
    users
        .map(|message| {
            let text = message.text();
            if text.trim().is_empty() {
                data_text(message)
            } else {
                text
            }
        })
        .collect()
}

/// The texts of a message's data: `{"place": "Oslo", "when": "tomorrow"}` reads as "in Oslo, tomorrow".
fn data_text(message: &Message) -> String {
    let mut texts = Vec::new();
    for part in &message.parts {
        if let PartContent::Data(Value::Object(fields)) = &part.content {
            for (name, value) in fields.iter().take(16) {
                let place = matches!(name.as_str(), "place" | "places" | "location" | "city");
                let values = match value {
                    Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
                    value => value.as_str().into_iter().collect::<Vec<_>>(),
                };
                texts.extend(
                    values
                        .into_iter()
                        .map(|text| format!("{}{text}", if place { "in " } else { "" })),
                );
            }
        }
    }
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use domain::MessageId;
    use words::When;

    use super::*;
    use crate::question::Question;
    use serde_json::json;

    #[test]
    fn data_is_read_where_there_is_no_text() {
        let message = |parts| Message::user(MessageId::derived("m"), parts);
        let history = [
            message(vec![Part::data(
                json!({ "places": ["Oslo", "Bergen"], "when": "tomorrow" }),
            )]),
            Message::agent_text(MessageId::derived("a"), "Working"),
            message(vec![
                Part::text("in Fahrenheit"),
                Part::data(json!({ "place": "Rome" })),
            ]),
        ];
        let said = said(&history);
        assert_eq!(said, ["in Oslo; in Bergen; tomorrow", "in Fahrenheit"]);
        let question = Question::read(&said[0], None);
        assert_eq!(question.places.len(), 2);
        assert_eq!(question.days, [When::In(1)]);
    }
}
