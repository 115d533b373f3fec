//! The REST binding: 1.0 below the agent's URL, 0.3 below its `/v1`.

use std::sync::Arc;

use a2a::{A2aError, Generation};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::Task;
use serde_json::Value;

use super::caller::Called;
use super::{answer, cancel, find, refresh, send};
use crate::Agent;

pub(crate) async fn send_1_0(
    state: State<Arc<Agent>>,
    called: Called,
    headers: HeaderMap,
    query: RawQuery,
    body: Bytes,
) -> Response {
    match fits(&headers, &query, Generation::V1_0) {
        Ok(()) => post(state.0, called, &body, Generation::V1_0).await,
        Err(error) => refused(&error, Generation::V1_0),
    }
}

pub(crate) async fn send_0_3(state: State<Arc<Agent>>, called: Called, body: Bytes) -> Response {
    post(state.0, called, &body, Generation::V0_3).await
}

pub(crate) async fn get_1_0(
    state: State<Arc<Agent>>,
    called: Called,
    id: Path<String>,
    headers: HeaderMap,
    query: RawQuery,
) -> Response {
    match fits(&headers, &query, Generation::V1_0) {
        Ok(()) => get(state.0, called, &id.0, query.0.as_deref(), Generation::V1_0).await,
        Err(error) => refused(&error, Generation::V1_0),
    }
}

pub(crate) async fn get_0_3(
    state: State<Arc<Agent>>,
    called: Called,
    id: Path<String>,
    query: RawQuery,
) -> Response {
    get(state.0, called, &id.0, query.0.as_deref(), Generation::V0_3).await
}

pub(crate) async fn act_1_0(state: State<Arc<Agent>>, called: Called, id: Path<String>) -> Response {
    act(state.0, called, &id.0, Generation::V1_0).await
}

pub(crate) async fn act_0_3(state: State<Arc<Agent>>, called: Called, id: Path<String>) -> Response {
    act(state.0, called, &id.0, Generation::V0_3).await
}

async fn post(agent: Arc<Agent>, called: Called, body: &[u8], generation: Generation) -> Response {
    let call = match a2a::rest::parse_send(body, generation) {
        Ok(call) => call,
        Err(error) => return refused(&error, generation),
    };
    let history_length = call.history_length;
    let sent = send::send(&agent, &called.caller, call, generation, called.trace).await;
    respond(sent, generation, |task| {
        a2a::rest::send_result(task, generation, history_length)
    })
}

async fn get(
    agent: Arc<Agent>,
    called: Called,
    id: &str,
    query: Option<&str>,
    generation: Generation,
) -> Response {
    let history_length = match history_length(query) {
        Ok(length) => length,
        Err(error) => return refused(&error, generation),
    };
    let found = find::owned(&agent, &called.caller, id)
        .await
        .map(|stored| stored.task);
    respond(found, generation, |task| {
        a2a::rest::task(task, generation, history_length)
    })
}

/// `POST /tasks/{id}:verb`; the verb is part of the last segment.
async fn act(agent: Arc<Agent>, called: Called, segment: &str, generation: Generation) -> Response {
    let done = match segment.rsplit_once(':') {
        Some((id, "cancel")) => cancel::cancel(&agent, &called.caller, id, None).await,
        Some((id, "refresh")) => refresh::refresh(&agent, &called.caller, id).await,
        _ => Err(A2aError::UnsupportedOperation(
            "no such operation on a task".to_owned(),
        )),
    };
    respond(done, generation, |task| a2a::rest::task(task, generation, None))
}

fn respond(
    done: Result<Task, A2aError>,
    generation: Generation,
    encode: impl FnOnce(&Task) -> Value,
) -> Response {
    match done {
        Ok(task) => Json(encode(&task)).into_response(),
        Err(error) => refused(&error, generation),
    }
}

fn refused(error: &A2aError, generation: Generation) -> Response {
    let (status, body) = a2a::rest::failure(error, generation);
    (
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        Json(body),
    )
        .into_response()
}

/// A version that the client names must be the path's.
fn fits(headers: &HeaderMap, RawQuery(query): &RawQuery, generation: Generation) -> Result<(), A2aError> {
    match answer::version(headers, query.as_deref()) {
        Some(told) if generation == Generation::V1_0 && told != "1.0" && !told.starts_with("1.0.") => {
            Err(A2aError::VersionNotSupported(told.chars().take(32).collect()))
        }
        _ => Ok(()),
    }
}

fn history_length(query: Option<&str>) -> Result<Option<u32>, A2aError> {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let told = pairs
        .into_iter()
        .find(|(name, _)| name == "historyLength" || name == "history_length");
    match told {
        None => Ok(None),
        Some((_, text)) => text
            .parse()
            .map(Some)
            .map_err(|_| A2aError::InvalidParams("historyLength must be a number from 0".to_owned())),
    }
}
