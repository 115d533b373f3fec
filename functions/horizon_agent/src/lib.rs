//! The Horizon agent: how far a tenant's orders are. Secured, one deployment for each tenant.
//!
//! A call needs an access token of the tenant's own issuer, for this agent, with the scopes of its card. `question`
//! reads which orders are meant, `answer` says how far they are. An order that belongs to somebody else does not
//! exist; one that belongs to nobody is found by its number, within the tenant.
//!
//! Not here: changing orders; other languages than English.

mod answer;
mod card;
mod config;
mod executor;
mod question;

use std::sync::Arc;

use agent::{Access, Agent, Settings, Wake, WakeDoor, WorkError};
use async_trait::async_trait;
use auth::{Sealer, Verifier};
use axum::Router;
use domain::{AgentName, Clock, Entropy, InvalidId, Tenant};
use edge::{Front, QueueError, QueueHandler};
use outbound::Outbound;
use store::Store;
use url::Url;

pub use config::{Config, StartError};
pub use executor::HorizonExecutor;

/// The agent's name in keys and on queues.
pub const NAME: &str = "horizon";

/// What the function works with.
pub struct State {
    /// The agent's own URL, where its card says it is called.
    pub url: Url,
    /// The tenant it is deployed for.
    pub tenant: Tenant,
    /// The tenant's authorization server, whose endpoints lie below it.
    pub issuer: Url,
    /// The tables.
    pub store: Store,
    /// The queues.
    pub wake: Arc<dyn WakeDoor>,
    /// Whose tokens are good here; its audience is the agent's URL.
    pub verifier: Verifier,
    /// Seals what clients entrust to it.
    pub sealer: Arc<Sealer>,
    /// The way out, to webhooks.
    pub outbound: Outbound,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub entropy: Arc<dyn Entropy>,
    /// Times and bounds.
    pub settings: Settings,
}

/// Builds the agent: its router and its worker share it.
///
/// # Errors
/// Never, as long as [`NAME`] is an agent's name.
pub fn build(state: State) -> Result<Arc<Agent>, InvalidId> {
    Ok(Arc::new(Agent {
        name: AgentName::parse(NAME)?,
        card: card::card(state.url, &state.tenant, &state.issuer),
        own_tenant: Some(state.tenant),
        access: Access::Secured,
        executor: Arc::new(HorizonExecutor::new(state.store.clone())),
        store: state.store,
        wake: state.wake,
        verifier: state.verifier,
        sealer: state.sealer,
        outbound: state.outbound,
        clock: state.clock,
        entropy: state.entropy,
        settings: state.settings,
    }))
}

/// The whole function over HTTP, paths relative to the agent's URL.
pub fn router(agent: &Arc<Agent>) -> Router {
    let front = Front {
        clock: agent.clock.clone(),
        entropy: agent.entropy.clone(),
        function: "horizon_agent",
    };
    edge::front(agent::router(agent.clone()), front)
}

/// Works on one wake of the agent's queue.
///
/// # Errors
/// As [`agent::handle`]: the wake should come again.
pub async fn handle(agent: &Arc<Agent>, wake: &Wake) -> Result<(), WorkError> {
    agent::handle(agent, wake).await
}

/// The agent's side of its queue.
pub struct Worker(pub Arc<Agent>);

#[async_trait]
impl QueueHandler for Worker {
    async fn handle(&self, body: &str) -> Result<(), QueueError> {
        let wake = Wake::parse(body).map_err(|error| QueueError::Unreadable(error.to_string()))?;
        handle(&self.0, &wake)
            .await
            .map_err(|error| QueueError::Failed(Box::new(error)))
    }
}
