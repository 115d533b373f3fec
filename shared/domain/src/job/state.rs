//! The phases of a job, and which may follow which.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{RemoteTaskId, TaskState, Timestamp};

/// The consent that calls of an agent need: an access token for the agent alone, issued in its user's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Protection {
    /// Who issues the token, such as `idp`.
    pub provider: String,
    /// The scopes it must have.
    pub scopes: Vec<String>,
    /// The request for consent that the job waits for. Nothing is sent meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<AwaitedConsent>,
    /// When the consent that it waited for was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_at: Option<Timestamp>,
}

/// A request for consent that a job waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AwaitedConsent {
    /// Its id, which is in its link.
    pub id: String,
    /// Until when the link is good.
    pub expires_at: Timestamp,
}

/// What a remote agent says of its task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteUpdate {
    /// Its state.
    pub state: TaskState,
    /// Its status message's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The time the agent gave it, where it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The consent of its own that it waits for, where the browser of the task's starter can prove itself for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<String>,
    /// What it asks for as data, where it says: a JSON Schema of at most [`FORM_MAX`] bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
}

/// Most bytes of the schema of what an agent asks for.
pub const FORM_MAX: usize = 4_096;

impl RemoteUpdate {
    /// It is in this state, and says nothing of it.
    #[must_use]
    pub const fn of(state: TaskState) -> Self {
        Self {
            state,
            text: None,
            at: None,
            consent: None,
            form: None,
        }
    }
}

/// How far a job is: its phase. `EDGES` says which follows which.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum JobState {
    /// Stored; the message has left, or not: nobody knows until the acknowledgement.
    Prepared,
    /// Nothing is sent before its user has consented; its `protection` says to what.
    AwaitingConsent {
        /// The agent's task, where it asked for more in the middle of one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote_task_id: Option<RemoteTaskId>,
        /// What the agent last said of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote: Option<RemoteUpdate>,
    },
    /// The agent has a task of its own for it.
    Linked {
        /// That task's id.
        remote_task_id: RemoteTaskId,
        /// What the agent last said of it.
        remote: RemoteUpdate,
    },
    /// Over at its agent, which may have a result that it did not bring; `fetches` says how often it was asked in vain.
    Fetching {
        /// The agent's task.
        remote_task_id: RemoteTaskId,
        /// The last word: a terminal state.
        remote: RemoteUpdate,
    },
    /// Over; nothing changes it any more.
    Settled {
        /// The agent's task, where there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote_task_id: Option<RemoteTaskId>,
        /// The last word: a terminal state.
        remote: RemoteUpdate,
    },
    /// Something that this release does not know: nothing is done about the job.
    #[serde(other)]
    Unknown,
}

/// Which phase may follow which; each may follow itself. What only a newer release knows may follow anything, and be
/// followed by anything.
const EDGES: [(&str, &[&str]); 5] = [
    ("prepared", &["awaiting-consent", "linked", "fetching", "settled"]),
    ("awaiting-consent", &["prepared", "linked", "fetching", "settled"]),
    ("linked", &["awaiting-consent", "fetching", "settled"]),
    ("fetching", &["settled"]),
    ("settled", &[]),
];

impl JobState {
    /// Its phase's name in our JSON.
    #[must_use]
    pub fn phase(&self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::AwaitingConsent { .. } => "awaiting-consent",
            Self::Linked { .. } => "linked",
            Self::Fetching { .. } => "fetching",
            Self::Settled { .. } => "settled",
            Self::Unknown => "unknown",
        }
    }

    /// Whether a job may go from here to there.
    #[must_use]
    pub fn can_become(&self, next: &Self) -> bool {
        let (from, to) = (self.phase(), next.phase());
        let follows = |(phase, next): &(&str, &[&str])| *phase == from && next.contains(&to);
        from == to || *self == Self::Unknown || *next == Self::Unknown || EDGES.iter().any(follows)
    }
}
