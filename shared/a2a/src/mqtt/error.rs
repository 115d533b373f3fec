//! Errors of the binding beside those of A2A.
//!
//! Three codes of the binding are taken by A2A's own errors. What tells them apart is `data`: the binding's is an object
//! with `a2a_error`, A2A's is a list.

use serde_json::{Value, json};

use crate::A2aError;

/// Why a request over MQTT is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// It was worth nothing any more when it was read.
    #[error("the request had expired before it was processed")]
    Expired,
    /// The agent has too much to do, or does not answer.
    #[error("the agent is not available at present")]
    Unavailable,
    /// What stands beside the payload is missing or wrong, or the task's id is.
    #[error("{0}")]
    Protocol(&'static str),
    /// The token is missing, expired or not good.
    #[error("the token is missing, expired or not valid")]
    Unauthenticated(TokenChallenge),
    /// The token is good, and not for this.
    #[error("the token does not allow this")]
    InsufficientScope(TokenChallenge),
    /// An error of A2A.
    #[error(transparent)]
    A2a(#[from] A2aError),
}

/// What an agent says of the token it wants, as over HTTP: the value of `WWW-Authenticate`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenChallenge(pub Option<String>);

impl BindingError {
    /// The `error` of a JSON-RPC answer.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let (code, name, challenge) = match self {
            Self::Expired => (-32003, "request_expired", None),
            Self::Unavailable => (-32004, "responder_unavailable", None),
            Self::Protocol(_) => (-32005, "transport_protocol_error", None),
            // The profile has no codes for tokens: those of HTTP, outside of what JSON-RPC reserves.
            Self::Unauthenticated(challenge) => (401, "unauthenticated", challenge.0.as_deref()),
            Self::InsufficientScope(challenge) => (403, "insufficient_scope", challenge.0.as_deref()),
            Self::A2a(error) => {
                return json!({ "code": error.code(), "message": error.to_string(), "data": error.details() });
            }
        };
        let mut data = json!({ "a2a_error": name });
        if let (Some(challenge), Some(fields)) = (challenge, data.as_object_mut()) {
            fields.insert("www_authenticate".to_owned(), json!(challenge));
        }
        json!({ "code": code, "message": self.to_string(), "data": data })
    }
}

/// States after which a stream has no more items: the task is over, or waits for its user.
const LAST_STATES: [&str; 6] = [
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_AUTH_REQUIRED",
];

/// Whether the `result` tells that its task is over or waits for its user, be it a task, an event or a mere message.
#[must_use]
pub fn is_stream_end(result: &Value) -> bool {
    let states = ["/statusUpdate/status/state", "/task/status/state"];
    let mut states = states.iter().filter_map(|path| result.pointer(path)?.as_str());
    result.get("message").is_some_and(Value::is_object) || states.any(|state| LAST_STATES.contains(&state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_binding_are_told_from_those_of_a2a_by_their_data() {
        let expired = BindingError::Expired.to_json();
        let no_push = BindingError::A2a(A2aError::PushNotificationNotSupported).to_json();
        assert_eq!(expired["code"], no_push["code"]);
        assert_eq!(expired["data"]["a2a_error"], "request_expired");
        assert!(no_push["data"].is_array());
        let challenge = TokenChallenge(Some("Bearer error=\"invalid_token\"".to_owned()));
        let refused = BindingError::Unauthenticated(challenge).to_json();
        assert_eq!(refused["code"], 401);
        assert_eq!(
            refused["data"]["www_authenticate"],
            "Bearer error=\"invalid_token\""
        );
    }

    #[test]
    fn a_stream_ends_where_its_task_is_over_or_waits_for_its_user() {
        for (result, ends) in [
            (
                json!({"statusUpdate": {"status": {"state": "TASK_STATE_COMPLETED"}}}),
                true,
            ),
            (
                json!({"statusUpdate": {"status": {"state": "TASK_STATE_AUTH_REQUIRED"}}}),
                true,
            ),
            (
                json!({"statusUpdate": {"status": {"state": "TASK_STATE_WORKING"}}}),
                false,
            ),
            (
                json!({"task": {"status": {"state": "TASK_STATE_REJECTED"}}}),
                true,
            ),
            (
                json!({"task": {"status": {"state": "TASK_STATE_SUBMITTED"}}}),
                false,
            ),
            (json!({"artifactUpdate": {}}), false),
            (json!({"message": {}}), true),
            (json!({}), false),
            (json!(1), false),
        ] {
            assert_eq!(is_stream_end(&result), ends, "{result}");
        }
    }
}
