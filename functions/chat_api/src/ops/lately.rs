//! How the tenant's agents did lately: of those that users ask, all that ended, from the ledger; of those that work was handed to, what
//! the newest tasks of the busiest users tell. Numbers alone.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{Job, JobState, Owner, Task, TaskState, clean};
use serde_json::{Value, json};
use store::{HourCounts, StoreError, TaskQuery};

use crate::chat::known_models::Used;
use crate::state::AppState;

/// So many users' tasks are read, and so many of each.
const OWNERS: usize = 10;
const EACH: u32 = 20;
/// What is told of: as the ledger counts it, this hour and the one before, and a day.
const SPANS: [Duration; 2] = [Duration::from_secs(2 * 3600), Duration::from_secs(24 * 3600)];

/// What became of an agent's jobs in a time: how long each took, and how many failed.
#[derive(Default)]
struct Jobs {
    took: Vec<u64>,
    failed: u64,
}

impl AppState {
    /// By agent, what became of what it was asked lately.
    pub(crate) async fn lately(&self) -> Result<Vec<Value>, StoreError> {
        let now = self.clock.now();
        let known = self.store.ledger().lately(&self.tenant, now).await?;
        let mut told: Vec<Value> = known
            .agents
            .iter()
            .map(|(agent, [hour, day])| json!({"agent": agent, "hour": counted(hour), "day": counted(day)}))
            .collect();
        let mut agents: BTreeMap<String, [Jobs; 2]> = BTreeMap::new();
        let tasks = self.newest(&known.owners).await?;
        for job in tasks.iter().flat_map(|task| &task.jobs) {
            let JobState::Settled { remote, .. } = &job.state else {
                continue;
            };
            let spans = agents.entry(clean(&job.agent_name, 80)).or_default();
            for (jobs, span) in spans.iter_mut().zip(SPANS) {
                if now.since(job.created_at) < span {
                    jobs.took.push(took(job));
                    let failed = matches!(
                        remote.state,
                        TaskState::Failed | TaskState::Rejected | TaskState::Unknown
                    );
                    jobs.failed += u64::from(failed);
                }
            }
        }
        for (agent, [hour, day]) in agents {
            if !day.took.is_empty() {
                told.push(json!({"agent": agent, "hour": listed(hour), "day": listed(day)}));
            }
        }
        Ok(told)
    }

    /// How often each type of agent was asked lately.
    pub(crate) async fn used(&self) -> Result<Used, StoreError> {
        let ledger = self.store.ledger();
        let owners = ledger.lately(&self.tenant, self.clock.now()).await?.owners;
        let mut used = Used::new();
        for job in self.newest(&owners).await?.into_iter().flat_map(|task| task.jobs) {
            *used.entry(job.agent_type).or_default() += 1;
        }
        Ok(used)
    }

    /// The newest tasks of the users who asked most in a day.
    async fn newest(&self, owners: &[Owner]) -> Result<Vec<Task>, StoreError> {
        let now = self.clock.now();
        let mut tasks = Vec::new();
        for owner in owners.iter().take(OWNERS) {
            let query = TaskQuery {
                tenant: &self.tenant,
                agent: &self.agent,
                owner,
                context: None,
                state: None,
                changed_since: None,
                limit: EACH,
                cursor: None,
                now,
            };
            tasks.extend(self.store.tasks().without_files().query(query).await?.tasks);
        }
        Ok(tasks)
    }
}

fn took(job: &Job) -> u64 {
    u64::try_from(job.updated_at.since(job.created_at).as_millis()).unwrap_or(u64::MAX)
}

fn counted(hour: &HourCounts) -> Value {
    json!({"ended": hour.ended, "failed": hour.failed, "p50": hour.within(50), "p99": hour.within(99), "microDollars": hour.cost})
}

/// The same of jobs, whose cost is their task's.
fn listed(mut jobs: Jobs) -> Value {
    jobs.took.sort_unstable();
    let ended = jobs.took.len();
    let within = |percent: usize| jobs.took.get((ended * percent).div_ceil(100).saturating_sub(1));
    json!({"ended": ended, "failed": jobs.failed, "p50": within(50), "p99": within(99), "microDollars": null})
}
