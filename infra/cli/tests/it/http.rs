//! Plain HTTP calls to a system under test.

use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::Value;

#[expect(
    clippy::disallowed_methods,
    reason = "tests call the gateway from outside, as any client would"
)]
pub(crate) fn request(method: Method, url: impl AsRef<str>) -> RequestBuilder {
    Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .request(method, url.as_ref())
}

/// The JSON of a GET that succeeds.
pub(crate) async fn json(url: impl AsRef<str>, token: Option<&str>) -> Value {
    let mut request = request(Method::GET, url);
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response.json().await.unwrap()
}
