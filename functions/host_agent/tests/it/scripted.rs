//! A model that answers by a list.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use domain::{AgentType, EventKind, Revision, TokenUsage};
use llm::{Answer, Draft, Model, ModelError, Prompt, Step, Tool, ToolCall};
use store::{Due, LeaseAfter, Store, TaskKey};

/// Answers by a list, and keeps what it was shown. Before an answer somebody else may change the task.
#[derive(Clone, Default)]
pub(crate) struct Scripted(pub(crate) Arc<Mutex<Script>>);

#[derive(Default)]
pub(crate) struct Script {
    answers: VecDeque<Answer>,
    shown: Vec<Prompt>,
    pub(crate) meanwhile: VecDeque<Option<Vec<EventKind>>>,
    pub(crate) at: Option<(Store, TaskKey)>,
    /// It is one that is asked over the network: it decides once and writes once.
    pub(crate) is_hosted: bool,
}

impl Scripted {
    pub(crate) fn answers(&self, answers: impl IntoIterator<Item = Answer>) {
        self.0.lock().unwrap().answers.extend(answers);
    }

    pub(crate) fn shown(&self) -> Vec<Prompt> {
        self.0.lock().unwrap().shown.clone()
    }

    pub(crate) fn asked(&self) -> usize {
        self.shown().len()
    }
}

#[async_trait]
impl Model for Scripted {
    async fn step(&self, prompt: &Prompt, _draft: &mut dyn Draft) -> Result<Answer, ModelError> {
        let (answer, change) = {
            let mut script = self.0.lock().unwrap();
            script.shown.push(prompt.clone());
            let change = script.meanwhile.pop_front().flatten().zip(script.at.clone());
            (script.answers.pop_front(), change)
        };
        if let Some((kinds, (store, key))) = change {
            let now = domain::Timestamp::from_millis(1_767_225_601_000);
            let task = store.tasks().find(&key, now).await.unwrap().unwrap().task;
            let mut revision = Revision::of(task);
            for kind in kinds {
                revision.record(kind, now).unwrap();
            }
            let written = store.tasks().commit(&revision, Due::Keep, LeaseAfter::Keep).await;
            assert_eq!(written.unwrap(), store::Committed::Yes);
        }
        answer.ok_or_else(|| ModelError::Unusable("it is not asked more often".to_owned()))
    }

    fn is_hosted(&self) -> bool {
        self.0.lock().unwrap().is_hosted
    }

    fn goes_on(&self) -> bool {
        !self.is_hosted()
    }
}

pub(crate) fn answer(step: Step) -> Answer {
    Answer {
        model: "openai:scripted".to_owned(),
        usage: TokenUsage {
            input: 100,
            output: 10,
            cached: 90,
        },
        ..Answer::from(step)
    }
}

pub(crate) fn say(text: &str) -> Answer {
    answer(Step::Say(text.to_owned()))
}

pub(crate) fn calls(tools: impl IntoIterator<Item = Tool>) -> Answer {
    let numbered = tools.into_iter().zip(0..);
    let call = |(tool, number)| ToolCall {
        id: format!("id-{number}"),
        tool,
    };
    answer(Step::Call(numbered.map(call).collect()))
}

pub(crate) fn send(to: &str, message: &str) -> Tool {
    Tool::SendMessage {
        agent_type: AgentType::parse(to).unwrap(),
        message: message.to_owned(),
        data: None,
    }
}
