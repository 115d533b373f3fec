//! Tasks of other agents that became known only after one's own was over: a finished task takes nothing more, and
//! somebody has to call them off all the same.

use domain::{RemoteTaskId, Timestamp};
use serde::{Deserialize, Serialize};

use super::item::{NOT_OVER, due_change};
use super::{Due, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Key, decode, encode};
use crate::transact::{Transacted, Writes};

/// The item of a stray.
#[derive(Serialize, Deserialize)]
struct StrayItem {
    pk: String,
    sk: String,
    remote_task_id: RemoteTaskId,
    /// Unix seconds.
    expires_at: i64,
}

impl StrayItem {
    fn new(key: &TaskKey, job: u32, remote: &RemoteTaskId, until: Timestamp) -> Self {
        let (pk, sk) = place(key, job);
        Self {
            pk,
            sk,
            remote_task_id: remote.clone(),
            expires_at: until.seconds(),
        }
    }
}

fn place(key: &TaskKey, job: u32) -> Key {
    (key.partition(), format!("STRAY#{job}"))
}

impl Tasks<'_> {
    /// Remembers the remote task of a job whose own task is over, for whoever holds the task's lease: letting that go
    /// says when the task is due again.
    ///
    /// # Errors
    /// What the database says.
    pub async fn put_stray(
        &self,
        key: &TaskKey,
        job: u32,
        remote: &RemoteTaskId,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let item = encode(&StrayItem::new(key, job, remote, until))?;
        self.store.put(self.table(), item, Change::new()).await?;
        Ok(())
    }

    /// As [`Tasks::put_stray`], for somebody who does not hold the lease: the task becomes due, in the same
    /// transaction. False where somebody works on the task right now, or where it is gone; nothing is written then.
    ///
    /// # Errors
    /// What the database says.
    pub async fn report_stray(
        &self,
        key: &TaskKey,
        job: u32,
        remote: &RemoteTaskId,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let due = Change::new()
            .when("attribute_exists(#pk)")
            .when_free("lease_until", text, now)
            .when(NOT_OVER)
            .value("now_s", number(now.seconds()));
        let mut writes = Writes::default();
        writes.update(self.table(), &key.task(), due_change(due, key, Due::At(now)))?;
        let item = encode(&StrayItem::new(key, job, remote, until))?;
        writes.put(self.table(), item, Change::new())?;
        Ok(matches!(self.store.transact(writes).await?, Transacted::Done))
    }

    /// The remote task that was remembered for this job.
    ///
    /// # Errors
    /// What the database says.
    pub async fn stray(&self, key: &TaskKey, job: u32) -> Result<Option<RemoteTaskId>, StoreError> {
        let found = self.store.item(self.table(), &place(key, job)).await?;
        let read = |item| decode::<StrayItem>(self.table(), item).map(|item| item.remote_task_id);
        found.map(read).transpose()
    }
}
