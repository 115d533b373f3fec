//! What became of a tenant's tasks lately, by agent: read from the owners' items, where each end is counted.

use std::collections::BTreeMap;

use chrono::Days;
use domain::{AgentName, Owner, Tenant, Timestamp};

use super::{HourCounts, Ledger, TOOK_BOUNDS};
use crate::StoreError;
use crate::usage::day_of;

/// What became of the tasks that began lately.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lately {
    /// By the agent that was asked: those of this hour and the one before, and those of the last 24 hours.
    pub agents: BTreeMap<AgentName, [HourCounts; 2]>,
    /// Whose they were, the busiest first.
    pub owners: Vec<Owner>,
}

impl HourCounts {
    /// Within how many milliseconds so many of a hundred tasks ended, as far as the buckets tell; none where none ended. What took
    /// longer than the last bound counts as that.
    #[must_use]
    pub fn within(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.took.iter().sum();
        let mut left = all.saturating_mul(percent).div_ceil(100);
        let place = self.took.iter().position(|ended| {
            left = left.saturating_sub(*ended);
            left == 0
        });
        let last = TOOK_BOUNDS.last().copied();
        place
            .filter(|_| all > 0)
            .and_then(|place| TOOK_BOUNDS.get(place).copied().or(last))
    }

    fn add(&mut self, more: &Self) {
        self.ended = self.ended.saturating_add(more.ended);
        self.failed = self.failed.saturating_add(more.failed);
        self.cost = self.cost.saturating_add(more.cost);
        for (took, more) in self.took.iter_mut().zip(more.took) {
            *took = took.saturating_add(more);
        }
    }
}

impl Ledger<'_> {
    /// What became of a tenant's tasks that began lately.
    ///
    /// # Errors
    /// What the database says.
    pub async fn lately(&self, tenant: &Tenant, now: Timestamp) -> Result<Lately, StoreError> {
        let this = now.seconds().div_euclid(3600).rem_euclid(24);
        let mut agents: BTreeMap<AgentName, [HourCounts; 2]> = BTreeMap::new();
        let mut busy: BTreeMap<Owner, u64> = BTreeMap::new();
        for (ago, hours) in [(0, 0), (1, 24)] {
            let Some(day) = day_of(now).checked_sub_days(Days::new(ago)) else {
                break;
            };
            for own in self.owners_of_day(tenant, day).await? {
                let tasks = busy.entry(own.owner).or_default();
                *tasks = tasks.saturating_add(own.tasks);
                for (agent, by_hour) in own.agents {
                    let [lately, in_day] = agents.entry(agent).or_default();
                    for (hour, counts) in by_hour {
                        let age = this + hours - i64::from(hour);
                        if age < 24 {
                            in_day.add(&counts);
                        }
                        if age <= 1 {
                            lately.add(&counts);
                        }
                    }
                }
            }
        }
        agents.retain(|_, [_, in_day]| in_day.ended > 0);
        let mut owners: Vec<(Owner, u64)> = busy.into_iter().collect();
        owners.sort_by_key(|(_, tasks)| std::cmp::Reverse(*tasks));
        let owners = owners.into_iter().map(|(owner, _)| owner).collect();
        Ok(Lately { agents, owners })
    }
}
