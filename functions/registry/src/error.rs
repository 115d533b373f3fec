//! Errors of the endpoints, with their HTTP status and body.

use auth::Refusal;
use axum::Json;
use axum::response::{IntoResponse, Response};
use domain::TypeScope;
use edge::{later, refused};
use http::StatusCode;
use http::header::WWW_AUTHENTICATE;
use serde_json::{Value, json};
use store::StoreError;

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RouteError {
    #[error(transparent)]
    Token(#[from] Refusal),
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("no such agent")]
    NotFound,
    #[error("{0}")]
    Invalid(String),
    #[error("the card is refused")]
    Card(Vec<String>),
    #[error("the type is declared as {}", scope_word(*.0))]
    Contradiction(TypeScope),
    #[error("no such type")]
    NoType,
    #[error("agents have the type ({0} of them); remove those first")]
    InUse(usize),
    #[error("the registry is full: no more than {most} {what}", what = .0, most = .1)]
    Full(&'static str, usize),
    #[error("the agent is being changed by somebody else")]
    Conflict,
    #[error(
        "no such card waits: it has changed since it was read, or nothing waits; look at the agent again"
    )]
    Unread,
    #[error("the registry's table")]
    Store(#[from] StoreError),
}

pub(crate) fn scope_word(scope: TypeScope) -> &'static str {
    match scope {
        TypeScope::Global => "global",
        TypeScope::Tenant => "tenant",
    }
}

impl IntoResponse for RouteError {
    fn into_response(self) -> Response {
        let message = self.to_string();
        match self {
            Self::Token(refusal) => token(&refusal, &message),
            Self::Forbidden(_) => refused(StatusCode::FORBIDDEN, "forbidden", &message),
            Self::NotFound | Self::NoType => refused(StatusCode::NOT_FOUND, "not_found", &message),
            Self::Invalid(_) => refused(StatusCode::BAD_REQUEST, "invalid_request", &message),
            Self::Card(reasons) => {
                let body = json!({"error": "card_refused", "message": message, "reasons": reasons});
                (StatusCode::UNPROCESSABLE_ENTITY, Json(body)).into_response()
            }
            Self::Contradiction(_) => refused(StatusCode::CONFLICT, "type_contradiction", &message),
            Self::Conflict | Self::Unread => refused(StatusCode::CONFLICT, "conflict", &message),
            Self::InUse(_) => refused(StatusCode::CONFLICT, "type_in_use", &message),
            Self::Full(..) => refused(StatusCode::CONFLICT, "registry_full", &message),
            Self::Store(StoreError::Throttled { .. } | StoreError::Unavailable { .. }) => {
                tracing::warn!("the registry's table is out of reach");
                later("unavailable", "try again shortly")
            }
            Self::Store(StoreError::TooLarge { .. }) => {
                Self::Card(vec!["the card is too large to be stored".to_owned()]).into_response()
            }
            Self::Store(fault) => {
                tracing::error!(
                    error = &fault as &dyn std::error::Error,
                    "the registry's table failed"
                );
                refused(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error")
            }
        }
    }
}

fn token(refusal: &Refusal, message: &str) -> Response {
    let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::UNAUTHORIZED);
    let challenge = refusal.www_authenticate();
    // A REST API renames the header on its way out, so the challenge stands in the body too.
    let body: Value = json!({"error": refusal.error_code(), "message": message, "challenge": challenge});
    ([(WWW_AUTHENTICATE, challenge)], (status, Json(body))).into_response()
}
