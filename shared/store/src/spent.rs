//! What a tenant's tasks cost, by day, owner and agent: read from the owners' items of the ledger, where each end is counted.

use chrono::{Days, NaiveDate};
use domain::{AgentName, Owner, Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use crate::usage::day_of;
use crate::{Ledger, StoreError, USAGE_DAYS_MAX};

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

impl Ledger<'_> {
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
