//! Taking calls: both generations, JSON-RPC at the agent's URL and REST below it, onto one set of operations.

mod answer;
mod caller;
mod cancel;
mod find;
mod jsonrpc;
mod refresh;
mod rest;
mod send;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::Agent;

/// The agent's routes, relative to its URL: the card and the metadata of the resource, JSON-RPC at `/` and `/jsonrpc`,
/// REST of 1.0 at `/message:send` and `/tasks/{id}`, REST of 0.3 at the same under `/v1`.
pub fn router(agent: Arc<Agent>) -> Router {
    Router::new()
        .route("/.well-known/agent-card.json", get(answer::card))
        .route("/.well-known/agent.json", get(answer::card))
        .route(answer::RESOURCE_METADATA, get(answer::resource_metadata))
        .route("/", post(jsonrpc::endpoint))
        .route("/jsonrpc", post(jsonrpc::endpoint))
        .route("/message:send", post(rest::send_1_0))
        .route("/v1/message:send", post(rest::send_0_3))
        .route("/tasks/{id}", get(rest::get_1_0).post(rest::act_1_0))
        .route("/v1/tasks/{id}", get(rest::get_0_3).post(rest::act_0_3))
        .with_state(agent)
}
