//! From the wire to `domain`: what other agents answer and push.

use domain::{Generation, Notification};
use serde_json::Value;

use crate::{A2aError, Answer, RemoteTask};

/// Why a body is no notification.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Rubbish(pub String);

/// Reads what an agent answered a send with.
///
/// # Errors
/// [`A2aError::InvalidAgentResponse`] says what is wrong with it.
pub fn send_result(result: &Value, generation: Generation) -> Result<Answer, A2aError> {
    let _ = (result, generation);
    todo!()
}

/// Reads a task that an agent answered with.
///
/// # Errors
/// [`A2aError::InvalidAgentResponse`] says what is wrong with it.
pub fn task(result: &Value, generation: Generation) -> Result<RemoteTask, A2aError> {
    let _ = (result, generation);
    todo!()
}

/// Reads the body of a push notification: a task or an event, of either generation.
///
/// # Errors
/// [`Rubbish`] where it is neither.
pub fn notification(body: &[u8]) -> Result<Notification, Rubbish> {
    let _ = body;
    todo!()
}
