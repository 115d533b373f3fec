//! The REST binding: its bodies and errors. Paths and methods are the router's business.
//!
//! A2A 1.0 has one JSON for all bindings; 0.3 wrote its protobuf form over REST.

use domain::{Generation, Task};
use serde_json::{Value, json};

use crate::error::capped;
use crate::lenient::{Fault, tidy};
use crate::{A2aError, SendCall, encode, v0_3, v1_0};

/// Reads the body of `message:send`.
///
/// # Errors
/// The refusal to answer.
pub fn parse_send(body: &[u8], generation: Generation) -> Result<SendCall, A2aError> {
    let told: Value = serde_json::from_slice(body).map_err(|_| A2aError::ParseError)?;
    if !told.is_object() {
        return Err(A2aError::InvalidRequest(
            "a request is one JSON object".to_owned(),
        ));
    }
    let read = tidy(&told).and_then(|told| match generation {
        Generation::V1_0 => v1_0::read_send_call(told),
        Generation::V0_3 => v0_3::read_send_call(told),
    });
    read.map_err(|Fault(reason)| A2aError::InvalidParams(reason))
}

/// The body that a client sends to `message:send`.
#[must_use]
pub fn send_body(call: &SendCall, generation: Generation) -> Value {
    form(encode::send_call(call, generation), generation)
}

/// What `message:send` is answered with.
#[must_use]
pub fn send_result(task: &Task, generation: Generation, history_length: Option<u32>) -> Value {
    json!({ "task": self::task(task, generation, history_length) })
}

/// What a look at a task, or a cancel, is answered with.
#[must_use]
pub fn task(task: &Task, generation: Generation, history_length: Option<u32>) -> Value {
    form(encode::task(task, generation, history_length), generation)
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
            let body = json!({ "code": status, "status": error.rpc_status(), "message": message, "details": [error.info()] });
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
    let details = error.get("details").and_then(Value::as_array);
    let reasons = details
        .into_iter()
        .flatten()
        .filter_map(|detail| detail.get("reason")?.as_str());
    let named = reasons.chain(error.get("type").and_then(Value::as_str));
    let by_name = named.filter_map(|name| A2aError::from_name(name, message)).next();
    by_name.or_else(|| {
        let code = error.get("code").and_then(Value::as_i64)?;
        (code < 0).then(|| A2aError::from_code(code, &capped(message, 300)))
    })
}
