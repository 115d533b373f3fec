//! Setting the ledger right: places of tasks that are not at work any more, though nobody said so, are freed.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::Days;
use domain::{AgentName, Owner, Tenant, Timestamp, Whose};
use tokio::time::Instant;

use super::{
    DAY, Ended, GUESTS_RUNNING, Ledger, Mark, Place, RECOUNTED_AT, RUNNING, TASKS, count, marks, tenant_key,
    waits,
};
use crate::StoreError;
use crate::change::{Change, number, text};
use crate::codec::Item;
use crate::dynamo::Written;
use crate::tasks::TaskKey;
use crate::usage::day_of;

/// When somebody last began to set the item right.
const LOOKED_AT: &str = "looked_at";
/// How often an item is set right at most, and how old what is wrong in it must be: who is at work on it would have been through.
const STALE: Duration = Duration::from_secs(60);
/// Most tasks that are looked at to set a tenant right.
const LOOKS: usize = 100;
/// What is read of owners' items to count what is at work.
const MARKS: &str = "#sk, #running";
/// How often a tenant is counted while others change it.
const COUNTS: u32 = 3;
/// When the next wake looks, as long as something is at work.
const NEXT: Duration = Duration::from_secs(3600);

impl Ledger<'_> {
    /// Sets the owner's item right, or all of the tenant's, whose number is then written anew. False where that was done just now,
    /// or there was nothing to do.
    pub(super) async fn set_right(&self, place: &Place, whose: Whose) -> Result<bool, StoreError> {
        let (now, agent) = (place.mark.began, &place.mark.agent);
        let item = match whose {
            Whose::Owner => place.own(),
            Whose::Tenant | Whose::Guests => tenant_key(&place.tenant),
        };
        let claim = Change::new()
            .set(LOOKED_AT, number(now.millis()))
            .when(&format!(
                "attribute_not_exists(#{LOOKED_AT}) OR #{LOOKED_AT} <= :before"
            ))
            .value("before", number(now.before(STALE).millis()));
        let Written::Done(claimed) = self.write(&item, claim).await? else {
            return Ok(false);
        };
        match whose {
            Whose::Owner => {
                let own = [(place.owner.clone(), claimed)];
                self.free_stale(&place.tenant, agent, &own, now).await
            }
            Whose::Tenant | Whose::Guests => self.recount(&place.tenant, agent, now).await,
        }
    }

    /// Sets a tenant right because a wake says that it is time, for an agent that may read its tasks; and says when the next one comes:
    /// none before the next day, where nothing is at work.
    ///
    /// # Errors
    /// What the database says; the wake comes again.
    pub async fn look_after(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.recount(tenant, agent, now).await?;
        let change = Change::new().when("#due_at <= :now").value("now", text(now));
        let idle = change
            .clone()
            .remove(&["due_at", "due_shard"])
            .when("attribute_not_exists(#running) OR #running <= :none")
            .value("none", number(0));
        if let Written::Refused(_) = self.write(&tenant_key(tenant), idle).await? {
            let later = change.set("due_at", text(now.after(NEXT)));
            self.write(&tenant_key(tenant), later).await?;
        }
        Ok(())
    }

    /// No wake looks after a tenant that is gone.
    pub(crate) async fn look_no_more(&self, tenant: &Tenant) -> Result<(), StoreError> {
        let change = Change::new()
            .remove(&["due_at", "due_shard"])
            .when("attribute_exists(#due_at)");
        self.write(&tenant_key(tenant), change).await.map(drop)
    }

    /// Frees what is not at work any more and writes the tenant's numbers anew, as the sum of its owners'; true where they are smaller.
    async fn recount(&self, tenant: &Tenant, agent: &AgentName, now: Timestamp) -> Result<bool, StoreError> {
        let began = Instant::now();
        let (owners, _) = self.at_work(tenant, now).await?;
        self.free_stale(tenant, agent, &owners, now).await?;
        for _ in 0..COUNTS {
            let found = self.item(&tenant_key(tenant)).await?;
            let (owners, all) = self.at_work(tenant, now).await?;
            // What was at work at midnight is in two days' items.
            let of = |guests: bool| -> u64 {
                let owners = owners.iter().filter(|(owner, _)| !guests || owner.is_guest());
                let all: BTreeSet<&[u8]> = owners.flat_map(|(_, item)| marks(item, RUNNING)).collect();
                u64::try_from(all.len()).unwrap_or(u64::MAX)
            };
            let [running, guests] = [of(false), of(true)];
            let seen = [RUNNING, GUESTS_RUNNING].map(|name| count(&found, name));
            if !all || running >= seen[0] && guests >= seen[1] {
                return Ok(false);
            }
            let anew = Change::new()
                .set(RUNNING, number(running))
                .set(GUESTS_RUNNING, number(guests))
                .set(RECOUNTED_AT, number(now.after(began.elapsed()).millis()));
            let same = [RUNNING, GUESTS_RUNNING, TASKS, DAY]
                .into_iter()
                .fold(anew, |anew, name| {
                    let seen = format!("seen_{name}");
                    match found.get(name) {
                        Some(AttributeValue::N(value)) => anew
                            .when(&format!("#{name} = :{seen}"))
                            .value(&seen, AttributeValue::N(value.clone())),
                        _ => anew.when(&format!("attribute_not_exists(#{name})")),
                    }
                });
            if let Written::Done(_) = self.write(&tenant_key(tenant), same).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The owners' items of today and of the day before, in which what is at work may still stand.
    async fn at_work(
        &self,
        tenant: &Tenant,
        now: Timestamp,
    ) -> Result<(Vec<(Owner, Item)>, bool), StoreError> {
        let (mut owners, mut all) = (Vec::new(), true);
        for ago in [0, 1] {
            if let Some(day) = day_of(now).checked_sub_days(Days::new(ago)) {
                let (more, complete) = self.owner_items(tenant, day, Some(MARKS)).await?;
                owners.extend(more);
                all &= complete;
            }
        }
        Ok((owners, all))
    }

    /// True where a mark is gone: its task has ended, waits for its user, or was never made.
    async fn free_stale(
        &self,
        tenant: &Tenant,
        agent: &AgentName,
        owners: &[(Owner, Item)],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let stale = |mark: &Mark| mark.agent == *agent && now.since(mark.began) >= STALE;
        let stale = owners.iter().flat_map(|(owner, item)| {
            let marks = marks(item, RUNNING).filter_map(Mark::read);
            marks.filter(stale).map(move |mark| (owner, mark))
        });
        let mut freed = false;
        for (owner, mark) in stale.take(LOOKS) {
            let key = TaskKey {
                tenant: tenant.clone(),
                agent: mark.agent.clone(),
                id: mark.id,
            };
            let place = Place {
                tenant: tenant.clone(),
                owner: owner.clone(),
                mark,
            };
            freed |= match self
                .store
                .tasks()
                .find(&key, now)
                .await?
                .map(|stored| stored.task)
            {
                // What was never made may not be counted in the tenant's item, where nothing is taken away for it.
                None => self.leave(&place, now).await?,
                Some(task) => {
                    let state = task.status.state;
                    let ended = state.is_terminal().then(|| Ended::of(&task));
                    let over = ended.is_some() || waits(state);
                    if over {
                        self.free(&place, ended, now).await?;
                    }
                    over
                }
            };
        }
        Ok(freed)
    }
}
