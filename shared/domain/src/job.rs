//! Jobs: what a task delegated to another agent, from the decision until that agent's result.
//!
//! A job is stored before its message leaves, with everything a byte-identical resend needs; an agent's notification
//! may overtake its own acknowledgement, so a job takes updates before it is linked.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use url::Url;

use crate::unkept::{self, Unkept};
use crate::{AgentId, AgentType, Artifact, Heard, MessageId, RemoteTaskId, TaskId, TaskState, Timestamp};

/// The protocol generation an agent speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Generation {
    /// A2A 0.3.x.
    #[serde(rename = "0.3")]
    V0_3,
    /// A2A 1.0.
    #[serde(rename = "1.0")]
    V1_0,
}

/// The binding an agent is called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transport {
    /// JSON-RPC 2.0 over HTTP.
    #[serde(rename = "JSONRPC")]
    JsonRpc,
    /// The REST binding.
    #[serde(rename = "HTTP+JSON")]
    Rest,
    /// JSON-RPC 2.0 over MQTT 5; the URL is the agent's request topic below its broker.
    #[serde(rename = "MQTTv5+JSONRPCv2")]
    Mqtt,
}

/// Where and how an agent is called: one interface of its card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The interface's URL.
    pub url: Url,
    /// Its protocol generation.
    pub generation: Generation,
    /// Its binding.
    pub transport: Transport,
    /// The interface's opaque `tenant`, echoed with every call (A2A 1.0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The audience of tokens for the agent, where that is another URL: the interface over HTTP of an agent that is called by
    /// another binding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Url>,
}

impl Endpoint {
    /// The audience of tokens for the agent (RFC 8707).
    #[must_use]
    pub fn audience(&self) -> &Url {
        self.resource.as_ref().unwrap_or(&self.url)
    }
}

/// A secret token at rest: its hash to check against, and sealed so that a resend is byte-identical.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedToken {
    /// SHA-256 of the token, base64url.
    pub hash: String,
    /// The token sealed, base64url. None once its job is over: nothing is sent any more, and what comes late is still
    /// known by the hash.
    #[serde(serialize_with = "text_or_empty", deserialize_with = "none_if_empty")]
    pub sealed: Option<String>,
}

/// Release 0.2 wants a text here.
fn text_or_empty<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text.as_deref().unwrap_or_default())
}

fn none_if_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

impl std::fmt::Debug for SealedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealedToken(***)")
    }
}

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
    /// Since when its send fails, where it does; its `attempts` are counted from there.
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(number: &u32) -> bool {
    *number == 0
}

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

/// What changed of a job between two writes: what is there took the place of what was there before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobChange {
    /// Which job.
    pub number: u32,
    /// When it changed.
    pub updated_at: Timestamp,
    /// How far it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
    /// The results that are new or other than before, each whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// The results that are gone, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// How many sends were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The consent its calls need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// The keys that its agent signs with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_keys: Option<Vec<String>>,
    /// What was heard of it lately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<Heard>,
    /// How often its result could not be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetches: Option<u32>,
    /// True where its agent gave what there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched: Option<bool>,
    /// How it is called, where its agent has moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Since when its send fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// What of its results was too large to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unkept: Option<Vec<Unkept>>,
    /// True where its agent got the words alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words_alone: Option<bool>,
    /// True once its agent has asked for a sign-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wants_sign_in: Option<bool>,
}

impl JobChange {
    /// What changed; none where a change cannot say it.
    pub(crate) fn between(before: &Job, after: &Job) -> Option<Self> {
        let kept = |id: &str| after.artifacts.iter().any(|artifact| artifact.artifact_id == id);
        let ids = before.artifacts.iter().map(|artifact| &artifact.artifact_id);
        let change = Self {
            number: after.number,
            updated_at: after.updated_at,
            state: changed(&before.state, &after.state),
            artifacts: after
                .artifacts
                .iter()
                .filter(|artifact| !before.artifacts.contains(artifact))
                .cloned()
                .collect(),
            dropped: ids.filter(|id| !kept(id)).cloned().collect(),
            attempts: changed(&before.attempts, &after.attempts),
            protection: changed(&before.protection, &after.protection).flatten(),
            sender_keys: changed(&before.sender_keys, &after.sender_keys),
            heard: changed(&before.heard, &after.heard),
            fetches: changed(&before.fetches, &after.fetches),
            fetched: changed(&before.fetched, &after.fetched),
            endpoint: changed(&before.endpoint, &after.endpoint),
            failing_since: changed(&before.failing_since, &after.failing_since).flatten(),
            unkept: changed(&before.unkept, &after.unkept),
            words_alone: changed(&before.words_alone, &after.words_alone),
            wants_sign_in: changed(&before.wants_sign_in, &after.wants_sign_in),
        };
        let mut applied = before.clone();
        applied.apply(&change);
        (applied == *after).then_some(change)
    }
}

fn changed<T: Clone + PartialEq>(before: &T, after: &T) -> Option<T> {
    (before != after).then(|| after.clone())
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
}

/// News of a job from its agent: an acknowledgement, a push notification, or the answer to a look-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// The agent's task; absent where it answered with a mere message.
    pub remote_task_id: Option<RemoteTaskId>,
    /// The state, where the news has one (an artifact update has none).
    pub update: Option<RemoteUpdate>,
    /// Results. With `snapshot` they are all there are; otherwise each replaces or extends its own id.
    pub artifacts: Vec<(Artifact, bool)>,
    /// True where the news is the whole task, not one change of it.
    pub snapshot: bool,
}

/// What news did to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noted {
    /// Nothing: a duplicate, or older than what is known.
    Nothing,
    /// The job changed but goes on.
    Progress,
    /// The agent now waits for the user.
    Interrupted,
    /// The job is over.
    Settled,
    /// The news is of another remote task than the linked one.
    Foreign,
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
            takes_data: false,
            data: None,
            chosen_task_id: None,
            wants_sign_in: false,
            protection: None,
            sender_keys: Vec::new(),
            link_hosts: Vec::new(),
            takes_proof: false,
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

    /// The request for consent that the job waits for.
    #[must_use]
    pub fn awaited_consent(&self) -> Option<&AwaitedConsent> {
        let open = self.protection.as_ref().filter(|_| !self.is_settled());
        open?.consent.as_ref()
    }

    /// The agent's own task, once known.
    #[must_use]
    pub fn remote_task_id(&self) -> Option<&RemoteTaskId> {
        match &self.state {
            JobState::Prepared | JobState::Unknown => None,
            JobState::Linked { remote_task_id, .. } | JobState::Fetching { remote_task_id, .. } => {
                Some(remote_task_id)
            }
            JobState::AwaitingConsent { remote_task_id, .. } | JobState::Settled { remote_task_id, .. } => {
                remote_task_id.as_ref()
            }
        }
    }

    /// What the agent last said, once it said anything.
    #[must_use]
    pub fn remote(&self) -> Option<&RemoteUpdate> {
        match &self.state {
            JobState::Prepared | JobState::Unknown => None,
            JobState::AwaitingConsent { remote, .. } => remote.as_ref(),
            JobState::Linked { remote, .. }
            | JobState::Fetching { remote, .. }
            | JobState::Settled { remote, .. } => Some(remote),
        }
    }

    /// True where its agent is through with it; it may be that the result is still to be fetched.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self.state, JobState::Fetching { .. } | JobState::Settled { .. })
    }

    /// True where an end came without a result that its agent may have: it was not asked yet, or in vain.
    fn lacks_result(&self, remote: &RemoteUpdate) -> bool {
        let bare = self.artifacts.is_empty() && !self.fetched;
        // A completed job should have something to show; of every other end its words are enough.
        bare && (remote.state == TaskState::Completed || remote.text.is_none())
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

    /// Leaves out what is too large of its results: they then have at most so many bytes of JSON.
    pub(crate) fn keep_within(&mut self, most: usize) {
        if unkept::keep_within(most, &mut self.artifacts, &mut self.unkept) {
            self.tidy();
        }
    }

    /// A job that is over and whose result could not be kept has failed, in words that say so.
    fn tell_unkept(&mut self) {
        let (JobState::Settled { remote, .. } | JobState::Fetching { remote, .. }) = &mut self.state else {
            return;
        };
        if !self.unkept.is_empty() && remote.state == TaskState::Completed {
            remote.state = TaskState::Failed;
            remote.text = Some(unkept::words(remote.text.as_ref(), &self.artifacts, &self.unkept));
        }
    }

    /// Brings the phase in line with the rest: whether a consent is waited for, whether the result is there. What has no
    /// use once the job is over goes: its message is never sent again, and news change nothing, also what was heard
    /// before. Release 0.2 reads phases of ours and does not write all of them, so that this is done with each reading.
    pub fn tidy(&mut self) {
        self.tell_unkept();
        let awaits = self
            .protection
            .as_ref()
            .is_some_and(|protection| protection.consent.is_some());
        self.state = match std::mem::replace(&mut self.state, JobState::Unknown) {
            JobState::Prepared if awaits => JobState::AwaitingConsent {
                remote_task_id: None,
                remote: None,
            },
            JobState::Linked {
                remote_task_id,
                remote,
            } if awaits => JobState::AwaitingConsent {
                remote_task_id: Some(remote_task_id),
                remote: Some(remote),
            },
            JobState::AwaitingConsent {
                remote_task_id,
                remote,
            } if !awaits => match remote_task_id.zip(remote) {
                Some((remote_task_id, remote)) => JobState::Linked {
                    remote_task_id,
                    remote,
                },
                None => JobState::Prepared,
            },
            JobState::Settled {
                remote_task_id: Some(remote_task_id),
                remote,
            } if self.lacks_result(&remote) => JobState::Fetching {
                remote_task_id,
                remote,
            },
            JobState::Fetching {
                remote_task_id,
                remote,
            } if !self.lacks_result(&remote) => JobState::Settled {
                remote_task_id: Some(remote_task_id),
                remote,
            },
            fits => fits,
        };
        if self.is_settled() {
            self.webhook.sealed = None;
            self.heard = Heard::default();
        }
    }

    /// Takes over what changed.
    pub(crate) fn apply(&mut self, change: &JobChange) {
        let change = change.clone();
        self.artifacts
            .retain(|artifact| !change.dropped.contains(&artifact.artifact_id));
        for artifact in change.artifacts {
            artifact.merge_into(&mut self.artifacts, false);
        }
        self.updated_at = change.updated_at;
        self.state = change.state.unwrap_or_else(|| self.state.clone());
        self.attempts = change.attempts.unwrap_or(self.attempts);
        self.protection = change.protection.or_else(|| self.protection.take());
        self.fetches = change.fetches.unwrap_or(self.fetches);
        self.fetched = change.fetched.unwrap_or(self.fetched);
        self.words_alone = change.words_alone.unwrap_or(self.words_alone);
        self.wants_sign_in = change.wants_sign_in.unwrap_or(self.wants_sign_in);
        if let Some(keys) = change.sender_keys {
            self.sender_keys = keys;
        }
        if let Some(heard) = change.heard {
            self.heard = heard;
        }
        if let Some(endpoint) = change.endpoint {
            self.endpoint = endpoint;
        }
        if let Some(unkept) = change.unkept {
            self.unkept = unkept;
        }
        self.failing_since = change.failing_since.or(self.failing_since);
        self.tidy();
    }

    /// Ends the job without its agent: it could not be reached, or the task was called off.
    pub fn give_up(&mut self, state: TaskState, reason: impl Into<String>, now: Timestamp) {
        if !self.is_settled() {
            let remote = RemoteUpdate {
                state,
                text: Some(reason.into()),
                at: Some(now),
                consent: None,
            };
            self.state = JobState::Settled {
                remote_task_id: self.remote_task_id().cloned(),
                remote,
            };
            self.updated_at = now;
            self.tidy();
        }
    }

    /// Takes news in: idempotent, and in any order. A settled job ignores everything; `submitted` never follows
    /// anything else; news that its agent dates before what is known changes nothing.
    pub fn note(&mut self, news: Notification, now: Timestamp) -> Noted {
        let (known_id, known) = match &self.state {
            JobState::Fetching { .. } | JobState::Settled { .. } | JobState::Unknown => {
                return Noted::Nothing;
            }
            JobState::Prepared => (None, None),
            JobState::AwaitingConsent {
                remote_task_id,
                remote,
            } => (remote_task_id.as_ref(), remote.as_ref()),
            JobState::Linked {
                remote_task_id,
                remote,
            } => (Some(remote_task_id), Some(remote)),
        };
        if let (Some(known), Some(told)) = (known_id, &news.remote_task_id)
            && known != told
        {
            return Noted::Foreign;
        }
        let remote_task_id = known_id.cloned().or_else(|| news.remote_task_id.clone());
        let update = news.update.filter(|update| is_newer(known, update));

        let artifacts_before = self.artifacts.len();
        let mut artifacts = self.artifacts.clone();
        if news.snapshot && !news.artifacts.is_empty() {
            // All there is comes once more, so that what is too large is counted anew.
            self.unkept.clear();
        }
        if news.snapshot && (update.is_some() || known.is_none()) && !news.artifacts.is_empty() {
            artifacts = news.artifacts.into_iter().map(|(artifact, _)| artifact).collect();
        } else if !news.snapshot {
            for (artifact, append) in news.artifacts {
                artifact.merge_into(&mut artifacts, append);
            }
        }
        let artifacts_changed = artifacts.len() != artifacts_before || artifacts != self.artifacts;
        let linked_now = known_id.is_none() && remote_task_id.is_some();
        if update.is_none() && !artifacts_changed && !linked_now {
            return Noted::Nothing;
        }
        let remote = update.clone().or_else(|| known.cloned()).unwrap_or(RemoteUpdate {
            state: TaskState::Submitted,
            text: None,
            at: None,
            consent: None,
        });
        self.artifacts = artifacts;
        self.updated_at = now;
        let state = remote.state;
        self.wants_sign_in |= state == TaskState::AuthRequired;
        match (remote_task_id, state.is_terminal()) {
            (remote_task_id, true) => {
                self.state = JobState::Settled {
                    remote_task_id,
                    remote,
                }
            }
            (Some(remote_task_id), false) => {
                self.state = JobState::Linked {
                    remote_task_id,
                    remote,
                }
            }
            // News without a task id cannot link; what it brought besides is kept.
            (None, false) => {}
        }
        self.tidy();
        match state {
            _ if state.is_terminal() => Noted::Settled,
            _ if state.is_interrupted() && update.is_some() => Noted::Interrupted,
            _ => Noted::Progress,
        }
    }
}

fn is_newer(known: Option<&RemoteUpdate>, told: &RemoteUpdate) -> bool {
    let Some(known) = known else { return true };
    if known == told || told.state == TaskState::Submitted {
        return false;
    }
    match (known.at, told.at) {
        _ if told.state.is_terminal() => true,
        (Some(known_at), Some(told_at)) => told_at >= known_at,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::Part;

    fn job() -> Job {
        crate::testing::job(Timestamp::from_millis(0))
    }

    fn news(id: &str, state: TaskState, at: i64) -> Notification {
        Notification {
            remote_task_id: Some(RemoteTaskId::parse(id).unwrap()),
            update: Some(RemoteUpdate {
                state,
                text: None,
                at: Some(Timestamp::from_millis(at)),
                consent: None,
            }),
            artifacts: Vec::new(),
            snapshot: false,
        }
    }

    #[test]
    fn a_notification_that_overtakes_the_acknowledgement_links_and_settles() {
        let mut job = job();
        assert_eq!(
            job.note(news("r", TaskState::Completed, 5), Timestamp::from_millis(6)),
            Noted::Settled
        );
        assert_eq!(
            job.note(news("r", TaskState::Submitted, 1), Timestamp::from_millis(7)),
            Noted::Nothing
        );
        assert_eq!(job.remote_task_id().map(RemoteTaskId::as_str), Some("r"));
        assert_eq!(job.remote().map(|r| r.state), Some(TaskState::Completed));
    }

    #[test]
    fn a_late_working_and_duplicates_change_nothing() {
        let mut job = job();
        assert_eq!(
            job.note(news("r", TaskState::Working, 5), Timestamp::from_millis(6)),
            Noted::Progress
        );
        assert_eq!(
            job.note(news("r", TaskState::Working, 5), Timestamp::from_millis(7)),
            Noted::Nothing
        );
        assert_eq!(
            job.note(news("r", TaskState::Working, 4), Timestamp::from_millis(8)),
            Noted::Nothing
        );
        assert_eq!(
            job.note(news("other", TaskState::Completed, 9), Timestamp::from_millis(9)),
            Noted::Foreign
        );
        assert_eq!(
            job.note(news("r", TaskState::InputRequired, 9), Timestamp::from_millis(9)),
            Noted::Interrupted
        );
    }

    #[test]
    fn artifact_updates_append_and_a_snapshot_replaces() {
        let mut job = job();
        let piece = |text: &str, append| Notification {
            remote_task_id: Some(RemoteTaskId::parse("r").unwrap()),
            update: None,
            artifacts: vec![(Artifact::new("a", vec![Part::text(text)]), append)],
            snapshot: false,
        };
        assert_eq!(
            job.note(piece("1", false), Timestamp::from_millis(1)),
            Noted::Progress
        );
        assert_eq!(
            job.note(piece("2", true), Timestamp::from_millis(2)),
            Noted::Progress
        );
        assert_eq!(job.artifacts[0].text(), "1\n2");
        let mut done = news("r", TaskState::Completed, 3);
        done.snapshot = true;
        done.artifacts = vec![(Artifact::new("a", vec![Part::text("12")]), false)];
        assert_eq!(job.note(done, Timestamp::from_millis(3)), Noted::Settled);
        assert_eq!(job.artifacts[0].text(), "12");
    }

    #[test]
    fn a_change_says_what_changed_and_no_secret_again() {
        let before = job();
        let mut after = before.clone();
        after.note(news("r", TaskState::Working, 5), Timestamp::from_millis(6));
        after.heard.take(Some("id"), Timestamp::from_millis(6));
        after.artifacts.push(Artifact::new("a", vec![Part::text("1")]));
        let change = JobChange::between(&before, &after).unwrap();
        let text = serde_json::to_string(&change).unwrap();
        assert!(!text.contains("sealed") && !text.contains("endpoint"), "{text}");
        let mut read = before.clone();
        read.apply(&serde_json::from_str(&text).unwrap());
        assert_eq!(read, after);
        // A result that stays is not told again; one that goes is.
        let mut next = after.clone();
        next.attempts = 3;
        assert!(JobChange::between(&after, &next).unwrap().artifacts.is_empty());
        next.artifacts.clear();
        assert_eq!(JobChange::between(&after, &next).unwrap().dropped, ["a"]);
    }

    #[test]
    fn what_no_change_can_say_is_told_whole() {
        let before = Job {
            artifacts: vec![Artifact::new("a", vec![]), Artifact::new("b", vec![])],
            ..job()
        };
        let mut turned = before.clone();
        turned.artifacts.reverse();
        let other = Job {
            instruction: "Bergen".into(),
            ..before.clone()
        };
        assert_eq!(JobChange::between(&before, &turned), None);
        assert_eq!(JobChange::between(&before, &other), None);
    }

    /// A job in each phase, by its name.
    fn in_phases() -> BTreeMap<&'static str, Job> {
        let awaited = AwaitedConsent {
            id: "c".into(),
            expires_at: Timestamp::from_millis(60),
        };
        let mut waiting = job();
        waiting.protection = Some(Protection {
            provider: "idp".into(),
            scopes: Vec::new(),
            consent: Some(awaited),
            granted_at: None,
        });
        waiting.tidy();
        let told = |state| {
            let mut job = job();
            job.note(news("r", state, 1), Timestamp::from_millis(1));
            job
        };
        let mut settled = told(TaskState::Completed);
        settled.fetched = true;
        settled.tidy();
        let jobs = [
            job(),
            waiting,
            told(TaskState::Working),
            told(TaskState::Completed),
            settled,
            Job {
                state: JobState::Unknown,
                ..job()
            },
        ];
        jobs.into_iter().map(|job| (job.state.phase(), job)).collect()
    }

    #[test]
    fn a_phase_is_followed_by_those_of_the_table_and_by_no_other() {
        let phases = in_phases();
        assert_eq!(phases.len(), 6);
        let never = [
            ("linked", "prepared"),
            ("fetching", "prepared"),
            ("fetching", "awaiting-consent"),
            ("fetching", "linked"),
            ("settled", "prepared"),
            ("settled", "awaiting-consent"),
            ("settled", "linked"),
            ("settled", "fetching"),
        ];
        for (from, before) in &phases {
            for (to, after) in &phases {
                let can = before.state.can_become(&after.state);
                assert_eq!(can, !never.contains(&(from, to)), "{from} to {to}");
            }
        }
    }

    #[test]
    fn each_phase_survives_its_json_and_says_its_name() {
        for (phase, job) in in_phases() {
            let stored = serde_json::to_value(&job.state).unwrap();
            assert_eq!(stored["phase"], phase);
            assert_eq!(serde_json::from_value::<JobState>(stored).unwrap(), job.state);
        }
        let newer: JobState = serde_json::from_str(r#"{"phase":"bargaining","offer":3}"#).unwrap();
        assert_eq!(newer, JobState::Unknown);
    }

    #[test]
    fn a_job_waits_for_consent_in_a_phase_of_its_own_also_in_the_middle_of_its_agents_task() {
        let mut job = in_phases().remove("awaiting-consent").unwrap();
        job.note(news("r", TaskState::Working, 5), Timestamp::from_millis(6));
        assert_eq!(job.state.phase(), "awaiting-consent");
        assert_eq!(job.remote_task_id().map(RemoteTaskId::as_str), Some("r"));
        assert!(job.awaited_consent().is_some());
        if let Some(protection) = &mut job.protection {
            protection.consent = None;
        }
        job.tidy();
        assert_eq!(job.state.phase(), "linked");
    }

    #[test]
    fn a_job_that_is_over_keeps_its_tokens_hash_alone() {
        let mut job = job();
        job.heard.take(Some("id"), Timestamp::from_millis(1));
        let token = job.webhook.hash.clone();
        job.give_up(TaskState::Failed, "gone", Timestamp::from_millis(2));
        assert_eq!(
            (job.webhook.hash.clone(), job.webhook.sealed.clone()),
            (token, None)
        );
        assert!(job.heard.is_nothing());
        // Release 0.2 wants a text where the seal was.
        let stored = serde_json::to_value(&job).unwrap();
        assert_eq!(stored["webhook"]["sealed"], "");
        assert_eq!(serde_json::from_value::<Job>(stored).unwrap(), job);
    }

    proptest! {
        #[test]
        fn the_first_terminal_news_stays_whatever_else_comes(
            steps in prop::collection::vec((proptest::sample::select(TaskState::ALL.to_vec()), 0..9_i64), 0..20)
        ) {
            let mut job = job();
            let mut first: Option<TaskState> = None;
            for (state, at) in steps {
                let noted = job.note(news("r", state, at), Timestamp::from_millis(at));
                if first.is_none() && state.is_terminal() {
                    prop_assert_eq!(noted, Noted::Settled);
                    first = Some(state);
                } else if first.is_some() {
                    prop_assert_eq!(noted, Noted::Nothing);
                }
            }
            if let Some(first) = first { prop_assert_eq!(job.remote().map(|r| r.state), Some(first)); }
        }
    }
}
