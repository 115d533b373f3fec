//! Takes the push notifications of downstream agents: one endpoint, `POST /api/webhook/tasks`, for one tenant.
//!
//! It writes the news into the task and puts a wake on the host's queue, no more: what the news mean is the host's to
//! decide. 204 where the news are stored or known already, 401 on a missing, wrong or old token and on a wrong signature,
//! 400 on a body that is neither a `Task` nor a `StreamResponse` of either protocol generation nor `{taskId, status, result}`, 429 where one source or
//! one job says too much, 503 where it should come again.
//!
//! The token is what a sender is known by. Where the job also knows the keys that its agent publishes
//! (`{agent}/.well-known/jwks.json`), each notification must carry a fitting Ed25519 signature of Standard Webhooks too;
//! an agent that publishes none is known by its token alone.

mod config;
mod decide;
mod error;
mod receive;
mod source;
mod token;

use std::sync::Arc;
use std::time::Duration;

use agent::WakeDoor;
use axum::Router;
use domain::{AgentName, Clock, Entropy, Tenant};
use edge::{Error, Front, Function, Ground};
use routes::{Route, Routes};
use store::Store;

use crate::source::Sources;

pub use config::Config;
pub use decide::{Decision, Delivery, decide};

/// How long a webhook token is good when nothing else is configured: longer than the longest retries of a sender.
pub const TOKEN_TTL: Duration = Duration::from_secs(7 * 24 * 3600);

/// Most bytes of a notification: a job's whole result may be in it. What of that is too large to keep is left out by name.
pub const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// What the function works with.
pub struct Receiver {
    /// The one tenant it serves.
    pub tenant: Tenant,
    /// The host agent's name in keys and on queues.
    pub host: AgentName,
    /// The database, through the one room that names it.
    pub store: Store,
    /// The host's queue.
    pub wake: Arc<dyn WakeDoor>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The RNG of request and trace ids.
    pub entropy: Arc<dyn Entropy>,
    /// How long after the task's creation its tokens are good.
    pub token_ttl: Duration,
}

/// What the function works with, under the name every function has for it.
pub type State = Receiver;

/// The function with what this process remembers.
struct Shared {
    receiver: Receiver,
    sources: Sources,
}

/// The function's name.
pub const NAME: &str = "webhook_receiver";

/// Builds the function. `WAKE_QUEUES` must name the queue of `host`.
///
/// # Errors
/// None in practice.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    Ok(Function::new(router(State {
        tenant: config.tenant,
        host: AgentName::parse("host")?,
        store: ground.store,
        wake: ground.wake,
        clock: ground.clock,
        entropy: ground.entropy,
        token_ttl: config.token_ttl,
    })))
}

/// The whole function, paths relative to the tenant's base.
pub fn router(state: State) -> Router {
    let front = Front::new(NAME, &state.clock, &state.entropy).taking(BODY_LIMIT);
    let shared = Shared {
        receiver: state,
        sources: Sources::default(),
    };
    edge::front(served().with_state(Arc::new(shared)), front)
}

/// What the function serves, as a list.
pub fn routes() -> Vec<Route> {
    served().listed().to_vec()
}

fn served() -> Routes<Arc<Shared>> {
    Routes::new().post(
        "/api/webhook/tasks",
        "takes a push notification of a downstream agent",
        receive::receive,
    )
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
