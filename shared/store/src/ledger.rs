//! The ledger: what of a tenant's day is used, and by whom. A day (UTC) is one partition, with an item for the tenant, in which
//! [`crate::Usage`] counts tokens too, and one for each owner.
//!
//! A task is admitted by two conditional updates, the owner's first, so that no limit is ever passed: where the tenant's refuses,
//! the owner's is given back. Both are small. The owner's item names the tasks at work, by which everything is counted once; the
//! tenant's only has numbers. Whoever dies between the two has counted too much, never too little: whoever is refused for what is
//! at work sets that right first, once a minute at most.
//!
//! How tasks ended is counted in their owner's item, in the update that frees their place: a tenant's hours are the sum of its
//! owners'.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Days, NaiveDate, NaiveTime, Timelike as _};
use domain::price::Cost;
use domain::{
    AgentName, Limit, OverQuota, Owner, Quota, Revision, Task, TaskId, TaskState, Tenant, Timestamp, Whose,
};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::change::{Change, number, text};
use crate::codec::{Item, Key, text_of};
use crate::dynamo::{Query, Written};
use crate::packed::kept_bytes;
use crate::tasks::TaskKey;
use crate::usage::{KEPT, day_of, key as tenant_key};
use crate::{Store, StoreError};

/// Tasks admitted in the day, and how many of them are at work: in a tenant's item a number, in an owner's their marks.
const TASKS: &str = "tasks";
const RUNNING: &str = "running";
/// The marks of tasks that wait for their user.
const WAITING: &str = "waiting";
/// Begins what a tenant's item counts by the hour.
const HOUR: &str = "hour_";
/// When somebody last began to set the item right, and when a tenant's number was last written anew.
const LOOKED_AT: &str = "looked_at";
const RECOUNTED_AT: &str = "recounted_at";
/// What the sort keys of owners' items begin with.
const OWNER: &str = "OWNER#";
/// In owners' items, the names of what is counted of an agent's hour: an hour, a blank and the agent follow.
const ENDED: &str = "ended";
const FAILED: &str = "failed";
const COST: &str = "cost";
const TOOK: &str = "took";

/// How often an item is set right at most, and how old what is wrong in it must be: who is at work on it would have been through.
const STALE: Duration = Duration::from_secs(60);
/// Most tasks that are looked at to set a tenant right.
const LOOKS: usize = 100;
/// How far clocks may be apart where a number was written anew.
const SKEW: Duration = Duration::from_secs(1);
/// How long an owner's item of streams is kept, and how often a place in it is looked for.
const STREAMS_KEPT: Duration = Duration::from_secs(24 * 3600);
const SLOT_ROUNDS: u32 = 8;
/// Most pages, of a megabyte each, of a day's owners; what is read of them to count what is at work.
const PAGES: u32 = 50;
const MARKS: &str = "#sk, #running";
/// How often a tenant is counted while others change it.
const COUNTS: u32 = 3;

/// The longest durations of the buckets in which tasks' durations are counted, in milliseconds; what took longer is in a last one.
pub const TOOK_BOUNDS: [u64; TOOK_BUCKETS - 1] = [
    250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 7_200_000,
];
/// How many buckets there are.
pub const TOOK_BUCKETS: usize = 12;

/// Admits tasks and counts their ends.
#[derive(Clone, Copy)]
pub struct Ledger<'s> {
    pub(crate) store: &'s Store,
}

/// What came of the wish to begin a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admitted {
    /// It may begin; `nearly` for the one task of the day by which the tenant has used four fifths of what it may.
    Yes {
        /// Whether it is that one.
        nearly: bool,
    },
    /// It may not; nothing is counted.
    No(OverQuota),
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its last state.
    pub outcome: TaskState,
    /// From its creation to its end.
    pub took: Duration,
    /// What it cost, in millionths of a dollar.
    pub cost: u64,
}

impl Ended {
    /// Of a task that is over.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        Self {
            outcome: task.status.state,
            took: task.status.at.since(task.created_at),
            cost: Cost::of(task, kept_bytes(task)).all(),
        }
    }

    fn bucket(self) -> usize {
        let took = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX);
        TOOK_BOUNDS.partition_point(|bound| *bound < took)
    }
}

/// What became of an agent's tasks that began in one hour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourCounts {
    /// How many have ended.
    pub ended: u64,
    /// How many of these failed.
    pub failed: u64,
    /// How many of these took so long; see [`TOOK_BOUNDS`].
    pub took: [u64; TOOK_BUCKETS],
    /// What these cost, in millionths of a dollar.
    pub cost: u64,
}

/// An owner's day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerDay {
    /// Whose it is.
    pub owner: Owner,
    /// Tasks that were admitted.
    pub tasks: u64,
    /// How many of them are at work.
    pub running: u64,
    /// By agent, and the hour in which tasks began.
    pub agents: BTreeMap<AgentName, BTreeMap<u32, HourCounts>>,
}

/// A tenant's day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TenantDay {
    /// Tasks that were admitted.
    pub tasks: u64,
    /// How many of them are at work.
    pub running: u64,
    /// How many were admitted in each hour.
    pub hours: [u64; 24],
}

/// A stream that its owner may hold open. Its lease ends when it is dropped, or by itself.
pub struct OpenStream {
    store: Store,
    key: Key,
    slot: String,
    until: Timestamp,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        // Where nothing runs any more, and where this fails, the lease ends by itself.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (store, key) = (self.store.clone(), std::mem::take(&mut self.key));
        let change = Change::new()
            .remove(&[&self.slot])
            .when(&format!("#{} = :until", self.slot))
            .value("until", number(self.until.millis()));
        runtime.spawn(async move {
            let closed = store.update(&store.tables().tasks, &key, change).await;
            closed.map(drop).unwrap_or_else(|error| {
                tracing::debug!(%error, "the lease of a stream is left to its end");
            });
        });
    }
}

/// A task in the ledger: the items that it is counted in, and the mark by which it is in its owner's.
struct Place<'t> {
    task: &'t Task,
    tenant: Key,
    owner: Key,
    mark: Vec<u8>,
}

impl<'t> Place<'t> {
    fn of(task: &'t Task) -> Self {
        let day = day_of(task.created_at);
        let tenant = tenant_key(&task.tenant, day);
        let mark = Mark {
            agent: task.agent.clone(),
            id: task.id,
            began: task.created_at,
        };
        Self {
            owner: owner_key(&tenant, &task.owner),
            task,
            tenant,
            mark: mark.write(),
        }
    }

    fn set(&self) -> AttributeValue {
        AttributeValue::Bs(vec![Blob::new(self.mark.clone())])
    }

    /// A change of the owner's item that holds where the task is in this set.
    fn in_set(&self, set: &str) -> Change {
        Change::new()
            .when(&format!("contains(#{set}, :mark)"))
            .value("mark", AttributeValue::B(Blob::new(self.mark.clone())))
            .value("marks", self.set())
            .leave(set, "marks")
    }

    fn hour(&self) -> u32 {
        let at = DateTime::from_timestamp_millis(self.task.created_at.millis());
        at.unwrap_or_default().hour()
    }
}

/// What a task at work is known by in its owner's item: all that is needed to find it.
struct Mark {
    agent: AgentName,
    id: TaskId,
    began: Timestamp,
}

impl Mark {
    fn write(&self) -> Vec<u8> {
        let began = self.began.millis().to_be_bytes();
        [
            self.id.as_bytes().as_slice(),
            &began,
            self.agent.as_str().as_bytes(),
        ]
        .concat()
    }

    fn read(mark: &[u8]) -> Option<Self> {
        let (id, rest) = mark.split_first_chunk()?;
        let (began, agent) = rest.split_first_chunk()?;
        Some(Self {
            agent: AgentName::parse(std::str::from_utf8(agent).ok()?).ok()?,
            id: TaskId::from_bytes(*id),
            began: Timestamp::from_millis(i64::from_be_bytes(*began)),
        })
    }
}

fn owner_key(tenant: &Key, owner: &Owner) -> Key {
    (tenant.0.clone(), format!("{OWNER}{owner}"))
}

/// When the day after begins, in UTC.
#[must_use]
pub fn next_day(now: Timestamp) -> Timestamp {
    let next = day_of(now).checked_add_days(Days::new(1));
    let midnight = next.map(|next| next.and_time(NaiveTime::MIN).and_utc().timestamp_millis());
    midnight.map_or_else(|| now.after(Duration::from_secs(86_400)), Timestamp::from_millis)
}

/// The condition that nothing of this is used up.
fn has_room(change: Change, running: &str, quota: Quota) -> Change {
    change
        .when(&format!("attribute_not_exists(#{TASKS}) OR #{TASKS} < :most"))
        .value("most", number(quota.tasks_per_day))
        .when(&format!(
            "attribute_not_exists(#{RUNNING}) OR {running} < :at_once"
        ))
        .value("at_once", number(quota.tasks_at_once))
}

/// What is used up in an item that refused.
fn used_up(tasks: u64, quota: Quota, whose: Whose, now: Timestamp) -> OverQuota {
    let (limit, most, until) = match tasks >= quota.tasks_per_day {
        true => (Limit::TasksPerDay, quota.tasks_per_day, next_day(now)),
        false => (Limit::TasksAtOnce, quota.tasks_at_once, now.after(AGAIN)),
    };
    OverQuota {
        limit,
        whose,
        most,
        until,
    }
}

/// When whoever has too much at work may ask again.
const AGAIN: Duration = Duration::from_secs(10);

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
                self.warn(task, &error);
                Ok(admitted)
            }
        }
    }

    async fn try_admit(&self, place: &Place<'_>, (all, own): (Quota, Quota)) -> Result<Admitted, StoreError> {
        let now = place.task.created_at;
        for (quota, whose) in [(own, Whose::Owner), (all, Whose::Tenant)] {
            // An item that is not there yet would have room.
            if quota.tasks_per_day.min(quota.tasks_at_once) == 0 {
                return Ok(Admitted::No(used_up(0, quota, whose, now)));
            }
        }
        let begins = |running| {
            let change = Change::new().add(TASKS, TASKS.to_owned(), 1);
            let change = change.set("expires_at", number(now.after(KEPT).millis() / 1000));
            move |quota| has_room(change.clone(), running, quota)
        };
        let change = begins("size(#running)")(own)
            .when("NOT contains(#running, :mark)")
            .value("mark", AttributeValue::B(Blob::new(place.mark.clone())))
            .join(RUNNING, "marks")
            .value("marks", place.set());
        if let Written::Refused(found) = self.write(&place.owner, change).await? {
            let found = found.unwrap_or_default();
            // A change whose first answer was lost finds itself.
            if !is_in(&found, RUNNING, place) {
                return Ok(Admitted::No(used_up(
                    count(&found, TASKS),
                    own,
                    Whose::Owner,
                    now,
                )));
            }
        }
        let hour = format!("{HOUR}{}", place.hour());
        let change = begins("#running")(all)
            .add(RUNNING, RUNNING.to_owned(), 1)
            .add(&hour, hour.clone(), 1);
        let taken = self.write(&place.tenant, change).await;
        if !matches!(taken, Ok(Written::Done(_))) {
            let given = self.give_back_owners(place).await;
            if let Err(error) = given {
                self.warn(place.task, &error);
            }
        }
        Ok(match taken? {
            Written::Done(item) => Admitted::Yes {
                nearly: count(&item, TASKS) == all.tasks_per_day.saturating_mul(4).div_ceil(5),
            },
            Written::Refused(found) => {
                let tasks = count(&found.unwrap_or_default(), TASKS);
                Admitted::No(used_up(tasks, all, Whose::Tenant, now))
            }
        })
    }

    /// Gives back what was admitted for a task that was not made after all.
    ///
    /// # Errors
    /// What the database says: too much is counted then, until that is set right.
    pub async fn give_back(&self, task: &Task, now: Timestamp) -> Result<(), StoreError> {
        let place = Place::of(task);
        match self.give_back_owners(&place).await? {
            true => self.down(&place, now, true).await,
            false => Ok(()),
        }
    }

    async fn give_back_owners(&self, place: &Place<'_>) -> Result<bool, StoreError> {
        let change = place.in_set(RUNNING).add(TASKS, TASKS.to_owned(), -1);
        let written = self.write(&place.owner, change).await?;
        Ok(matches!(written, Written::Done(_)))
    }

    /// Counts what a stored revision did to a task that was admitted: its place is free once it has ended, or waits for its user.
    /// What cannot be written now is set right later.
    pub(crate) async fn follow(&self, revision: &Revision) {
        let task = revision.task();
        let (admitted, state) = (task.kept.admitted, task.status.state);
        let left = revision.left();
        let followed = match left.last() {
            Some(_) if admitted && state.is_terminal() => self.ended(task, Ended::of(task)).await,
            Some(_) if admitted && waits(state) => self.free(&Place::of(task), None, task.status.at).await,
            _ => Ok(()),
        };
        if let Err(error) = followed {
            self.warn(task, &error);
        }
    }

    /// Frees the place of a task that rests for long, without anybody at work on it. It takes none again.
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

    /// Frees the place of a task that has ended, or waits for its user. It takes none again: an answer is a task of its own, or goes
    /// on with one that was admitted.
    async fn free(&self, place: &Place<'_>, ended: Option<Ended>, now: Timestamp) -> Result<(), StoreError> {
        let change = place.in_set(RUNNING);
        let change = match ended {
            Some(ended) => counted(change, place, ended),
            None => change.join(WAITING, "marks"),
        };
        match (self.write(&place.owner, change).await?, ended) {
            (Written::Done(_), _) => self.down(place, now, false).await,
            (Written::Refused(Some(found)), Some(ended)) if is_in(&found, WAITING, place) => {
                let change = counted(place.in_set(WAITING), place, ended);
                self.write(&place.owner, change).await.map(drop)
            }
            _ => Ok(()),
        }
    }

    /// One task less is at work in the tenant. `now` is when its owner's item was written, or before: where the number was written
    /// anew since, it may know that already. An answer that is lost leaves it undone, perhaps: twice would let in too many.
    async fn down(&self, place: &Place<'_>, now: Timestamp, unmade: bool) -> Result<(), StoreError> {
        let change = Change::new()
            .add(RUNNING, RUNNING.to_owned(), -1)
            .when("#running >= :one")
            .value("one", number(1))
            .when(&format!(
                "attribute_not_exists(#{RECOUNTED_AT}) OR #{RECOUNTED_AT} < :began"
            ))
            .value("began", number(now.before(SKEW).millis()));
        let hour = format!("{HOUR}{}", place.hour());
        let change = match unmade {
            true => change
                .add(TASKS, TASKS.to_owned(), -1)
                .add(&hour, hour.clone(), -1),
            false => change,
        };
        let table = &self.store.tables().tasks;
        self.store
            .update_once(table, &place.tenant, change)
            .await
            .map(drop)
    }

    /// Frees the places of tasks that are not at work any more, though nobody said so: in the owner's item, or in all of the tenant's,
    /// whose number is then written anew. False where that was done just now, or there was nothing to do.
    async fn set_right(&self, place: &Place<'_>, whose: Whose) -> Result<bool, StoreError> {
        let (now, began) = (place.task.created_at, Instant::now());
        let item = match whose {
            Whose::Owner => &place.owner,
            Whose::Tenant => &place.tenant,
        };
        let claim = Change::new()
            .set(LOOKED_AT, number(now.millis()))
            .when(&format!(
                "attribute_not_exists(#{LOOKED_AT}) OR #{LOOKED_AT} <= :before"
            ))
            .value("before", number(now.before(STALE).millis()));
        let Written::Done(claimed) = self.write(item, claim).await? else {
            return Ok(false);
        };
        let owners = match whose {
            Whose::Owner => vec![(place.task.owner.clone(), claimed)],
            Whose::Tenant => self.owner_items(&place.tenant, Some(MARKS)).await?.0,
        };
        let stale = |mark: &Mark| mark.agent == place.task.agent && now.since(mark.began) >= STALE;
        let stale = owners.iter().flat_map(|(owner, item)| {
            let marks = marks(item, RUNNING).filter_map(Mark::read);
            marks.filter(stale).map(move |mark| (owner, mark))
        });
        let mut freed = false;
        for (owner, mark) in stale.take(LOOKS) {
            freed |= self.look_after(place.task, owner, mark, now).await?;
        }
        if whose == Whose::Owner {
            return Ok(freed);
        }
        for _ in 0..COUNTS {
            let found = self.store.item(&self.store.tables().tasks, &place.tenant).await?;
            let (seen, tasks) = found.map_or((0, 0), |item| (count(&item, RUNNING), count(&item, TASKS)));
            let (owners, all) = self.owner_items(&place.tenant, Some(MARKS)).await?;
            let running: usize = owners.iter().map(|(_, item)| marks(item, RUNNING).count()).sum();
            let running = u64::try_from(running).unwrap_or(u64::MAX);
            if !all || running >= seen {
                return Ok(false);
            }
            let anew = Change::new()
                .set(RUNNING, number(running))
                .set(RECOUNTED_AT, number(now.after(began.elapsed()).millis()))
                .when("#running = :seen")
                .value("seen", number(seen))
                .when("#tasks = :tasks")
                .value("tasks", number(tasks));
            if let Written::Done(_) = self.write(&place.tenant, anew).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True where a mark is gone: its task has ended, waits for its user, or was never made.
    async fn look_after(
        &self,
        like: &Task,
        owner: &Owner,
        mark: Mark,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let key = TaskKey {
            tenant: like.tenant.clone(),
            agent: mark.agent,
            id: mark.id,
        };
        match self.store.tasks().find(&key, now).await? {
            // What was never made may not be counted in the tenant's item, where nothing is taken away for it.
            None => {
                let unmade = Task {
                    id: mark.id,
                    owner: owner.clone(),
                    created_at: mark.began,
                    ..like.clone()
                };
                self.give_back_owners(&Place::of(&unmade)).await
            }
            Some(stored) => {
                let (task, state) = (&stored.task, stored.task.status.state);
                let ended = state.is_terminal().then(|| Ended::of(task));
                let over = ended.is_some() || waits(state);
                if over {
                    self.free(&Place::of(task), ended, now).await?;
                }
                Ok(over)
            }
        }
    }

    /// Lets an owner hold one more stream open, for so long at most, where theirs are not too many: each has a lease.
    ///
    /// # Errors
    /// What the database says.
    pub async fn open_stream(
        &self,
        (tenant, owner): (&Tenant, &Owner),
        (now, lasts): (Timestamp, Duration),
    ) -> Result<Result<OpenStream, OverQuota>, StoreError> {
        let (_, own) = self.store.tenants().quotas(tenant, owner, now).await?;
        let key = (
            format!("{}#streams#{owner}", tenant.prefix()),
            "STREAMS".to_owned(),
        );
        let slots: Vec<String> = (0..own.streams).map(|slot| format!("slot_{slot}")).collect();
        let until = now.after(lasts);
        let mut free = slots.first().cloned();
        let mut soonest = now.after(AGAIN);
        // Whoever has the place by the time this is written shows which are left.
        for _ in 0..SLOT_ROUNDS {
            let Some(slot) = free.take() else { break };
            let change = Change::new()
                .set(&slot, number(until.millis()))
                .set("expires_at", number(now.after(STREAMS_KEPT).millis() / 1000))
                .when_free(&slot, |at| number(at.millis()), now);
            let Written::Refused(found) = self.write(&key, change).await? else {
                let store = self.store.clone();
                return Ok(Ok(OpenStream {
                    store,
                    key,
                    slot,
                    until,
                }));
            };
            let found = found.unwrap_or_default();
            let end = |slot: &String| {
                Timestamp::from_millis(i64::try_from(count(&found, slot)).unwrap_or(i64::MAX))
            };
            soonest = slots.iter().map(end).min().unwrap_or(soonest);
            free = slots.iter().find(|slot| end(slot) <= now).cloned();
        }
        Ok(Err(OverQuota {
            limit: Limit::Streams,
            whose: Whose::Owner,
            most: own.streams,
            until: soonest,
        }))
    }

    /// A tenant's day; none where nothing was admitted in it.
    ///
    /// # Errors
    /// What the database says.
    pub async fn of_day(&self, tenant: &Tenant, day: NaiveDate) -> Result<TenantDay, StoreError> {
        let item = self
            .store
            .item(&self.store.tables().tasks, &tenant_key(tenant, day))
            .await?;
        let item = item.unwrap_or_default();
        let hours: Vec<u64> = (0..24)
            .map(|hour| count(&item, &format!("{HOUR}{hour}")))
            .collect();
        Ok(TenantDay {
            tasks: count(&item, TASKS),
            running: count(&item, RUNNING),
            hours: hours.try_into().unwrap_or_default(),
        })
    }

    /// The days of the owners of a tenant that have begun a task: all of them, but where there are tens of thousands.
    ///
    /// # Errors
    /// What the database says.
    pub async fn owners_of_day(&self, tenant: &Tenant, day: NaiveDate) -> Result<Vec<OwnerDay>, StoreError> {
        let (owners, _) = self.owner_items(&tenant_key(tenant, day), None).await?;
        Ok(owners
            .into_iter()
            .map(|(owner, item)| read(owner, &item))
            .collect())
    }

    /// The items of owners, and whether these are all: of the most crowded days the first ones.
    async fn owner_items(
        &self,
        tenant: &Key,
        only: Option<&str>,
    ) -> Result<(Vec<(Owner, Item)>, bool), StoreError> {
        let mut query = Query {
            table: &self.store.tables().tasks,
            condition: "#pk = :pk AND begins_with(#sk, :owner)",
            only,
            values: vec![(":pk", text(&tenant.0)), (":owner", text(OWNER))],
            ..Query::default()
        };
        let mut owned = Vec::new();
        for _ in 0..PAGES {
            let (items, next) = self.store.query(query.clone()).await?;
            owned.extend(items.into_iter().filter_map(|item| {
                let owner = text_of(&item, "sk")?.strip_prefix(OWNER)?;
                Some((Owner::parse(owner).ok()?, item))
            }));
            if next.is_none() {
                return Ok((owned, true));
            }
            query.start = next;
        }
        Ok((owned, false))
    }

    async fn write(&self, key: &Key, change: Change) -> Result<Written, StoreError> {
        self.store.update(&self.store.tables().tasks, key, change).await
    }

    fn warn(&self, task: &Task, error: &StoreError) {
        tracing::warn!(tenant.id = task.tenant.name(), task.id = %task.id, %error, "the ledger counts too much until it is set right");
    }
}

/// What an end adds to what is counted of the agent's hour.
fn counted(change: Change, place: &Place<'_>, ended: Ended) -> Change {
    let (hour, agent) = (place.hour(), &place.task.agent);
    let mut change = change;
    let took = format!("{TOOK}{}", ended.bucket());
    let failed = u64::from(ended.outcome == TaskState::Failed);
    for (what, by) in [(ENDED, 1), (FAILED, failed), (&took, 1), (COST, ended.cost)] {
        if by > 0 {
            let what = format!("{what}_{hour}");
            change = change.add(&what, format!("{what} {agent}"), by);
        }
    }
    change
}

/// Whether a task of this state needs its user, or somebody else, to go on.
fn waits(state: TaskState) -> bool {
    state.is_interrupted() || state == TaskState::Unknown
}

fn is_in(item: &Item, set: &str, place: &Place<'_>) -> bool {
    marks(item, set).any(|mark| *mark == place.mark)
}

fn count(item: &Item, name: &str) -> u64 {
    let told = item.get(name).and_then(|value| value.as_n().ok()?.parse().ok());
    told.unwrap_or_default()
}

fn marks<'i>(item: &'i Item, name: &str) -> impl Iterator<Item = &'i [u8]> + use<'i> {
    let marks = item.get(name).and_then(|marks| marks.as_bs().ok());
    marks.into_iter().flatten().map(Blob::as_ref)
}

/// Attributes that mean nothing here are another release's.
fn read(owner: Owner, item: &Item) -> OwnerDay {
    let running = marks(item, RUNNING).count();
    let mut day = OwnerDay {
        owner,
        tasks: count(item, TASKS),
        running: u64::try_from(running).unwrap_or(u64::MAX),
        agents: BTreeMap::new(),
    };
    for name in item.keys() {
        let Some((what, agent)) = name.split_once(' ') else {
            continue;
        };
        let Some((what, hour)) = what.split_once('_') else {
            continue;
        };
        let (Ok(agent), Ok(hour)) = (AgentName::parse(agent), hour.parse()) else {
            continue;
        };
        let counts = day.agents.entry(agent).or_default().entry(hour).or_default();
        let bucket = what.strip_prefix(TOOK).and_then(|bucket| bucket.parse().ok());
        let place = match (what, bucket) {
            (ENDED, _) => Some(&mut counts.ended),
            (FAILED, _) => Some(&mut counts.failed),
            (COST, _) => Some(&mut counts.cost),
            (_, Some(bucket)) => counts.took.get_mut::<usize>(bucket),
            _ => None,
        };
        if let Some(place) = place {
            *place = count(item, name);
        }
    }
    day
}
