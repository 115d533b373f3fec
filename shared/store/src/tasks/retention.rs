//! The end of a finished task: everything that hangs on it ends with it, and nothing of a live task ever does.

use std::collections::HashSet;
use std::time::Duration;

use domain::{AgentName, Keeping, PushConfigId, Task, Tenant, Timestamp};

use super::item::{DUE_SHARDS, TASK, due_change, expiry, message_key, unfinished_partition};
use super::{Due, PointsAt, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Key, key_of};
use crate::dynamo::Query;
use crate::schema::BY_STATUS;
use crate::transact::Writes;

/// Most entries of the log that get their end in the transaction that finishes the task.
const ENTRIES_AT_ONCE: usize = 40;

/// Longest body, in bytes, of a task that ends in one transaction: the events of a larger one may be too large for it.
const SMALL: usize = 64 * 1024;

/// When a finished task is looked at again whose log did not get its end: its writer may have been lost over it.
const AGAIN: Duration = Duration::from_secs(60);

/// When a finished task ends, and what is there already that ends with it. What the commit writes itself is not in it.
pub(super) struct Ends {
    key: TaskKey,
    message: Key,
    /// The revisions whose entries of the log are there already.
    revisions: Vec<u64>,
    small: bool,
    /// When it is due until its log has its end, where nothing else is.
    again: Timestamp,
    /// Unix seconds.
    pub(super) at: i64,
}

impl Ends {
    /// None for a task that is not finished.
    pub(super) fn of(task: &Task, keeping: &Keeping, size: usize) -> Option<Self> {
        if !task.status.state.is_terminal() {
            return None;
        }
        Some(Self {
            key: TaskKey::from(task),
            message: message_key(&task.tenant, &task.agent, &task.owner, &keeping.message_id),
            revisions: keeping.revisions.clone(),
            small: is_short(&keeping.revisions) && size <= SMALL && keeping.pieces == 0,
            again: task.status.at.after(AGAIN),
            at: expiry(task.status.at.after(keeping.retention)),
        })
    }

    /// True where all of it fits into the transaction that finishes the task.
    pub(super) fn is_small(&self) -> bool {
        self.small
    }

    /// What is due of the task with the write that finishes it.
    pub(super) fn due(&self, otherwise: Due) -> Due {
        match otherwise {
            Due::Never if !self.small => Due::At(self.again),
            otherwise => otherwise,
        }
    }

    pub(super) fn write(&self, writes: &mut Writes, table: &str) -> Result<(), StoreError> {
        writes.update(table, &self.message, self.change())?;
        for revision in &self.revisions {
            writes.update(table, &self.key.entry(*revision), self.change())?;
        }
        Ok(())
    }

    fn change(&self) -> Change {
        Change::new()
            .set("expires_at", number(self.at))
            .when("attribute_exists(#pk)")
    }
}

/// True where every entry of the log is in the list of its revisions.
pub(super) fn is_short(revisions: &[u64]) -> bool {
    revisions.len() < ENTRIES_AT_ONCE
}

impl Tasks<'_> {
    /// Gives a finished task's log its end where the write that finished the task had no room for that, and nobody came
    /// to it afterwards. For other tasks there is nothing to do, and no request is made.
    ///
    /// # Errors
    /// What the database says.
    pub async fn end(&self, task: &Task) -> Result<(), StoreError> {
        let keeping = task.kept.keeping.as_ref();
        let ends = keeping.and_then(|keeping| Ends::of(task, keeping, size_of(task)));
        match ends.filter(|ends| !ends.small) {
            Some(ends) => self.try_end_rest(&ends).await,
            None => Ok(()),
        }
    }

    /// Gives what is left of a large finished task its end. The task itself has one by now, so that nothing of it is
    /// found any more after that; where this fails, the task stays due, and whoever is woken for it tries again.
    pub(super) async fn end_rest(&self, ends: &Ends, rev: u64) {
        let ended = async {
            self.try_end_rest(ends).await?;
            let nothing_else = due_change(Change::new(), &ends.key, Due::Never)
                .when("#rev = :rev AND #due_at = :due_at")
                .value("rev", number(rev))
                .value("due_at", text(ends.again));
            let place = ends.key.task();
            self.store.update(self.table(), &place, nothing_else).await?;
            Ok::<_, StoreError>(())
        };
        if let Err(error) = ended.await {
            let (key, error) = (&ends.key, &error as &dyn std::error::Error);
            tracing::warn!(tenant.id = key.tenant.name(), agent = %key.agent, task.id = %key.id, error, "a finished task's log got no end yet");
        }
    }

    /// Puts off what is due now of a task, or of one of its deliveries.
    ///
    /// # Errors
    /// What the database says.
    pub async fn put_off(
        &self,
        key: &TaskKey,
        delivery: Option<&PushConfigId>,
        (now, until): (Timestamp, Timestamp),
    ) -> Result<(), StoreError> {
        let place = delivery.map_or_else(|| key.task(), |config| key.push(config));
        let change = Change::new()
            .set("due_at", text(until))
            .when("#due_at <= :now")
            .value("now", text(now));
        self.store.update(self.table(), &place, change).await?;
        Ok(())
    }

    /// Makes all due now that is due of a tenant some day: what was put off while it was suspended is not told from the rest,
    /// and looking too early harms nothing.
    ///
    /// # Errors
    /// What the database says.
    pub async fn hasten(&self, tenant: &Tenant, now: Timestamp) -> Result<(), StoreError> {
        for (key, what) in self.due_some_day(tenant).await? {
            let place = match &what {
                PointsAt::Task => key.task(),
                PointsAt::Push(config) => key.push(config),
                PointsAt::Ledger => continue,
            };
            let change = Change::new()
                .set("due_at", text(now))
                .when("attribute_exists(#due_at)");
            self.store.update(self.table(), &place, change).await?;
        }
        Ok(())
    }

    /// Ends what a removed tenant leaves of tasks that are not over, of its host and of every agent that something is due of.
    ///
    /// # Errors
    /// What the database says; a repeat goes on.
    pub async fn end_all(&self, tenant: &Tenant, host: &AgentName, now: Timestamp) -> Result<(), StoreError> {
        let partition = unfinished_partition(tenant, host);
        let unfinished = Query {
            table: self.table(),
            index: Some(BY_STATUS.name),
            condition: "#status_pk = :partition",
            values: vec![(":partition", text(partition))],
            ..Query::default()
        };
        let unfinished = self.store.query_all(unfinished).await?;
        let unfinished = unfinished.iter().map(|item| key_of(self.table(), item));
        let unfinished: Vec<Key> = unfinished.collect::<Result<_, _>>()?;
        let unfinished = unfinished.iter().filter_map(|place| Some(TaskKey::of(place)?.0));
        let due = self.due_some_day(tenant).await?.into_iter().map(|(key, _)| key);
        for key in due.chain(unfinished).collect::<HashSet<_>>() {
            self.end_left(&key, now).await?;
        }
        Ok(())
    }

    /// Ends what a removed tenant left of a task: all of it has an end then, and nothing is due of it. The task itself comes last, so
    /// that it is due until the rest is done.
    ///
    /// # Errors
    /// What the database says; a repeat goes on.
    pub async fn end_left(&self, key: &TaskKey, now: Timestamp) -> Result<(), StoreError> {
        if key.is_ledger() {
            return self.store.ledger().look_no_more(&key.tenant).await;
        }
        let stored = self.find(key, now).await?.map(|stored| stored.task);
        let kept = stored
            .as_ref()
            .and_then(|task| Some((task, task.kept.keeping.as_ref()?)));
        let retention = kept.map(|(_, keeping)| keeping.retention);
        let at = expiry(now.after(retention.unwrap_or_default()));
        let left = Query {
            table: self.table(),
            condition: "#pk = :pk",
            filter: Some("attribute_not_exists(#expires_at) OR attribute_exists(#due_at)"),
            only: Some("#pk, #sk"),
            values: vec![(":pk", text(key.partition()))],
            ..Query::default()
        };
        let left = self.store.query_all(left).await?;
        let left = left.iter().map(|item| key_of(self.table(), item));
        let mut left: Vec<Key> = left.collect::<Result<_, _>>()?;
        left.sort_by_key(|(_, sk)| sk == TASK);
        let message = kept
            .map(|(task, keeping)| message_key(&key.tenant, &key.agent, &task.owner, &keeping.message_id));
        for place in message.into_iter().chain(left) {
            let change = Change::new()
                .set_to("expires_at", "if_not_exists(#expires_at, :end)")
                .value("end", number(at))
                .when("attribute_exists(#pk)");
            let change = due_change(change, key, Due::Never);
            self.store.update(self.table(), &place, change).await?;
        }
        Ok(())
    }

    /// What is due of a tenant, whenever that is. The index has no place for a tenant, so that all of it is read: for an operator.
    async fn due_some_day(&self, tenant: &Tenant) -> Result<Vec<(TaskKey, PointsAt)>, StoreError> {
        let mut own = Vec::new();
        for shard in 0..DUE_SHARDS {
            let mut cursor = None;
            loop {
                let page = self
                    .due(shard, Timestamp::from_millis(i64::MAX), 1000, cursor.as_deref())
                    .await?;
                let pointers = page.items.into_iter().filter(|each| each.key.tenant == *tenant);
                own.extend(pointers.map(|each| (each.key, each.what)));
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(own)
    }

    async fn try_end_rest(&self, ends: &Ends) -> Result<(), StoreError> {
        let endless = Query {
            table: self.table(),
            condition: "#pk = :pk",
            filter: Some("attribute_not_exists(#expires_at)"),
            only: Some("#pk, #sk"),
            values: vec![(":pk", text(ends.key.partition()))],
            ..Query::default()
        };
        let mut keys = vec![ends.message.clone()];
        for item in self.store.query_all(endless).await? {
            keys.push(key_of(self.table(), &item)?);
        }
        for key in keys {
            self.store.update(self.table(), &key, ends.change()).await?;
        }
        Ok(())
    }
}

/// How long its body is without what lies in the blob store.
fn size_of(task: &Task) -> usize {
    let beside: usize = task.kept.beside.values().sum();
    task.to_stored()
        .map_or(usize::MAX, |body| body.len().saturating_sub(beside))
}
