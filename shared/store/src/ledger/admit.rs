//! Admission: the owner's update, then the tenant's, whose day begins with its first task.

use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::Days;
use domain::{Limit, OverQuota, Quota, Task, Tenant, Timestamp, Whose};

use super::{
    AGAIN, DAY, GUESTS, GUESTS_RUNNING, Ledger, MONTH, Place, RUNNING, SPENT, STORED, TASKS, count, date,
    is_in, marks, next_day, next_month, present, set_of, tenant_key, warn,
};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::Item;
use crate::dynamo::{ROUNDS, Written};
use crate::tasks::ledger_shard;
use crate::usage::{KEPT, day_of};

/// How long after a day's first task a wake looks whether the ledger is right.
const LOOKED_AFTER: Duration = Duration::from_secs(3600);

/// What came of the wish to begin a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admitted {
    /// It may begin.
    Yes {
        /// True for the one task by which the tenant has used four fifths of its day's, and for a day's first where that much of its
        /// money or storage is used.
        nearly: bool,
    },
    /// It may not; nothing is counted.
    No(OverQuota),
}

/// A number of an item, and how much it may be.
struct Bound {
    name: &'static str,
    limit: Limit,
    whose: Whose,
    most: u64,
    /// How many of the number are one of the limit's.
    unit: u64,
}

impl Bound {
    fn holds(&self, item: &Item) -> bool {
        count(item, self.name) < self.most.saturating_mul(self.unit)
    }

    /// The condition that it holds. Of an owner's item the tasks at work are a set.
    fn when(&self, change: Change) -> Change {
        let (name, most) = (self.name, format!("most_{}", self.name));
        let number_of = match (self.whose, name) {
            (Whose::Owner, RUNNING) => format!("size(#{name})"),
            _ => format!("#{name}"),
        };
        change
            .when(&format!("attribute_not_exists(#{name}) OR {number_of} < :{most}"))
            .value(&most, number(self.most.saturating_mul(self.unit)))
    }

    fn refusal(&self, now: Timestamp) -> OverQuota {
        OverQuota {
            limit: self.limit,
            whose: self.whose,
            most: self.most,
            until: match self.limit {
                // Where there are none, somebody has paused them.
                Limit::TasksPerDay if self.most == 0 => now.after(AGAIN),
                Limit::TasksPerDay | Limit::Storage => next_day(now),
                Limit::DollarsPerMonth => next_month(now),
                Limit::TasksAtOnce | Limit::Streams => now.after(AGAIN),
            },
        }
    }
}

/// The tasks of a day and at once that a quota has, by their names in an item.
fn tasks(names: [&'static str; 2], whose: Whose, quota: Quota) -> [Bound; 2] {
    let bound = |name, limit, most| Bound {
        name,
        limit,
        whose,
        most,
        unit: 1,
    };
    let [day, at_once] = names;
    [
        bound(day, Limit::TasksPerDay, quota.tasks_per_day),
        bound(at_once, Limit::TasksAtOnce, quota.tasks_at_once),
    ]
}

/// All that a tenant's item bounds.
fn of_tenant(all: Quota, is_guest: bool) -> Vec<Bound> {
    let mut bounds = Vec::from(tasks([TASKS, RUNNING], Whose::Tenant, all));
    for (name, limit, most) in [
        (STORED, Limit::Storage, all.storage_mb),
        (SPENT, Limit::DollarsPerMonth, all.dollars_per_month),
    ] {
        bounds.push(Bound {
            name,
            limit,
            whose: Whose::Tenant,
            most,
            unit: 1_000_000,
        });
    }
    if is_guest {
        bounds.extend(tasks([GUESTS, GUESTS_RUNNING], Whose::Guests, all.of_guests()));
    }
    bounds
}

impl Ledger<'_> {
    /// Admits a task that is about to be made, where its tenant's plan and its owner's share of it have room.
    ///
    /// # Errors
    /// What the database says: nothing is counted then, or too much until that is set right.
    pub async fn admit(&self, task: &Task) -> Result<Admitted, StoreError> {
        let tenants = self.store.tenants();
        let quotas = tenants.quotas(&task.tenant, &task.owner, task.created_at).await?;
        self.admit_within(task, quotas).await
    }

    /// The same, with the tenant's quota and the owner's share.
    ///
    /// # Errors
    /// As [`Ledger::admit`].
    pub async fn admit_within(&self, task: &Task, quotas: (Quota, Quota)) -> Result<Admitted, StoreError> {
        let place = Place::of(task);
        let admitted = Box::pin(self.try_admit(&place, quotas)).await?;
        let Admitted::No(OverQuota {
            limit: Limit::TasksAtOnce,
            whose,
            ..
        }) = admitted
        else {
            return Ok(admitted);
        };
        match Box::pin(self.set_right(&place, whose)).await {
            Ok(true) => Box::pin(self.try_admit(&place, quotas)).await,
            Ok(false) => Ok(admitted),
            // Most agents may not read a tenant's owners; its host may, and does.
            Err(error) => {
                warn(&place, &error);
                Ok(admitted)
            }
        }
    }

    async fn try_admit(&self, place: &Place, (all, own): (Quota, Quota)) -> Result<Admitted, StoreError> {
        let now = place.mark.began;
        let own = tasks([TASKS, RUNNING], Whose::Owner, own);
        let all = of_tenant(all, place.owner.is_guest());
        // An item that is not there yet would have room.
        if let Some(none) = all.iter().chain(&own).find(|bound| bound.most == 0) {
            return Ok(Admitted::No(none.refusal(now)));
        }
        if let Some(refused) = self.take_own(place, &own).await? {
            return Ok(Admitted::No(refused));
        }
        let taken = self.take(place, &all).await;
        if !matches!(taken, Ok(Admitted::Yes { .. })) {
            let given = self.leave(place, now).await;
            if let Err(error) = given {
                warn(place, &error);
            }
        }
        taken
    }

    /// Counts the task in its owner's item, or says what has no room there.
    async fn take_own(&self, place: &Place, own: &[Bound; 2]) -> Result<Option<OverQuota>, StoreError> {
        let now = place.mark.began;
        let change = own.iter().fold(Change::new(), |change, bound| bound.when(change));
        let change = change
            .add(TASKS, TASKS.to_owned(), 1)
            .set("expires_at", number(now.after(KEPT).seconds()))
            .when("NOT contains(#running, :mark)")
            .value("mark", AttributeValue::B(Blob::new(place.mark.write())))
            .join(RUNNING, "marks")
            .value("marks", set_of([place.mark.write()]));
        let [day, at_once] = own;
        match self.write(&place.own(), change).await? {
            Written::Done(item) if count(&item, TASKS) == 1 => {
                let running = self.carry(place).await?;
                let over = running.is_some_and(|running| running > at_once.most);
                if over {
                    self.leave(place, now).await?;
                }
                Ok(over.then(|| at_once.refusal(now)))
            }
            Written::Done(_) => Ok(None),
            Written::Refused(found) => {
                let found = found.unwrap_or_default();
                // A change whose first answer was lost finds itself.
                let over = if day.holds(&found) { at_once } else { day };
                Ok((!is_in(&found, RUNNING, place)).then(|| over.refusal(now)))
            }
        }
    }

    /// What was at work at midnight is so in the new day too: an owner's first task of a day looks for it. How many are at work then.
    async fn carry(&self, place: &Place) -> Result<Option<u64>, StoreError> {
        let day = day_of(place.mark.began);
        let Some(before) = day.checked_sub_days(Days::new(1)) else {
            return Ok(None);
        };
        let before = self.item(&place.owner_key(before)).await?;
        let left: Vec<Vec<u8>> = marks(&before, RUNNING).map(<[u8]>::to_vec).collect();
        if left.is_empty() {
            return Ok(None);
        }
        let change = Change::new().join(RUNNING, "marks").value("marks", set_of(left));
        Ok(match self.write(&place.own(), change).await? {
            Written::Done(item) => u64::try_from(marks(&item, RUNNING).count()).ok(),
            Written::Refused(_) => None,
        })
    }

    /// Counts the task in the tenant's item, where that has room.
    async fn take(&self, place: &Place, all: &[Bound]) -> Result<Admitted, StoreError> {
        let (now, is_guest) = (place.mark.began, place.owner.is_guest());
        let key = tenant_key(&place.tenant);
        let adds = |change: Change, name: &str| change.add(name, name.to_owned(), 1);
        let is_at_once = |bound: &&Bound| bound.limit == Limit::TasksAtOnce;
        let at_once = all.iter().filter(is_at_once);
        let begins = at_once.fold(Change::new(), |change, bound| {
            adds(bound.when(change), bound.name)
        });
        let others = all.iter().filter(|bound| !is_at_once(bound));
        let goes_on = others.fold(begins.clone(), |change, bound| match bound.limit {
            Limit::TasksPerDay => adds(bound.when(change), bound.name),
            _ => bound.when(change),
        });
        let (today, month) = date(now);
        let goes_on = goes_on.when("#day >= :today").value("today", number(today));
        let begins = begins
            .set(DAY, number(today))
            .set(MONTH, number(month))
            .set(TASKS, number(1))
            .set(GUESTS, number(u64::from(is_guest)))
            .set("expires_at", number(now.after(KEPT).seconds()));
        // Callers without a token have no host that looked after them.
        let begins = match place.tenant == Tenant::public() {
            true => begins,
            false => begins
                .set("due_shard", text(ledger_shard(&place.tenant)))
                .set("due_at", text(now.after(LOOKED_AFTER))),
        };
        let mut change = goes_on.clone();
        let mut is_first = false;
        for _ in 0..ROUNDS {
            let found = match self.write(&key, change).await? {
                Written::Done(item) => {
                    let nearly = |bound: &Bound| match bound.limit {
                        Limit::TasksPerDay => {
                            count(&item, bound.name) == bound.most.saturating_mul(4).div_ceil(5)
                        }
                        Limit::Storage | Limit::DollarsPerMonth => {
                            is_first
                                && count(&item, bound.name) / 4 >= bound.most.saturating_mul(bound.unit) / 5
                        }
                        Limit::TasksAtOnce | Limit::Streams => false,
                    };
                    let nearly = all
                        .iter()
                        .any(|bound| bound.whose == Whose::Tenant && nearly(bound));
                    return Ok(Admitted::Yes { nearly });
                }
                Written::Refused(found) => found.unwrap_or_default(),
            };
            let of_today = present(found.clone(), now);
            if let Some(bound) = all.iter().find(|bound| !bound.holds(&of_today)) {
                return Ok(Admitted::No(bound.refusal(now)));
            }
            is_first = count(&found, DAY) < today;
            change = match is_first {
                true => first(begins.clone(), &found, &of_today),
                false => goes_on.clone(),
            };
        }
        Err(StoreError::Throttled {
            operation: "UpdateItem",
        })
    }

    /// Gives back what was admitted for a task that was not made after all.
    ///
    /// # Errors
    /// What the database says: too much is counted then, until that is set right.
    pub async fn give_back(&self, task: &Task, now: Timestamp) -> Result<(), StoreError> {
        let place = Place::of(task);
        match self.leave(&place, now).await? {
            true => {
                let counted = Change::new()
                    .add(TASKS, TASKS.to_owned(), -1)
                    .add(GUESTS, GUESTS.to_owned(), -i128::from(place.owner.is_guest()))
                    .when("#day = :today")
                    .value("today", number(date(place.mark.began).0));
                self.down(&place, now, counted).await.map(drop)
            }
            false => Ok(()),
        }
    }
}

/// The change by which a new day begins, where nobody else has begun it: what is kept grows less, and a new month has spent nothing.
fn first(begins: Change, found: &Item, of_today: &Item) -> Change {
    let faded = count(found, STORED).saturating_sub(count(of_today, STORED));
    let begins = match count(of_today, SPENT) < count(found, SPENT) {
        true => begins.set(SPENT, number(0)),
        false => begins,
    };
    let begins = begins.add(STORED, STORED.to_owned(), -i128::from(faded));
    match found.contains_key(DAY) {
        true => begins
            .when("#day = :seen")
            .value("seen", number(count(found, DAY))),
        false => begins.when("attribute_not_exists(#day)"),
    }
}
