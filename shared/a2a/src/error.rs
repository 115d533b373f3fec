//! The errors of A2A, as an agent answers them and as a client reads them.

use domain::Generation;
use serde_json::{Value, json};

/// The `domain` of the `ErrorInfo` that explains an A2A error.
pub const ERROR_DOMAIN: &str = "a2a-protocol.org";

/// An error of the protocol. `code`, `http_status` and `reason` are its names in the bindings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum A2aError {
    /// There is no such task, for this caller.
    #[error("Task not found")]
    TaskNotFound,
    /// The task is over.
    #[error("Task cannot be canceled")]
    TaskNotCancelable,
    /// The agent does not push.
    #[error("Push Notification is not supported")]
    PushNotificationNotSupported,
    /// The agent does not do that, or not with this task.
    #[error("{0}")]
    UnsupportedOperation(String),
    /// The agent does not understand that media type.
    #[error("Incompatible content types")]
    ContentTypeNotSupported,
    /// The agent's answer breaks the protocol.
    #[error("{0}")]
    InvalidAgentResponse(String),
    /// The agent has no extended card.
    #[error("Authenticated Extended Card is not configured")]
    ExtendedCardNotConfigured,
    /// The client does not declare an extension that the agent requires.
    #[error("{0}")]
    ExtensionSupportRequired(String),
    /// The agent speaks no such version of the protocol.
    #[error("A2A version not supported: {0:?}; known are 1.0 and 0.3")]
    VersionNotSupported(String),
    /// The body is not JSON.
    #[error("Invalid JSON payload")]
    ParseError,
    /// The body is JSON, but no request.
    #[error("{0}")]
    InvalidRequest(String),
    /// There is no such method.
    #[error("Method not found: {0}")]
    MethodNotFound(String),
    /// The request's parameters are wrong.
    #[error("{0}")]
    InvalidParams(String),
    /// Something broke inside the agent; the log has the detail.
    #[error("Internal error{}", .request_id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default())]
    Internal {
        /// What to look for in the log.
        request_id: Option<String>,
    },
    /// An error that A2A does not define (what a foreign agent answered).
    #[error("{message}")]
    Other {
        /// Its JSON-RPC code, or its HTTP status over REST.
        code: i64,
        /// Its message, capped.
        message: String,
    },
}

impl A2aError {
    /// The code over JSON-RPC.
    #[must_use]
    pub fn code(&self) -> i64 {
        match self {
            Self::TaskNotFound => -32001,
            Self::TaskNotCancelable => -32002,
            Self::PushNotificationNotSupported => -32003,
            Self::UnsupportedOperation(_) => -32004,
            Self::ContentTypeNotSupported => -32005,
            Self::InvalidAgentResponse(_) => -32006,
            Self::ExtendedCardNotConfigured => -32007,
            Self::ExtensionSupportRequired(_) => -32008,
            Self::VersionNotSupported(_) => -32009,
            Self::ParseError => -32700,
            Self::InvalidRequest(_) => -32600,
            Self::MethodNotFound(_) => -32601,
            Self::InvalidParams(_) => -32602,
            Self::Internal { .. } => -32603,
            Self::Other { code, .. } => *code,
        }
    }

    /// The status over REST.
    #[must_use]
    pub fn http_status(&self) -> u16 {
        match self {
            Self::TaskNotFound | Self::MethodNotFound(_) => 404,
            Self::TaskNotCancelable
            | Self::PushNotificationNotSupported
            | Self::UnsupportedOperation(_)
            | Self::ContentTypeNotSupported
            | Self::ExtendedCardNotConfigured
            | Self::ExtensionSupportRequired(_)
            | Self::VersionNotSupported(_)
            | Self::ParseError
            | Self::InvalidRequest(_)
            | Self::InvalidParams(_) => 400,
            Self::InvalidAgentResponse(_) | Self::Internal { .. } | Self::Other { .. } => 500,
        }
    }

    /// An internal error of which nothing is told.
    #[must_use]
    pub fn internal() -> Self {
        Self::Internal { request_id: None }
    }

    /// The `reason` of its `ErrorInfo`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TaskNotFound => "TASK_NOT_FOUND",
            Self::TaskNotCancelable => "TASK_NOT_CANCELABLE",
            Self::PushNotificationNotSupported => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Self::UnsupportedOperation(_) => "UNSUPPORTED_OPERATION",
            Self::ContentTypeNotSupported => "CONTENT_TYPE_NOT_SUPPORTED",
            Self::InvalidAgentResponse(_) => "INVALID_AGENT_RESPONSE",
            Self::ExtendedCardNotConfigured => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            Self::ExtensionSupportRequired(_) => "EXTENSION_SUPPORT_REQUIRED",
            Self::VersionNotSupported(_) => "VERSION_NOT_SUPPORTED",
            Self::ParseError => "PARSE_ERROR",
            Self::InvalidRequest(_) => "INVALID_REQUEST",
            Self::MethodNotFound(_) => "METHOD_NOT_FOUND",
            Self::InvalidParams(_) => "INVALID_PARAMS",
            Self::Internal { .. } | Self::Other { .. } => "INTERNAL_ERROR",
        }
    }

    /// The code over JSON-RPC in a generation: 0.3 knows neither versions nor required extensions as errors.
    pub(crate) fn code_in(&self, generation: Generation) -> i64 {
        match (generation, self) {
            (Generation::V0_3, Self::ExtensionSupportRequired(_) | Self::VersionNotSupported(_)) => -32600,
            _ => self.code(),
        }
    }

    /// The `google.rpc` status over REST.
    pub(crate) fn rpc_status(&self) -> &'static str {
        match self {
            Self::TaskNotFound | Self::MethodNotFound(_) => "NOT_FOUND",
            Self::TaskNotCancelable
            | Self::PushNotificationNotSupported
            | Self::UnsupportedOperation(_)
            | Self::ExtendedCardNotConfigured
            | Self::ExtensionSupportRequired(_)
            | Self::VersionNotSupported(_) => "FAILED_PRECONDITION",
            Self::ContentTypeNotSupported
            | Self::ParseError
            | Self::InvalidRequest(_)
            | Self::InvalidParams(_) => "INVALID_ARGUMENT",
            Self::InvalidAgentResponse(_) | Self::Internal { .. } | Self::Other { .. } => "INTERNAL",
        }
    }

    /// The status over REST in 0.3, which the official SDK chose.
    pub(crate) fn http_status_0_3(&self) -> u16 {
        match self {
            Self::TaskNotCancelable => 409,
            Self::PushNotificationNotSupported | Self::UnsupportedOperation(_) => 501,
            Self::ContentTypeNotSupported => 415,
            Self::InvalidAgentResponse(_) => 502,
            Self::ExtendedCardNotConfigured => 404,
            Self::InvalidParams(_) => 422,
            _ => self.http_status(),
        }
    }

    /// Its name in the official SDKs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::TaskNotFound => "TaskNotFoundError",
            Self::TaskNotCancelable => "TaskNotCancelableError",
            Self::PushNotificationNotSupported => "PushNotificationNotSupportedError",
            Self::UnsupportedOperation(_) => "UnsupportedOperationError",
            Self::ContentTypeNotSupported => "ContentTypeNotSupportedError",
            Self::InvalidAgentResponse(_) => "InvalidAgentResponseError",
            Self::ExtendedCardNotConfigured => "ExtendedAgentCardNotConfiguredError",
            Self::ExtensionSupportRequired(_) => "ExtensionSupportRequiredError",
            Self::VersionNotSupported(_) => "VersionNotSupportedError",
            Self::ParseError => "JSONParseError",
            Self::InvalidRequest(_) => "InvalidRequestError",
            Self::MethodNotFound(_) => "MethodNotFoundError",
            Self::InvalidParams(_) => "InvalidParamsError",
            Self::Internal { .. } | Self::Other { .. } => "InternalError",
        }
    }

    /// Its `google.rpc.ErrorInfo`.
    pub(crate) fn info(&self) -> Value {
        let metadata = match self {
            Self::Internal {
                request_id: Some(request_id),
            } => json!({ "requestId": request_id }),
            _ => json!({}),
        };
        json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.reason(),
            "domain": ERROR_DOMAIN,
            "metadata": metadata,
        })
    }

    /// The error of a JSON-RPC code; the message is somebody else's and is capped.
    pub(crate) fn from_code(code: i64, message: &str) -> Self {
        let message = capped(message, 300);
        match code {
            -32001 => Self::TaskNotFound,
            -32002 => Self::TaskNotCancelable,
            -32003 => Self::PushNotificationNotSupported,
            -32004 => Self::UnsupportedOperation(message),
            -32005 => Self::ContentTypeNotSupported,
            -32006 => Self::InvalidAgentResponse(message),
            -32007 => Self::ExtendedCardNotConfigured,
            -32008 => Self::ExtensionSupportRequired(message),
            -32009 => Self::VersionNotSupported(message),
            -32700 => Self::ParseError,
            -32600 => Self::InvalidRequest(message),
            -32601 => Self::MethodNotFound(message),
            -32602 => Self::InvalidParams(message),
            code => Self::Other { code, message },
        }
    }

    /// The error of an `ErrorInfo` reason, or of the name it has in the official SDKs.
    pub(crate) fn from_name(name: &str, message: &str) -> Option<Self> {
        let codes = (-32009..=-32001).chain([-32700, -32600, -32601, -32602]);
        let known = codes.map(|code| Self::from_code(code, message));
        known
            .chain([Self::Other {
                code: -32603,
                message: capped(message, 300),
            }])
            .find(|error| error.reason() == name || error.name() == name)
    }
}

/// At most `max` bytes of a foreign text, cut at a character.
pub(crate) fn capped(text: &str, max: usize) -> String {
    let end = text.floor_char_boundary(max);
    text.get(..end).unwrap_or_default().to_owned()
}
