//! JSON-RPC 2.0, both generations.

use std::sync::Arc;

use a2a::{A2aError, Call, Generation, encode, jsonrpc};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::caller::Called;
use super::failed::Failed;
use super::headers;
use super::operation::{Ask, Done, perform};
use crate::Agent;

/// `POST` at the agent's URL.
pub(crate) async fn endpoint(
    State(agent): State<Arc<Agent>>,
    called: Called,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Response {
    if !headers::is_json(&headers) {
        return not_json();
    }
    let version = headers::version(&headers, query.as_deref());
    let jsonrpc::Request { id, generation, call } = match jsonrpc::parse(&body, version.as_deref()) {
        Ok(request) => request,
        Err(failure) => return Json(jsonrpc::failure(&failure)).into_response(),
    };
    // Clients of 0.3 that ask for a stream read nothing else, not even a refusal.
    let as_event = generation == Generation::V0_3 && matches!(call, Call::Stream(_) | Call::Subscribe { .. });
    let failure = |error: A2aError| {
        let (id, known) = (id.clone(), error.clone());
        let refused = jsonrpc::failure(&jsonrpc::Failure {
            id,
            generation,
            error,
        });
        let refused = if as_event {
            let events = [(header::CONTENT_TYPE, "text/event-stream")];
            (events, format!("data: {refused}\n\n")).into_response()
        } else {
            Json(refused).into_response()
        };
        headers::retry_after(refused, &known)
    };
    let ask = match Ask::of(agent, called, generation, &headers, &call) {
        Ok(ask) => ask,
        Err(error) => return failure(error),
    };
    let mut response = match perform(&ask, call).await {
        Ok(Done::Stream(live)) => live.into_response(move |item| jsonrpc::success(id.clone(), item)),
        Ok(done) => Json(jsonrpc::success(id, written(done, generation))).into_response(),
        Err(Failed::Error(error)) => failure(error),
        Err(Failed::NotJson) => not_json(),
        Err(Failed::Refused(refused)) => refused.into_response(),
    };
    headers::tell_extensions(response.headers_mut(), &ask.extensions, generation);
    response
}

fn not_json() -> Response {
    let refused = jsonrpc::failure(&jsonrpc::Failure {
        id: jsonrpc::RpcId::default(),
        generation: Generation::V1_0,
        error: A2aError::ContentTypeNotSupported,
    });
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, Json(refused)).into_response()
}

fn written(done: Done, generation: Generation) -> Value {
    match done {
        Done::Sent(task, history_length) => encode::send_result(&task, generation, history_length),
        Done::Answered(message) => encode::send_message_result(&message, generation),
        Done::Task(task, history_length) => encode::task(&task, generation, history_length),
        Done::Page(page, call) => {
            encode::list(&page.tasks, page.next.as_deref(), page.total, &call, generation)
        }
        Done::Push(task_id, shown) => encode::push_config(&task_id, &shown, generation),
        Done::Pushes(task_id, shown, next) => {
            encode::push_configs(&task_id, &shown, next.as_deref(), generation)
        }
        Done::Deleted => encode::deleted(generation),
        Done::Card(card) => card,
        // Streams have a response of their own.
        Done::Stream(_) => Value::Null,
    }
}
