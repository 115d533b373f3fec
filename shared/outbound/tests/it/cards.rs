//! Finding cards.

use outbound::CallError;
use serde_json::json;
use url::Url;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::outbound;

/// The paths asked, and the name of the card that came.
async fn find(served: &[(&str, u16, &str)], asked: &str) -> (Vec<String>, Result<String, CallError>) {
    let server = MockServer::start().await;
    for (at, status, body) in served {
        let template = ResponseTemplate::new(*status).set_body_string(*body);
        Mock::given(path(*at)).respond_with(template).mount(&server).await;
    }
    let url = Url::parse(&format!("{}{asked}", server.uri())).unwrap();
    let found = outbound()
        .card(&url)
        .await
        .map(|card| card["name"].as_str().unwrap_or_default().to_owned());
    let requests = server.received_requests().await.unwrap();
    (
        requests
            .iter()
            .map(|request| request.url.path().to_owned())
            .collect(),
        found,
    )
}

#[tokio::test]
async fn a_card_is_found_at_its_url_or_below_the_agents() {
    let card = json!({"name": "A"}).to_string();
    let card = card.as_str();
    let (new, old) = ("/x/.well-known/agent-card.json", "/x/.well-known/agent.json");
    for (served, asked, expected) in [
        (vec![(new, 200, card)], "/x", vec![new]),
        (vec![(new, 200, card)], "/x/", vec![new]),
        (vec![(old, 200, card)], "/x", vec![new, old]),
        (vec![(new, 200, "<html>"), (old, 200, card)], "/x", vec![new, old]),
        (vec![("/x", 200, card)], "/x", vec![new, old, "/x"]),
        (vec![(new, 200, card)], new, vec![new]),
        (
            vec![("/x/my-card.json", 200, card)],
            "/x/my-card.json",
            vec!["/x/my-card.json"],
        ),
    ] {
        let (paths, found) = find(&served, asked).await;
        assert_eq!(paths, expected);
        assert_eq!(found.unwrap(), "A");
    }
}

#[tokio::test]
async fn a_card_that_is_none_is_refused() {
    let at = "/x/.well-known/agent-card.json";
    for body in ["", "null", "[]", "7", "<html>"] {
        let (_, found) = find(&[(at, 200, body)], at).await;
        assert!(matches!(found, Err(CallError::BadAnswer(_))), "{body}");
    }
    // A server in trouble is not asked elsewhere, and says so.
    let (paths, found) = find(&[(at, 503, "")], "/x").await;
    assert_eq!(paths.len(), 1);
    assert!(matches!(found, Err(CallError::Status(503))));
    let (paths, found) = find(&[], "/x").await;
    assert_eq!(paths.len(), 3);
    assert!(matches!(found, Err(CallError::Status(404))));
}
