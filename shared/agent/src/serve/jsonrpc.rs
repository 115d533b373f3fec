//! JSON-RPC 2.0, both generations.

use std::sync::Arc;

use a2a::{Call, jsonrpc};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};

use super::caller::Called;
use super::{answer, cancel, find, send};
use crate::Agent;

/// `POST` at the agent's URL.
pub(crate) async fn endpoint(
    State(agent): State<Arc<Agent>>,
    called: Called,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Response {
    let version = answer::version(&headers, query.as_deref());
    let jsonrpc::Request { id, generation, call } = match jsonrpc::parse(&body, version.as_deref()) {
        Ok(request) => request,
        Err(failure) => return Json(jsonrpc::failure(&failure)).into_response(),
    };
    let done = match call {
        Call::Send(call) => {
            let history_length = call.history_length;
            let sent = send::send(&agent, &called.caller, call, generation, called.trace).await;
            sent.map(|task| a2a::encode::send_result(&task, generation, history_length))
        }
        Call::Get {
            id,
            history_length,
            tenant,
        } => {
            let found = match find::same_tenant(&called.caller, tenant.as_deref()) {
                Ok(()) => find::owned(&agent, &called.caller, &id).await,
                Err(error) => Err(error),
            };
            found.map(|stored| a2a::encode::task(&stored.task, generation, history_length))
        }
        Call::Cancel { id, tenant, .. } => {
            let canceled = cancel::cancel(&agent, &called.caller, &id, tenant.as_deref()).await;
            canceled.map(|task| a2a::encode::task(&task, generation, None))
        }
        _ => Err(a2a::A2aError::UnsupportedOperation(
            "this operation is not supported".to_owned(),
        )),
    };
    let answer = match done {
        Ok(result) => jsonrpc::success(id, result),
        Err(error) => jsonrpc::failure(&jsonrpc::Failure {
            id,
            generation,
            error,
        }),
    };
    Json(answer).into_response()
}
