//! The sample events hold requests that mean what their names say.

use axum::body::Body;
use domain::{SystemEntropy, Tenant};
use http::Request;
use idp::NewClient;
use serde_json::Value;

use crate::fixture::{Idp, encoded};

#[tokio::test]
async fn the_sample_events_are_answered_as_their_names_say() {
    let idp = Idp::start().await;
    let base = "https://acme.example".parse().unwrap();
    let host = NewClient::host(&base, "the-secret-of-the-host-client-0123456789".into());
    let acme = Tenant::parse("acme").unwrap();
    idp::provision(&idp.store, &acme, &[host], &[], &SystemEntropy)
        .await
        .unwrap();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events/idp");
    let expected = [
        ("authorize", 200, "Sign in"),
        ("authorize_foreign_redirect", 400, "has not registered"),
        ("authorize_plain_pkce", 302, ""),
        ("jwks", 200, "\"kid\""),
        ("metadata", 200, "\"issuer\""),
        ("rubbish_body", 400, "invalid_request"),
        ("token_client_credentials", 200, "access_token"),
        ("token_code", 400, "invalid_grant"),
        ("unauthorized", 401, "invalid_client"),
    ];
    for (name, status, words) in expected {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let event: Value = serde_json::from_str(&text).unwrap();
        let field = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let query = event["queryStringParameters"].as_object();
        let pairs: Vec<(&str, &str)> = query
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let mut request = Request::builder()
            .method(field("httpMethod").as_str())
            .uri(format!("{}?{}", field("path"), encoded(&pairs)));
        for (name, value) in event["headers"].as_object().unwrap() {
            request = request.header(name, value.as_str().unwrap());
        }
        let answer = idp.call(request.body(Body::from(field("body"))).unwrap()).await;
        assert_eq!(answer.status.as_u16(), status, "{name}: {}", answer.text);
        assert!(answer.text.contains(words), "{name}: {}", answer.text);
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), expected.len());
}
