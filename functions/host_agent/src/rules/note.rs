//! What a task notes of how its message was meant, for the executions that follow: in the task's checkpoint.

use agent::ExecuteError;
use domain::{EventKind, Part, Task, TaskId};
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
