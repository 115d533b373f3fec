//! Streams: each that an owner holds open has a lease.

use std::time::Duration;

use domain::{Limit, OverQuota, Owner, Tenant, Timestamp, Whose};
use tokio::runtime::Handle;

use super::{AGAIN, Ledger, count};
use crate::change::{Change, number};
use crate::codec::Key;
use crate::dynamo::Written;
use crate::{Store, StoreError};

/// How long an owner's item of streams is kept, and how often a place in it is looked for.
const STREAMS_KEPT: Duration = Duration::from_secs(24 * 3600);
const SLOT_ROUNDS: u32 = 8;

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

impl Ledger<'_> {
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
}
