//! The REST binding: its bodies and errors. Paths and methods are the router's business.
//!
//! A2A 1.0 has one JSON for all bindings; 0.3 wrote its protobuf form over REST.

use domain::{Generation, Message, Task};
use serde_json::{Map, Value, json};

use crate::error::capped;
use crate::lenient::{Fault, tidy};
use crate::params::{self, Params};
use crate::{A2aError, Call, ListCall, SendCall, ShownPush, encode, v0_3, v1_0};

/// Reads the body of `message:send` or `message:stream`.
///
/// # Errors
/// The refusal to answer.
pub fn parse_send(body: &[u8], generation: Generation) -> Result<SendCall, A2aError> {
    let told = object(body)?;
    let read = tidy(&told).and_then(|told| match generation {
        Generation::V1_0 => v1_0::read_send_call(told),
        Generation::V0_3 => v0_3::read_send_call(told),
    });
    read.map_err(invalid)
}

/// Reads the query of a look at the task that the path names.
///
/// # Errors
/// [`A2aError::InvalidParams`] says what is wrong with it.
pub fn parse_get(id: String, query: Option<&str>, generation: Generation) -> Result<Call, A2aError> {
    let read = |params: Params| {
        Ok(Call::Get {
            id,
            history_length: params.history_length(generation)?,
            tenant: params.tenant()?,
        })
    };
    Params::of_query(query).and_then(read).map_err(invalid)
}

/// Reads the query of a list of tasks.
///
/// # Errors
/// [`A2aError::InvalidParams`] says what is wrong with it.
pub fn parse_list(query: Option<&str>, generation: Generation) -> Result<ListCall, A2aError> {
    Params::of_query(query)
        .and_then(|params| params::list(&params, generation))
        .map_err(invalid)
}

/// Reads the body of a cancel of the task that the path names; there may be none.
///
/// # Errors
/// The refusal to answer.
pub fn parse_cancel(id: String, body: &[u8]) -> Result<Call, A2aError> {
    let told = if body.trim_ascii().is_empty() {
        Value::Object(Map::new())
    } else {
        object(body)?
    };
    tidy(&told)
        .and_then(Params::of)
        .and_then(|params| params::cancel_of(id, &params))
        .map_err(invalid)
}

/// Reads the query of a subscription to the task that the path names.
///
/// # Errors
/// [`A2aError::InvalidParams`] says what is wrong with it.
pub fn parse_subscribe(id: String, query: Option<&str>) -> Result<Call, A2aError> {
    let tenant = tenant(query)?;
    Ok(Call::Subscribe { id, tenant })
}

/// Reads the body of a new push configuration of the task that the path names.
///
/// # Errors
/// The refusal to answer.
pub fn parse_push(task_id: String, body: &[u8], generation: Generation) -> Result<Call, A2aError> {
    let told = object(body)?;
    tidy(&told)
        .and_then(Params::of)
        .and_then(|params| params::create_push_of(task_id, params, generation))
        .map_err(invalid)
}

/// Reads the query of a look at the push configuration that the path names.
///
/// # Errors
/// [`A2aError::InvalidParams`] says what is wrong with it.
pub fn parse_get_push(task_id: String, id: String, query: Option<&str>) -> Result<Call, A2aError> {
    let tenant = tenant(query)?;
    Ok(Call::GetPush {
        task_id,
        id: Some(id),
        tenant,
    })
}

/// Reads the query of a list of the push configurations of the task that the path names.
///
/// # Errors
/// [`A2aError::InvalidParams`] says what is wrong with it.
pub fn parse_list_push(task_id: String, query: Option<&str>) -> Result<Call, A2aError> {
    Params::of_query(query)
        .and_then(|params| params::list_push_of(task_id, &params))
        .map_err(invalid)
}

/// Reads the query of the removal of the push configuration that the path names.
///
/// # Errors
/// [`A2aError::InvalidParams`] says what is wrong with it.
pub fn parse_delete_push(task_id: String, id: String, query: Option<&str>) -> Result<Call, A2aError> {
    let tenant = tenant(query)?;
    Ok(Call::DeletePush { task_id, id, tenant })
}

/// Reads the query of a look at the extended card.
///
/// # Errors
/// [`A2aError::InvalidParams`] says what is wrong with it.
pub fn parse_extended_card(query: Option<&str>) -> Result<Call, A2aError> {
    let tenant = tenant(query)?;
    Ok(Call::ExtendedCard { tenant })
}

fn tenant(query: Option<&str>) -> Result<Option<String>, A2aError> {
    Params::of_query(query)
        .and_then(|params| params.tenant())
        .map_err(invalid)
}

fn object(body: &[u8]) -> Result<Value, A2aError> {
    let told: Value = serde_json::from_slice(body).map_err(|_| A2aError::ParseError)?;
    if told.is_object() {
        Ok(told)
    } else {
        Err(A2aError::InvalidRequest(
            "a request is one JSON object".to_owned(),
        ))
    }
}

fn invalid(Fault(reason): Fault) -> A2aError {
    A2aError::InvalidParams(reason)
}

/// The body that a client sends to `message:send` or `message:stream`.
#[must_use]
pub fn send_body(call: &SendCall, generation: Generation) -> Value {
    form(encode::send_call(call, generation), generation)
}

/// What `message:send` is answered with, and what a stream begins with.
#[must_use]
pub fn send_result(task: &Task, generation: Generation, history_length: Option<u32>) -> Value {
    json!({ "task": self::task(task, generation, history_length) })
}

/// What `message:send` is answered with where the agent makes no task of it.
#[must_use]
pub fn send_message_result(message: &Message, generation: Generation) -> Value {
    json!({ "message": form(encode::message(message, generation), generation) })
}

/// One item of a stream, of the form that JSON-RPC has for it: 0.3 wrapped it over REST as 1.0 does everywhere.
#[must_use]
pub fn stream_item(item: Value, generation: Generation) -> Value {
    if generation == Generation::V1_0 {
        return item;
    }
    let name = match item.get("kind").and_then(Value::as_str) {
        Some("status-update") => "statusUpdate",
        Some("artifact-update") => "artifactUpdate",
        Some("message") => "message",
        _ => "task",
    };
    json!({ name: v0_3::to_proto(item) })
}

/// What a look at a task, or a cancel, is answered with.
#[must_use]
pub fn task(task: &Task, generation: Generation, history_length: Option<u32>) -> Value {
    form(encode::task(task, generation, history_length), generation)
}

/// A page of tasks; see [`encode::list`].
#[must_use]
pub fn list(
    tasks: &[Task],
    next: Option<&str>,
    total: u64,
    call: &ListCall,
    generation: Generation,
) -> Value {
    form(encode::list(tasks, next, total, call, generation), generation)
}

/// A task's push configuration, without its secrets.
#[must_use]
pub fn push_config(task_id: &str, shown: &ShownPush, generation: Generation) -> Value {
    let written = encode::push_config(task_id, shown, generation);
    match generation {
        Generation::V1_0 => written,
        Generation::V0_3 => v0_3::named_push(task_id, &shown.id, written),
    }
}

/// A task's push configurations, without their secrets.
#[must_use]
pub fn push_configs(task_id: &str, shown: &[ShownPush], next: Option<&str>, generation: Generation) -> Value {
    let configs = shown.iter().map(|shown| push_config(task_id, shown, generation));
    let configs: Vec<Value> = configs.collect();
    json!({ "configs": configs, "nextPageToken": next.unwrap_or_default() })
}

fn form(written: Value, generation: Generation) -> Value {
    match generation {
        Generation::V1_0 => written,
        Generation::V0_3 => v0_3::to_proto(written),
    }
}

/// The status and body of a refusal.
#[must_use]
pub fn failure(error: &A2aError, generation: Generation) -> (u16, Value) {
    let message = error.to_string();
    match generation {
        Generation::V1_0 => {
            let status = error.http_status();
            let body = json!({ "code": status, "status": error.rpc_status(), "message": message, "details": error.details() });
            (status, json!({ "error": body }))
        }
        // 0.3 left the form of errors open; these are the statuses and names of the official SDK.
        Generation::V0_3 => {
            let body = json!({ "code": error.code_in(generation), "type": error.name(), "message": message });
            (error.http_status_0_3(), body)
        }
    }
}

/// Reads an agent's refusal; `None` where the body is none.
#[must_use]
pub fn read_failure(body: &Value) -> Option<A2aError> {
    let error = body
        .get("error")
        .filter(|error| error.is_object())
        .unwrap_or(body);
    let message = error.get("message").and_then(Value::as_str)?;
    let details = error.get("details");
    let reasons = details
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|detail| detail.get("reason")?.as_str());
    let named = reasons.chain(error.get("type").and_then(Value::as_str));
    let by_name = named.filter_map(|name| A2aError::from_name(name, message)).next();
    let known = by_name.or_else(|| {
        let code = error.get("code").and_then(Value::as_i64)?;
        (code < 0).then(|| A2aError::from_code(code, &capped(message, 300)))
    });
    Some(known?.detailed(details))
}
