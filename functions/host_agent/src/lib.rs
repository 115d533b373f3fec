//! The host agent: a tenant's single entry point. It reads the prompt, finds the agents that fit, hands the work over
//! without waiting for it, and brings the answers back.
//!
//! ```text
//! new task ─► model ─► send_message(type, text) ─► job stored, prepared ─► non-blocking send ─► linked ─► parked
//!                                                                                                     │ webhook, look, time
//! answer ◄─ model phrases the results ◄──────────────────────────────── every job settled ◄───────────┘
//! ```
//!
//! What it decided is stored before anything leaves (`domain::Job`), so a process may end at any point: the next one
//! resends the same bytes. Which model decides is the room `llm`; what an agent is, the room `agent`. Only this
//! function decides what happens next to a task; the webhook receiver writes news down and wakes it.

mod advance;
mod approval;
mod broker;
mod budget;
mod card;
mod config;
mod connections;
mod consents;
mod declined;
mod delegation;
mod deps;
mod executor;
mod meaning;
mod model;
mod provider_match;
mod rules;
mod session_tokens;
mod thinking;
mod waiting;

use std::sync::{Arc, Mutex};

use ::consent::Consents;
use agent::{Access, Agent, Wake, WakeDoor, WorkError};
use auth::{Sealer, SigningKey, TokenValidator};
use domain::{AgentName, Clock, Entropy, InvalidId, Tenant};
use llm::Model;
use outbound::oauth::Providers;
use outbound::{Outbound, PushKeys};
use store::Store;
use url::Url;

use deps::Deps;
use executor::HostExecutor;
use session_tokens::SessionTokens;
use thinking::thinker::Thinker;

pub use approval::{InvalidPlanApproval, PlanApproval};
pub use broker::MqttBridge;
pub use config::{Args, Config, HostConfigError, build};
pub use rules::patience::Patience;
pub use thinking::directory::{Directory, briefs};

/// The function's name.
pub const NAME: &str = "host_agent";
/// The agent's name in keys and on queues.
pub const AGENT: &str = "host";

/// What a host is built of.
pub struct Parts {
    /// The one tenant it serves.
    pub tenant: Tenant,
    /// Its own public URL: where its card points, and the audience of tokens for it.
    pub url: Url,
    /// The issuer that its own tokens name: the tenant's base URL.
    pub issuer: String,
    /// The tenant's session key, which signs those tokens.
    pub key: Arc<SigningKey>,
    /// Whose tokens it takes: the tenant's own sessions', and its authorization server's.
    pub validator: Arc<dyn TokenValidator>,
    /// The tenant's authorization server, where clients from outside get tokens for the host; its card names it.
    pub sign_in: Option<Url>,
    /// Where it finds agents.
    pub directory: Directory,
    /// Where agents are to send their notifications.
    pub webhook: Url,
    /// Its own interface on an MQTT broker, where it is on one.
    pub mqtt: Option<Url>,
    /// The way to agents on an MQTT broker, where there is one.
    pub bridge: Option<MqttBridge>,
    /// Seals webhook tokens, and what clients entrust to it.
    pub sealer: Arc<Sealer>,
    /// The tables.
    pub store: Store,
    /// The queues.
    pub wake: Arc<dyn WakeDoor>,
    /// The way out.
    pub outbound: Outbound,
    /// The engine that understands what people say, where it is or comes; words decide without it.
    pub understanding: nlu::Slot,
    /// What decides.
    pub model: Arc<dyn Model>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub entropy: Arc<dyn Entropy>,
    /// How long it waits for agents, and how often it asks.
    pub patience: Patience,
    /// Which plans wait for their user's word.
    pub approval: PlanApproval,
    /// False where nothing may be delegated for now.
    pub enabled: bool,
    /// The authorization servers that know it as a client. An agent that wants a token of another one is not asked.
    pub providers: Providers,
    /// Times and bounds of every agent.
    pub settings: agent::Settings,
}

/// A host that is ready to serve.
#[derive(Clone)]
pub struct State {
    /// The host as an agent.
    pub agent: Arc<Agent>,
}

/// Builds a host of its parts; [`build`] builds the function.
///
/// # Errors
/// Never, as long as [`AGENT`] is an agent's name.
pub fn host(parts: Parts) -> Result<State, InvalidId> {
    let deps = Arc::new(Deps {
        tenant: parts.tenant.clone(),
        url: parts.url.clone(),
        webhook: parts.webhook,
        bridge: parts.bridge,
        tokens: SessionTokens {
            issuer: parts.issuer,
            tenant: parts.tenant.clone(),
            key: parts.key,
            entropy: Arc::clone(&parts.entropy),
        },
        sealer: Arc::clone(&parts.sealer),
        store: parts.store.clone(),
        wake: Arc::clone(&parts.wake),
        outbound: parts.outbound.clone(),
        push_keys: PushKeys::new(parts.outbound.clone()),
        consents: Consents {
            tenant: parts.tenant.clone(),
            agent: None,
            store: parts.store.clone(),
            sealer: Arc::clone(&parts.sealer),
            providers: Arc::new(parts.providers),
            outbound: parts.outbound.clone(),
            clock: Arc::clone(&parts.clock),
            entropy: Arc::clone(&parts.entropy),
        },
        clock: Arc::clone(&parts.clock),
        entropy: Arc::clone(&parts.entropy),
        patience: parts.patience,
        approval: parts.approval,
        understanding: parts.understanding,
        noted: Mutex::default(),
    });
    let mut card = card::card(&parts.tenant, &parts.url, parts.sign_in.as_ref());
    card.mqtt = parts.mqtt;
    card.extensions.extend(a2a::carrier_extensions());
    card.extensions.push(a2a::connections_extension());
    if parts.model.is_hosted() {
        card.extensions.push(card::drafts());
    }
    let thinker = Thinker::new(deps, parts.directory, parts.model, parts.enabled);
    let agent = Agent {
        name: AgentName::parse(AGENT)?,
        card,
        own_tenant: Some(parts.tenant),
        access: Access::Secured,
        store: parts.store,
        wake: parts.wake,
        validator: parts.validator,
        sealer: parts.sealer,
        outbound: parts.outbound,
        clock: parts.clock,
        entropy: parts.entropy,
        settings: parts.settings,
        executor: Arc::new(HostExecutor(thinker)),
    };
    Ok(State {
        agent: Arc::new(agent),
    })
}

/// Works on one wake of the host's queue.
///
/// # Errors
/// [`WorkError`] when the wake should come again.
pub async fn handle(state: &State, wake: &Wake) -> Result<(), WorkError> {
    agent::handle(&state.agent, wake).await
}
