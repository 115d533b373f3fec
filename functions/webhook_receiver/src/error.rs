//! Errors of the endpoint: `{"error": code, "message": text}`.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use edge::{later, refused};
use http::StatusCode;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use store::StoreError;

/// Why a notification is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RouteError {
    /// Whatever is wrong with the token: the answer does not say what.
    #[error("the notification's token is missing or not good here")]
    Unauthorized,
    #[error("the body is neither a Task nor a StreamResponse nor {{taskId, status, result}}: {0}")]
    Rubbish(String),
    #[error("the notification is of another task than the one it was asked for")]
    Foreign,
    /// One source, or one job.
    #[error("too many notifications; send this one again later")]
    TooMany(Duration),
    #[error("the task changes too fast; send the notification again")]
    Contended,
    #[error("the task holds something that needs a newer release; send the notification again")]
    NeedsNewer,
    #[error("the keys of this agent are not known yet; send the notification again")]
    KeysOwed,
    #[error("the tenant is suspended; send the notification again later")]
    Suspended,
    #[error("the tables")]
    Store(#[from] StoreError),
}

impl IntoResponse for RouteError {
    fn into_response(self) -> Response {
        let message = self.to_string();
        match self {
            Self::Unauthorized => {
                let refused = refused(StatusCode::UNAUTHORIZED, "unauthorized", &message);
                ([(WWW_AUTHENTICATE, "Bearer")], refused).into_response()
            }
            Self::Rubbish(_) => refused(StatusCode::BAD_REQUEST, "invalid_notification", &message),
            Self::Foreign => refused(StatusCode::BAD_REQUEST, "foreign_task", &message),
            Self::TooMany(wait) => {
                let refused = refused(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", &message);
                let seconds = wait.as_millis().div_ceil(1000).max(1);
                ([(RETRY_AFTER, seconds.to_string())], refused).into_response()
            }
            Self::Suspended => later("tenant_suspended", &message),
            Self::Contended | Self::NeedsNewer | Self::KeysOwed => later("unavailable", &message),
            Self::Store(StoreError::TooLarge { .. }) => refused(
                StatusCode::PAYLOAD_TOO_LARGE,
                "payload_too_large",
                "the result does not fit into the task's record",
            ),
            Self::Store(fault @ (StoreError::Throttled { .. } | StoreError::Unavailable { .. })) => {
                tracing::warn!(
                    error = &fault as &dyn std::error::Error,
                    "the tables are out of reach"
                );
                later("unavailable", "try again shortly")
            }
            Self::Store(fault) => {
                tracing::error!(
                    error = &fault as &dyn std::error::Error,
                    "the notification was not stored"
                );
                // The front gives this its constant words and the request id.
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}
