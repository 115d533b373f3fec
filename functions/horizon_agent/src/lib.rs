//! The Horizon agent: how far a tenant's orders are. Secured, one deployment for each tenant.
//!
//! A call needs an access token of the tenant's own issuer, for this agent, with the scopes of its card. `question`
//! says what it takes as data and which orders that means, `answer` says how far they are. An order that belongs to somebody else does not
//! exist, nor does one that belongs to nobody.
//!
//! Not here: changing orders.

mod answer;
mod card;
mod config;
mod executor;
mod question;

use std::sync::Arc;

use agent::{Access, Agent};
use domain::{AgentName, InvalidId, Tenant};
use edge::agent_parts::{self, AgentParts};
use edge::{Error, Function, Ground};
use url::Url;

pub use config::Config;
pub use executor::HorizonExecutor;

/// The function's name.
pub const NAME: &str = "horizon_agent";
/// The agent's name in keys and on queues.
pub const AGENT: &str = "horizon";

/// The whole function: HTTP, with paths relative to the agent's URL, and its queue.
///
/// # Errors
/// What is missing or wrong: keys, an address for the tenant below `IDP_URL`.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let issuer = config.issuer()?;
    let agent = agent(config.agent.parts(ground).await?, config.tenant, &issuer)?;
    Ok(agent_parts::function(agent, NAME))
}

/// Builds the agent of this tenant, for whoever has signed in at `issuer`, the tenant's authorization server, below which its
/// endpoints lie. The agent's router and its worker share it.
///
/// # Errors
/// Never, as long as [`AGENT`] is an agent's name.
pub fn agent(parts: AgentParts, tenant: Tenant, issuer: &Url) -> Result<Arc<Agent>, InvalidId> {
    let card = card::card(parts.url.clone(), &tenant, issuer);
    let executor = Arc::new(HorizonExecutor::new(parts.store.clone()));
    let name = AgentName::parse(AGENT)?;
    Ok(parts.agent((name, card), (Access::Secured, Some(tenant)), executor))
}
