//! The lease: who works on a task.

use domain::Timestamp;

use super::item::{due_change, expired_change, stored};
use super::{Attempts, Beat, Due, Leased, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::dynamo::Written;

impl Tasks<'_> {
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
        let change = Change::new()
            .set("lease_holder", text(holder))
            .set("lease_until", text(until))
            .set_to("attempts", "#attempts + :one")
            .value("one", number(1))
            .when("attribute_exists(#pk)")
            .when("#expires_at > :now_s")
            .value("now_s", number(now.seconds()))
            .when(
                "attribute_not_exists(#lease_until) OR #lease_until <= :now OR #lease_holder = :lease_holder",
            )
            .value("now", text(now));
        let change = due_change(change, key, Due::At(until));
        match self.store.update(self.table(), &key.task(), change).await? {
            Written::Done(item) => match stored(self.table(), item, now)? {
                Some(task) => Ok(Leased::Taken(Box::new(task))),
                None => Ok(Leased::Missing),
            },
            Written::Refused(None) => Ok(Leased::Missing),
            Written::Refused(Some(item)) => match stored(self.table(), item, now)? {
                Some(_) => Ok(Leased::Held),
                None => {
                    self.store
                        .update(self.table(), &key.task(), expired_change(now))
                        .await?;
                    Ok(Leased::Missing)
                }
            },
        }
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
    /// then, so that the holder can reload and decide anew.
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
            .when("#lease_holder = :holder")
            .value("holder", text(holder))
            .when("#rev = :seen")
            .value("seen", number(seen_rev));
        let change = match attempts {
            Attempts::Keep => change,
            Attempts::Reset => change.set("attempts", number(0)),
        };
        let written = self
            .store
            .update(self.table(), &key.task(), due_change(change, key, due))
            .await?;
        Ok(matches!(written, Written::Done(_)))
    }
}
