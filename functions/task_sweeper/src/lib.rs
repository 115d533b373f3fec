//! Wakes what is due: expired leases, deadlines, deliveries, and whatever a lost wake left behind. Every minute on a
//! schedule, several times; a timer in the local system.
//!
//! It does no work of its own: the queue's workers decide, under a lease, what a wake means. So a
//! sweep may run twice, or beside another, and harms nothing. It is the one function that sees all tenants' keys, and
//! of their work no more than keys: the index that it reads holds pointers alone.
//!
//! Beside that it seals each closed minute of the audit (`store::Audit::seal`), where it reads entries and writes seals; and each night
//! it removes the large things that no record leads to any more (`store::Orphans`), of whose records it sees that they are there.

mod config;
mod timer;

use std::time::Duration;

use edge::blobs::{Bucket, S3Blobs};
use edge::{Error, Function, Ground};
use routes::Routes;

pub use config::Config;

pub use edge::sweep::{Looks, State, Sweeper, Swept, sweep, sweep_for};

use timer::Timer;

/// From one look to the next.
const EVERY: Duration = Duration::from_secs(5);

/// The function's name.
pub const NAME: &str = "task_sweeper";

/// Builds the function. It has no endpoint; whoever asks for one is told so in typed form.
///
/// # Errors
/// None in practice.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let router = edge::front(Routes::new(), ground.front(NAME));
    let sweeper = Sweeper::new(State {
        store: ground.store.clone(),
        wake: ground.wake.clone(),
        clock: ground.clock.clone(),
        looks: Looks {
            number: config.looks,
            every: EVERY,
        },
    });
    let archive = config.audit_bucket.map(|bucket| {
        let caller = ground.caller.clone();
        S3Blobs::new(Bucket { caller, ..bucket }, &ground.outbound, &ground.clock)
    });
    let timer = Timer::new(sweeper, ground, config.sealing_keys, config.tidies);
    Ok(Function::new(router).with_schedule(timer.shipping_to(archive)))
}
