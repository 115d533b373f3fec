//! Who gets what a user asks: texts held against what agents say of themselves, clause by clause. With an engine of sentences
//! (`understood`) by what is meant; without one by the words alone (`lexical`). What a message means for tasks that there are
//! already (answers, cancel, status, retry) is the host's to say, before any model is asked.

mod lexical;
mod nearest;
mod order;
mod phrase;
mod split;
mod understood;

use async_trait::async_trait;
use domain::{AgentType, to_read};

use crate::{Answer, Draft, Model, ModelError, PlannedTask, Prompt, Step, Tool, ToolCall, Turn};
pub(crate) use lexical::Lexicon;
pub use lexical::best_fitting;
pub(crate) use nearest::nearest;
pub use phrase::{brought, offer, summary};
use split::Part;
pub(crate) use understood::understood;
pub use understood::{Clause, cards, clauses};

/// Decides by words alone, where neither a model nor an engine is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules;

#[async_trait]
impl Model for Rules {
    async fn step(&self, prompt: &Prompt, _draft: &mut dyn Draft) -> Result<Answer, ModelError> {
        Ok(self.answer(prompt))
    }

    fn goes_on(&self) -> bool {
        false
    }
}

impl Rules {
    /// Decides the next step; the same prompt always gives the same step.
    #[must_use]
    pub fn decide(&self, prompt: &Prompt) -> Step {
        self.answer(prompt).step
    }

    fn answer(self, prompt: &Prompt) -> Answer {
        let turns = &prompt.turns;
        let asked = turns.iter().rposition(|turn| matches!(turn, Turn::User(_)));
        let (before, since) = turns.split_at(asked.unwrap_or(0));
        if let Some(answer) = phrase::answer(since, prompt.locale.as_deref()) {
            return Step::Say(answer).into();
        }
        let Some(Turn::User(text)) = since.first() else {
            return Step::Say(phrase::offer(
                &prompt.agents,
                prompt.locale.as_deref().unwrap_or("en"),
            ))
            .into();
        };
        let read = to_read(text);
        let unread = text.get(read.len()..).unwrap_or_default();
        let answer = understood::by_words(prompt, before, read);
        Answer {
            step: handed_on(answer.step, unread),
            ..answer
        }
    }
}

/// The same step where what stands behind the text that was read goes along with the last piece of work.
fn handed_on(mut step: Step, unread: &str) -> Step {
    if let Step::Call(calls) = &mut step {
        match calls.last_mut().map(|call| &mut call.tool) {
            Some(Tool::SendMessage { message, .. }) => message.push_str(unread),
            Some(Tool::PlanTasks { tasks }) => {
                tasks
                    .iter_mut()
                    .next_back()
                    .into_iter()
                    .for_each(|task| task.message.push_str(unread));
            }
            _ => {}
        }
    }
    step
}

/// The agents that were used last, where they are still there, with what they were asked; the last of them first.
fn last_used<'a>(prompt: &Prompt, before: &'a [Turn]) -> Vec<(&'a AgentType, &'a str)> {
    let sent = |turn: &'a Turn| {
        let Turn::Calls(calls) = turn else {
            return Vec::new();
        };
        let sent = calls.iter().rev().filter_map(|call| match &call.tool {
            Tool::SendMessage {
                agent_type, message, ..
            } => Some((agent_type, message.as_str())),
            _ => None,
        });
        sent.collect()
    };
    let mut turns = before.iter().rev().map(sent);
    let mut used = turns.find(|sent| !sent.is_empty()).unwrap_or_default();
    let is_there =
        |agent_type: &AgentType| prompt.agents.iter().any(|agent| agent.agent_type() == agent_type);
    if !used.first().is_some_and(|(last, _)| is_there(last)) {
        return Vec::new();
    }
    used.retain(|(agent_type, _)| is_there(agent_type));
    used
}

/// Parts that wait for none run at once; where one does, all of them are a plan.
fn send(parts: Vec<Part>) -> Step {
    if parts.iter().any(|part| part.is_later || part.refers) {
        let mut tasks: Vec<PlannedTask> = Vec::new();
        for part in parts {
            let before = || (0_u32..).take(tasks.len()).collect::<Vec<_>>();
            let (after, uses) = match (part.is_later, part.refers) {
                (_, true) => (Vec::new(), before()),
                (true, false) => (before(), Vec::new()),
                (false, false) => (Vec::new(), Vec::new()),
            };
            tasks.push(PlannedTask {
                agent_type: part.agent_type,
                message: part.message,
                after,
                uses,
                is_optional: false,
            });
        }
        return call(vec![Tool::PlanTasks { tasks }]);
    }
    let part = |part: Part| Tool::SendMessage {
        agent_type: part.agent_type,
        message: part.message,
        data: None,
    };
    call(parts.into_iter().map(part).collect())
}

fn call(tools: Vec<Tool>) -> Step {
    let numbered = tools.into_iter().enumerate();
    Step::Call(
        numbered
            .map(|(number, tool)| ToolCall {
                id: format!("call-{number}"),
                tool,
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests;
