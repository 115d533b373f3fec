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
//! | route | scope | |
//! |---|---|---|
//! | `GET /agents?tag=k:v&tag=…` | `registry:read` | agents with one skill that has all the tags; pages with `limit`, `cursor` |
//! | `POST /agents` | `registry:write` (own tenant) or `registry:admin` | `{"cardUrl", "tags"?, "tenant"?}` |
//! | `GET /agents/{id}` | `registry:read` | |
//! | `DELETE /agents/{id}` | `registry:write` (own tenant) or `registry:admin` | |
//! | `POST /agents/{id}/check` | `registry:write` (own tenant) or `registry:admin` | fetches the card again, records health |
//! | `GET /types` | `registry:read` | |
//! | `PUT /types/{name}` | `registry:admin` | `{"scope": "global" or "tenant"}`, once and for all |
//!
//! Not here: who talks to the agents (the hosts do), and any list of types in code.

mod access;
mod check_agent;
mod config;
mod declare_type;
mod error;
mod find_agent;
mod list_agents;
mod list_types;
mod register_agent;
mod remove_agent;
mod rules;
mod signature;
mod view;

use std::sync::Arc;

use auth::Verifier;
use axum::Router;
use axum::routing::{get, post, put};
use domain::{Clock, Entropy};
use edge::{Front, front};
use outbound::Outbound;
use store::Store;

pub use config::Config;

/// What the registry works with.
pub struct State {
    /// Where cards and types lie.
    pub store: Store,
    /// How cards are fetched.
    pub outbound: Outbound,
    /// Whose tokens are good here; its audience is the registry's own URL.
    pub verifier: Verifier,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance, for request and trace ids.
    pub entropy: Arc<dyn Entropy>,
}

/// The whole function, paths relative to the registry's URL.
pub fn router(state: State) -> Router {
    let dress = Front {
        clock: state.clock.clone(),
        entropy: state.entropy.clone(),
        function: "registry",
    };
    let routes = Router::new()
        .route("/agents", get(list_agents::list).post(register_agent::register))
        .route("/agents/{id}", get(find_agent::find).delete(remove_agent::remove))
        .route("/agents/{id}/check", post(check_agent::check))
        .route("/types", get(list_types::list))
        .route("/types/{name}", put(declare_type::declare))
        .with_state(Arc::new(state));
    front(routes, dress)
}
