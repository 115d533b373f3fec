//! The errors of A2A, as an agent answers them and as a client reads them.

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
    #[error("A2A version {0:?} is not supported; this agent speaks 1.0 and 0.3")]
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
}

/// At most `max` bytes of a foreign text, cut at a character.
pub(crate) fn capped(text: &str, max: usize) -> String {
    let end = text.floor_char_boundary(max);
    text.get(..end).unwrap_or_default().to_owned()
}
