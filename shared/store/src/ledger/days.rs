//! What the ledger tells: a tenant's present day and month, what became of its owners' tasks, and what they cost.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate};
use domain::{AgentName, Owner, Tenant, Timestamp, tokens_per_day};
use serde::{Deserialize, Serialize};

use super::{
    COST, ENDED, FAILED, GUESTS, Ledger, OWNER, RUNNING, SPENT, STORED, TASKS, TOOK, count, marks, present,
    tenant_key,
};
use crate::change::text;
use crate::codec::{Item, text_of};
use crate::dynamo::Query;
use crate::usage::{DayUsage, day_of, key as day_key};
use crate::{StoreError, USAGE_DAYS_MAX};

/// Most pages, of a megabyte each, of a day's owners.
const PAGES: u32 = 50;

/// The longest durations of the buckets in which tasks' durations are counted, in milliseconds; what took longer is in a last one.
pub const TOOK_BOUNDS: [u64; TOOK_BUCKETS - 1] = [
    250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 7_200_000,
];
/// How many buckets there are.
pub const TOOK_BUCKETS: usize = 12;

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

/// A tenant's present day and month.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantDay {
    /// Tasks that were admitted today.
    pub tasks: u64,
    /// How many of them are guests'.
    pub guests: u64,
    /// How many tasks are at work.
    pub running: u64,
    /// What the month's tasks cost, in millionths of a dollar: of those that have ended.
    pub micro_dollars: u64,
    /// How many bytes are kept, by estimate.
    pub stored: u64,
}

/// What an owner's tasks at one agent came to in a day (UTC), counted where they have ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// The day in which they began.
    pub day: NaiveDate,
    /// Whose they are.
    pub owner: Owner,
    /// The agent that was asked; what it delegated is its.
    pub agent: AgentName,
    /// How many have ended.
    pub tasks: u64,
    /// How many of these failed.
    pub failed: u64,
    /// What they cost, in millionths of a dollar.
    pub micro_dollars: u64,
}

/// What an operator is told that a tenant used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Tokens of language models that it may use in a day, where that is set for it.
    pub limit: Option<u64>,
    /// Its present day and month.
    pub now: TenantDay,
    /// Its language models' tokens, the newest day first.
    pub days: Vec<DayUsage>,
    /// What its tasks cost.
    pub spent: Vec<Spent>,
}

impl Ledger<'_> {
    /// What a tenant used in the last days, at most [`USAGE_DAYS_MAX`].
    ///
    /// # Errors
    /// What the database says.
    pub async fn used(&self, tenant: &Tenant, now: Timestamp, days: u32) -> Result<Used, StoreError> {
        let settings = self.store.tenants().settings(tenant).await?.unwrap_or_default();
        Ok(Used {
            limit: tokens_per_day(|key| settings.get(key).map(String::as_str)),
            now: self.today(tenant, now).await?,
            days: self.store.usage().last(tenant, now, days).await?,
            spent: self.spent(tenant, now, days).await?,
        })
    }

    /// A tenant's day and month at this moment.
    ///
    /// # Errors
    /// What the database says.
    pub async fn today(&self, tenant: &Tenant, now: Timestamp) -> Result<TenantDay, StoreError> {
        let item = present(self.item(&tenant_key(tenant)).await?, now);
        Ok(TenantDay {
            tasks: count(&item, TASKS),
            guests: count(&item, GUESTS),
            running: count(&item, RUNNING),
            micro_dollars: count(&item, SPENT),
            stored: count(&item, STORED),
        })
    }

    /// The days of the owners of a tenant that have begun a task: all of them, but where there are tens of thousands.
    ///
    /// # Errors
    /// What the database says.
    pub async fn owners_of_day(&self, tenant: &Tenant, day: NaiveDate) -> Result<Vec<OwnerDay>, StoreError> {
        let (owners, _) = self.owner_items(tenant, day, None).await?;
        Ok(owners
            .into_iter()
            .map(|(owner, item)| read(owner, &item))
            .collect())
    }

    /// The items of owners, and whether these are all: of the most crowded days the first ones.
    pub(super) async fn owner_items(
        &self,
        tenant: &Tenant,
        day: NaiveDate,
        only: Option<&str>,
    ) -> Result<(Vec<(Owner, Item)>, bool), StoreError> {
        let mut query = Query {
            table: &self.store.tables().tasks,
            condition: "#pk = :pk AND begins_with(#sk, :owner)",
            only,
            values: vec![(":pk", text(day_key(tenant, day).0)), (":owner", text(OWNER))],
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

    /// What a tenant's tasks cost in each of the last days, today first, at most [`USAGE_DAYS_MAX`].
    ///
    /// # Errors
    /// What the database says.
    pub async fn spent(&self, tenant: &Tenant, now: Timestamp, days: u32) -> Result<Vec<Spent>, StoreError> {
        let mut found = Vec::new();
        for ago in 0..days.min(USAGE_DAYS_MAX) {
            let Some(day) = day_of(now).checked_sub_days(Days::new(ago.into())) else {
                break;
            };
            for own in self.owners_of_day(tenant, day).await? {
                found.extend(own.agents.into_iter().map(|(agent, hours)| {
                    let mut spent = Spent {
                        day,
                        owner: own.owner.clone(),
                        agent,
                        tasks: 0,
                        failed: 0,
                        micro_dollars: 0,
                    };
                    for hour in hours.into_values() {
                        spent.tasks = spent.tasks.saturating_add(hour.ended);
                        spent.failed = spent.failed.saturating_add(hour.failed);
                        spent.micro_dollars = spent.micro_dollars.saturating_add(hour.cost);
                    }
                    spent
                }));
            }
        }
        Ok(found)
    }
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
