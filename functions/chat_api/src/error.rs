//! Errors of the endpoints, with their HTTP status and body: `{"error": code, "message": text}`.

use a2a::{A2aError, QuotaExceeded};
use auth::KeyError;
use axum::Json;
use axum::response::{IntoResponse, Response};
use domain::{OverQuota, Timestamp};
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use outbound::CallError;
use serde::Serialize;
use serde_json::json;
use store::StoreError;
use url::Url;

/// Somebody whose words are not for everybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Demanding {
    /// What is agreed to by: the agent's type.
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
}

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RouteError {
    #[error("{message}")]
    Invalid { code: &'static str, message: String },
    #[error("the request is too large")]
    TooLarge,
    #[error("{message}")]
    TooLargeFor { code: &'static str, message: String },
    #[error("{0}")]
    File(String),
    #[error("the content type must be application/json")]
    NotJson,
    #[error("the request comes from another site")]
    CrossOrigin,
    #[error("nobody is let in here who has not signed in; a browser does so at {at}")]
    SignInRequired { at: Url },
    #[error(
        "whoever changes this has signed in within the last 15 minutes; a browser does so once more at {at}?prompt=login"
    )]
    SignInAgain { at: Url },
    #[error("whoever tells of a task shows what it was given for that")]
    NoPass,
    #[error("not every browser could be told now; tell it again later")]
    ToldLater,
    #[error("there is no such thing here")]
    NotFound,
    #[error("the chat was deleted")]
    Deleted,
    #[error("{message}")]
    Conflict { code: &'static str, message: String },
    #[error(
        "what these said may be yours alone, as they demanded something of you or know your other tasks: name their ids in \"agreed\" \
         to share it all the same"
    )]
    AsksAgain { agents: Vec<Demanding> },
    /// The host's words for it are its user's too.
    #[error("{}", .0.message)]
    OverQuota(Box<QuotaExceeded>),
    #[error("the host agent refused the message: {0}")]
    Refused(A2aError),
    #[error("the host agent cannot be asked")]
    Host(#[source] CallError),
    #[error("the registry cannot be asked")]
    Registry(#[source] CallError),
    #[error("the agent cannot be asked")]
    Agent(#[source] CallError),
    #[error("the authorization server cannot be asked")]
    Users(#[source] CallError),
    #[error("the tables")]
    Store(#[from] StoreError),
    #[error("the session key")]
    Key(#[from] KeyError),
}

impl RouteError {
    /// A request that is wrong in itself.
    pub(crate) fn invalid(code: &'static str, message: &str) -> Self {
        Self::Invalid {
            code,
            message: message.to_owned(),
        }
    }

    /// More than is taken of something.
    pub(crate) fn too_large(code: &'static str, message: &str) -> Self {
        Self::TooLargeFor {
            code,
            message: message.to_owned(),
        }
    }

    /// A limit that is reached.
    pub(crate) fn over_quota(over: &OverQuota, now: Timestamp) -> Self {
        Self::from(CallError::Refused(A2aError::over_quota(over, now)))
    }

    /// A message under an id that another one has.
    pub(crate) fn message_changed() -> Self {
        Self::conflict("message_changed", "the chat has another message under that id")
    }

    /// What the log calls it.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Invalid { code, .. } | Self::Conflict { code, .. } => code,
            Self::NotFound => "not_found",
            Self::TooLarge => "payload_too_large",
            _ => "failed",
        }
    }

    /// Who is asked is not there any more.
    pub(crate) fn agent_gone() -> Self {
        Self::conflict(
            "agent_gone",
            "there is no such agent any more; choose another one",
        )
    }

    /// A request that does not fit what is there.
    pub(crate) fn conflict(code: &'static str, message: &str) -> Self {
        Self::Conflict {
            code,
            message: message.to_owned(),
        }
    }
}

impl From<CallError> for RouteError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(A2aError::TaskNotFound) => Self::NotFound,
            CallError::Refused(A2aError::TaskNotCancelable) => {
                Self::conflict("not_cancelable", "the task is over and cannot be called off")
            }
            CallError::Refused(A2aError::OverQuota(exceeded)) => Self::OverQuota(exceeded),
            CallError::Refused(
                error @ (A2aError::InvalidParams(_)
                | A2aError::InvalidRequest(_)
                | A2aError::UnsupportedOperation(_)
                | A2aError::ContentTypeNotSupported),
            ) => Self::Refused(error),
            error => Self::Host(error),
        }
    }
}

impl IntoResponse for RouteError {
    fn into_response(self) -> Response {
        let message = self.to_string();
        match self {
            Self::Invalid { code, .. } => answer(StatusCode::BAD_REQUEST, code, &message),
            Self::TooLarge => answer(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", &message),
            Self::TooLargeFor { code, .. } => answer(StatusCode::PAYLOAD_TOO_LARGE, code, &message),
            Self::File(_) => answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_file", &message),
            Self::NotJson => answer(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                &message,
            ),
            Self::SignInRequired { at } => sign_in_first(&at, &message),
            Self::SignInAgain { mut at } => {
                at.set_query(Some("prompt=login"));
                let body = json!({"error": "sign_in_again", "message": message, "signIn": at});
                (StatusCode::FORBIDDEN, Json(body)).into_response()
            }
            Self::CrossOrigin => answer(StatusCode::FORBIDDEN, "cross_origin", &message),
            Self::NoPass => answer(StatusCode::UNAUTHORIZED, "unauthorized", &message),
            Self::ToldLater => later("told_later", &message),
            Self::NotFound => answer(StatusCode::NOT_FOUND, "not_found", &message),
            Self::Deleted => answer(StatusCode::GONE, "chat_deleted", &message),
            Self::Conflict { code, .. } => answer(StatusCode::CONFLICT, code, &message),
            Self::AsksAgain { agents } => {
                let body = json!({"error": "agents_ask_again", "message": message, "agents": agents});
                (StatusCode::CONFLICT, Json(body)).into_response()
            }
            Self::OverQuota(exceeded) => {
                let (whose, after) = (exceeded.whose, exceeded.retry_after);
                let body =
                    json!({"error": "over_quota", "message": message, "whose": whose, "retryAfter": after});
                let again = [(RETRY_AFTER, after.to_string())];
                (StatusCode::TOO_MANY_REQUESTS, again, Json(body)).into_response()
            }
            Self::Refused(_) => answer(StatusCode::UNPROCESSABLE_ENTITY, "refused", &message),
            Self::Host(fault) => elsewhere(&fault, "host", "the host agent"),
            Self::Registry(fault) => elsewhere(&fault, "registry", "the registry"),
            Self::Agent(fault) => elsewhere(&fault, "agent", "the agent"),
            Self::Users(fault) => elsewhere(&fault, "users", "the authorization server"),
            Self::Store(StoreError::TooLarge { .. }) => answer(
                StatusCode::PAYLOAD_TOO_LARGE,
                "payload_too_large",
                "this is more than one record can hold",
            ),
            Self::Store(StoreError::BadCursor) => answer(
                StatusCode::BAD_REQUEST,
                "bad_cursor",
                "the cursor does not belong to this listing",
            ),
            Self::Store(fault @ (StoreError::Throttled { .. } | StoreError::Unavailable { .. })) => {
                tracing::warn!(
                    error = &fault as &dyn std::error::Error,
                    "the tables are out of reach"
                );
                later(
                    "unavailable",
                    "nothing can be stored or read at the moment, so this was not taken; what was taken before is kept. Try again shortly",
                )
            }
            Self::Store(fault) => internal(&fault),
            Self::Key(fault) => internal(&fault),
        }
    }
}

fn answer(status: StatusCode, error: &str, message: &str) -> Response {
    (status, Json(json!({"error": error, "message": message}))).into_response()
}

/// Somebody whom we ask for who asks us does not answer: now, or as they should.
fn elsewhere(fault: &CallError, code: &str, who: &str) -> Response {
    let error = fault as &dyn std::error::Error;
    if fault.is_retryable() {
        tracing::warn!(error, code, "somebody who is asked is out of reach");
        let message = format!("{who} is out of reach; try again shortly");
        return later(&format!("{code}_unavailable"), &message);
    }
    tracing::error!(error, code, "somebody who is asked does not serve us");
    let message = format!("{who} does not answer as it should");
    answer(StatusCode::BAD_GATEWAY, &format!("{code}_failed"), &message)
}

/// Where to sign in stands in the body, and for clients that look there in the header.
fn sign_in_first(at: &Url, message: &str) -> Response {
    let body = json!({"error": "sign_in_required", "message": message, "signIn": at});
    let mut response = (StatusCode::UNAUTHORIZED, Json(body)).into_response();
    if let Ok(value) = HeaderValue::from_str(&format!("Cookie form-action=\"{at}\"")) {
        response.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
    response
}

fn later(error: &str, message: &str) -> Response {
    let mut response = answer(StatusCode::SERVICE_UNAVAILABLE, error, message);
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// The front gives this its constant words and the request id.
fn internal(fault: &(dyn std::error::Error + 'static)) -> Response {
    tracing::error!(error = fault, "the request failed");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}
