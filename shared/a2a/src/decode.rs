//! From the wire to `domain`: what other agents answer and push.

use domain::{Generation, Notification};
use serde_json::Value;

use crate::lenient::{Fault, tidy};
use crate::{A2aError, Answer, RemoteTask, v0_3, v1_0};

/// Why a body is no notification.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Rubbish(pub String);

/// Reads what an agent answered a send with.
///
/// # Errors
/// [`A2aError::InvalidAgentResponse`] says what is wrong with it.
pub fn send_result(result: &Value, generation: Generation) -> Result<Answer, A2aError> {
    let read = tidy(result).and_then(|result| match generation {
        Generation::V1_0 => v1_0::read_answer(result),
        Generation::V0_3 => v0_3::read_answer(result),
    });
    read.map_err(|Fault(reason)| A2aError::InvalidAgentResponse(reason))
}

/// Reads a task that an agent answered with.
///
/// # Errors
/// [`A2aError::InvalidAgentResponse`] says what is wrong with it.
pub fn task(result: &Value, generation: Generation) -> Result<RemoteTask, A2aError> {
    let read = tidy(result).and_then(|result| match generation {
        Generation::V1_0 => v1_0::read_task(result),
        Generation::V0_3 => v0_3::read_task(result),
    });
    read.map_err(|Fault(reason)| A2aError::InvalidAgentResponse(reason))
}

/// Reads the body of a push notification: a task or an event, of either generation. Which one it is shows in the body,
/// because senders do not agree on a header for it.
///
/// # Errors
/// [`Rubbish`] where it is neither.
pub fn notification(body: &[u8]) -> Result<Notification, Rubbish> {
    let told: Value = serde_json::from_slice(body).map_err(|_| Rubbish("not JSON".to_owned()))?;
    read_notification(&told).map_err(|Fault(reason)| Rubbish(reason))
}

fn read_notification(told: &Value) -> Result<Notification, Fault> {
    if !told.is_object() {
        return Err(Fault::new("neither a task nor an event"));
    }
    let told = tidy(told)?;
    let has = |name: &str| told.get(name).is_some_and(Value::is_object);
    if told.get("kind").is_some() {
        v0_3::read_event(told)
    } else if has("statusUpdate") || has("artifactUpdate") || has("task") || has("message") {
        v1_0::read_stream_response(told)
    } else if has("status") {
        let state = told.pointer("/status/state").and_then(Value::as_str);
        if state.is_some_and(|state| state.starts_with("TASK_STATE_")) {
            v1_0::read_task(told).map(RemoteTask::into_notification)
        } else {
            v0_3::read_event(told)
        }
    } else {
        Err(Fault::new("neither a task nor an event"))
    }
}
