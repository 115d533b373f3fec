//! The states of a task, and which follows which.

use serde::{Deserialize, Serialize};

/// A2A's task states, and `unknown` for a task of which nothing was heard within its time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// Stored; nobody works on it yet.
    Submitted,
    /// Being worked on, here or by the agent it was delegated to.
    Working,
    /// Waits for a message of the user.
    InputRequired,
    /// Waits for the user's consent.
    AuthRequired,
    /// Done; final.
    Completed,
    /// Called off; final.
    Canceled,
    /// Ended in an error; final.
    Failed,
    /// The agent would not do it; final.
    Rejected,
    /// Nothing was heard in time. Not final: it takes a late result, a retry or a cancel. A stored state that this
    /// release does not know is shown as this one too.
    #[serde(other)]
    Unknown,
}

/// What a task may become that is not over: everything but `submitted`, to which nothing goes back. A state that stays
/// has another message, or none.
const ONWARD: &[TaskState] = &[
    TaskState::Working,
    TaskState::InputRequired,
    TaskState::AuthRequired,
    TaskState::Completed,
    TaskState::Canceled,
    TaskState::Failed,
    TaskState::Rejected,
    TaskState::Unknown,
];

/// The state machine: which states follow which. Nothing follows a terminal one.
const EDGES: [(TaskState, &[TaskState]); 9] = [
    (TaskState::Submitted, ONWARD),
    (TaskState::Working, ONWARD),
    (TaskState::InputRequired, ONWARD),
    (TaskState::AuthRequired, ONWARD),
    (TaskState::Unknown, ONWARD),
    (TaskState::Completed, &[]),
    (TaskState::Canceled, &[]),
    (TaskState::Failed, &[]),
    (TaskState::Rejected, &[]),
];

impl TaskState {
    /// Every state.
    pub const ALL: [Self; 9] = [
        Self::Submitted,
        Self::Working,
        Self::InputRequired,
        Self::AuthRequired,
        Self::Completed,
        Self::Canceled,
        Self::Failed,
        Self::Rejected,
        Self::Unknown,
    ];

    /// True where the task never changes again.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Canceled | Self::Failed | Self::Rejected
        )
    }

    /// True where the task waits for the user.
    #[must_use]
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// Whether a task may go from here to there, by `EDGES`.
    #[must_use]
    pub fn can_become(self, next: Self) -> bool {
        EDGES.iter().any(|(from, to)| *from == self && to.contains(&next))
    }

    /// Its name in A2A 0.3, in our JSON, our logs and our keys.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::InputRequired => "input-required",
            Self::AuthRequired => "auth-required",
            Self::Completed => "completed",
            Self::Canceled => "canceled",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
        }
    }

    /// The state of that name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// A step that the state machines do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTransition {
    /// Of the task.
    #[error("a task that is {} cannot become {}", from.as_str(), to.as_str())]
    Task {
        /// The state it has.
        from: TaskState,
        /// The state that was asked for.
        to: TaskState,
    },
    /// Of a job.
    #[error("a job that is {from} cannot become {to}")]
    Job {
        /// The phase it has.
        from: &'static str,
        /// The phase that was asked for.
        to: &'static str,
    },
}

impl InvalidTransition {
    /// True where the task is over, and so takes nothing more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Task { from, .. } if from.is_terminal())
    }
}
