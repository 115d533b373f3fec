//! One sweep over all shards.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agent::{Wake, WakeDoor};
use domain::{Clock, Timestamp};
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream;
use serde::Serialize;
use store::{DUE_SHARDS, Pointer, PointsAt, Store, StoreError};

/// Pointers taken from one shard in one sweep. What is beyond waits for the next, longest overdue first.
const PER_SHARD: u32 = 1_000;

/// Wakes under way at once.
const AT_ONCE: usize = 16;

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    /// Tasks woken.
    pub tasks: u32,
    /// Deliveries woken.
    pub deliveries: u32,
    /// Wakes that a queue did not take; they are still due.
    pub not_sent: u32,
    /// Shards that could not be read.
    pub unread_shards: u32,
}

/// Wakes what is due now. Failures are logged and counted, and keep nobody else waiting.
pub async fn sweep(store: &Store, wake: &dyn WakeDoor, clock: &dyn Clock) -> Swept {
    let now = clock.now();
    let read = join_all((0..DUE_SHARDS).map(|shard| due(store, shard, now))).await;
    let unread_shards = u32::try_from(read.iter().filter(|shard| shard.is_err()).count()).unwrap_or(u32::MAX);

    let (tasks, deliveries, not_sent) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    stream::iter(read.into_iter().flatten().flatten())
        .for_each_concurrent(AT_ONCE, async |pointer| {
            let (message, counter) = match pointer.what {
                PointsAt::Task => (Wake::task(&pointer.key, None), &tasks),
                PointsAt::Push(config) => (Wake::push(&pointer.key, config, None), &deliveries),
            };
            let counter = match wake.wake(&message, Duration::ZERO).await {
                Ok(()) => counter,
                Err(error) => {
                    let key = &pointer.key;
                    tracing::warn!(tenant.id = %key.tenant, agent = %key.agent, task.id = %key.id, %error, "wake not sent, still due");
                    &not_sent
                }
            };
            counter.fetch_add(1, Ordering::Relaxed);
        })
        .await;

    let swept = Swept {
        tasks: tasks.into_inner(),
        deliveries: deliveries.into_inner(),
        not_sent: not_sent.into_inner(),
        unread_shards,
    };
    if swept == Swept::default() {
        tracing::debug!("nothing is due");
    } else {
        let Swept {
            tasks,
            deliveries,
            not_sent,
            unread_shards,
        } = swept;
        tracing::info!(tasks, deliveries, not_sent, unread_shards, "swept");
    }
    swept
}

async fn due(store: &Store, shard: u32, now: Timestamp) -> Result<Vec<Pointer>, StoreError> {
    let found = store.tasks().due(shard, now, PER_SHARD, None).await;
    found.map(|page| page.items).inspect_err(|error| {
        tracing::error!(
            shard,
            error = error as &dyn std::error::Error,
            "due index not read"
        )
    })
}
