//! The report agent: a sample of work that takes long. It acknowledges at once, goes through the steps of a report one
//! by one, says how far it is, and calls the webhook at the end. Open to everybody.
//!
//! Nothing runs between two steps: each ends with a checkpoint and the time of the next in the task's record, so that
//! a report survives every restart and costs nothing while it waits. Of a text that it is given it takes the sentences that say most.
//!
//! Not here: research, and language models. Of a topic alone it writes a sample, which takes time and says so.

mod card;
mod config;
mod executor;
mod extract;
mod given;
mod plan;

use std::sync::Arc;
use std::time::Duration;

use agent::{Access, Agent};
use domain::{AgentName, InvalidId};
use edge::agent_parts::{self, AgentParts};
use edge::{Error, Function, Ground};

pub use config::{Config, STEP};
pub use executor::ReportExecutor;

/// The function's name.
pub const NAME: &str = "report_agent";
/// The agent's name in keys and on queues.
pub const AGENT: &str = "report";

/// The whole function: HTTP, with paths relative to the agent's URL, and its queue.
///
/// # Errors
/// Where a key is missing or none.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let agent = agent(config.agent.parts(ground).await?, config.step)?;
    Ok(agent_parts::function(agent, NAME))
}

/// Builds the agent; each step of its reports takes this long.
///
/// # Errors
/// Never, as long as [`AGENT`] is an agent's name.
pub fn agent(parts: AgentParts, step: Duration) -> Result<Arc<Agent>, InvalidId> {
    let card = card::card(parts.url.clone());
    let executor = Arc::new(ReportExecutor::new(step));
    Ok(parts.agent((AgentName::parse(AGENT)?, card), (Access::Open, None), executor))
}
