//! The registry: which agents there are, for whom, and what each type of agent is declared to be.
//!
//! A card is admitted only where every skill can be found by tags (`key:value`, one of them `type:`) and where it
//! fits what its type was declared as: a *global* type serves every tenant and carries no `tenant_id:` tag, a
//! *tenant* type carries the tag of the one tenant it belongs to. A refused card is told every reason at once.
//!
//! A card's signatures (A2A 1.0, 8.4) are checked against keys of its own host: a bad one is refused, and each agent shows
//! whether its card's is `good`, `absent` or could not be checked (`unchecked`).
//!
//! **Who sees what.** A tenant's token sees global agents and its own tenant's; every other agent does not exist
//! for it, on every route. The platform's token names the tenant it asks for with `?tenant=`.
//!
//! Looking wants the scope `registry:read`; changing a tenant's own entries `registry:write`; global agents and types
//! `registry:admin`, in a token of the platform.
//!
//! **What will not work** of an agent is told with its registration, and with each check by hand, as warnings beside it.
//!
//! **A card that changes** in what a model, the router or a user reads of it, or in where its calls go, waits for a word: the one that
//! was registered serves until then.
//!
//! **How they are.** Each agent's card is fetched again by the clock ([`Checks`]); hosts pass over those that cannot be had, and
//! are not offered those that their operator has switched off.
//!
//! Not here: who talks to the agents (the hosts do), and any list of types in code.

mod access;
mod approve_agent;
mod body;
mod broker_cards;
mod check_agent;
mod checks;
mod config;
mod declare_type;
mod enable_agent;
mod error;
mod find_agent;
mod list_agents;
mod list_types;
mod pinned;
mod register_agent;
mod rehearsal;
mod remove_agent;
mod remove_type;
mod report_agent;
mod rules;
mod signature;
mod view;

use std::sync::Arc;

use auth::{TenantRule, Verifier};
use axum::Router;
use domain::{Clock, Entropy};
use edge::{Error, Front, Function, Ground};
use outbound::Outbound;
use routes::{Route, Routes};
use store::Store;
use url::Url;

pub use broker_cards::BrokerCards;
pub use checks::{CHECK_EVERY, Checks};
pub use config::Config;

/// The function's name.
pub const NAME: &str = "registry";

/// Builds the function.
///
/// # Errors
/// Where the key of an issuer is none.
pub async fn build(ground: Ground, config: Config) -> Result<Function, Error> {
    let broker_cards = match config.broker {
        Some(broker) => Some(BrokerCards {
            bridge: broker.bridge,
            issuer: config
                .issuers
                .iter()
                .find(|issuer| issuer.tenants == TenantRule::Platform)
                .map(|issuer| issuer.issuer.clone())
                .unwrap_or_default(),
            key: ground.signing_key(&broker.platform_key).await?,
        }),
        None => None,
    };
    let verifier = ground.verifier(&config.url, config.issuers)?;
    let state = Arc::new(State {
        verifier,
        url: config.url,
        store: ground.store,
        outbound: ground.outbound,
        broker_cards,
        clock: ground.clock,
        entropy: ground.entropy,
    });
    Ok(Function::new(router(Arc::clone(&state))).with_schedule(Checks(state, config.check_shards)))
}

/// What the registry works with.
pub struct State {
    /// The registry's own URL.
    pub url: Url,
    /// Where cards and types lie.
    pub store: Store,
    /// How cards are fetched.
    pub outbound: Outbound,
    /// Where cards of agents on an MQTT broker are, where there is one.
    pub broker_cards: Option<BrokerCards>,
    /// Whose tokens are good here; its audience is the registry's own URL.
    pub verifier: Verifier,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The RNG of request and trace ids.
    pub entropy: Arc<dyn Entropy>,
}

/// The whole function, paths relative to the registry's URL.
pub fn router(state: impl Into<Arc<State>>) -> Router {
    let state = state.into();
    let front = Front::new(NAME, &state.clock, &state.entropy);
    edge::front(served().with_state(state), front)
}

/// What the registry serves, as a list.
pub fn routes() -> Vec<Route> {
    served().listed().to_vec()
}

fn served() -> Routes<Arc<State>> {
    let (agents, agent) = ("/agents", "/agents/{id}");
    Routes::new()
        .get(
            agents,
            "finds agents with one skill that has all the tags",
            list_agents::list,
        )
        .post(agents, "registers an agent by its card", register_agent::register)
        .get(agent, "shows an agent", find_agent::find)
        .delete(agent, "takes an agent out of the registry", remove_agent::remove)
        .post(
            "/agents/{id}/check",
            "fetches an agent's card again, and records its health",
            check_agent::check,
        )
        .post(
            "/agents/{id}/approve",
            "lets an agent's changed card serve from now on",
            approve_agent::approve,
        )
        .post(
            "/agents/{id}/disable",
            "switches an agent off: no host is offered it",
            |writer, state, id| enable_agent::switch(writer, state, id, true),
        )
        .post(
            "/agents/{id}/enable",
            "switches an agent on again",
            |writer, state, id| enable_agent::switch(writer, state, id, false),
        )
        .post(
            "/agents/{id}/unreached",
            "tells that a host could not reach an agent, which is a reason to look",
            report_agent::unreached,
        )
        .get("/types", "lists the types of agents", list_types::list)
        .put(
            "/types/{name}",
            "declares a type's scope, once and for all",
            declare_type::declare,
        )
        .delete(
            "/types/{name}",
            "removes a type that no agent has",
            remove_type::remove,
        )
}
