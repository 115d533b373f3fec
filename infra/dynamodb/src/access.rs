//! The access key: who may use a database that everybody on this machine can reach.

use std::fmt;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use url::Url;

/// Most characters of an access key id, as AWS has it.
const ID_LIMIT: usize = 128;

/// An access key, in the form of AWS's.
///
/// The id is random and is the secret: requests are signed, but no signature is computed here. Both travel over this
/// machine's own network alone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessKey {
    /// What each request must name in `Credential=`.
    pub access_key_id: String,
    /// What requests are signed with.
    pub secret_access_key: String,
}

impl AccessKey {
    /// Puts the check in front of a database.
    pub fn before(self, router: Router) -> Router {
        router.layer(middleware::from_fn_with_state(self, check))
    }

    /// The database's address with the key in it, for a setting that holds both.
    #[must_use]
    pub fn within(&self, url: &Url) -> Url {
        let mut url = url.clone();
        // An address of http takes both.
        let _set = url.set_username(&self.access_key_id);
        let _set = url.set_password(Some(&self.secret_access_key));
        url
    }

    fn is_of(&self, headers: &HeaderMap) -> bool {
        named(headers).is_some_and(|id| same(id.as_bytes(), self.access_key_id.as_bytes()))
    }
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessKey")
    }
}

/// The access key id of a signed request (Signature Version 4).
fn named(headers: &HeaderMap) -> Option<&str> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let (Some(field), None) = (fields.next(), fields.next()) else {
        return None;
    };
    let signed = field.to_str().ok()?.strip_prefix("AWS4-HMAC-SHA256 ")?;
    let mut parts = signed.split(',').map(str::trim);
    let scope = parts.find_map(|part| part.strip_prefix("Credential="))?;
    let (id, _scope) = scope.split_once('/')?;
    (id.len() <= ID_LIMIT).then_some(id)
}

/// Compares in a time that says nothing about where the two differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |found, (a, b)| found | (a ^ b));
    one.len() == other.len() && differing == 0
}

/// Answers others as DynamoDB does.
async fn check(State(key): State<AccessKey>, request: Request, next: Next) -> Response {
    if key.is_of(request.headers()) {
        return next.run(request).await;
    }
    let kind = match request.headers().contains_key(AUTHORIZATION) {
        true => "com.amazon.coral.service#UnrecognizedClientException",
        false => "com.amazon.coral.service#MissingAuthenticationTokenException",
    };
    let message = "This database wants the access key of endpoints.json: \"dynamodb_key\".";
    let body = serde_json::json!({ "__type": kind, "message": message }).to_string();
    let media = [(CONTENT_TYPE, "application/x-amz-json-1.0")];
    (StatusCode::BAD_REQUEST, media, body).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use tower::ServiceExt as _;

    use super::*;

    fn key() -> AccessKey {
        AccessKey {
            access_key_id: "LOCALabc".to_owned(),
            secret_access_key: "s".to_owned(),
        }
    }

    async fn answered(fields: &[&str]) -> StatusCode {
        let router = key().before(Router::new().fallback(async || "served"));
        let mut request = Request::builder();
        for field in fields {
            request = request.header(AUTHORIZATION, *field);
        }
        let request = request.body(Body::empty()).unwrap();
        router.oneshot(request).await.unwrap().status()
    }

    #[tokio::test]
    async fn only_requests_with_the_key_are_served() {
        let scope = "20260101/eu-north-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0";
        let signed = |id: &str| format!("AWS4-HMAC-SHA256 Credential={id}/{scope}");
        let good = signed("LOCALabc");
        assert_eq!(answered(&[&good]).await, StatusCode::OK);
        let long = signed(&"x".repeat(4_000));
        for bad in [
            signed("local"),
            signed("LOCALab"),
            signed("LOCALabcd"),
            signed("localabc"),
            signed(""),
            long,
            "AWS4-HMAC-SHA256 Credential=LOCALabc".to_owned(),
            "AWS4-HMAC-SHA256 ".to_owned(),
            format!("AWS4-HMAC-SHA256 Credential=local/{scope}, Credential=LOCALabc/{scope}"),
            "Bearer LOCALabc".to_owned(),
            "LOCALabc".to_owned(),
            String::new(),
        ] {
            assert_eq!(answered(&[&bad]).await, StatusCode::BAD_REQUEST, "{bad}");
        }
        assert_eq!(answered(&[]).await, StatusCode::BAD_REQUEST);
        assert_eq!(answered(&[&good, &good]).await, StatusCode::BAD_REQUEST);
    }

    #[test]
    fn an_address_holds_the_key_and_no_debug_text_does() {
        let url = Url::parse("http://127.0.0.1:8000/").unwrap();
        assert_eq!(key().within(&url).as_str(), "http://LOCALabc:s@127.0.0.1:8000/");
        assert_eq!(format!("{:?}", key()), "AccessKey");
    }
}
