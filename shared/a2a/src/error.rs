//! The errors of A2A, as an agent answers them and as a client reads them.

use domain::{Generation, OverQuota, Timestamp, Whose};
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
    #[error("Method not found{}{}", if .0.is_empty() { "" } else { ": " }, .0)]
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
    /// The caller, or their tenant, has used up what they may. A2A defines no such error.
    #[error("{message}")]
    OverQuota {
        /// What is used up, until when, and who can raise it.
        message: String,
        /// Whose limit it is: `owner` or `tenant`; empty where an agent does not say so.
        whose: String,
        /// After how many seconds asking again makes sense; 0 where an agent does not say so.
        retry_after: u64,
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
            Self::OverQuota { .. } => -32029,
            Self::Other { code, .. } => *code,
        }
    }

    /// The status over REST.
    #[must_use]
    pub fn http_status(&self) -> u16 {
        self.names().status
    }

    /// An internal error of which nothing is told.
    #[must_use]
    pub fn internal() -> Self {
        Self::Internal { request_id: None }
    }

    /// The refusal of whoever has reached a limit.
    #[must_use]
    pub fn over_quota(over: &OverQuota, now: Timestamp) -> Self {
        let whose = match over.whose {
            Whose::Owner => "owner",
            Whose::Tenant => "tenant",
        };
        Self::OverQuota {
            message: over.to_string(),
            whose: whose.to_owned(),
            retry_after: over.until.since(now).as_secs().max(1),
        }
    }

    /// The `reason` of its `ErrorInfo`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.names().reason
    }

    fn names(&self) -> &'static Names {
        let code = self.code();
        NAMES.iter().find(|names| names.code == code).unwrap_or(&INTERNAL)
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
        self.names().rpc
    }

    /// The status over REST in 0.3, which the official SDK chose.
    pub(crate) fn http_status_0_3(&self) -> u16 {
        self.names().status_0_3
    }

    /// Its name in the official SDKs.
    pub(crate) fn name(&self) -> &'static str {
        self.names().name
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

    /// What explains it: its `google.rpc.ErrorInfo`, and what is used up until when.
    pub(crate) fn details(&self) -> Value {
        match self {
            Self::OverQuota {
                message,
                whose,
                retry_after,
            } => json!([
                self.info(),
                { "@type": QUOTA_FAILURE, "violations": [{ "subject": whose, "description": message }] },
                { "@type": RETRY_INFO, "retryDelay": format!("{retry_after}s") },
            ]),
            _ => json!([self.info()]),
        }
    }

    /// It, with what the details that came with it say beside its code.
    pub(crate) fn detailed(mut self, details: Option<&Value>) -> Self {
        let Self::OverQuota {
            whose, retry_after, ..
        } = &mut self
        else {
            return self;
        };
        let told = |path: &str| {
            let mut details = details.and_then(Value::as_array).into_iter().flatten();
            details.find_map(|detail| detail.pointer(path)?.as_str())
        };
        if let Some(subject) = told("/violations/0/subject") {
            *whose = capped(subject, 20);
        }
        let delay = told("/retryDelay").and_then(|delay| delay.strip_suffix('s')?.parse().ok());
        *retry_after = delay.unwrap_or_default();
        self
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
            // Most repeat the words that the code stands for.
            -32601 => {
                let named = message.strip_prefix("Method not found").unwrap_or(&message);
                Self::MethodNotFound(named.trim_start_matches([':', '.', ' ']).to_owned())
            }
            -32602 => Self::InvalidParams(message),
            -32029 => Self::OverQuota {
                message,
                whose: String::new(),
                retry_after: 0,
            },
            code => Self::Other { code, message },
        }
    }

    /// The error of an `ErrorInfo` reason, or of the name it has in the official SDKs.
    pub(crate) fn from_name(name: &str, message: &str) -> Option<Self> {
        let mut known = NAMES.iter().chain([&INTERNAL]);
        let known = known.find(|names| names.reason == name || names.name == name)?;
        Some(Self::from_code(known.code, message))
    }
}

/// What an error is called in the bindings and by the official SDKs.
struct Names {
    code: i64,
    status: u16,
    status_0_3: u16,
    rpc: &'static str,
    reason: &'static str,
    name: &'static str,
}

const fn names(
    code: i64,
    (status, status_0_3): (u16, u16),
    rpc: &'static str,
    (reason, name): (&'static str, &'static str),
) -> Names {
    Names {
        code,
        status,
        status_0_3,
        rpc,
        reason,
        name,
    }
}

const QUOTA_FAILURE: &str = "type.googleapis.com/google.rpc.QuotaFailure";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";
const FAILED: &str = "FAILED_PRECONDITION";
const INVALID: &str = "INVALID_ARGUMENT";

/// Every error but the internal ones, by its code.
#[rustfmt::skip]
const NAMES: [Names; 14] = [
    names(-32001, (404, 404), "NOT_FOUND", ("TASK_NOT_FOUND", "TaskNotFoundError")),
    names(-32002, (400, 409), FAILED, ("TASK_NOT_CANCELABLE", "TaskNotCancelableError")),
    names(-32003, (400, 501), FAILED, ("PUSH_NOTIFICATION_NOT_SUPPORTED", "PushNotificationNotSupportedError")),
    names(-32004, (400, 501), FAILED, ("UNSUPPORTED_OPERATION", "UnsupportedOperationError")),
    names(-32005, (400, 415), INVALID, ("CONTENT_TYPE_NOT_SUPPORTED", "ContentTypeNotSupportedError")),
    names(-32006, (500, 502), "INTERNAL", ("INVALID_AGENT_RESPONSE", "InvalidAgentResponseError")),
    names(-32007, (400, 404), FAILED, ("EXTENDED_AGENT_CARD_NOT_CONFIGURED", "ExtendedAgentCardNotConfiguredError")),
    names(-32008, (400, 400), FAILED, ("EXTENSION_SUPPORT_REQUIRED", "ExtensionSupportRequiredError")),
    names(-32009, (400, 400), FAILED, ("VERSION_NOT_SUPPORTED", "VersionNotSupportedError")),
    names(-32029, (429, 429), "RESOURCE_EXHAUSTED", ("QUOTA_EXCEEDED", "QuotaExceededError")),
    names(-32700, (400, 400), INVALID, ("PARSE_ERROR", "JSONParseError")),
    names(-32600, (400, 400), INVALID, ("INVALID_REQUEST", "InvalidRequestError")),
    names(-32601, (404, 404), "NOT_FOUND", ("METHOD_NOT_FOUND", "MethodNotFoundError")),
    names(-32602, (400, 422), INVALID, ("INVALID_PARAMS", "InvalidParamsError")),
];
const INTERNAL: Names = names(
    -32603,
    (500, 500),
    "INTERNAL",
    ("INTERNAL_ERROR", "InternalError"),
);

/// At most `max` bytes of a foreign text, cut at a character.
pub(crate) fn capped(text: &str, max: usize) -> String {
    let end = text.floor_char_boundary(max);
    text.get(..end).unwrap_or_default().to_owned()
}
