//! The lease: who works on a task.

use domain::Timestamp;

use super::item::{NOT_OVER, due_change, expired_change, task_item};
use super::{Attempts, Beat, Due, Leased, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::{Item, text_of};
use crate::dynamo::Written;

impl Tasks<'_> {
    /// Takes the lease, where it is free, expired, or the holder's own. Counts an attempt, and makes the task due
    /// when the lease ends. A repeat whose first answer was lost finds its own work, and counts nothing more.
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
        let change = Change::new()
            .set("lease_holder", text(holder))
            .set("lease_until", text(until))
            .set_to("attempts", "#attempts + :one")
            .value("one", number(1))
            .when("attribute_exists(#pk)")
            .when(NOT_OVER)
            .value("now_s", number(now.seconds()));
        let change = due_change(change, key, Due::At(until));
        let place = key.task();
        let free = change
            .clone()
            .when("attribute_not_exists(#lease_until) OR #lease_until <= :now")
            .value("now", text(now));
        let known = match self.store.update(self.table(), &place, free).await? {
            Written::Done(item) => return self.taken(item, now).await,
            Written::Refused(None) => return Ok(Leased::Missing),
            Written::Refused(Some(item)) => item,
        };
        let Some(task) = task_item(self.table(), known.clone(), now)? else {
            let cleared = expired_change(now);
            self.store.update(self.table(), &place, cleared).await?;
            return Ok(Leased::Missing);
        };
        if task.lease_holder.as_deref() != Some(holder) {
            return Ok(Leased::Held);
        }
        if task.lease_until == Some(until) {
            return self.taken(known, now).await;
        }
        let own = change.when("#lease_holder = :lease_holder");
        match self.store.update(self.table(), &place, own).await? {
            Written::Done(item) => self.taken(item, now).await,
            Written::Refused(_) => Ok(Leased::Held),
        }
    }

    async fn taken(&self, item: Item, now: Timestamp) -> Result<Leased, StoreError> {
        let task = self.whole(item, now).await?;
        Ok(task.map_or(Leased::Missing, |task| Leased::Taken(Box::new(task))))
    }

    /// Prolongs the lease without touching `rev`.
    ///
    /// # Errors
    /// What the database says.
    pub async fn heartbeat(&self, key: &TaskKey, holder: &str, until: Timestamp) -> Result<Beat, StoreError> {
        let change = Change::new()
            .set("lease_until", text(until))
            .when("#lease_holder = :holder")
            .value("holder", text(holder));
        let change = due_change(change, key, Due::At(until));
        match self.store.update(self.table(), &key.task(), change).await? {
            Written::Done(_) => Ok(Beat::Kept),
            Written::Refused(_) => Ok(Beat::Lost),
        }
    }

    /// Gives the lease up. False where the task changed since `seen_rev` or the lease was lost: nothing is changed
    /// then, so that the holder can reload and decide anew. A repeat whose first answer was lost is told true.
    ///
    /// # Errors
    /// What the database says.
    pub async fn release(
        &self,
        key: &TaskKey,
        holder: &str,
        seen_rev: u64,
        due: Due,
        attempts: Attempts,
    ) -> Result<bool, StoreError> {
        let change = Change::new()
            .remove(&["lease_holder", "lease_until"])
            .set("released_by", text(holder))
            .when("#lease_holder = :released_by")
            .when("#rev = :seen")
            .value("seen", number(seen_rev));
        let change = match attempts {
            Attempts::Keep => change,
            Attempts::Reset => change.set("attempts", number(0)),
            Attempts::Uncounted => change
                .set_to("attempts", "#attempts - :one")
                .value("one", number(1)),
        };
        let written = self
            .store
            .update(self.table(), &key.task(), due_change(change, key, due))
            .await?;
        Ok(match written {
            Written::Done(_) => true,
            Written::Refused(None) => false,
            Written::Refused(Some(item)) => {
                let held = text_of(&item, "lease_holder") == Some(holder);
                let seen = item.get("rev") == Some(&number(seen_rev));
                seen && !held && text_of(&item, "released_by") == Some(holder)
            }
        })
    }
}
