//! Errors as JSON: `{"error": "not_found", "message": "…"}`. What the framework says in plain text or without words
//! gets this form; what a handler said in a form of its own (JSON, HTML) stays as it is.

use auth::Refusal;
use axum::body::to_bytes;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::json;

/// Longest text of the framework that is passed on.
const MESSAGE_LIMIT: usize = 1_024;

/// The bearer token that a request brings.
///
/// # Errors
/// [`Refusal`] where it brings none, or what it brings cannot be one.
pub fn bearer(headers: &HeaderMap) -> Result<&str, Refusal> {
    let header = headers.get(AUTHORIZATION).map(HeaderValue::to_str);
    auth::bearer(header.transpose().map_err(|_| Refusal::Malformed)?)
}

/// A path that no function serves.
#[must_use]
pub fn not_found() -> Response {
    of(StatusCode::NOT_FOUND, None, "")
}

/// An error in the words of an endpoint.
#[must_use]
pub fn refused(status: StatusCode, error: &str, message: &str) -> Response {
    (status, axum::Json(json!({ "error": error, "message": message }))).into_response()
}

/// 503: the caller is to try once more in a second.
#[must_use]
pub fn later(error: &str, message: &str) -> Response {
    let again = [(RETRY_AFTER, "1")];
    (again, refused(StatusCode::SERVICE_UNAVAILABLE, error, message)).into_response()
}

/// A refusal in typed form. A 5xx says nothing but the request id; the detail is in the log.
pub(super) fn of(status: StatusCode, message: Option<String>, request_id: &str) -> Response {
    let (error, constant) = words(status);
    let body = if status.is_server_error() {
        json!({ "error": error, "message": constant, "requestId": request_id })
    } else {
        json!({ "error": error, "message": message.as_deref().unwrap_or(constant) })
    };
    (status, axum::Json(body)).into_response()
}

/// The response, typed if it is an error without form.
pub(super) async fn typed(response: Response, method: &Method, request_id: &str) -> Response {
    let status = response.status();
    let failed = status.is_client_error() || status.is_server_error();
    if !failed || method == Method::HEAD || !formless(response.headers()) {
        return response;
    }
    let (head, body) = response.into_parts();
    let text = to_bytes(body, MESSAGE_LIMIT).await.unwrap_or_default();
    let message = std::str::from_utf8(&text)
        .ok()
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let mut typed = of(status, message.map(str::to_owned), request_id);
    // Headers such as Allow and WWW-Authenticate are part of the answer.
    for (name, value) in &head.headers {
        if name != CONTENT_TYPE && name != CONTENT_LENGTH {
            typed.headers_mut().append(name, value.clone());
        }
    }
    typed
}

/// Neither a body of a form, nor one of unknown form.
pub(super) fn formless(headers: &HeaderMap) -> bool {
    let is_plain = |value: &HeaderValue| value.as_bytes().starts_with(b"text/plain");
    headers.get(CONTENT_TYPE).is_none_or(is_plain)
}

fn words(status: StatusCode) -> (&'static str, &'static str) {
    match status {
        StatusCode::UNAUTHORIZED => ("unauthorized", "This needs a valid token."),
        StatusCode::FORBIDDEN => ("forbidden", "The token does not allow this."),
        StatusCode::NOT_FOUND => ("not_found", "There is nothing here."),
        StatusCode::METHOD_NOT_ALLOWED => ("method_not_allowed", "This path does not know the method."),
        StatusCode::NOT_ACCEPTABLE => ("not_acceptable", "None of the wanted media types is available."),
        StatusCode::REQUEST_TIMEOUT => ("request_timeout", "The body did not arrive in time."),
        StatusCode::CONFLICT => ("conflict", "Something else was done meanwhile."),
        StatusCode::PAYLOAD_TOO_LARGE => ("payload_too_large", "The body is longer than 1 MB."),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (
            "unsupported_media_type",
            "The body's media type is not known here.",
        ),
        StatusCode::UNPROCESSABLE_ENTITY => ("unprocessable", "The body does not hold what is needed."),
        StatusCode::TOO_MANY_REQUESTS => ("too_many_requests", "Slow down."),
        StatusCode::SERVICE_UNAVAILABLE => ("unavailable", "This is not available now; try again."),
        other if other.is_server_error() => ("internal", "Something went wrong here."),
        _ => ("bad_request", "The request cannot be read."),
    }
}
