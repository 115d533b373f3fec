//! The fetched keys of many tenants, of each on its own. A token that is not checked yet says whose keys are wanted, so
//! what anybody can make us keep and fetch at once is bounded: a tenant whose keys were had is kept until others of its kind
//! push it out, one that nobody knows is remembered for a moment, and few of those at a time. Made-up names push out made-up
//! names: a tenant that is there gets its turn beside any number of them, for the price of a fetch for each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{Tenant, Timestamp};

use crate::key_place::KeyTemplate;
use crate::slot::{KeySource, Slot};

/// Most tenants whose keys are kept; beyond, the one that was asked for longest ago goes.
const MOST: usize = 4096;
/// Most tenants that nothing was had of, at a time; beyond, the one that was asked for longest ago goes.
const MOST_UNKNOWN: usize = 32;
/// How long such a one counts.
const UNKNOWN_FOR: Duration = Duration::from_secs(10);
/// Longest use of keys that could not be fetched again: a tenant that was taken away is known no longer.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

pub(crate) struct Slots {
    template: KeyTemplate,
    source: Arc<dyn KeySource>,
    kept: Mutex<HashMap<Tenant, Entry>>,
}

struct Entry {
    slot: Arc<Slot>,
    used: Timestamp,
}

impl Slots {
    pub(crate) fn new(template: KeyTemplate, source: Arc<dyn KeySource>) -> Self {
        Self {
            template,
            source,
            kept: Mutex::default(),
        }
    }

    /// The tenant's slot, where there is one.
    pub(crate) fn find(&self, tenant: &Tenant, now: Timestamp) -> Option<Arc<Slot>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = kept.get_mut(tenant)?;
        entry.used = now;
        Some(Arc::clone(&entry.slot))
    }

    /// The tenant's slot, a new one if need be; `None` while the keys of too many are being fetched.
    pub(crate) fn open(&self, tenant: &Tenant, now: Timestamp) -> Option<Arc<Slot>> {
        if let Some(known) = self.find(tenant, now) {
            return Some(known);
        }
        let url = self.template.url(tenant)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have opened it meanwhile: a second one would hide the keys that the first is getting.
        if let Some(entry) = kept.get_mut(tenant) {
            entry.used = now;
            return Some(Arc::clone(&entry.slot));
        }
        let unknown = |entry: &Entry| entry.slot.keys(now).is_none();
        kept.retain(|_, entry| !unknown(entry) || now.since(entry.used) < UNKNOWN_FOR);
        let unknowns = kept.values().filter(|entry| unknown(entry)).count();
        if unknowns >= MOST_UNKNOWN {
            // Those that are being fetched stay: whoever waits for one looks for it here.
            let gone = oldest(&kept, |entry| unknown(entry) && entry.slot.has_failed())?;
            kept.remove(&gone);
        } else if kept.len() - unknowns >= MOST
            && let Some(gone) = oldest(&kept, |entry| !unknown(entry))
        {
            kept.remove(&gone);
        }
        let slot = Arc::new(Slot::new(url, Arc::clone(&self.source), Some(LONGEST)));
        let entry = Entry {
            slot: Arc::clone(&slot),
            used: now,
        };
        kept.insert(tenant.clone(), entry);
        Some(slot)
    }
}

/// The tenant of this kind that was asked for longest ago.
fn oldest(kept: &HashMap<Tenant, Entry>, kind: impl Fn(&Entry) -> bool) -> Option<Tenant> {
    let of_kind = kept.iter().filter(|(_, entry)| kind(entry));
    let oldest = of_kind.min_by_key(|(_, entry)| entry.used);
    oldest.map(|(tenant, _)| tenant.clone())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use async_trait::async_trait;
    use serde_json::Value;

    use super::*;
    use crate::slot::NoKeys;

    struct Nobody;

    #[async_trait]
    impl KeySource for Nobody {
        async fn fetch(&self, _: &url::Url) -> Result<Value, NoKeys> {
            Err(NoKeys)
        }
    }

    #[test]
    fn whoever_opens_at_once_gets_the_same_slot() {
        let template = KeyTemplate::parse("https://idp.example/{tenant}/sessions.json").unwrap();
        let now = Timestamp::from_millis(1_000);
        for round in 0..200 {
            let slots = Slots::new(template.clone(), Arc::new(Nobody));
            let tenant = Tenant::parse(&format!("t{round}")).unwrap();
            let all_there = Barrier::new(4);
            let open = || {
                all_there.wait();
                slots.open(&tenant, now).unwrap()
            };
            let opened: Vec<Arc<Slot>> = std::thread::scope(|scope| {
                let running: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
                running.into_iter().map(|one| one.join().unwrap()).collect()
            });
            let kept = slots.find(&tenant, now).unwrap();
            assert!(
                opened.iter().all(|slot| Arc::ptr_eq(slot, &kept)),
                "round {round}"
            );
        }
    }
}
