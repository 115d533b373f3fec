//! The rules router: a deterministic stand-in for a language model. It weighs the prompt against what the agents say
//! of themselves, splits prompts that concern several agents, and says plainly when nothing fits. What a message means for
//! tasks that there are already (answers, cancel, status, retry) is the host's to say, before any model is asked.

mod ability;
mod among;
mod cards;
mod follow_up;
mod grams;
mod guess;
mod hashing;
mod index;
mod order;
mod phrase;
mod reading;
mod spelling;
mod split;
mod terms;
mod understood;

use async_trait::async_trait;
use domain::{AgentType, to_read};

use crate::{Agents, Answer, Draft, Model, ModelError, PlannedTask, Prompt, Step, Tool, ToolCall, Turn, Why};
pub use ability::lacking;
pub use among::best_fitting;
use guess::Forms;
pub(crate) use index::Index;
pub use phrase::{offer, summary};
use reading::Reader;
use split::Part;
pub use terms::is_content;
pub(crate) use understood::understood;
pub use understood::{Clause, cards, clauses};

/// The rules router.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules;

#[async_trait]
impl Model for Rules {
    async fn step(&self, prompt: &Prompt, _draft: &mut dyn Draft) -> Result<Answer, ModelError> {
        let step = self.decide(prompt);
        let text = prompt.turns.iter().rev().find_map(|turn| match turn {
            Turn::User(text) => Some(to_read(text)),
            _ => None,
        });
        let conditional = pieces(&step) > 1 && text.is_some_and(order::has_condition);
        let conditional = conditional.then(|| phrase::NO_IFS.to_owned());
        let reader = || Reader::of(prompt.agents.index());
        let text = text.filter(|_| pieces(&step) > 0);
        let undone = text.and_then(|text| Some(phrase::undone(&split::without_undone(&reader(), text)?.1)));
        let beside: Vec<String> = conditional.into_iter().chain(undone).collect();
        Ok(Answer {
            beside: beside.join(" "),
            ..step.into()
        })
    }

    fn goes_on(&self) -> bool {
        false
    }
}

impl Rules {
    /// Decides the next step; the same prompt always gives the same step.
    #[must_use]
    pub fn decide(&self, prompt: &Prompt) -> Step {
        let Some(asked) = prompt
            .turns
            .iter()
            .rposition(|turn| matches!(turn, Turn::User(_)))
        else {
            return Step::Say(phrase::offer(&prompt.agents));
        };
        let (before, since) = prompt.turns.split_at(asked);
        if let Some(answer) = phrase::answer(since) {
            return Step::Say(answer);
        }
        let Some(Turn::User(text)) = since.first() else {
            return Step::Say(phrase::offer(&prompt.agents));
        };
        let read = to_read(text);
        let unread = text.get(read.len()..).unwrap_or_default();
        handed_on(route(prompt, before, read), unread)
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

fn route(prompt: &Prompt, before: &[Turn], text: &str) -> Step {
    let (agents, index) = (&prompt.agents, prompt.agents.index());
    let reader = Reader::of(index);
    let used = last_used(prompt, before);
    let there = used
        .first()
        .and_then(|(_, earlier)| follow_up::with_place(text, earlier));
    let text = there.as_deref().unwrap_or(text);
    let kept = split::without_undone(&reader, text).map(|(kept, _)| kept);
    let text = kept.as_deref().unwrap_or(text);
    let parts = split::parts(&reader, agents, text);
    if let [part] = parts.as_slice()
        && let Some((_, earlier)) = used
            .iter()
            .find(|(agent_type, _)| **agent_type == part.agent_type)
        && let Some(message) = follow_up::with_number(text, earlier)
    {
        return send(Part::only(&part.agent_type, &message));
    }
    if !parts.is_empty() {
        return send(parts);
    }
    // "And what's the capital of Mongolia?" is nothing that was spoken of.
    let own = follow_up::is_question(text) && reader.is_strange(text);
    if !own && let Some((agent_type, message)) = gone_on(index.forms(agents), &used, text) {
        return send(Part::only(agent_type, &message));
    }
    // "Milwaukee tomorrow", behind a forecast for another place.
    let takes = index.forms(agents).by_place_and_day(text);
    if let Some(agent_type) = takes.filter(|takes| used.iter().any(|(used, _)| used == takes)) {
        return send(Part::only(agent_type, text));
    }
    let mended = index.spelling(agents).mended(text);
    let parts = mended.as_deref().map(|text| split::parts(&reader, agents, text));
    if let Some(parts) = parts.filter(|parts| !parts.is_empty()) {
        return send(parts);
    }
    let meant = mended.as_deref().unwrap_or(text);
    let forms = index.forms(agents);
    let alone = forms.by_place_and_day(meant);
    let alone = alone.filter(|takes| reader.near(meant).first().is_none_or(|near| near == takes));
    if let Some(agent_type) = alone.or_else(|| forms.by_number_or_form(meant)) {
        return send(Part::only(agent_type, meant));
    }
    let does = |near: &&AgentType| {
        let own = agents.iter().filter(|agent| agent.agent_type() == *near);
        own.into_iter().any(|agent| lacking(agent, text).is_none())
    };
    let near: Vec<&AgentType> = reader.worth_asking(meant).into_iter().filter(does).collect();
    if !near.is_empty() {
        return Step::Choose {
            of: near.into_iter().cloned().collect(),
            why: Why::Unsure,
        };
    }
    let near = reader.worth_naming(meant).into_iter();
    let near = near.filter_map(|near| agents.iter().find(|agent| agent.agent_type() == near));
    Step::Say(phrase::nothing_fits(agents, text, &near.collect::<Vec<_>>()))
}

/// Whether more than a word in passing says that a text is for some agent: what may be the answer to an open question needs
/// that to be taken for a request.
#[must_use]
pub fn is_surely_for_somebody(agents: &Agents, text: &str) -> bool {
    let text = to_read(text);
    let reader = Reader::of(agents.index());
    reader.best(text, reader.bar(text) * reading::SURELY).is_some() || reader.is_called(text)
}

/// Whether anything says that a text is for some agent.
#[must_use]
pub fn is_for_somebody(agents: &Agents, text: &str) -> bool {
    let text = to_read(text);
    let reader = Reader::of(agents.index());
    reader.best(text, reader.bar(text)).is_some() || reader.is_called(text)
}

/// Whether a text says something else instead of what an agent was asked before.
#[must_use]
pub fn corrects(text: &str, earlier: &str) -> bool {
    follow_up::corrects(to_read(text), to_read(earlier))
}

/// The types that are named where nobody gets a text and nobody is offered for it, the likeliest first; three at most.
#[must_use]
pub fn nearest(agents: &Agents, text: &str) -> Vec<AgentType> {
    let reader = Reader::of(agents.index());
    reader.worth_naming(to_read(text)).into_iter().cloned().collect()
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

/// Who of those used last a follow-up is for, and what to ask: whoever was asked something in which it can be exchanged, or else
/// whoever takes places and days, or the last.
fn gone_on<'a>(forms: &Forms, used: &[(&'a AgentType, &str)], text: &str) -> Option<(&'a AgentType, String)> {
    let told = |(agent_type, earlier): &(&'a AgentType, &str)| {
        Some((*agent_type, follow_up::message(text, earlier)?))
    };
    let all: Vec<(&AgentType, String)> = used.iter().filter_map(told).collect();
    let takes = |(agent_type, _): &&(&AgentType, String)| forms.takes_places(agent_type);
    let exchanged = || all.iter().filter(|(_, message)| message != text.trim());
    let found = exchanged().find(takes).or_else(|| exchanged().next());
    let found = found.or_else(|| all.iter().find(takes)).or(all.first());
    if let Some(found) = found {
        return Some(found.clone());
    }
    let mut named = used.iter().filter(|_| follow_up::is_naming(text));
    let (agent_type, _) = named.find(|(agent_type, _)| forms.takes_places(agent_type))?;
    Some((agent_type, text.to_owned()))
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

/// How many pieces of work a step hands out.
fn pieces(step: &Step) -> usize {
    let Step::Call(calls) = step else { return 0 };
    let of_call = |call: &ToolCall| match &call.tool {
        Tool::SendMessage { .. } => 1,
        Tool::PlanTasks { tasks } => tasks.len(),
        _ => 0,
    };
    calls.iter().map(of_call).sum()
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
mod everyday;
#[cfg(test)]
mod tests;
