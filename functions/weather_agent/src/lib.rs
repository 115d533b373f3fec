//! The weather agent: forecasts from Open-Meteo in answer to plain questions. Open to everybody.
//!
//! A question goes through pure steps around two look-ups: [`question`] reads places, days, units and what is wanted
//! out of the words, `atlas` decides which place of a name is meant, `answer` says what the forecast holds. It asks
//! back when no place is named, when several places could be meant, or when it knows none of the names.
//!
//! Not here: hourly weather, past weather, warnings, other languages than English.

mod answer;
mod atlas;
mod card;
mod config;
mod conversation;
mod executor;
mod forecaster;
pub mod question;
mod wmo;

use std::sync::Arc;

use agent::{Access, Agent, Settings, Wake, WakeDoor, WorkError};
use async_trait::async_trait;
use auth::{Sealer, Verifier};
use axum::Router;
use domain::{AgentName, Clock, Entropy, InvalidId};
use edge::{Front, QueueError, QueueHandler};
use outbound::Outbound;
use outbound::open_meteo::{Bases, OpenMeteo};
use store::Store;
use url::Url;

pub use config::{Config, StartError};
pub use executor::WeatherExecutor;
pub use forecaster::{Forecaster, Progress, Reply, Trouble};

/// The agent's name in keys and on queues.
pub const NAME: &str = "weather";

/// What the function works with.
pub struct State {
    /// The agent's own URL, where its card says it is called.
    pub url: Url,
    /// Where Open-Meteo, or its sandbox, is.
    pub open_meteo: Bases,
    /// The tables.
    pub store: Store,
    /// The queues.
    pub wake: Arc<dyn WakeDoor>,
    /// Whose tokens are good here; its audience is the agent's URL.
    pub verifier: Verifier,
    /// Seals what clients entrust to it.
    pub sealer: Arc<Sealer>,
    /// The way out, to Open-Meteo and to webhooks.
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
    let open_meteo = OpenMeteo::new(state.outbound.clone(), state.open_meteo);
    Ok(Arc::new(Agent {
        name: AgentName::parse(NAME)?,
        card: card::card(state.url),
        own_tenant: None,
        access: Access::Open,
        store: state.store,
        wake: state.wake,
        executor: Arc::new(WeatherExecutor::new(Forecaster::new(open_meteo))),
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
        function: "weather_agent",
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
