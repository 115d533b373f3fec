//! How a task and what belongs to it lie in the table: keys, items, and the way back.

use std::time::Duration;

use domain::{
    AgentName, Keeping, MessageId, Owner, PushConfigId, Task, TaskId, TaskState, Tenant, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{Lease, StoredTask, TaskKey};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Item, Key, decode, inconsistent, parse, place};
use crate::packed::Packed;

/// Over how many partitions the index of due things is spread.
pub const DUE_SHARDS: u32 = 8;

/// The sort key of the task itself.
pub(crate) const TASK: &str = "TASK";
const PIECE: &str = "TASK#PIECE#";
pub(super) const EVENT: &str = "EVENT#";
pub(super) const PUSH: &str = "PUSH#";

impl TaskKey {
    pub(super) fn partition(&self) -> String {
        format!("{}#{}#task#{}", self.tenant.prefix(), self.agent, self.id)
    }

    pub(crate) fn task(&self) -> Key {
        (self.partition(), TASK.to_owned())
    }

    /// An entry of the log, by the number of its last event. Numbers have twenty digits, so that their text sorts as
    /// they do.
    pub(crate) fn entry(&self, last: u64) -> Key {
        (self.partition(), format!("{EVENT}{last:020}"))
    }

    /// A piece of the task's body, counted from 1.
    pub(super) fn piece(&self, number: u32) -> Key {
        (self.partition(), format!("{PIECE}{number:03}"))
    }

    /// A piece of an entry, counted from 1; sorted right behind it.
    pub(super) fn entry_piece(&self, last: u64, number: u32) -> Key {
        let (pk, sk) = self.entry(last);
        (pk, format!("{sk}#{number:03}"))
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

    /// What stands for a tenant's ledger among the due things: no task has this id.
    pub(super) fn ledger(tenant: Tenant) -> Option<Self> {
        let agent = AgentName::parse("host").ok()?;
        let id = TaskId::from_bytes([0; 16]);
        Some(Self { tenant, agent, id })
    }

    /// True for [`PointsAt::Ledger`](super::PointsAt::Ledger)'s.
    #[must_use]
    pub fn is_ledger(&self) -> bool {
        *self.id.as_bytes() == [0; 16]
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

/// True for the sort key of a piece of a task's body. Readers of a task's partition pass over keys that they do not know:
/// a newer release may lay more beside a task.
pub(super) fn is_piece(sk: &str) -> bool {
    sk.strip_prefix(PIECE).is_some_and(is_number)
}

/// True for the sort key of an entry of the log, or of a piece of one.
pub(super) fn is_entry(sk: &str) -> bool {
    sk.strip_prefix(EVENT)
        .is_some_and(|rest| rest.split('#').count() <= 2 && rest.split('#').all(is_number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Where a message id lies. It comes last, because its form is its sender's business.
pub(crate) fn message_key(tenant: &Tenant, agent: &AgentName, owner: &Owner, message: &MessageId) -> Key {
    (
        format!("{}#{agent}#message#{owner}#{message}", tenant.prefix()),
        "MESSAGE".to_owned(),
    )
}

/// The shard that a tenant's ledger lies in.
pub(crate) fn ledger_shard(tenant: &Tenant) -> String {
    due_shard(tenant.prefix().bytes().map(u32::from).sum())
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
    format!("{}#{agent}#context#{owner}#{context}", tenant.prefix())
}

pub(crate) fn owner_partition(tenant: &Tenant, agent: &AgentName, owner: &Owner) -> String {
    format!("{}#{agent}#owner#{owner}", tenant.prefix())
}

/// Where an agent's deliveries are listed.
pub(super) fn deliveries_partition(tenant: &Tenant, agent: &AgentName) -> String {
    format!("{}#{agent}#deliveries", tenant.prefix())
}

/// Where an agent's parked deliveries are listed.
pub(super) fn parked_partition(tenant: &Tenant, agent: &AgentName) -> String {
    format!("{}#{agent}#parked", tenant.prefix())
}

/// Where an agent's tasks are listed that are not over.
pub(super) fn unfinished_partition(tenant: &Tenant, agent: &AgentName) -> String {
    format!("{}#{agent}#status#unfinished", tenant.prefix())
}

/// Where an agent's tasks are counted that ended so.
pub(super) fn ended_partition(tenant: &Tenant, agent: &AgentName, state: TaskState) -> String {
    format!("{}#{agent}#status#{}", tenant.prefix(), state.as_str())
}

/// Where a task stands among all of its tenant's, for the tenant's operators: the host's alone, and not once it is completed. An
/// unfinished one stands where it stood when it was made, whatever its state, so that a task's life moves its entry once.
pub(super) fn status_place(task: &Task) -> Option<(String, String)> {
    let Task {
        tenant,
        agent,
        status,
        ..
    } = task;
    match status.state {
        _ if !agent.is_host() => None,
        TaskState::Completed => None,
        state if state.is_terminal() => Some((
            ended_partition(tenant, agent, state),
            sorted_at(status.at, task.id),
        )),
        _ => Some((
            unfinished_partition(tenant, agent),
            sorted_at(task.created_at, task.id),
        )),
    }
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
    /// The task as JSON; empty where it lies in pieces.
    pub(super) body: Packed,
    /// In how many pieces the body lies beside this item.
    pub(super) pieces: u32,
    /// The write that the pieces are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) written_by: Option<String>,
    /// Who wants to be told of changes, as a JSON list: what the body says of it is not looked at, because a
    /// configuration comes and goes without a new revision.
    pub(super) push: String,
    /// The idempotency key it was made under.
    pub(super) message_id: MessageId,
    /// How many seconds it is kept once it is finished.
    pub(super) retention: u64,
    /// Whether the ledger has admitted it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) admitted: bool,
    /// The revisions that its log was written in; of a long log the first.
    pub(super) revisions: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lease_holder: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lease_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) due_shard: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) due_at: Option<Timestamp>,
    pub(super) attempts: u32,
    /// None as long as it is not finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<i64>,
    // Its places in the indexes are there for DynamoDB alone: a release may leave out what it has no use for.
    #[serde(skip_deserializing)]
    pub(super) context_pk: String,
    #[serde(skip_deserializing)]
    pub(super) context_sk: String,
    #[serde(skip_deserializing)]
    pub(super) owner_pk: String,
    #[serde(skip_deserializing)]
    pub(super) owner_sk: String,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) status_pk: Option<String>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) status_sk: Option<String>,
}

impl TaskItem {
    pub(super) fn key(&self) -> Key {
        (self.pk.clone(), self.sk.clone())
    }

    /// What the next write of the task needs to know.
    pub(super) fn keeping(&self) -> Keeping {
        Keeping {
            retention: Duration::from_secs(self.retention),
            message_id: self.message_id.clone(),
            pieces: self.pieces,
            revisions: self.revisions.clone(),
        }
    }

    /// Its push configurations.
    pub(super) fn push_configs(&self, table: &str) -> Result<Vec<PushConfigId>, StoreError> {
        parse(table, &self.key(), &self.push)
    }

    /// The task of this item and its body.
    pub(super) fn with_body(self, table: &str, body: &str) -> Result<StoredTask, StoreError> {
        let key = self.key();
        let mut task = Task::from_stored(body).map_err(|error| inconsistent(table, &key, place(&error)))?;
        // The key is what authority goes by, so that a body that says otherwise must never be believed.
        if TaskKey::from(&task).task() != key || task.rev != self.rev {
            return Err(inconsistent(
                table,
                &key,
                "its body is of another task or revision",
            ));
        }
        task.push_configs = self.push_configs(table)?;
        task.kept.keeping = Some(self.keeping());
        task.kept.admitted = self.admitted;
        let lease = self.lease_holder.zip(self.lease_until);
        Ok(StoredTask {
            task,
            lease: lease.map(|(holder, until)| Lease { holder, until }),
            due_at: self.due_at,
            attempts: self.attempts,
            expires_at: self.expires_at.map(ended),
        })
    }
}

/// The push configurations of a task as they lie in its item.
pub(super) fn push_list(configs: &[PushConfigId]) -> String {
    serde_json::Value::from_iter(configs.iter().map(PushConfigId::as_str)).to_string()
}

fn ended(expires_at: i64) -> Timestamp {
    Timestamp::from_millis(expires_at.saturating_mul(1000))
}

/// True where the item has ended. One without an end is of a task that is not finished.
pub(crate) fn is_over(expires_at: Option<i64>, now: Timestamp) -> bool {
    expires_at.is_some_and(|at| ended(at) <= now)
}

/// The condition that an item has not ended, over `:now_s`.
pub(super) const NOT_OVER: &str = "attribute_not_exists(#expires_at) OR #expires_at > :now_s";

/// Whole seconds, as DynamoDB's own expiry wants them; rounded up, so that nothing ends early.
pub(crate) fn expiry(at: Timestamp) -> i64 {
    at.after(Duration::from_millis(999)).seconds()
}

/// Reads a task's item; an expired one is no task any more.
pub(super) fn task_item(table: &str, item: Item, now: Timestamp) -> Result<Option<TaskItem>, StoreError> {
    let item: TaskItem = decode(table, item)?;
    Ok((!is_over(item.expires_at, now)).then_some(item))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_of_different_things_differ_and_are_read_back(
            one in ("[a-z][a-z0-9-]{1,5}", "[a-z][a-z0-9_-]{1,5}", any::<[u8; 16]>(), "[!-~]{1,12}", "[!-\"$-~]{1,8}"),
            two in ("[a-z][a-z0-9-]{1,5}", "[a-z][a-z0-9_-]{1,5}", any::<[u8; 16]>(), "[!-~]{1,12}", "[!-\"$-~]{1,8}"),
        ) {
            let parse = |(tenant_name, agent_name, id, foreign, owner_name): &(String, String, [u8; 16], String, String)| {
                let tenant = Tenant::parse(tenant_name).unwrap_or_else(|_| Tenant::public());
                let key = TaskKey { tenant, agent: AgentName::parse(agent_name).unwrap(), id: TaskId::from_bytes(*id) };
                (key, PushConfigId::parse(foreign).unwrap(), Owner::parse(owner_name).unwrap(), MessageId::parse(foreign).unwrap())
            };
            let (one, two) = (parse(&one), parse(&two));
            let message = |(key, _, owner, message): &(TaskKey, PushConfigId, Owner, MessageId)| {
                message_key(&key.tenant, &key.agent, owner, message)
            };
            prop_assert_eq!(one.0 == two.0, one.0.task() == two.0.task());
            let alike = (&one.0.tenant, &one.0.agent, &one.2, &one.3) == (&two.0.tenant, &two.0.agent, &two.2, &two.3);
            prop_assert_eq!(alike, message(&one) == message(&two));
            for (key, config, _, _) in [one, two] {
                prop_assert_eq!(TaskKey::of(&key.task()), Some((key.clone(), None)));
                prop_assert_eq!(TaskKey::of(&key.push(&config)), Some((key.clone(), Some(config))));
                prop_assert_eq!(TaskKey::of(&key.entry(7)), None);
            }
        }
    }
}
