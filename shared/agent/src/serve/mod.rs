//! Taking calls: both generations, JSON-RPC at the agent's URL and REST below it, onto one set of operations.

pub(crate) mod caller;
mod cancel;
mod card;
mod find;
mod headers;
mod jsonrpc;
mod list;
mod operation;
mod push_configs;
mod refresh;
mod resource;
mod rest;
mod retry;
mod send;
mod stream;
mod terms;

use std::sync::Arc;

use a2a::Generation;
use axum::routing::{get, post};
use axum::{Extension, Router};

use crate::Agent;

/// The agent's routes, relative to its URL: the card and the metadata of the resource, JSON-RPC at `/` and `/jsonrpc`,
/// REST of 1.0 at `/message:send`, `/tasks/{id}` and so on, the same below `/{tenant}`, and REST of 0.3 below `/v1`.
pub fn router(agent: Arc<Agent>) -> Router {
    let card = get(card::public).layer(Extension(Arc::new(card::Published::of(&agent))));
    Router::new()
        .route("/.well-known/agent-card.json", card.clone())
        .route("/.well-known/agent.json", card)
        .route(resource::RESOURCE_METADATA, get(resource::resource_metadata))
        .route(card::JWKS, get(card::jwks))
        .merge(crate::push::deliveries::routes())
        .route("/", post(jsonrpc::endpoint))
        .route("/jsonrpc", post(jsonrpc::endpoint))
        .merge(rest::routes(Generation::V1_0))
        .nest("/v1", rest::routes(Generation::V0_3))
        .nest("/{tenant}", rest::routes(Generation::V1_0))
        .with_state(agent)
}
