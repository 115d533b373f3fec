//! A sweep: a few looks at the due index, each a bounded query of each shard, and a wake for each task that is due, as far as its
//! tenant's share goes.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent::{Wake, WakeDoor};
use domain::{Clock, PushConfigId, Tenant, Timestamp};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{DUE_SHARDS, Pointer, PointsAt, Standing, Store, TaskKey};

use crate::{ScheduleError, ScheduleHandler};

/// What a sweep works with.
#[derive(Clone)]
pub struct State {
    /// The database, through the one room that names it.
    pub store: Store,
    /// The agents' queues.
    pub wake: Arc<dyn WakeDoor>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// How often it looks.
    pub looks: Looks,
}

/// How often a sweep looks at what is due, and how long after the look before.
#[derive(Debug, Clone, Copy)]
pub struct Looks {
    /// How many times.
    pub number: u32,
    /// From one to the next.
    pub every: Duration,
}

/// Pointers read from one shard at once.
const PAGE: u32 = 500;

/// Most wakes of one tenant in a look: whatever one has due, the others' turn comes.
const SHARE: u32 = 2000;

/// What has been due for so many seconds is looked at twice: nobody waits for what is not an active tenant's.
const OVERDUE: u64 = 300;

/// How long a sweep goes on to the next page or look: it ends before the next one begins.
const LONGEST: Duration = Duration::from_secs(47);

/// A clock that goes back by more than this was set.
const SET_BACK: Duration = Duration::from_secs(60);

/// So far ahead of what that clock said is looked once: most of what waits is looked at again within it. Whoever is woken early waits on.
const PUT_OFF: Duration = Duration::from_secs(3600);

/// Most wakes that a sweep remembers, so as not to send them again with the next look.
const REMEMBERED: usize = 50_000;

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
    /// Wakes that the last look left for the next, because their tenants had their shares of it.
    pub left: u32,
    /// Shards that could not be read.
    pub unread_shards: u32,
    /// Shards in which more is due than there was time for; the next sweep begins with what waits longest.
    pub unfinished_shards: u32,
    /// For how many seconds the oldest due thing of an active tenant has been so; an alarm listens to this.
    pub oldest_due_seconds: u64,
}

/// Looks as often as it is told, and wakes everything that is due. What stays due is woken once.
async fn sweep_often(state: &State, latest: &AtomicI64) -> Swept {
    let State {
        store,
        wake,
        clock,
        looks,
    } = state;
    let (began, mut sent) = (Instant::now(), HashSet::new());
    let mut all = Swept::default();
    for look in 0..looks.number {
        let wait = (looks.every * look).saturating_sub(began.elapsed());
        if look > 0 && began.elapsed() + wait >= LONGEST {
            break;
        }
        tokio::time::sleep(wait).await;
        let longest = LONGEST.saturating_sub(began.elapsed());
        let now = clock.now();
        let before = Timestamp::from_millis(latest.swap(now.millis(), Ordering::Relaxed));
        // What was put off by a clock that has been set back since is due at times that are long in coming.
        let until = match before.since(now) > SET_BACK {
            true => before.after(PUT_OFF),
            false => now,
        };
        let swept;
        (swept, sent) = look_once((store, wake.as_ref()), (now, until), longest, sent).await;
        all = Swept {
            tasks: all.tasks + swept.tasks,
            deliveries: all.deliveries + swept.deliveries,
            not_sent: all.not_sent + swept.not_sent,
            ..swept
        };
        if swept.unread_shards > 0 {
            break;
        }
    }
    all
}

/// Wakes everything that is due now. Failures are logged and counted, and keep nobody else waiting.
pub async fn sweep(store: &Store, wake: &dyn WakeDoor, clock: &dyn Clock) -> Swept {
    sweep_for(store, wake, clock, LONGEST).await
}

/// As [`sweep`], but after so long no further page of a shard is begun.
pub async fn sweep_for(store: &Store, wake: &dyn WakeDoor, clock: &dyn Clock, longest: Duration) -> Swept {
    let now = clock.now();
    look_once((store, wake), (now, now), longest, HashSet::new())
        .await
        .0
}

/// What was due, and since when.
type Sent = HashSet<(TaskKey, Option<PushConfigId>, Timestamp)>;

/// One look, which passes over what was sent before; what is sent by now.
async fn look_once(
    (store, wake): (&Store, &dyn WakeDoor),
    (now, until): (Timestamp, Timestamp),
    longest: Duration,
    sent: Sent,
) -> (Swept, Sent) {
    let sweep = Sweep {
        store,
        wake,
        now,
        until,
        began: Instant::now(),
        longest,
        told: Mutex::new(Told {
            sent,
            ..Told::default()
        }),
    };
    join_all((0..DUE_SHARDS).map(|shard| sweep.drain(shard))).await;
    let oldest_due_seconds = sweep.oldest().await;
    let Told { swept, sent, .. } = sweep.told.into_inner().unwrap_or_else(PoisonError::into_inner);
    let swept = Swept {
        oldest_due_seconds,
        ..swept
    };
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
    (swept, sent)
}

/// What was found and done so far.
#[derive(Default)]
struct Told {
    swept: Swept,
    /// What was sent already.
    sent: Sent,
    /// How many wakes each tenant wanted, and for how many seconds its oldest thing has been due.
    tenants: HashMap<Tenant, (u32, u64)>,
}

impl Told {
    fn counter(&mut self, wake: &Wake) -> &mut u32 {
        match wake.delivery() {
            None => &mut self.swept.tasks,
            Some(_) => &mut self.swept.deliveries,
        }
    }
}

struct Sweep<'a> {
    store: &'a Store,
    wake: &'a dyn WakeDoor,
    now: Timestamp,
    /// What is due by then is woken.
    until: Timestamp,
    began: Instant,
    longest: Duration,
    told: Mutex<Told>,
}

impl Sweep<'_> {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes what is due in one shard, page by page, until nothing is left or the time is up.
    async fn drain(&self, shard: u32) {
        let mut cursor = None;
        loop {
            let page = self
                .store
                .tasks()
                .due(shard, self.until, PAGE, cursor.as_deref())
                .await;
            let page = match page {
                Ok(page) => page,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(shard, error, "due index not read");
                    self.told().swept.unread_shards += 1;
                    return;
                }
            };
            self.send(page.items).await;
            cursor = page.next;
            if cursor.is_none() {
                return;
            }
            if self.began.elapsed() >= self.longest {
                self.told().swept.unfinished_shards += 1;
                return;
            }
        }
    }

    /// For how many seconds the oldest thing of an active tenant has been due.
    async fn oldest(&self) -> u64 {
        let tenants = std::mem::take(&mut self.told().tenants);
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

    /// The wake for it; `None` where it was sent already, or its tenant has had its share.
    fn wanted(&self, Pointer { key, what, due_at }: Pointer) -> Option<Wake> {
        let waited = self.now.since(due_at).as_secs();
        let delivery = match what {
            PointsAt::Task | PointsAt::Ledger => None,
            PointsAt::Push(config) => Some(config),
        };
        let mut told = self.told();
        let Told { swept, sent, tenants } = &mut *told;
        let (wanted, oldest) = tenants.entry(key.tenant.clone()).or_default();
        *oldest = waited.max(*oldest);
        let this = (key, delivery, due_at);
        if sent.contains(&this) {
            return None;
        }
        if *wanted >= SHARE {
            swept.left += 1;
            return None;
        }
        *wanted += 1;
        let wake = match &this {
            (key, None, _) => Wake::task(key),
            (key, Some(config), _) => Wake::push(key, config.clone()),
        };
        if sent.len() < REMEMBERED {
            sent.insert(this);
        }
        Some(wake)
    }

    async fn send(&self, pointers: Vec<Pointer>) {
        let wakes = pointers.into_iter().filter_map(|pointer| self.wanted(pointer));
        let wakes: Vec<Wake> = wakes.collect();
        for wake in &wakes {
            *self.told().counter(wake) += 1;
        }
        for (wake, error) in self.wake.wake_all(wakes).await {
            let key = wake.key();
            tracing::warn!(tenant.id = key.tenant.name(), agent = %key.agent, task.id = %key.id, %error, "wake not sent, still due");
            let mut told = self.told();
            *told.counter(&wake) -= 1;
            told.swept.not_sent += 1;
        }
    }
}

/// Sweeps whenever the schedule says so.
pub struct Sweeper {
    state: State,
    /// The latest time that it has swept at, in milliseconds.
    latest: AtomicI64,
}

impl Sweeper {
    /// One that works with this.
    #[must_use]
    pub fn new(state: State) -> Self {
        let latest = AtomicI64::new(i64::MIN);
        Self { state, latest }
    }
}

/// A shard of the due index could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{0} shards of the due index could not be read")]
struct Unread(u32);

#[async_trait::async_trait]
impl ScheduleHandler for Sweeper {
    async fn run(&self) -> Result<Value, ScheduleError> {
        let swept = sweep_often(&self.state, &self.latest).await;
        if swept.unread_shards > 0 {
            return Err(ScheduleError(Box::new(Unread(swept.unread_shards))));
        }
        serde_json::to_value(swept).map_err(|error| ScheduleError(Box::new(error)))
    }
}
