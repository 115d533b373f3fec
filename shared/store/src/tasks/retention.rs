//! The end of a finished task: everything that hangs on it ends with it, and nothing of a live task ever does.

use domain::{Keeping, Task};

use super::item::message_key;
use super::{TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Key, key_of};
use crate::dynamo::Query;
use crate::transact::Writes;

/// Most entries of the log that get their end in the transaction that finishes the task.
const ENTRIES_AT_ONCE: usize = 40;

/// Longest body, in bytes, of a task that ends in one transaction: the events of a larger one may be too large for it.
const SMALL: usize = 64 * 1024;

/// When a finished task ends, and what is there already that ends with it. What the commit writes itself is not in it.
pub(super) struct Ends {
    key: TaskKey,
    message: Key,
    /// The revisions whose entries of the log are there already.
    revisions: Vec<u64>,
    small: bool,
    /// Unix seconds.
    pub(super) at: i64,
}

impl Ends {
    pub(super) fn of(key: &TaskKey, task: &Task, keeping: &Keeping, at: i64, size: usize) -> Self {
        Self {
            key: key.clone(),
            message: message_key(&task.tenant, &task.agent, &task.owner, &keeping.message_id),
            revisions: keeping.revisions.clone(),
            small: is_short(&keeping.revisions) && size <= SMALL && keeping.pieces == 0,
            at,
        }
    }

    /// True where all of it fits into the transaction that finishes the task.
    pub(super) fn is_small(&self) -> bool {
        self.small
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
    /// Gives what is left of a large finished task its end. The task itself has one by now, so that nothing of it is
    /// found any more after that; where this fails, its log merely stays in the table.
    pub(super) async fn end_rest(&self, ends: &Ends) {
        if let Err(error) = self.try_end_rest(ends).await {
            let (key, error) = (&ends.key, &error as &dyn std::error::Error);
            tracing::warn!(tenant.id = %key.tenant, agent = %key.agent, task.id = %key.id, error, "a finished task's log got no end");
        }
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
