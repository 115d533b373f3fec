//! How a task and what belongs to it lie in the table: keys, items, and the way back.

use domain::{AgentName, MessageId, Owner, PushConfigId, Task, TaskId, TaskState, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Lease, StoredTask, TaskKey};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Item, Key, decode, document, inconsistent, parse};

/// Over how many partitions the index of due things is spread.
pub const DUE_SHARDS: u32 = 8;

/// The sort key of the task itself.
pub(super) const TASK: &str = "TASK";
const PUSH: &str = "PUSH#";

impl TaskKey {
    pub(super) fn partition(&self) -> String {
        format!("{}#{}#task#{}", self.tenant, self.agent, self.id)
    }

    pub(crate) fn task(&self) -> Key {
        (self.partition(), TASK.to_owned())
    }

    /// Numbers of events have twenty digits, so that their text sorts as they do.
    pub(crate) fn event(&self, seq: u64) -> Key {
        (self.partition(), format!("EVENT#{seq:020}"))
    }

    pub(crate) fn push(&self, config: &PushConfigId) -> Key {
        (self.partition(), format!("{PUSH}{config}"))
    }

    /// The shard its due things lie in: by the last digit of its id, which is random.
    pub(super) fn shard(&self) -> String {
        let digit = self
            .id
            .to_string()
            .chars()
            .last()
            .and_then(|digit| digit.to_digit(16));
        due_shard(digit.unwrap_or_default())
    }

    /// The task that a partition is of, and what the sort key names in it: itself, or one of its configurations.
    pub(crate) fn of((pk, sk): &Key) -> Option<(Self, Option<PushConfigId>)> {
        let mut parts = pk.split('#');
        let tenant = Tenant::parse_stored(parts.next()?).ok()?;
        let agent = AgentName::parse(parts.next()?).ok()?;
        let is_task = parts.next()? == "task";
        let id = TaskId::parse(parts.next()?).ok()?;
        if !is_task || parts.next().is_some() {
            return None;
        }
        let key = Self { tenant, agent, id };
        match sk.strip_prefix(PUSH) {
            Some(config) => Some((key, Some(PushConfigId::parse(config).ok()?))),
            None => (sk == TASK).then_some((key, None)),
        }
    }
}

/// Where a message id lies. It comes last, because its form is its sender's business.
pub(crate) fn message_key(tenant: &Tenant, agent: &AgentName, owner: &Owner, message: &MessageId) -> Key {
    (
        format!("{tenant}#{agent}#message#{owner}#{message}"),
        "MESSAGE".to_owned(),
    )
}

/// A partition of the index of due things.
pub(super) fn due_shard(shard: u32) -> String {
    format!("due#{}", shard % DUE_SHARDS)
}

pub(super) fn context_partition(
    tenant: &Tenant,
    agent: &AgentName,
    owner: &Owner,
    context: &domain::ContextId,
) -> String {
    format!("{tenant}#{agent}#context#{owner}#{context}")
}

pub(super) fn owner_partition(tenant: &Tenant, agent: &AgentName, owner: &Owner) -> String {
    format!("{tenant}#{agent}#owner#{owner}")
}

pub(super) fn status_partition(tenant: &Tenant, agent: &AgentName, state: TaskState) -> String {
    format!("{tenant}#{agent}#status#{}", state.as_str())
}

/// The id makes the place unique where several tasks have one time.
pub(super) fn sorted_at(at: Timestamp, id: TaskId) -> String {
    format!("{at}#{id}")
}

/// The item of a task.
#[derive(Serialize, Deserialize)]
pub(super) struct TaskItem {
    pub(super) pk: String,
    pub(super) sk: String,
    pub(super) rev: u64,
    pub(super) state: TaskState,
    pub(super) body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lease_holder: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lease_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) due_shard: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) due_at: Option<Timestamp>,
    pub(super) attempts: u32,
    pub(super) expires_at: i64,
    pub(super) context_pk: String,
    pub(super) context_sk: String,
    pub(super) owner_pk: String,
    pub(super) owner_sk: String,
    pub(super) status_pk: String,
    pub(super) status_sk: String,
}

impl TaskItem {
    pub(super) fn new(task: &Task, due_at: Timestamp, expires_at: Timestamp) -> Result<Self, StoreError> {
        let key = TaskKey::from(task);
        let (pk, sk) = key.task();
        let (tenant, agent, owner) = (&task.tenant, &task.agent, &task.owner);
        Ok(Self {
            pk,
            sk,
            rev: task.rev,
            state: task.status.state,
            body: document("the task", task)?,
            lease_holder: None,
            lease_until: None,
            due_shard: Some(key.shard()),
            due_at: Some(due_at),
            attempts: 0,
            expires_at: expiry(expires_at),
            context_pk: context_partition(tenant, agent, owner, &task.context_id),
            context_sk: sorted_at(task.created_at, task.id),
            owner_pk: owner_partition(tenant, agent, owner),
            owner_sk: sorted_at(task.status.at, task.id),
            status_pk: status_partition(tenant, agent, task.status.state),
            status_sk: sorted_at(task.status.at, task.id),
        })
    }
}

/// Whole seconds, as DynamoDB's own expiry wants them; rounded up, so that nothing ends early.
pub(crate) fn expiry(at: Timestamp) -> i64 {
    at.after(std::time::Duration::from_millis(999)).seconds()
}

/// Reads a task's item back; an expired one is no task any more.
pub(super) fn stored(table: &str, item: Item, now: Timestamp) -> Result<Option<StoredTask>, StoreError> {
    let item: TaskItem = decode(table, item)?;
    let key = (item.pk, item.sk);
    let expires_at = Timestamp::from_millis(item.expires_at.saturating_mul(1000));
    if expires_at <= now {
        return Ok(None);
    }
    let task: Task = parse(table, &key, &item.body)?;
    // The key is what authority goes by, so that a body that says otherwise must never be believed.
    if TaskKey::from(&task).task() != key || task.rev != item.rev {
        return Err(inconsistent(
            table,
            &key,
            "its body is of another task or revision",
        ));
    }
    let lease = item
        .lease_holder
        .zip(item.lease_until)
        .map(|(holder, until)| Lease { holder, until });
    Ok(Some(StoredTask {
        task,
        lease,
        due_at: item.due_at,
        attempts: item.attempts,
        expires_at,
    }))
}

/// The changes that make something due, or not.
pub(super) fn due_change(change: Change, key: &TaskKey, due: super::Due) -> Change {
    match due {
        super::Due::Keep => change,
        super::Due::At(at) => change.set("due_shard", text(key.shard())).set("due_at", text(at)),
        super::Due::Never => change.remove(&["due_shard", "due_at"]),
    }
}

/// Clears what is due of an item that has expired, so that it is not found due for ever.
pub(super) fn expired_change(now: Timestamp) -> Change {
    Change::new()
        .remove(&["due_shard", "due_at"])
        .when("#expires_at <= :now_s")
        .value("now_s", number(now.seconds()))
}
