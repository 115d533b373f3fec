//! The accommodation agent: places to stay, found by the tools of an MCP server. Open to everybody.
//!
//! A request goes through pure steps around the tools: [`wanted`] makes place, dates, guests and prices of the data, `listing` takes
//! what the server says for what it is, foreign text, and `answer` says it. It asks where the place or a day is missing, and never
//! guesses one.
//!
//! Where the server answers with a form, `form` has its user fill it in.
//!
//! Not here: booking, currencies.

mod answer;
mod card;
mod config;
mod executor;
mod form;
mod listing;
mod server;
pub mod wanted;

use std::sync::Arc;

use agent::{Access, Agent};
use domain::{AgentName, InvalidId};
use edge::agent_parts::{self, AgentParts};
use edge::{Error, Function, Ground};

pub use config::{Config, Server, Tools};

/// The function's name.
pub const NAME: &str = "airbnb_agent";
/// The agent's name in keys and on queues.
pub const AGENT: &str = "airbnb";

/// The whole function: HTTP, with paths relative to the agent's URL, and its queue.
///
/// # Errors
/// What is missing or wrong: keys, addresses.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let agent = agent(config.agent.parts(ground).await?, config.server)?;
    Ok(agent_parts::function(agent, NAME))
}

/// Builds the agent: its router and its worker share it.
///
/// # Errors
/// Never, as long as [`AGENT`] is an agent's name.
pub fn agent(parts: AgentParts, server: Server) -> Result<Arc<Agent>, InvalidId> {
    let name = AgentName::parse(AGENT)?;
    let card = card::card(parts.url.clone());
    let homes = server::Homes::new(parts.outbound.clone(), server, parts.clock.clone());
    let executor = Arc::new(executor::StayExecutor::new(homes, name.clone(), wanted::takes()));
    Ok(parts.agent((name, card), (Access::Open, None), executor))
}
