//! The end of a finished task: everything that hangs on it ends with it, and nothing of a live task ever does.

use std::time::Duration;

use domain::{Keeping, Task, Timestamp};

use super::item::{due_change, expiry, message_key};
use super::{Due, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Key, key_of};
use crate::dynamo::Query;
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

fn size_of(task: &Task) -> usize {
    task.to_stored().map_or(usize::MAX, |body| body.len())
}
