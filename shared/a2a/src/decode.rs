//! From the wire to `domain`: what other agents answer and push.

use domain::{Generation, Notification, Transport, foreign_json};
use serde_json::Value;

use crate::lenient::{Fault, tidy};
use crate::{A2aError, RemoteTask, SendResponse, jsonrpc, peer, plain, rest};

/// Why a body is no notification.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Rubbish(pub String);

/// Reads what an agent answered a send with.
///
/// # Errors
/// [`A2aError::InvalidAgentResponse`] says what is wrong with it.
pub fn send_result(result: &Value, generation: Generation) -> Result<SendResponse, A2aError> {
    peer::answer(result, generation).map_err(|Fault(reason)| A2aError::InvalidAgentResponse(reason))
}

/// Reads a task that an agent answered with.
///
/// # Errors
/// [`A2aError::InvalidAgentResponse`] says what is wrong with it.
pub fn task(result: &Value, generation: Generation) -> Result<RemoteTask, A2aError> {
    peer::task(result, generation).map_err(|Fault(reason)| A2aError::InvalidAgentResponse(reason))
}

/// A page of tasks that an agent answered with.
#[derive(Debug, Clone, PartialEq)]
pub struct RemotePage {
    /// The tasks.
    pub tasks: Vec<RemoteTask>,
    /// The token of the page behind it, if there is one.
    pub next: Option<String>,
    /// How many tasks there are in all, where the agent says so.
    pub total: Option<u64>,
}

/// Reads a page of tasks that an agent answered with.
///
/// # Errors
/// [`A2aError::InvalidAgentResponse`] says what is wrong with it.
pub fn list(result: &Value, generation: Generation) -> Result<RemotePage, A2aError> {
    let tasks = result.get("tasks").filter(|told| !told.is_null());
    let tasks = match tasks {
        None => &[],
        Some(Value::Array(tasks)) => tasks.as_slice(),
        Some(_) => {
            let reason = "tasks must be a list".to_owned();
            return Err(A2aError::InvalidAgentResponse(reason));
        }
    };
    let member = |camel: &str, snake: &str| result.get(camel).or_else(|| result.get(snake));
    let next = member("nextPageToken", "next_page_token").and_then(Value::as_str);
    Ok(RemotePage {
        tasks: tasks
            .iter()
            .map(|told| task(told, generation))
            .collect::<Result<_, _>>()?,
        next: next.filter(|token| !token.is_empty()).map(str::to_owned),
        total: member("totalSize", "total_size").and_then(Value::as_u64),
    })
}

/// Reads the `data` of one event of an agent's stream.
///
/// # Errors
/// The agent's error; [`A2aError::InvalidAgentResponse`] says what is wrong with anything else.
pub fn stream_item(
    data: &str,
    generation: Generation,
    transport: Transport,
) -> Result<Notification, A2aError> {
    let broken = |reason: &str| A2aError::InvalidAgentResponse(reason.to_owned());
    let told: Value =
        foreign_json::read(data.as_bytes()).map_err(|_| broken("an event of the stream is not JSON"))?;
    let told = match transport {
        Transport::JsonRpc | Transport::Mqtt => jsonrpc::answer(told)?,
        Transport::Rest => match told.get("error").and_then(|_| rest::read_failure(&told)) {
            Some(error) => return Err(error),
            None => told,
        },
    };
    let claimed = match (generation, transport) {
        // 0.3's protobuf form has no words that tell it from 1.0's.
        (Generation::V0_3, Transport::Rest) => Generation::V0_3,
        _ => Generation::V1_0,
    };
    peer::news(&told, claimed).map_err(|Fault(reason)| A2aError::InvalidAgentResponse(reason))
}

/// Reads the body of a push notification: a task or an event, of either generation, or the plain form
/// `{"taskId", "status", "result"}`. Which one it is shows in the body, because senders do not agree on a header for it.
///
/// # Errors
/// [`Rubbish`] where it is neither.
pub fn notification(body: &[u8]) -> Result<Notification, Rubbish> {
    let told: Value = foreign_json::read(body).map_err(|_| Rubbish("not JSON".to_owned()))?;
    let read = match plain::is_plain(&told) {
        // Its result is free data; only its depth is looked at.
        true => tidy(&told).and_then(|_| plain::read(&told)),
        false => peer::news(&told, Generation::V1_0),
    };
    read.map_err(|Fault(reason)| Rubbish(reason))
}
