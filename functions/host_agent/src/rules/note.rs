//! What a task notes of how its message was meant, for the executions that follow: in the task's checkpoint.

use agent::ExecuteError;
use domain::{Clause, EventKind, Fate, Part, Task, TaskId};
use llm::{Answer, Step};
use serde::{Deserialize, Serialize};

use crate::meaning::Question;
use crate::rules::agent_choice::AgentChoice;

/// How a message was meant, where that does not follow from its text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Note {
    /// What is asked of agents: the message without what was done about it already, or what a retry repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<String>,
    /// What was done about the message already; the answer begins with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lead: Option<String>,
    /// What part of the message that was done about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deed: Option<Clause>,
    /// What became of each part of the message, where that is not the same for all of it; pages read it (`domain::Clause`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) clauses: Vec<Clause>,
    /// One line about what else waits; the answer ends with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reminder: Option<String>,
    /// What the host asked in the answer's beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asks: Option<Question>,
    /// The task that this one is another try of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_of: Option<TaskId>,
    /// What came beside the words of the message that a retry repeats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attached: Vec<Part>,
    /// The agents that the user chooses from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) choice: Option<AgentChoice>,
}

impl Note {
    /// The note of a task.
    pub(crate) fn of(task: &Task) -> Option<Self> {
        Self::deserialize(task.checkpoint.as_ref()?).ok()
    }

    /// Whether there is nothing to note.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The event that notes it.
    pub(crate) fn event(&self) -> Result<EventKind, ExecuteError> {
        agent::Run::checkpoint_event(self)
    }

    /// Notes what this answer makes of what was asked, where that is not the same for all that was said.
    pub(crate) fn fates(&mut self, asked: &str, answer: &Answer) {
        let rest = match (answer.clauses.as_slice(), &answer.step) {
            ([], step @ Step::Call(_)) => {
                let mut to: Vec<_> = step.sends().map(|(to, ..)| to.clone()).collect();
                to.dedup();
                vec![Clause::new(asked, Fate::Sent { to })]
            }
            ([], Step::Choose { .. }) => vec![Clause::new(asked, Fate::Asked)],
            // The rules say something where nobody does it, a model where it has an answer.
            ([], Step::Say(_)) if answer.is_by_rule() => vec![Clause::new(asked, Fate::Refused)],
            ([], Step::Say(_)) => vec![Clause::new(asked, Fate::Talk)],
            (clauses, _) => clauses.to_vec(),
        };
        let all: Vec<Clause> = self.deed.iter().cloned().chain(rest).collect();
        self.clauses = if all.len() > 1 { all } else { Vec::new() };
    }

    /// The answer with what stands before and behind it.
    pub(crate) fn around(&self, text: String) -> String {
        let parts = [self.lead.clone(), Some(text), self.reminder.clone()];
        let said: Vec<String> = parts
            .into_iter()
            .flatten()
            .filter(|part| !part.trim().is_empty())
            .collect();
        said.join("\n\n")
    }
}
