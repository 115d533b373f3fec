//! One sweep: bounded queries of each shard of the due index, and a wake for each task that is due, as far as its tenant's share
//! goes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent::{Wake, WakeDoor};
use domain::{Clock, Tenant, Timestamp};
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use store::{DUE_SHARDS, Pointer, PointsAt, Standing, Store};

/// Pointers read from one shard at once.
const PAGE: u32 = 500;

/// Wakes of one shard under way at once.
const AT_ONCE: usize = 4;

/// Most wakes of one tenant in a sweep: whatever one has due, the others' turn comes.
const SHARE: u32 = 2000;

/// What has been due for so many seconds is looked at twice: nobody waits for what is not an active tenant's.
const OVERDUE: u64 = 300;

/// How long a sweep goes on to the next page: it ends before the next one begins.
const LONGEST: Duration = Duration::from_secs(45);

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    /// Tasks woken.
    pub tasks: u32,
    /// Deliveries woken.
    pub deliveries: u32,
    /// Wakes that a queue did not take; they are still due.
    pub not_sent: u32,
    /// Wakes that were left for the next sweep, because their tenants had their shares of this one.
    pub left: u32,
    /// Shards that could not be read.
    pub unread_shards: u32,
    /// Shards in which more is due than there was time for; the next sweep begins with what waits longest.
    pub unfinished_shards: u32,
    /// For how many seconds the oldest due thing of an active tenant has been so; an alarm listens to this.
    pub oldest_due_seconds: u64,
}

/// Wakes everything that is due now. Failures are logged and counted, and keep nobody else waiting.
pub async fn sweep(store: &Store, wake: &dyn WakeDoor, clock: &dyn Clock) -> Swept {
    sweep_for(store, wake, clock, LONGEST).await
}

/// As [`sweep`], but after so long no further page of a shard is begun.
pub async fn sweep_for(store: &Store, wake: &dyn WakeDoor, clock: &dyn Clock, longest: Duration) -> Swept {
    let sweep = Sweep {
        store,
        wake,
        now: clock.now(),
        began: Instant::now(),
        longest,
        count: Count::default(),
        tenants: Mutex::default(),
    };
    join_all((0..DUE_SHARDS).map(|shard| sweep.drain(shard))).await;
    let oldest_due_seconds = sweep.oldest().await;
    let swept = sweep.count.done(oldest_due_seconds);
    if swept == Swept::default() {
        tracing::debug!("nothing is due");
    } else {
        let Swept {
            tasks,
            deliveries,
            not_sent,
            left,
            unread_shards,
            unfinished_shards,
            oldest_due_seconds,
        } = swept;
        tracing::info!(
            tasks,
            deliveries,
            not_sent,
            left,
            unread_shards,
            unfinished_shards,
            oldest_due_seconds,
            "swept"
        );
    }
    swept
}

#[derive(Default)]
struct Count {
    tasks: AtomicU32,
    deliveries: AtomicU32,
    not_sent: AtomicU32,
    left: AtomicU32,
    unread_shards: AtomicU32,
    unfinished_shards: AtomicU32,
}

impl Count {
    fn done(self, oldest_due_seconds: u64) -> Swept {
        Swept {
            tasks: self.tasks.into_inner(),
            deliveries: self.deliveries.into_inner(),
            not_sent: self.not_sent.into_inner(),
            left: self.left.into_inner(),
            unread_shards: self.unread_shards.into_inner(),
            unfinished_shards: self.unfinished_shards.into_inner(),
            oldest_due_seconds,
        }
    }
}

struct Sweep<'a> {
    store: &'a Store,
    wake: &'a dyn WakeDoor,
    now: Timestamp,
    began: Instant,
    longest: Duration,
    count: Count,
    /// How many wakes each tenant wanted, and for how many seconds its oldest thing has been due.
    tenants: Mutex<HashMap<Tenant, (u32, u64)>>,
}

impl Sweep<'_> {
    /// Wakes what is due in one shard, page by page, until nothing is left or the time is up.
    async fn drain(&self, shard: u32) {
        let mut cursor = None;
        loop {
            let page = self
                .store
                .tasks()
                .due(shard, self.now, PAGE, cursor.as_deref())
                .await;
            let page = match page {
                Ok(page) => page,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(shard, error, "due index not read");
                    self.count.unread_shards.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            };
            stream::iter(page.items)
                .for_each_concurrent(AT_ONCE, |pointer| self.send(pointer))
                .await;
            cursor = page.next;
            if cursor.is_none() {
                return;
            }
            if self.began.elapsed() >= self.longest {
                self.count.unfinished_shards.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
    }

    /// For how many seconds the oldest thing of an active tenant has been due.
    async fn oldest(&self) -> u64 {
        let tenants = std::mem::take(&mut *self.tenants.lock().unwrap_or_else(PoisonError::into_inner));
        let mut tenants: Vec<(u64, Tenant)> = tenants
            .into_iter()
            .map(|(tenant, (_, oldest))| (oldest, tenant))
            .collect();
        tenants.sort_unstable_by_key(|(oldest, _)| std::cmp::Reverse(*oldest));
        for (oldest, tenant) in tenants {
            let standing = match oldest < OVERDUE {
                true => Ok(Standing::Active),
                false => self.store.tenants().standing(&tenant, self.now).await,
            };
            if !matches!(standing, Ok(Standing::Suspended | Standing::Gone)) {
                return oldest;
            }
        }
        0
    }

    /// Counts a wake that is wanted; false where its tenant has had its share.
    fn has_share(&self, pointer: &Pointer) -> bool {
        let waited = self.now.since(pointer.due_at).as_secs();
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let (wanted, oldest) = tenants.entry(pointer.key.tenant.clone()).or_default();
        *wanted = wanted.saturating_add(1);
        *oldest = waited.max(*oldest);
        *wanted <= SHARE
    }

    async fn send(&self, pointer: Pointer) {
        if !self.has_share(&pointer) {
            self.count.left.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let (message, counter) = match pointer.what {
            PointsAt::Task => (Wake::task(&pointer.key), &self.count.tasks),
            PointsAt::Push(config) => (Wake::push(&pointer.key, config), &self.count.deliveries),
        };
        let counter = match self.wake.wake(&message, Duration::ZERO).await {
            Ok(()) => counter,
            Err(error) => {
                let key = &pointer.key;
                tracing::warn!(tenant.id = key.tenant.name(), agent = %key.agent, task.id = %key.id, %error, "wake not sent, still due");
                &self.count.not_sent
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
