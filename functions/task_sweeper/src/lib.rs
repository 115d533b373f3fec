//! Wakes what is due: expired leases, deadlines, deliveries, and whatever a lost wake left behind. Every minute on a
//! schedule, several times; a timer in the local system.
//!
//! It does no work of its own and writes nothing: the queue's workers decide, under a lease, what a wake means. So a
//! sweep may run twice, or beside another, and harms nothing. It is the one function that sees all tenants' keys, and
//! sees no more than keys: the index that it reads holds pointers alone.

mod config;
mod sweep;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use agent::WakeDoor;
use domain::Clock;
use edge::{Error, Function, Ground, ScheduleError, ScheduleHandler};
use routes::Routes;
use serde_json::Value;
use store::Store;

pub use config::Config;
pub use sweep::{Swept, sweep, sweep_for};

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

/// From one look to the next.
const EVERY: Duration = Duration::from_secs(5);

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

/// The function's name.
pub const NAME: &str = "task_sweeper";

/// Builds the function. It has no endpoint; whoever asks for one is told so in typed form.
///
/// # Errors
/// None in practice.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let router = edge::front(Routes::new(), ground.front(NAME));
    Ok(Function::new(router).with_schedule(Sweeper::new(State {
        store: ground.store,
        wake: ground.wake,
        clock: ground.clock,
        looks: Looks {
            number: config.looks,
            every: EVERY,
        },
    })))
}

/// A shard of the due index could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{0} shards of the due index could not be read")]
struct Unread(u32);

#[async_trait::async_trait]
impl ScheduleHandler for Sweeper {
    async fn run(&self) -> Result<Value, ScheduleError> {
        let swept = sweep::sweep_often(&self.state, &self.latest).await;
        if swept.unread_shards > 0 {
            return Err(ScheduleError(Box::new(Unread(swept.unread_shards))));
        }
        serde_json::to_value(swept).map_err(|error| ScheduleError(Box::new(error)))
    }
}
