//! The REST binding: its bodies and errors. Paths and methods are the router's business.

use domain::Generation;
use serde_json::Value;

use crate::{A2aError, SendCall};

/// Reads the body of `message:send`.
///
/// # Errors
/// The refusal to answer.
pub fn parse_send(body: &[u8], generation: Generation) -> Result<SendCall, A2aError> {
    let _ = (body, generation);
    todo!()
}

/// The status and body of a refusal.
#[must_use]
pub fn failure(error: &A2aError, generation: Generation) -> (u16, Value) {
    let _ = (error, generation);
    todo!()
}

/// A result of `encode` as the REST binding writes it. A2A 1.0 has one JSON for all bindings; 0.3 over REST wrote its
/// protobuf form (`TASK_STATE_…`, `content`, no `kind`), which this makes of a task, message or event.
#[must_use]
pub fn body(result: Value, generation: Generation) -> Value {
    let _ = (result, generation);
    todo!()
}

/// Reads an agent's refusal.
#[must_use]
pub fn read_failure(status: u16, body: &Value) -> A2aError {
    let _ = (status, body);
    todo!()
}
