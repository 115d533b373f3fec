//! The weather agent: forecasts from Open-Meteo in answer to plain questions. Open to everybody.
//!
//! A question is data (`question`), and goes through pure steps around two look-ups: `atlas` decides which place of a name is
//! meant, `answer` says what the forecast holds. It asks back when several places could be meant, or when it knows none of the names.
//!
//! Not here: hourly weather, past weather, warnings, other languages than English.

mod answer;
mod atlas;
mod card;
mod config;
mod executor;
mod forecaster;
mod question;
mod wanted;
mod wmo;

use std::sync::Arc;

use agent::{Access, Agent};
use domain::{AgentName, InvalidId};
use edge::agent_parts::{self, AgentParts};
use edge::{Error, Function, Ground};
use outbound::open_meteo::{Bases, OpenMeteo};

pub use config::Config;
pub use executor::WeatherExecutor;

/// The function's name.
pub const NAME: &str = "weather_agent";
/// The agent's name in keys and on queues.
pub const AGENT: &str = "weather";

/// The whole function: HTTP, with paths relative to the agent's URL, and its queue.
///
/// # Errors
/// What is missing or wrong: keys, addresses.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let open_meteo = config.open_meteo()?;
    let agent = agent(config.agent.parts(ground).await?, open_meteo)?;
    Ok(agent_parts::function(agent, NAME))
}

/// Builds the agent: its router and its worker share it. `open_meteo` is Open-Meteo, or its sandbox.
///
/// # Errors
/// Never, as long as [`AGENT`] is an agent's name.
pub fn agent(parts: AgentParts, open_meteo: Bases) -> Result<Arc<Agent>, InvalidId> {
    let card = card::card(parts.url.clone());
    let open_meteo = OpenMeteo::new(parts.outbound.clone(), open_meteo);
    let executor = Arc::new(WeatherExecutor::new(open_meteo));
    Ok(parts.agent((AgentName::parse(AGENT)?, card), (Access::Open, None), executor))
}
