//! Tasks: the current state with its `rev`, the log of events, the lease, what is due, push configurations.

mod commit;
mod configs;
mod create;
mod deliveries;
mod draft;
mod item;
mod lease;
mod list;
mod overview;
mod pieces;
mod push;
mod query;
mod retention;
mod revise;
mod stray;
mod watch;

use std::time::Duration;

use domain::{AgentName, Event, Generation, MessageId, PushConfigId, Task, TaskId, Tenant, Timestamp};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::Store;
use crate::blobs::Left;

pub use deliveries::{Delivery, DeliveryFilter, DeliveryState};
pub use draft::{AnswerDraft, DRAFT_MAX};
pub use item::DUE_SHARDS;
pub(crate) use item::{TASK, expiry, is_over, ledger_shard, message_key, owner_partition};
pub use overview::Unfinished;
pub use query::{TaskPage, TaskQuery};
pub use revise::{Decision, Revised};
pub use watch::Head;

/// Most push configurations of one task.
pub const MAX_PUSH_CONFIGS: usize = 10;

/// Where a task lies: nothing is found without tenant and agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TaskKey {
    /// Whose data it is.
    pub tenant: Tenant,
    /// The agent that does it.
    pub agent: AgentName,
    /// The task.
    pub id: TaskId,
}

impl TaskKey {
    /// The key of a task of an agent's.
    #[must_use]
    pub fn new(tenant: &Tenant, agent: &AgentName, id: TaskId) -> Self {
        Self {
            tenant: tenant.clone(),
            agent: agent.clone(),
            id,
        }
    }
}

impl From<&Task> for TaskKey {
    fn from(task: &Task) -> Self {
        Self::new(&task.tenant, &task.agent, task.id)
    }
}

/// Who works on a task, and until when nobody else may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The worker.
    pub holder: String,
    /// From then on the lease is anybody's.
    pub until: Timestamp,
}

/// A task as it lies in the table.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTask {
    /// The task.
    pub task: Task,
    /// The last lease, also an expired one.
    pub lease: Option<Lease>,
    /// When it is to be looked at next.
    pub due_at: Option<Timestamp>,
    /// How often it was leased since its attempts were last reset.
    pub attempts: u32,
    /// From then on it does not exist; whole seconds. None as long as it is not finished.
    pub expires_at: Option<Timestamp>,
}

/// When something is to be looked at next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// As it was.
    Keep,
    /// At this time.
    At(Timestamp),
    /// Not before something else happens.
    Never,
}

/// What becomes of the lease with a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseAfter<'a> {
    /// As it was.
    Keep,
    /// Given up by its holder, and the attempts reset. Where the lease is not that holder's any more, the commit is a conflict.
    Release {
        /// The worker that holds it.
        holder: &'a str,
    },
}

/// What becomes of the count of attempts when a lease is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempts {
    /// It goes on: the work failed.
    Keep,
    /// It starts anew: the work is done for now.
    Reset,
    /// It is as it was before this lease: nothing was tried.
    Uncounted,
}

/// Whom to tell of a task's changes, and how. Secrets are sealed before they come here.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushConfig {
    /// Its id within the task.
    pub id: PushConfigId,
    /// Where to.
    pub url: Url,
    /// In which protocol generation.
    pub generation: Generation,
    /// The client's token, sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_token: Option<String>,
    /// The scheme of the `Authorization` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// The credentials of that header, sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_credentials: Option<String>,
    /// Each event is told by itself, numbered, and with the first after which the task is over or waits the configuration goes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub every_event: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_false(told: &bool) -> bool {
    !told
}

impl std::fmt::Debug for PushConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PushConfig")
            .field("id", &self.id)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}

/// A new task with the message that asked for it.
#[derive(Debug, Clone)]
pub struct NewRecord<'a> {
    /// The task, `rev` 1; its `push_configs` name `push`.
    pub task: &'a Task,
    /// The idempotency key, within tenant, agent and owner.
    pub message_id: &'a MessageId,
    /// A hash of what was asked: a repeat must have the same.
    pub body_hash: &'a str,
    /// Whom to tell of changes.
    pub push: Option<&'a PushConfig>,
    /// Tasks are born due, so that a lost wake is found.
    pub due_at: Timestamp,
    /// How long the task, and all that hangs on it, is kept once it is finished; whole seconds.
    pub retention: Duration,
}

/// What became of a new task.
#[derive(Debug, Clone, PartialEq)]
pub enum Created {
    /// It is stored.
    New,
    /// The same message was stored before, with this task as it is now.
    Repeated(Box<StoredTask>),
    /// The message id was used before, for something else.
    MessageReused,
    /// There is a task of this id already, whosever it is.
    Taken,
}

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    /// It is stored.
    Yes,
    /// The task changed meanwhile: reload and decide anew.
    Conflict,
}

/// What became of a push configuration that was to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutPush {
    /// It is there now.
    New,
    /// It is there now, instead of the one of its id.
    Replaced,
    /// The task has [`MAX_PUSH_CONFIGS`] already.
    TooMany,
    /// There is no such task.
    Missing,
}

/// How a claimed delivery went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled<'a> {
    /// The number of the last event that is delivered.
    pub delivered: u64,
    /// How many events were told by themselves, where each is.
    pub numbered: u64,
    /// How often delivery failed since the last success.
    pub attempts: u32,
    /// When it was tried.
    pub at: Timestamp,
    /// When it is to be tried again. [`Due::Keep`] says that it went well, [`Due::Never`] parks it.
    pub due: Due,
    /// Why it failed, in words that may be shown.
    pub last_error: Option<&'a str>,
}

/// What became of the end of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushSettled {
    /// It is written down, and there is nothing more to do now.
    Done,
    /// It is written down, and due again: more has happened meanwhile than was delivered.
    News,
    /// The claim was lost: nothing is written.
    Lost,
}

/// What a push configuration has not been told yet.
#[derive(Debug)]
pub struct Owed {
    /// The events it was not told, oldest first and without a gap.
    pub events: Vec<Event>,
    /// The task as it is now; none where it has expired.
    pub stored: Option<StoredTask>,
}

/// What became of the wish for a lease.
#[derive(Debug, Clone, PartialEq)]
pub enum Leased {
    /// It is the caller's; the task as it is now.
    Taken(Box<StoredTask>),
    /// Somebody else's, and not expired.
    Held,
    /// Nobody's: the task is over, and nothing is left to do for it.
    Over(Box<StoredTask>),
    /// There is no such task.
    Missing,
    /// Its end came before what was due of it.
    Expired,
}

/// What a heartbeat found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// The lease holds.
    Kept,
    /// The lease is somebody else's by now, or nobody's.
    Lost,
}

/// Something that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// The task it belongs to.
    pub key: TaskKey,
    /// What is due.
    pub what: PointsAt,
    /// Since when.
    pub due_at: Timestamp,
}

/// What a pointer points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PointsAt {
    /// The task itself.
    Task,
    /// A delivery.
    Push(PushConfigId),
    /// The ledger of the key's tenant, whose host looks whether it is right.
    Ledger,
}

/// A delivery that the caller may make now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedPush {
    /// Whom to tell.
    pub config: PushConfig,
    /// The number of the last event that was delivered.
    pub delivered: u64,
    /// How many events were told by themselves, where each is.
    pub numbered: u64,
    /// How often delivery failed since the last success; what the last settlement said.
    pub attempts: u32,
}

/// The table of tasks.
#[derive(Clone, Copy)]
pub struct Tasks<'s> {
    pub(crate) store: &'s Store,
    /// What stays in the blob store.
    pub(crate) left: Left,
}

impl Tasks<'_> {
    /// The same, but of what is read from here on large strings stay in the blob store: references stand in their places, for whoever
    /// wants to know how a task stands. Such a task may be written back: it keeps what it refers to.
    #[must_use]
    pub fn bare(self) -> Self {
        Self {
            left: Left::Everything,
            ..self
        }
    }

    /// As [`bare`](Self::bare), but texts are read: for whoever shows tasks. How large a file is says [`file_size`](crate::file_size).
    #[must_use]
    pub fn without_files(self) -> Self {
        Self {
            left: Left::Files,
            ..self
        }
    }
}
