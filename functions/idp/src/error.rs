//! What the endpoints for programs refuse with, and how that looks on the wire: RFC 6749 §5.2 and RFC 8707.

use auth::{KeyError, Refusal};
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::json;
use store::StoreError;

/// Why a request of a program is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    /// The tenant is none of ours.
    #[error("there is nothing here")]
    NoTenant,
    /// Parameters are missing, repeated or wrong.
    #[error("{0}")]
    InvalidRequest(&'static str),
    /// The client is unknown or did not prove who it is.
    #[error("the client is unknown or its credentials are wrong")]
    InvalidClient,
    /// The code, refresh token or what belongs to it is no longer or never was good.
    #[error("{0}")]
    InvalidGrant(&'static str),
    /// The client may not do this.
    #[error("the client may not use this grant")]
    UnauthorizedClient,
    /// There is no such grant here.
    #[error("the grant type is none of authorization_code, refresh_token, client_credentials")]
    UnsupportedGrantType,
    /// The client may not ask for that scope.
    #[error("the scope is unknown or more than the client may ask for")]
    InvalidScope,
    /// The resource is missing, or not one the client may ask for.
    #[error("exactly one resource is needed, one that the client may ask for")]
    InvalidTarget,
    /// The token is of a kind that cannot be called back (RFC 7009 §2.2.1).
    #[error("an access token cannot be called back; it ends by itself within ten minutes")]
    UnsupportedTokenType,
    /// A bearer token is refused (userinfo).
    #[error(transparent)]
    Token(#[from] Refusal),
    /// The tables.
    #[error("the tables")]
    Store(#[from] StoreError),
    /// The keys.
    #[error("the signing key")]
    Key(#[from] KeyError),
}

impl TokenError {
    pub(crate) fn invalid(what: &'static str) -> Self {
        Self::InvalidRequest(what)
    }

    /// The error code alone.
    pub(crate) fn name(&self) -> &'static str {
        self.code().1
    }

    /// The error code and status.
    fn code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NoTenant => (StatusCode::NOT_FOUND, "not_found"),
            Self::InvalidRequest(_) => (StatusCode::BAD_REQUEST, "invalid_request"),
            Self::InvalidClient => (StatusCode::UNAUTHORIZED, "invalid_client"),
            Self::InvalidGrant(_) => (StatusCode::BAD_REQUEST, "invalid_grant"),
            Self::UnauthorizedClient => (StatusCode::BAD_REQUEST, "unauthorized_client"),
            Self::UnsupportedGrantType => (StatusCode::BAD_REQUEST, "unsupported_grant_type"),
            Self::InvalidScope => (StatusCode::BAD_REQUEST, "invalid_scope"),
            Self::InvalidTarget => (StatusCode::BAD_REQUEST, "invalid_target"),
            Self::UnsupportedTokenType => (StatusCode::BAD_REQUEST, "unsupported_token_type"),
            Self::Token(refusal) => (
                StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::UNAUTHORIZED),
                refusal.error_code(),
            ),
            Self::Store(StoreError::Throttled { .. } | StoreError::Unavailable { .. }) => {
                (StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable")
            }
            Self::Store(_) | Self::Key(_) => (StatusCode::INTERNAL_SERVER_ERROR, "server_error"),
        }
    }
}

impl IntoResponse for TokenError {
    fn into_response(self) -> Response {
        let (status, code) = self.code();
        let text = if status.is_server_error() {
            tracing::error!(error = &self as &dyn std::error::Error, "the request failed");
            "try again later".to_owned()
        } else {
            self.to_string()
        };
        let challenge = match &self {
            Self::InvalidClient => Some("Basic realm=\"switchyard\", charset=\"UTF-8\"".to_owned()),
            Self::Token(refusal) => Some(refusal.www_authenticate()),
            _ => None,
        };
        let mut body = json!({"error": code, "error_description": text});
        // A REST API renames the header on its way out, so a bearer challenge stands in the body too.
        if let (Self::Token(_), Some(challenge), Some(fields)) = (&self, &challenge, body.as_object_mut()) {
            fields.insert("challenge".to_owned(), json!(challenge));
        }
        let mut response = unstored((status, Json(body)));
        let headers = response.headers_mut();
        if let Some(challenge) = challenge.and_then(|text| HeaderValue::from_str(&text).ok()) {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// An answer that nobody keeps.
pub(crate) fn unstored(answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}
