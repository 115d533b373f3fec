//! What happens to a task: the entries of its log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Artifact, Job, JobChange, Message, ModelTurn, TaskPlan, TaskState, Timestamp};

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stumble {
    /// Its number since the work last came to an outcome, from 1.
    pub attempt: u32,
    /// Why it failed.
    pub reason: String,
}

/// What an agent notes of its own work on a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum WorkNote {
    /// How far it got; replaces what was noted before.
    Checkpoint {
        /// In the agent's own words.
        reached: Value,
    },
    /// An attempt failed; another follows, or the task ends.
    Stumbled {
        /// Which, and why.
        stumble: Stumble,
    },
    /// A language model answered. Replaces the turn of the same number.
    Turn {
        /// What.
        turn: Box<ModelTurn>,
    },
    /// What is to be done, step by step; replaces what was planned before.
    Plan {
        /// What.
        plan: Box<TaskPlan>,
    },
    /// The answer that follows is a direct message, not the result of a task.
    Direct,
    /// A note of a kind that this release does not know.
    #[serde(other)]
    Unknown,
}

/// One entry of a task's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its number within the task, from 1, without gaps; equal to the task's `rev` after it.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// The state or its message changed.
    Status {
        /// The new state.
        state: TaskState,
        /// What the agent says of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Message>,
    },
    /// A result, or a piece of one, came.
    Artifact {
        /// The result.
        artifact: Artifact,
        /// Its parts go behind those that are there.
        append: bool,
        /// Nothing more follows for it.
        last_chunk: bool,
    },
    /// Somebody said something more: a follow-up of the user.
    Said {
        /// What was said.
        message: Message,
    },
    /// A job's record changed: prepared, linked, updated or settled. Not shown as an A2A event.
    Job {
        /// The whole job as it is now.
        job: Box<Job>,
    },
    /// What changed of a job. Not shown as an A2A event.
    JobChanged {
        /// What.
        change: Box<JobChange>,
    },
    /// The agent noted something of its own work. Not shown as an A2A event.
    Work {
        /// What.
        note: WorkNote,
    },
    /// Something that this release does not know. Not shown as an A2A event.
    #[serde(other)]
    Unknown,
}

impl EventKind {
    /// A change of state.
    #[must_use]
    pub fn status(state: TaskState, message: Option<Message>) -> Self {
        Self::Status { state, message }
    }

    /// True for what clients are told of; the rest is between the agent and its store.
    #[must_use]
    pub fn is_public(&self) -> bool {
        matches!(self, Self::Status { .. } | Self::Artifact { .. })
    }

    /// A whole artifact at once.
    #[must_use]
    pub fn artifact(artifact: Artifact) -> Self {
        Self::Artifact {
            artifact,
            append: false,
            last_chunk: true,
        }
    }
}
