//! The pace of deliveries: how many push notifications leave a tenant's tasks in a minute.
//!
//! A process takes places of the tenant's minute by the block, each in one conditional update, and gives them out by itself. The first few
//! of a minute it gives out without asking, so that whoever has few deliveries pays nothing: so many more may leave for each process
//! that is at work.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{Quota, Tenant, Timestamp, UNPACED};

use super::Ledger;
use crate::StoreError;
use crate::change::{Change, number};
use crate::dynamo::Written;
use crate::usage::{day_of, key as day_key};

const MINUTE: i64 = 60_000;
/// A minute's items are kept for an hour.
const KEPT: Duration = Duration::from_secs(3600);
const TAKEN: &str = "taken";
/// Which parts of the whole a process gives out without asking, and takes at once.
const FREE: u64 = 100;
const BLOCK: u64 = 20;
/// Most tenants that a process paces; beyond, those of other minutes are forgotten.
const PACED: usize = 4096;

/// What is left to a process of tenants' minutes.
#[derive(Default)]
pub(crate) struct Paces(Mutex<HashMap<String, Pace>>);

#[derive(Clone, Copy)]
struct Pace {
    minute: i64,
    left: u64,
    /// Nobody gets more in this minute.
    is_over: bool,
}

impl Paces {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Pace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place, of those at hand; else true where more may be asked for.
    fn take(&self, tenant: &Tenant, minute: i64, quota: Quota) -> Result<(), bool> {
        let mut all = self.all();
        if all.len() >= PACED {
            all.retain(|_, pace| pace.minute == minute);
        }
        let fresh = Pace {
            minute,
            left: quota.deliveries_per_minute / FREE,
            is_over: false,
        };
        let pace = all.entry(tenant.prefix().to_owned()).or_insert(fresh);
        if pace.minute != minute {
            *pace = fresh;
        }
        match pace.left.checked_sub(1) {
            Some(left) => {
                pace.left = left;
                Ok(())
            }
            None => Err(!pace.is_over),
        }
    }

    fn give(&self, tenant: &Tenant, minute: i64, places: Option<u64>) {
        if let Some(pace) = self
            .all()
            .get_mut(tenant.prefix())
            .filter(|pace| pace.minute == minute)
        {
            pace.is_over = places.is_none();
            pace.left = pace.left.saturating_add(places.unwrap_or_default());
        }
    }
}

impl Ledger<'_> {
    /// Whether one more delivery may leave a tenant's tasks now; else when to ask again.
    ///
    /// # Errors
    /// What the database says.
    pub async fn may_deliver(
        &self,
        tenant: &Tenant,
        now: Timestamp,
    ) -> Result<Result<(), Timestamp>, StoreError> {
        let quota = self.store.tenants().quota(tenant, now).await?;
        let most = quota.deliveries_per_minute;
        if most >= UNPACED {
            return Ok(Ok(()));
        }
        let minute = now.millis().div_euclid(MINUTE);
        let next = Timestamp::from_millis((minute + 1) * MINUTE);
        let paces = &self.store.inner.paces;
        match paces.take(tenant, minute, quota) {
            Ok(()) => return Ok(Ok(())),
            Err(false) => return Ok(Err(next)),
            Err(true) => {}
        }
        let block = most.div_ceil(BLOCK).max(1);
        let change = Change::new()
            .add(TAKEN, TAKEN.to_owned(), block)
            .set("expires_at", number(now.after(KEPT).seconds()))
            .when(&format!("attribute_not_exists(#{TAKEN}) OR #{TAKEN} <= :room"))
            .value("room", number(most.saturating_sub(block)));
        let key = (day_key(tenant, day_of(now)).0, format!("PACE#{minute}"));
        let taken = match most {
            0 => None,
            _ => Some(self.write(&key, change).await?),
        };
        let Some(Written::Done(_)) = taken else {
            paces.give(tenant, minute, None);
            return Ok(Err(next));
        };
        paces.give(tenant, minute, Some(block - 1));
        Ok(Ok(()))
    }
}
