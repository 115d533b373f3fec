//! Whom a message can be for.

use std::time::Duration;

use http::StatusCode;
use serde_json::json;

use super::world::{Browser, World, says};

#[tokio::test]
async fn the_agents_are_listed_for_anybody_and_read_from_the_host_once_in_a_while() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let mut expected = json!({"host": null, "models": [
        {"id": "host", "name": "Host", "description": "Does what it is told", "examples": ["hello"], "inputTypes": ["image/png", "text/plain"]},
        {"id": "echo", "name": "Echo", "description": "Says it again", "examples": ["hello"], "inputTypes": ["image/png", "text/plain"]},
    ]});
    let nobody = browser.get(&app, "/api/models").await;
    assert_eq!((nobody.status, nobody.json()), (StatusCode::OK, expected.clone()));
    assert!(
        !nobody.headers.contains_key("set-cookie"),
        "a look makes no guest"
    );
    browser.post(&app, "/api/chat", &says("c1", "m1", "hello")).await;
    let told = browser.get(&app, "/api/models").await.json();
    assert!(
        told["host"]
            .as_str()
            .is_some_and(|url| url.starts_with("http://127.0.0.1:")),
        "{told}"
    );
    expected["host"] = told["host"].clone();
    assert_eq!(told, expected);
    let (_, calls) = store::counted(browser.get(&app, "/api/models")).await;
    assert_eq!(calls.total(), 1, "the session alone: {calls:?}");
}

#[tokio::test]
async fn without_a_host_it_is_said_so() {
    let world = World::new().await;
    let app = world.app_at(Duration::ZERO, "http://127.0.0.1:9/a/host".parse().unwrap());
    let answered = Browser::default().get(&app, "/api/models").await;
    assert_eq!(answered.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answered.json()["error"], "host_unavailable");
}

#[tokio::test]
async fn a_message_for_an_agent_names_it_to_the_host_and_stays_its_own() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let mut said = says("c1", "m1", "hello");
    said["model"] = json!("echo");
    let answered = browser.post(&app, "/api/chat", &said).await;
    let message = world.first_message(&answered).await;
    assert_eq!(message.metadata["switchyard/agent"], "echo");
    let history = browser.get(&app, "/api/chats/c1/messages").await.json();
    assert_eq!(history[0]["metadata"], json!({"model": "echo"}));
    // A repeat is the same message.
    let again = browser.post(&app, "/api/chat", &said).await;
    assert_eq!(world.first_message(&again).await.message_id, message.message_id);
    // The host is nobody to name.
    let mut said = says("c1", "m2", "hello");
    said["model"] = json!("host");
    let answered = browser.post(&app, "/api/chat", &said).await;
    let message = world.first_message(&answered).await;
    assert!(!message.metadata.contains_key("switchyard/agent"));
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_refused_and_nothing_is_stored() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    for (model, status, error) in [
        ("nobody", StatusCode::CONFLICT, "agent_gone"),
        ("no body", StatusCode::BAD_REQUEST, "unknown_model"),
        ("../weather", StatusCode::BAD_REQUEST, "unknown_model"),
        ("", StatusCode::BAD_REQUEST, "unknown_model"),
    ] {
        let mut said = says("c1", "m1", "hello");
        said["model"] = json!(model);
        let answered = browser.post(&app, "/api/chat", &said).await;
        assert_eq!(
            (answered.status, &answered.json()["error"]),
            (status, &json!(error)),
            "{model}"
        );
    }
    assert_eq!(browser.get(&app, "/api/chats").await.json()["chats"], json!([]));
}
