//! Tasks: the current state with its `rev`, the log of events, the lease, what is due, push configurations.

use domain::{
    AgentName, ContextId, Event, Generation, MessageId, Owner, PushConfigId, Revision, Task, TaskId,
    TaskState, Tenant, Timestamp,
};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{Page, PageRequest, Store, StoreError};

/// Over how many partitions the index of due things is spread.
pub const DUE_SHARDS: u32 = 8;

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

impl From<&Task> for TaskKey {
    fn from(task: &Task) -> Self {
        Self {
            tenant: task.tenant.clone(),
            agent: task.agent.clone(),
            id: task.id,
        }
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
    /// How often it was leased since a worker last let go of it with a commit.
    pub attempts: u32,
    /// From then on it does not exist; whole seconds.
    pub expires_at: Timestamp,
    /// True where somebody asked for it to be called off.
    pub cancel_requested: bool,
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
    /// Given up by its holder. Where the lease is not that holder's any more, the commit is a conflict.
    Release {
        /// The worker that holds it.
        holder: &'a str,
    },
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
    /// When the task and all that belongs to it ends.
    pub expires_at: Timestamp,
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
}

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    /// It is stored.
    Yes,
    /// The task changed meanwhile: reload and decide anew.
    Conflict,
}

/// What became of the wish for a lease.
#[derive(Debug, Clone, PartialEq)]
pub enum Leased {
    /// It is the caller's; the task as it is now.
    Taken(Box<StoredTask>),
    /// Somebody else's, and not expired.
    Held,
    /// There is no such task.
    Missing,
}

/// What a heartbeat found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// The lease holds.
    Kept {
        /// True where the task is to be called off.
        cancel_requested: bool,
    },
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
}

/// A delivery that the caller may make now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedPush {
    /// Whom to tell.
    pub config: PushConfig,
    /// The number of the last event that was delivered.
    pub delivered: u64,
    /// How often delivery failed since the last success; what the last settlement said.
    pub attempts: u32,
}

/// The table of tasks.
#[derive(Clone, Copy)]
pub struct Tasks<'s> {
    pub(crate) store: &'s Store,
}

impl Tasks<'_> {
    /// Stores a new task, its first event and its message's id, in one transaction.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where the task does not fit; otherwise what the database says.
    pub async fn create(&self, new: NewRecord<'_>) -> Result<Created, StoreError> {
        todo!()
    }

    /// The task, as of now; one consistent read. An expired one is absent.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find(&self, key: &TaskKey, now: Timestamp) -> Result<Option<StoredTask>, StoreError> {
        todo!()
    }

    /// Writes a revision: compare-and-swap on the `rev` that was read, the events appended, what is due, and the
    /// push configurations marked where there is news for them. One transaction.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn commit(
        &self,
        revision: &Revision,
        due: Due,
        lease: LeaseAfter<'_>,
    ) -> Result<Committed, StoreError> {
        todo!()
    }

    /// Takes the lease, where it is free, expired, or the holder's own. Counts an attempt, and makes the task due
    /// when the lease ends.
    ///
    /// # Errors
    /// What the database says.
    pub async fn lease(
        &self,
        key: &TaskKey,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Leased, StoreError> {
        todo!()
    }

    /// Prolongs the lease without touching `rev`.
    ///
    /// # Errors
    /// What the database says.
    pub async fn heartbeat(&self, key: &TaskKey, holder: &str, until: Timestamp) -> Result<Beat, StoreError> {
        todo!()
    }

    /// Gives the lease up. False where the task changed since `seen_rev`, a cancel came that the holder has not
    /// seen, or the lease was lost: the lease is then as it was.
    ///
    /// # Errors
    /// What the database says.
    pub async fn release(
        &self,
        key: &TaskKey,
        holder: &str,
        seen_rev: u64,
        due: Due,
    ) -> Result<bool, StoreError> {
        todo!()
    }

    /// Asks whoever works on the task to call it off, and makes it due. `rev` is not touched. `None` where there is
    /// no such task.
    ///
    /// # Errors
    /// What the database says.
    pub async fn request_cancel(
        &self,
        key: &TaskKey,
        now: Timestamp,
    ) -> Result<Option<StoredTask>, StoreError> {
        todo!()
    }

    /// The events after number `after`, oldest first.
    ///
    /// # Errors
    /// What the database says.
    pub async fn events(&self, key: &TaskKey, after: u64, limit: u32) -> Result<Vec<Event>, StoreError> {
        todo!()
    }

    /// An owner's tasks of one conversation, newest last, at most 1000.
    ///
    /// # Errors
    /// What the database says.
    pub async fn by_context(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        owner: &Owner,
        context: &ContextId,
        now: Timestamp,
    ) -> Result<Vec<Task>, StoreError> {
        todo!()
    }

    /// An owner's tasks, newest status first.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] for a cursor of another listing; otherwise what the database says.
    pub async fn by_owner(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        owner: &Owner,
        page: PageRequest,
        now: Timestamp,
    ) -> Result<Page<Task>, StoreError> {
        todo!()
    }

    /// An agent's tasks in one state, newest status first.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] for a cursor of another listing; otherwise what the database says.
    pub async fn by_status(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        state: TaskState,
        page: PageRequest,
        now: Timestamp,
    ) -> Result<Page<Task>, StoreError> {
        todo!()
    }

    /// What is due in one of the [`DUE_SHARDS`] shards, longest overdue first.
    ///
    /// # Errors
    /// What the database says.
    pub async fn due(&self, shard: u32, now: Timestamp, limit: u32) -> Result<Vec<Pointer>, StoreError> {
        todo!()
    }

    /// Claims a delivery that is due and that nobody else makes; `None` where there is nothing to do.
    ///
    /// # Errors
    /// What the database says.
    pub async fn claim_push(
        &self,
        key: &TaskKey,
        config: &PushConfigId,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<ClaimedPush>, StoreError> {
        todo!()
    }

    /// Writes down how a claimed delivery went and gives the claim up. [`Due::Keep`]: due again only if there was
    /// news meanwhile. False where the claim was lost.
    ///
    /// # Errors
    /// What the database says.
    pub async fn settle_push(
        &self,
        key: &TaskKey,
        config: &PushConfigId,
        holder: &str,
        delivered: u64,
        attempts: u32,
        due: Due,
    ) -> Result<bool, StoreError> {
        todo!()
    }
}
