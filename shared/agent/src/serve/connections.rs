//! Connections: operations of ours beside A2A's, of agents that act at others in their callers' names
//! ([`a2a::CONNECTIONS`]). `GET /connections` lists where the caller is connected, `DELETE /connections/{id}` ends one.

use std::sync::Arc;

use a2a::{Connections, Disconnected, is_connection_id};
use axum::extract::rejection::PathRejection;
use axum::extract::{Json, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use routes::Routes;
use serde_json::json;

use super::caller::Called;
use crate::{Agent, ExecuteError};

/// The routes, relative to the agent's URL.
pub(crate) fn routes() -> Routes<Arc<Agent>> {
    Routes::new()
        .get(
            "/connections",
            "where the caller is connected through the agent",
            list,
        )
        .delete("/connections/{id}", "ends a connection of the caller's", end)
}

async fn list(State(agent): State<Arc<Agent>>, called: Called) -> Result<Json<Connections>, Failure> {
    let caller = &called.caller;
    // Callers without a token are one owner, who is nobody.
    if caller.owner.is_anonymous() {
        return Ok(Json(Connections::default()));
    }
    Ok(Json(agent.executor.connections(caller).await?))
}

async fn end(
    State(agent): State<Arc<Agent>>,
    called: Called,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Disconnected>, Failure> {
    let id = id.map(|Path(id)| id).ok().filter(|id| is_connection_id(id));
    let (Some(id), false) = (id, called.caller.owner.is_anonymous()) else {
        return Err(Failure::Unknown);
    };
    let ended = agent.executor.disconnect(&called.caller, &id).await?;
    ended.map(Json).ok_or(Failure::Unknown)
}

/// Why a caller does not get what was asked for.
enum Failure {
    Unknown,
    Execute(ExecuteError),
}

impl From<ExecuteError> for Failure {
    fn from(error: ExecuteError) -> Self {
        Self::Execute(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, error, message) = match self {
            Self::Unknown => (
                StatusCode::NOT_FOUND,
                "not_found",
                "the caller has no such connection",
            ),
            Self::Execute(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "connections cannot be looked after"
                );
                (
                    StatusCode::SERVICE_UNAVAILABLE,
                    "unavailable",
                    "nothing can be looked up or changed at the moment; try again shortly",
                )
            }
        };
        (status, Json(json!({"error": error, "message": message}))).into_response()
    }
}
