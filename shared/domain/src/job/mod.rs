//! Jobs: what a task delegated to another agent, from the decision until that agent's result.
//!
//! A job is stored before its message leaves, with everything a byte-identical resend needs; an agent's notification
//! may overtake its own acknowledgement, so a job takes updates before it is linked.

mod change;
mod endpoint;
mod news;
mod phase;
mod state;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::change::JobChange;
pub use self::endpoint::{Endpoint, Generation, SealedToken, Transport};
pub use self::news::{Noted, Notification, Responder};
pub use self::state::{AwaitedConsent, FORM_MAX, JobState, Protection, RemoteUpdate};
use crate::rest::is_zero;
use crate::unkept::{self, Room, Unkept};
use crate::{AgentId, AgentType, Artifact, Heard, MessageId, Owner, TaskId, Timestamp};

/// What a new job is made of.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Its number within the task, from 0.
    pub number: u32,
    /// The type the agent was found by.
    pub agent_type: AgentType,
    /// The registered agent.
    pub agent_id: AgentId,
    /// The agent's name, to show.
    pub agent_name: String,
    /// How it is called.
    pub endpoint: Endpoint,
    /// What it is asked to do.
    pub instruction: String,
    /// The message id of the send: the same one with every resend.
    pub message_id: MessageId,
    /// The token its notifications must carry.
    pub webhook: SealedToken,
    /// The step of the model that it is decided in, from 0.
    pub step: u32,
}

/// Stands for the keys of an agent that has not said yet which it signs notifications with, or whether it has any.
pub const KEYS_OWED: &str = "?";

/// One delegation to another agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Its number within the task, from 0.
    pub number: u32,
    /// The type the agent was found by.
    pub agent_type: AgentType,
    /// The registered agent.
    pub agent_id: AgentId,
    /// The agent's name, to show.
    pub agent_name: String,
    /// How it is called.
    pub endpoint: Endpoint,
    /// What it is asked to do.
    pub instruction: String,
    /// The message id of the send: the same one with every resend.
    pub message_id: MessageId,
    /// The token its notifications must carry.
    pub webhook: SealedToken,
    /// How far it is.
    pub state: JobState,
    /// The results so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// When it was decided.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How many sends were tried.
    #[serde(default)]
    pub attempts: u32,
    /// The consent its calls need, where its agent takes no token of ours alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// The keys that its agent signs notifications with, where the agent publishes any: Ed25519, base64url. [`KEYS_OWED`] alone
    /// where it has not said yet which; no signature is good for that one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sender_keys: Vec<String>,
    /// The hosts that a link of its agent may be shown as a way to sign in for: those that were named when it was registered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_hosts: Vec<String>,
    /// True where its agent takes a proof of the starter's browser with a consent of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_proof: bool,
    /// True where its agent sends no notifications: it is asked how it goes from the first second on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_polled: bool,
    /// Whom its agent knows the task's owner as, where that is somebody else's agent that asks for no sign-in: an id that no other
    /// agent sees, so that two of them cannot tell that they work for the same person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_there: Option<Owner>,
    /// What was heard of it lately.
    #[serde(default, skip_serializing_if = "Heard::is_nothing")]
    pub heard: Heard,
    /// How often its result could not be fetched since it is over; 0 again once it could.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fetches: u32,
    /// True where its agent was asked for its result since it is over, and gave what there is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fetched: bool,
    /// True where its agent would not take what the user attached, and got the words alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub words_alone: bool,
    /// True where its message may have reached its agent, which gave no answer. It is sent again only where the agent says that it
    /// has not got it, or the user says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delivered: bool,
    /// True where it works on results of other jobs and its agent takes them as JSON; otherwise it gets them as text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_data: bool,
    /// What it is asked to do, as data: an object by the schema that its agent publishes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The id that its agent's task gets, where the caller chooses that: over MQTT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_task_id: Option<TaskId>,
    /// True once its agent has asked for a sign-in of its user's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_sign_in: bool,
    /// The step of the model that it was decided in, from 0; several jobs of one step were decided at once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub step: u32,
    /// Since when its send fails, where it does; its `attempts` are counted from there. Of a job at work: since when there is no
    /// news, where its agent cannot be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// What of its results was too large to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unkept: Vec<Unkept>,
    /// The results that its task's answer has too, so that they are stored once; empty but in what is stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<Answered>,
}

/// A result of a job that stands in its task's answer, by both ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// The job's result.
    pub artifact_id: String,
    /// The answer's.
    pub answer_id: String,
    /// Its place among the job's results.
    pub at: usize,
}

impl Job {
    /// True where nobody knows yet whether its agent signs notifications.
    #[must_use]
    pub fn keys_owed(&self) -> bool {
        self.sender_keys.iter().any(|key| key == KEYS_OWED)
    }

    /// A new job, stored before its message leaves.
    #[must_use]
    pub fn prepare(new: NewJob, now: Timestamp) -> Self {
        let NewJob {
            number,
            agent_type,
            agent_id,
            agent_name,
            endpoint,
            instruction,
            message_id,
            webhook,
            step,
        } = new;
        Self {
            number,
            agent_type,
            agent_id,
            agent_name,
            endpoint,
            instruction,
            message_id,
            webhook,
            state: JobState::Prepared,
            artifacts: Vec::new(),
            created_at: now,
            updated_at: now,
            attempts: 0,
            words_alone: false,
            delivered: false,
            takes_data: false,
            data: None,
            chosen_task_id: None,
            wants_sign_in: false,
            protection: None,
            sender_keys: Vec::new(),
            link_hosts: Vec::new(),
            takes_proof: false,
            is_polled: false,
            owner_there: None,
            heard: Heard::default(),
            fetches: 0,
            fetched: false,
            step,
            failing_since: None,
            unkept: Vec::new(),
            answered: Vec::new(),
        }
    }

    /// When work on it could begin: when its user consented, where it waited for that, and otherwise when it was decided.
    #[must_use]
    pub fn begun_at(&self) -> Timestamp {
        let granted = self
            .protection
            .as_ref()
            .and_then(|protection| protection.granted_at);
        granted.unwrap_or(self.created_at)
    }

    /// What it brought, for people: the texts of its results, and of files that are too long to be read in a chat their names and
    /// sizes, behind what their agent says of them. None where there is no text.
    #[must_use]
    pub fn brought(&self) -> Option<String> {
        let (texts, files) = unkept::texts_and_files(&self.artifacts);
        let said = self.remote().and_then(|remote| remote.text.clone());
        let said = said.filter(|_| !files.is_empty());
        let mut all: Vec<String> = said.into_iter().chain(texts).chain(files).collect();
        all.retain(|text| !text.trim().is_empty());
        (!all.is_empty()).then(|| all.join("\n"))
    }

    /// Leaves out what is too much of its results: they then fit into the room that there is.
    pub(crate) fn keep_within(&mut self, room: Room) {
        if unkept::keep_within(room, &mut self.artifacts, &mut self.unkept) {
            self.tidy();
        }
    }
}
