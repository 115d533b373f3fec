//! Which kind of event an invocation carries.

pub(crate) enum Event {
    Placeholder,
}

/// Why an event was not served.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// None of the known kinds.
    #[error("the event is neither API Gateway, SQS nor a schedule")]
    Unknown,
}

impl From<EventError> for lambda_runtime::Diagnostic {
    fn from(error: EventError) -> Self {
        Self {
            error_type: "Edge.UnknownEvent".to_owned(),
            error_message: error.to_string(),
        }
    }
}
