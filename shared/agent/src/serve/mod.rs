//! Taking calls: both generations, JSON-RPC at the agent's URL and REST below it, onto one set of operations.

pub(crate) mod caller;
pub(crate) mod cancel;
mod card;
mod connections;
mod failed;
mod find;
mod headers;
mod jsonrpc;
mod list;
mod operation;
mod push_configs;
mod refresh;
pub(crate) mod rehearsal;
mod resource;
mod rest;
mod retry;
pub(crate) mod send;
mod stream;
mod terms;

use std::sync::Arc;

use a2a::Generation;
use routes::{Route, Routes};

use crate::Agent;

/// The agent's routes, relative to its URL: the card and the metadata of the resource, JSON-RPC at `/` and `/jsonrpc`,
/// REST of 1.0 at `/message:send`, `/tasks/{id}` and so on, the same below `/{tenant}`, and REST of 0.3 below `/v1`; where users
/// are connected through the agent, `/connections`; where the agent decides who does what, `/rehearsal`.
pub fn router(agent: Arc<Agent>) -> Routes {
    let published = Arc::new(card::Published::of(&agent));
    let connections = match agent.executor.connects() {
        true => connections::routes(),
        false => Routes::new(),
    };
    let rehearsal = match agent.executor.rehearses() {
        true => rehearsal::routes(),
        false => Routes::new(),
    };
    documents()
        .with_extension(published)
        .merge(operations())
        .merge(connections)
        .merge(rehearsal)
        .with_state(agent)
}

/// What agents serve, as a list; connections are those' alone that have any, and rehearsals the hosts'.
pub fn routes() -> Vec<Route> {
    let all = documents().merge(operations()).merge(connections::routes());
    let all = all.merge(rehearsal::routes());
    all.listed().to_vec()
}

fn documents() -> Routes<Arc<Agent>> {
    Routes::new()
        .get("/.well-known/agent-card.json", "the agent's card", card::public)
        .get(
            "/.well-known/agent.json",
            "the card where 0.3 looks for it",
            card::public,
        )
}

fn operations() -> Routes<Arc<Agent>> {
    Routes::new()
        .get(
            resource::RESOURCE_METADATA,
            "who issues tokens for the agent (RFC 9728)",
            resource::resource_metadata,
        )
        .get(card::JWKS, "the agent's public keys", card::jwks)
        .merge(crate::push::deliveries::routes())
        .post("/", "a JSON-RPC call", jsonrpc::endpoint)
        .post("/jsonrpc", "a JSON-RPC call", jsonrpc::endpoint)
        .merge(rest::routes(Generation::V1_0))
        .nest("/v1", rest::routes(Generation::V0_3))
        .nest("/{tenant}", rest::routes(Generation::V1_0))
}
