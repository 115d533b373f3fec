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

use agent::{Access, Agent};
use axum::Router;
use domain::{AgentName, InvalidId, Tenant};
use edge::agent_parts::{self, AgentParts};
use url::Url;

pub use config::Config;
pub use executor::HorizonExecutor;

/// The agent's name in keys and on queues.
pub const NAME: &str = "horizon";

/// Builds the agent of this tenant, for whoever has signed in at `issuer`, the tenant's authorization server, below which its
/// endpoints lie. The agent's router and its worker share it.
///
/// # Errors
/// Never, as long as [`NAME`] is an agent's name.
pub fn build(parts: AgentParts, tenant: Tenant, issuer: &Url) -> Result<Arc<Agent>, InvalidId> {
    let card = card::card(parts.url.clone(), &tenant, issuer);
    let executor = Arc::new(HorizonExecutor::new(parts.store.clone()));
    let name = AgentName::parse(NAME)?;
    Ok(parts.agent((name, card), (Access::Secured, Some(tenant)), executor))
}

/// The whole function over HTTP, paths relative to the agent's URL.
pub fn router(agent: &Arc<Agent>) -> Router {
    agent_parts::router(agent, "horizon_agent")
}
