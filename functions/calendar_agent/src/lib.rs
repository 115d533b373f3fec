//! The calendar agent: whether its user is free, what stands in the user's Google calendar, and which times are free. It
//! serves every tenant, and only reads.
//!
//! [`question`] reads what is asked out of data and words, `times` makes moments of it by the user's clock, `answer` says
//! what the calendar holds. Without its user's consent it asks for that, each scope only once it is needed; the page that
//! the user comes back to is `oauth_callback`, deployed for this agent. Whoever comes from the page of the task's own host has proved that
//! it is the starter's browser; anybody else is shown a code.
//!
//! Nothing of a calendar is kept but the answer.

mod answer;
mod card;
mod config;
mod executor;
pub mod question;
mod times;

use std::sync::Arc;

use agent::{Access, Agent};
use consent::Consents;
use domain::{AgentName, InvalidId, Tenant};
use edge::agent_parts::{self, AgentParts};
use edge::{Error, Function, Ground};
use outbound::google_calendar::GoogleCalendar;
use outbound::oauth::Providers;
use url::Url;

pub use config::Config;

/// The function's name.
pub const NAME: &str = "calendar_agent";
/// The agent's name in keys and on queues.
pub const AGENT: &str = "calendar";
/// What Google is called among the authorization servers that know this agent.
pub const PROVIDER: &str = "google";

/// Where the agent finds what is not its own.
pub struct Places {
    /// The calendar's API, in front of `/freeBusy`.
    pub calendar: Url,
    /// Where users go to agree.
    pub consent: Url,
    /// The authorization servers that know this agent.
    pub providers: Providers,
}

/// The whole function: HTTP, with paths relative to the agent's URL, and its queue.
///
/// # Errors
/// What is missing or wrong: keys, addresses, the secret of the providers.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let places = Places {
        calendar: config.calendar()?,
        consent: config.consent,
        providers: ground.providers(Some(&config.providers)).await?,
    };
    let agent = agent(config.agent.parts(ground).await?, places)?;
    Ok(agent_parts::function(agent, NAME))
}

/// Builds the agent: its router and its worker share it.
///
/// # Errors
/// Never, as long as [`AGENT`] is an agent's name.
pub fn agent(parts: AgentParts, places: Places) -> Result<Arc<Agent>, InvalidId> {
    let name = AgentName::parse(AGENT)?;
    let card = card::card(parts.url.clone());
    let consents = Consents {
        // Whose it is, each task says.
        tenant: Tenant::public(),
        agent: Some(name.clone()),
        store: parts.store.clone(),
        sealer: Arc::clone(&parts.sealer),
        providers: Arc::new(places.providers),
        outbound: parts.outbound.clone(),
        clock: Arc::clone(&parts.clock),
        entropy: Arc::clone(&parts.entropy),
    };
    let calendar = GoogleCalendar::new(parts.outbound.clone(), places.calendar);
    let executor = executor::CalendarExecutor {
        name: name.clone(),
        consents,
        calendar,
        consent_base: places.consent,
        takes: question::takes(),
        wake: Arc::clone(&parts.wake),
    };
    Ok(parts.agent((name, card), (Access::Secured, None), Arc::new(executor)))
}
