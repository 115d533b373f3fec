//! Wakes what is due: expired leases, deadlines, deliveries, and whatever a lost wake left behind. Every minute on a
//! schedule, several times; a timer in the local system.
//!
//! It does no work of its own and writes nothing: the queue's workers decide, under a lease, what a wake means. So a
//! sweep may run twice, or beside another, and harms nothing. It is the one function that sees all tenants' keys, and
//! sees no more than keys: the index that it reads holds pointers alone.

mod config;

use std::time::Duration;

use edge::{Error, Function, Ground};
use routes::Routes;

pub use config::Config;
pub use edge::sweep::{Looks, State, Sweeper, Swept, sweep, sweep_for};

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
