//! `GET /api/ops/eval?say=TEXT`: what the tenant's host would make of a text, for its operators. Nothing is done; it takes tokens of
//! the tenant's day where a language model decides. A set of labelled texts is played by `switchyard eval`.

use std::sync::Arc;
use std::time::Duration;

use agent::Rehearsal;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use http::Method;
use outbound::{CallError, below};
use serde_json::{Value, json};

use crate::error::RouteError;
use crate::ops::agents::Operator;
use crate::session::guard::FromHere;
use crate::state::AppState;

/// How long a language model may take for its decision.
const PATIENCE: Duration = Duration::from_secs(80);

/// Has the host say it.
pub(crate) async fn eval(
    State(room): State<Arc<AppState>>,
    Operator(owner): Operator,
    _: FromHere,
    asked: Result<Query<Rehearsal>, QueryRejection>,
) -> Result<Json<Value>, RouteError> {
    let Query(asked) = asked.map_err(|error| RouteError::invalid("invalid_request", &error.body_text()))?;
    let token = room
        .registry
        .token_for(&owner, room.host.url(), auth::scope::REHEARSE)?;
    let url = below(room.host.url(), "rehearsal");
    let (outbound, asked) = (room.registry.outbound.patient(PATIENCE), json!(asked));
    let rehearsed = outbound.request_json(Method::POST, &url, Some(&asked), Some(&token));
    match rehearsed.await.map_err(RouteError::Agent)? {
        (200, rehearsed) => Ok(Json(rehearsed)),
        (400, refused) => {
            let why = refused.get("message").and_then(Value::as_str);
            Err(RouteError::invalid("invalid_request", why.unwrap_or_default()))
        }
        (status, _) => Err(RouteError::Agent(CallError::Status(status))),
    }
}
