//! The lease: who works on a task.

use domain::Timestamp;

use super::item::{due_change, expired_change, task_item};
use super::{Attempts, Beat, Due, Leased, TaskKey, Tasks};
use crate::StoreError;
use crate::change::{Change, HELD_MAX, number, text};
use crate::codec::{Item, text_of};
use crate::dynamo::Written;

/// The condition that the lease may be taken, over `:now`: nobody has it, or not any more, or its holder wants more time. What ends later
/// than any lease was taken before the clock was set back.
const FREE: &str = "attribute_not_exists(#lease_until) OR #lease_until <= :now OR #lease_until > :held_to \
                    OR (#lease_holder = :lease_holder AND #lease_until <> :lease_until)";

impl Tasks<'_> {
    /// Takes the lease, where it is free, expired, or the holder's own. Counts an attempt, and makes the task due
    /// when the lease ends, at the latest. A repeat whose first answer was lost finds its own work, and counts nothing
    /// more. Where nothing is left to do for a task that is over, there is no lease to take.
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
        let place = key.task();
        let change = Change::new()
            .set("lease_holder", text(holder))
            .set("lease_until", text(until))
            .set_to("attempts", "#attempts + :one")
            .value("one", number(1))
            .when("attribute_exists(#pk)")
            .when(FREE)
            .value("now", text(now))
            .value("held_to", text(now.after(HELD_MAX)))
            .when("attribute_not_exists(#expires_at) OR (#expires_at > :now_s AND attribute_exists(#due_at))")
            .value("now_s", number(now.seconds()));
        // What is due sooner stays due then: to move it to the lease's end would cost two writes of the index, and spare
        // a look that only the sweeper might take before the first heartbeat.
        let sooner = change.clone().when("#due_at <= :lease_until");
        for change in [sooner, due_change(change, key, Due::At(until))] {
            let known = match self.store.update(self.table(), &place, change).await? {
                Written::Done(item) => return self.taken(item, now).await,
                Written::Refused(None) => return Ok(Leased::Missing),
                Written::Refused(Some(item)) => item,
            };
            let Some(task) = task_item(self.table(), known.clone(), now)? else {
                let cleared = expired_change(now);
                self.store.update(self.table(), &place, cleared).await?;
                return Ok(Leased::Expired);
            };
            let held = task
                .lease_until
                .is_some_and(|until| until > now && until <= now.after(HELD_MAX));
            match task.lease_holder.as_deref() {
                Some(other) if held && other != holder => return Ok(Leased::Held),
                // Its own work, of which the answer was lost.
                Some(_) if held && task.lease_until == Some(until) => return self.taken(known, now).await,
                _ if task.expires_at.is_some() && task.due_at.is_none() => {
                    let over = self.whole(known, now).await?;
                    return Ok(over.map_or(Leased::Missing, |task| Leased::Over(Box::new(task))));
                }
                _ => {}
            }
        }
        Ok(Leased::Held)
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
        // The due time moves along: where the holder dies, the sweeper finds the task at the lease's end.
        let change = due_change(change, key, Due::At(until));
        match self.store.update(self.table(), &key.task(), change).await? {
            Written::Done(_) => Ok(Beat::Kept),
            Written::Refused(_) => Ok(Beat::Lost),
        }
    }

    /// Makes a task that is not over due at this time, where it is not due sooner. Nothing else of it changes, nor whose it
    /// is.
    ///
    /// # Errors
    /// What the database says.
    pub async fn make_due(&self, key: &TaskKey, at: Timestamp) -> Result<(), StoreError> {
        let change = Change::new()
            .when("attribute_exists(#pk) AND attribute_not_exists(#expires_at)")
            .when("attribute_not_exists(#due_at) OR #due_at > :due_at");
        let change = due_change(change, key, Due::At(at));
        self.store.update(self.table(), &key.task(), change).await?;
        Ok(())
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
