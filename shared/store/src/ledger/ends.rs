//! Ends: the place of a task is free once it has ended, or waits, and what it came to is counted.

use std::time::Duration;

use domain::{Revision, Task, TaskState, Timestamp};

use super::{
    COST, ENDED, Ended, FAILED, GUESTS_RUNNING, Ledger, Place, RECOUNTED_AT, RUNNING, SPENT, STORED, TASKS,
    TOOK, TOOK_BOUNDS, WAITING, is_in, tenant_key, waits, warn,
};
use crate::StoreError;
use crate::change::{Change, number};
use crate::dynamo::Written;
use crate::usage::day_of;

/// How far clocks may be apart where a number was written anew.
const SKEW: Duration = Duration::from_secs(1);

impl Ledger<'_> {
    /// Counts what a stored revision did to a task that was admitted: its place is free once it has ended, or waits for its user.
    /// What cannot be written now is set right later.
    pub(crate) async fn follow(&self, revision: &Revision) {
        let task = revision.task();
        let (admitted, state) = (task.kept.admitted, task.status.state);
        let left = revision.left();
        let followed = match left.last() {
            Some(_) if admitted && state.is_terminal() => self.ended(task, Ended::of(task)).await,
            Some(_) if admitted && waits(state) => self.rests(task, task.status.at).await,
            _ => Ok(()),
        };
        if let Err(error) = followed {
            warn(&Place::of(task), &error);
        }
    }

    /// Frees the place of a task that waits for its user, or rests for long without anybody at work on it. It takes none again: an
    /// answer is a task of its own, or goes on with one that was admitted.
    ///
    /// # Errors
    /// What the database says: too much is at work then, until that is set right.
    pub async fn rests(&self, task: &Task, now: Timestamp) -> Result<(), StoreError> {
        self.free(&Place::of(task), None, now).await
    }

    /// Counts the end of a task that was admitted, once, and frees its place.
    ///
    /// # Errors
    /// What the database says: too much is at work then, until that is set right.
    pub async fn ended(&self, task: &Task, ended: Ended) -> Result<(), StoreError> {
        self.free(&Place::of(task), Some(ended), task.status.at).await
    }

    pub(super) async fn free(
        &self,
        place: &Place,
        ended: Option<Ended>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let change = place.in_set(RUNNING);
        let change = match ended {
            Some(ended) => counted(change, place, ended),
            None => change.join(WAITING, "marks"),
        };
        let written = self.write(&place.own(), change).await?;
        self.leave_carried(place, now).await?;
        let sums = ended.map(|ended| {
            Change::new()
                .add(SPENT, SPENT.to_owned(), ended.cost)
                .add(STORED, STORED.to_owned(), ended.bytes)
        });
        match (written, ended) {
            (Written::Done(_), _) => {
                let downed = self.down(place, now, sums.clone().unwrap_or_default()).await?;
                if !matches!(downed, Written::Refused(_)) {
                    return Ok(());
                }
            }
            (Written::Refused(Some(found)), Some(ended)) if is_in(&found, WAITING, place) => {
                let change = counted(place.in_set(WAITING), place, ended);
                if let Written::Refused(_) = self.write(&place.own(), change).await? {
                    return Ok(());
                }
            }
            _ => return Ok(()),
        }
        match sums {
            Some(sums) => self.once(place, sums).await.map(drop),
            None => Ok(()),
        }
    }

    /// Gives back what the owner's item has of a task; false where it has nothing.
    pub(super) async fn leave(&self, place: &Place, now: Timestamp) -> Result<bool, StoreError> {
        let change = place.in_set(RUNNING).add(TASKS, TASKS.to_owned(), -1);
        let written = self.write(&place.own(), change).await?;
        self.leave_carried(place, now).await?;
        Ok(matches!(written, Written::Done(_)))
    }

    /// Takes a task that was at work at midnight out of the new day's item too.
    async fn leave_carried(&self, place: &Place, now: Timestamp) -> Result<(), StoreError> {
        let today = day_of(now);
        match today == day_of(place.mark.began) {
            true => Ok(()),
            false => self
                .write(&place.owner_key(today), place.in_set(RUNNING))
                .await
                .map(drop),
        }
    }

    /// One task less is at work in the tenant, and this is so besides. `now` is when its owner's item was written, or before: where the
    /// number was written anew since, it may know that already.
    pub(super) async fn down(
        &self,
        place: &Place,
        now: Timestamp,
        besides: Change,
    ) -> Result<Written, StoreError> {
        let guests = place.owner.is_guest().then_some(GUESTS_RUNNING);
        let less = |change: Change, name: &str| {
            change
                .add(name, name.to_owned(), -1)
                .when(&format!("#{name} >= :one"))
        };
        let change = [RUNNING].into_iter().chain(guests).fold(besides, less);
        let change = change
            .value("one", number(1))
            .when(&format!(
                "attribute_not_exists(#{RECOUNTED_AT}) OR #{RECOUNTED_AT} < :began"
            ))
            .value("began", number(now.before(SKEW).millis()));
        self.once(place, change).await
    }

    /// Changes the tenant's item. An answer that is lost leaves it undone, perhaps: twice would let in too many.
    async fn once(&self, place: &Place, change: Change) -> Result<Written, StoreError> {
        let table = &self.store.tables().tasks;
        self.store
            .update_once(table, &tenant_key(&place.tenant), change)
            .await
    }
}

/// What an end adds to what is counted of the agent's hour.
fn counted(change: Change, place: &Place, ended: Ended) -> Change {
    let (hour, agent) = (place.hour(), &place.mark.agent);
    let millis = u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX);
    let took = format!("{TOOK}{}", TOOK_BOUNDS.partition_point(|bound| *bound < millis));
    let failed = u64::from(ended.outcome == TaskState::Failed);
    let counts = [(ENDED, 1), (FAILED, failed), (&took, 1), (COST, ended.cost)];
    let counts = counts.into_iter().filter(|(_, by)| *by > 0);
    counts.fold(change, |change, (what, by)| {
        let what = format!("{what}_{hour}");
        change.add(&what, format!("{what} {agent}"), by)
    })
}
