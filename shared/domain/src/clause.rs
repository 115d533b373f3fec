//! The parts of what a user said, and what became of each: none of them vanishes behind another.

use serde::{Deserialize, Serialize};

use crate::{AgentType, Task, clean};

/// Most characters of a part that are kept.
const SAID_MAX: usize = 200;

/// A part of what a user said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clause {
    /// Its words; the beginning of long ones.
    pub said: String,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a part of what a user said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fate {
    /// Agents of these types got it.
    Sent {
        /// Their types, each once.
        to: Vec<AgentType>,
    },
    /// It went to a task that waits for its user.
    Answered,
    /// It was about the user's own tasks, and that was done: ended, tried again, told of.
    Done,
    /// Its user is asked before anything is done about it.
    Asked,
    /// It is not done, and its user was told why: nobody here does it, or there is nothing that it could be about.
    Refused,
    /// It asks for nothing of anybody, or was answered in words.
    Talk,
    /// What a newer release knows.
    #[serde(other)]
    Unknown,
}

impl Fate {
    /// Its name, as it is stored.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Sent { .. } => "sent",
            Self::Answered => "answered",
            Self::Done => "done",
            Self::Asked => "asked",
            Self::Refused => "refused",
            Self::Talk => "talk",
            Self::Unknown => "unknown",
        }
    }
}

impl Clause {
    /// A part with its fate.
    #[must_use]
    pub fn new(said: &str, fate: Fate) -> Self {
        Self {
            said: clean(said.trim(), SAID_MAX),
            fate,
        }
    }

    /// The parts of what a task was asked for, where they did not all become of the same: as its host has noted them.
    #[must_use]
    pub fn of(task: &Task) -> Vec<Self> {
        let noted = task.checkpoint.as_ref().and_then(|note| note.get("clauses"));
        noted
            .and_then(|clauses| Vec::deserialize(clauses).ok())
            .unwrap_or_default()
    }
}
