//! The ledger: what of a tenant's plan is used, and by whom. The tenant has one item for its present day and month; each owner has
//! one for a day (UTC), in the partition in which [`crate::Usage`] counts the day's tokens.
//!
//! A task is admitted by two conditional updates, the owner's first, so that no limit is ever passed: where the tenant's refuses,
//! the owner's is given back. Both are small. The owner's item names the tasks at work, by which everything is counted once; the
//! tenant's only has numbers. Whoever dies between the two has counted too much, never too little: whoever is refused for what is
//! at work sets that right first, once a minute at most, and a wake does so each day.
//!
//! How tasks ended is counted in their owner's item, in the update that frees their place: a tenant's hours are the sum of its
//! owners'. What they cost and keep is added to the tenant's numbers, in the update that counts one less at work.

mod admit;
mod days;
mod ends;
mod lately;
mod pace;
mod right;
mod streams;

use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Datelike as _, Days, NaiveDate, NaiveTime, Timelike as _};
use domain::price::Cost;
use domain::{AgentName, Owner, Task, TaskId, TaskState, Tenant, Timestamp};

use crate::change::{Change, number};
use crate::codec::{Item, Key};
use crate::dynamo::Written;
use crate::packed::kept_bytes;
use crate::usage::{day_of, key as day_key, ledger_key as tenant_key};
use crate::{Store, StoreError};

pub use admit::Admitted;
pub use days::{HourCounts, OwnerDay, Spent, TOOK_BOUNDS, TOOK_BUCKETS, TenantDay, Used};
pub use lately::Lately;
pub(crate) use pace::Paces;
pub use streams::OpenStream;

/// Tasks admitted in the day, and how many of them are at work: in the tenant's item a number, in an owner's their marks.
const TASKS: &str = "tasks";
const RUNNING: &str = "running";
/// The marks of tasks that wait for their user.
const WAITING: &str = "waiting";
/// In the tenant's item: the day that it counts, in days since 1970, and the month, in months since the year 0; what guests have of
/// its tasks; what the month's tasks cost, in millionths of a dollar; and the bytes that are kept.
const DAY: &str = "day";
const MONTH: &str = "month";
const GUESTS: &str = "guests";
const GUESTS_RUNNING: &str = "guests_running";
const SPENT: &str = "spent";
const STORED: &str = "stored";
/// When the tenant's numbers were last written anew.
const RECOUNTED_AT: &str = "recounted_at";
/// What the sort keys of owners' items begin with.
pub(crate) const OWNER: &str = "OWNER#";
/// In owners' items, the names of what is counted of an agent's hour: an hour, a blank and the agent follow.
const ENDED: &str = "ended";
const FAILED: &str = "failed";
const COST: &str = "cost";
const TOOK: &str = "took";

/// When whoever has too much at work may ask again.
const AGAIN: Duration = Duration::from_secs(10);

/// Admits tasks and counts their ends.
#[derive(Clone, Copy)]
pub struct Ledger<'s> {
    pub(crate) store: &'s Store,
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
    /// How many bytes are kept for it.
    pub bytes: u64,
}

impl Ended {
    /// Of a task that is over.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        let bytes = kept_bytes(task);
        Self {
            outcome: task.status.state,
            took: task.status.at.since(task.created_at),
            cost: Cost::of(task, bytes).all(),
            bytes: domain::price::stored(task, bytes),
        }
    }
}

/// Where an owner's share of a day is counted.
pub(crate) fn owner_day_key(tenant: &Tenant, owner: &Owner, day: NaiveDate) -> Key {
    (day_key(tenant, day).0, format!("{OWNER}{owner}"))
}

/// A task in the ledger: whose it is, and the mark by which it is in its owner's item.
struct Place {
    tenant: Tenant,
    owner: Owner,
    mark: Mark,
}

impl Place {
    fn of(task: &Task) -> Self {
        Self {
            tenant: task.tenant.clone(),
            owner: task.owner.clone(),
            mark: Mark {
                agent: task.agent.clone(),
                id: task.id,
                began: task.created_at,
            },
        }
    }

    fn owner_key(&self, day: NaiveDate) -> Key {
        owner_day_key(&self.tenant, &self.owner, day)
    }

    /// The item of the day in which the task began.
    fn own(&self) -> Key {
        self.owner_key(day_of(self.mark.began))
    }

    /// A change of an owner's item that holds where the task is in this set.
    fn in_set(&self, set: &str) -> Change {
        Change::new()
            .when(&format!("contains(#{set}, :mark)"))
            .value("mark", AttributeValue::B(Blob::new(self.mark.write())))
            .value("marks", set_of([self.mark.write()]))
            .leave(set, "marks")
    }

    fn hour(&self) -> u32 {
        time(self.mark.began).hour()
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

fn set_of(marks: impl IntoIterator<Item = Vec<u8>>) -> AttributeValue {
    AttributeValue::Bs(marks.into_iter().map(Blob::new).collect())
}

fn time(at: Timestamp) -> DateTime<chrono::Utc> {
    DateTime::from_timestamp_millis(at.millis()).unwrap_or_default()
}

/// When a day begins, in UTC.
fn midnight(day: Option<NaiveDate>, now: Timestamp) -> Timestamp {
    let midnight = day.map(|day| day.and_time(NaiveTime::MIN).and_utc().timestamp_millis());
    midnight.map_or_else(|| now.after(Duration::from_secs(86_400)), Timestamp::from_millis)
}

/// When the day after begins, in UTC.
#[must_use]
pub fn next_day(now: Timestamp) -> Timestamp {
    midnight(day_of(now).checked_add_days(Days::new(1)), now)
}

/// When the month after begins, in UTC.
fn next_month(now: Timestamp) -> Timestamp {
    let first = day_of(now).with_day(1);
    midnight(
        first.and_then(|first| first.checked_add_months(chrono::Months::new(1))),
        now,
    )
}

/// The day and the month of a moment, as the tenant's item counts them.
fn date(now: Timestamp) -> (u64, u64) {
    let day = day_of(now);
    let months = u64::from(day.year().unsigned_abs()) * 12 + u64::from(day.month0());
    (
        u64::try_from(now.millis()).unwrap_or_default() / 86_400_000,
        months,
    )
}

/// A tenant's item as it counts at a moment: a new day has no tasks yet, a new month has cost nothing. Of what is kept a thirtieth goes
/// each day, because tasks are kept for thirty days: so much is kept where each day brings the same.
fn present(mut item: Item, now: Timestamp) -> Item {
    let (today, month) = date(now);
    let days = today.saturating_sub(count(&item, DAY)).min(30);
    let (stored, old) = (count(&item, STORED), count(&item, MONTH) < month);
    let mut set = |name: &str, value: u64| item.insert(name.to_owned(), number(value));
    if days > 0 {
        set(TASKS, 0);
        set(GUESTS, 0);
        set(STORED, stored - stored.saturating_mul(days) / 30);
    }
    if old {
        set(SPENT, 0);
    }
    item
}

impl Ledger<'_> {
    async fn write(&self, key: &Key, change: Change) -> Result<Written, StoreError> {
        self.store.update(&self.store.tables().tasks, key, change).await
    }

    async fn item(&self, key: &Key) -> Result<Item, StoreError> {
        let item = self.store.item(&self.store.tables().tasks, key).await?;
        Ok(item.unwrap_or_default())
    }
}

fn warn(place: &Place, error: &StoreError) {
    tracing::warn!(tenant.id = place.tenant.name(), task.id = %place.mark.id, %error, "the ledger counts too much until it is set right");
}

/// Whether a task of this state needs its user, or somebody else, to go on.
fn waits(state: TaskState) -> bool {
    state.is_interrupted() || state == TaskState::Unknown
}

fn is_in(item: &Item, set: &str, place: &Place) -> bool {
    marks(item, set).any(|mark| *mark == place.mark.write())
}

fn count(item: &Item, name: &str) -> u64 {
    let told = item.get(name).and_then(|value| value.as_n().ok()?.parse().ok());
    told.unwrap_or_default()
}

fn marks<'i>(item: &'i Item, name: &str) -> impl Iterator<Item = &'i [u8]> + use<'i> {
    let marks = item.get(name).and_then(|marks| marks.as_bs().ok());
    marks.into_iter().flatten().map(Blob::as_ref)
}
