//! `/cards`: what the registry is told of an agent on the broker.

use std::sync::Arc;

use a2a::mqtt::{Properties, Publication, TopicPrefix};
use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::calls::{PLATFORM, World, world};
use crate::router;

const CARD: &str = r#"{"name": "Echo", "skills": [{"id": "echo"}]}"#;

impl World {
    /// The broker has this on the card's topic.
    fn has(&self, card: &str, status: &str) {
        let publication = Publication {
            topic: "$a2a/v1/discovery/acme/lab/echo".to_owned(),
            payload: card.to_owned().into(),
            retain: true,
            properties: Properties {
                user: vec![("a2a-status".to_owned(), status.to_owned())],
                ..Properties::default()
            },
        };
        let taken = self
            .bridge
            .discovered
            .take(&TopicPrefix::standard(), &publication);
        assert!(taken.is_ok(), "{taken:?}");
    }

    /// What is answered about an agent; whether it says when to come again.
    async fn card_of(&self, agent: &str, token: &str) -> (StatusCode, bool, Value) {
        let request = Request::get(format!("/cards/{agent}"))
            .header("authorization", format!("Bearer {token}"))
            .body(Body::empty())
            .unwrap();
        let response = router(Arc::clone(&self.bridge)).oneshot(request).await.unwrap();
        let (status, again) = (response.status(), response.headers().contains_key("retry-after"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, again, serde_json::from_slice(&body).unwrap())
    }
}

#[tokio::test]
async fn an_agent_that_is_offline_is_503_and_one_that_is_gone_is_404() {
    let world = world().await;
    let token = world.token(PLATFORM, "mqtt:cards");
    let echo = async || world.card_of("acme/lab/echo", &token).await;
    let unknown = |(status, again, told): (StatusCode, bool, Value)| {
        assert_eq!(
            (status, again, &told["error"]),
            (StatusCode::NOT_FOUND, false, &json!("not_found"))
        );
    };
    unknown(echo().await);
    world.has(CARD, "online");
    let (status, _, card) = echo().await;
    assert_eq!((status, &card["name"]), (StatusCode::OK, &json!("Echo")));
    assert_eq!(
        card["supportedInterfaces"][0]["url"],
        "mqtts://broker.example/$a2a/v1/request/acme/lab/echo"
    );
    world.has(CARD, "offline");
    let (status, again, told) = echo().await;
    assert_eq!(
        (status, again, &told["error"]),
        (StatusCode::SERVICE_UNAVAILABLE, true, &json!("offline"))
    );
    assert!(!told.to_string().contains("Echo"), "{told}");
    world.has(CARD, "online");
    assert_eq!(echo().await.0, StatusCode::OK, "it came back");
    world.has("", "offline");
    unknown(echo().await);
    // Nor has anybody a card who is no agent, or another one.
    world.has(CARD, "online");
    for other in ["acme/lab/other", "globex/lab/echo", "acme/lab/+", "acme/%23/echo"] {
        unknown(world.card_of(other, &token).await);
    }
}

#[tokio::test]
async fn a_card_on_the_broker_is_for_the_registry_alone() {
    let world = world().await;
    world.has(CARD, "online");
    for (token, wanted) in [
        (world.token("acme", "mqtt:cards"), StatusCode::FORBIDDEN),
        (world.token(PLATFORM, "mqtt:call"), StatusCode::FORBIDDEN),
        ("rubbish".to_owned(), StatusCode::UNAUTHORIZED),
    ] {
        let (status, _, told) = world.card_of("acme/lab/echo", &token).await;
        assert_eq!(status, wanted, "{told}");
        assert!(!told.to_string().contains("Echo"), "{told}");
    }
}
