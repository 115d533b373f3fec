//! The keys that agents publish for their push notifications.

use std::time::Duration;

use auth::Sealer;
use auth::webhook::SenderKeys;
use domain::{SystemEntropy, Timestamp};
use outbound::PushKeys;
use serde_json::json;
use url::Url;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::outbound;

#[tokio::test]
async fn keys_are_fetched_once_an_hour_and_an_agent_without_any_is_asked_no_oftener() {
    let sealer = Sealer::new(vec![("k".into(), Sealer::generate_key(&SystemEntropy))]).unwrap();
    let document = json!({"keys": SenderKeys::of(&sealer, "a").unwrap().public_jwks()});
    let server = MockServer::start().await;
    Mock::given(path("/a/.well-known/jwks.json"))
        .respond_with(ResponseTemplate::new(200).set_body_json(&document))
        .mount(&server)
        .await;
    let keys = PushKeys::new(outbound());
    let now = Timestamp::from_millis(0);
    let agent = |path: &str| Url::parse(&format!("{}{path}", server.uri())).unwrap();
    for _ in 0..2 {
        assert_eq!(keys.of(&agent("/a/"), now).await.unwrap().len(), 1);
        assert_eq!(keys.of(&agent("/other"), now).await, Some(Vec::new()));
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
    let later = now.after(Duration::from_secs(3600));
    assert_eq!(keys.of(&agent("/a/"), later).await.unwrap().len(), 1);
    assert_eq!(server.received_requests().await.unwrap().len(), 3);
    let gone = Url::parse("http://127.0.0.1:1/a").unwrap();
    assert_eq!(keys.of(&gone, now).await, None, "it may have some");
    let refused = keys.of(&Url::parse("https://10.0.0.1/a").unwrap(), now).await;
    assert!(refused.unwrap_or_default().is_empty());
}
