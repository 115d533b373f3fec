//! Rubbish at every endpoint: a typed 4xx, and nothing stored.

use std::time::Duration;

use axum::body::Body;
use http::header::{CONTENT_TYPE, COOKIE, SET_COOKIE};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::world::{Browser, World};

fn is_typed_refusal(status: StatusCode, text: &str) -> bool {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    status.is_client_error() && body["error"].is_string()
}

#[tokio::test]
async fn a_rubbish_message_is_refused_and_leaves_no_session_chat_or_task() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    // How the tenant stands is read once in ten seconds, whatever is asked.
    browser.get(&app, "/").await;
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let giant = format!(
        r#"{{"id":"c","message":{{"id":"m","role":"user","parts":[{{"type":"text","text":"{}"}}]}}}}"#,
        "x".repeat(10_000_000)
    );
    for body in [
        String::new(),
        "{".into(),
        "null".into(),
        "\0".into(),
        deep,
        giant,
        json!({"id": "c\u{0}", "message": {"id": "m", "role": "user", "parts": [{"type": "text", "text": "x"}]}}).to_string(),
        json!({"id": "c".repeat(5_000), "messages": []}).to_string(),
        json!({"id": "c", "messages": {"0": 1}}).to_string(),
        json!({"id": "c", "messages": [{"id": "m", "role": "system", "parts": []}]}).to_string(),
    ] {
        let shown: String = body.chars().take(60).collect();
        let (answered, calls) = store::counted(async {
            let request = browser.request(Method::POST, "/api/chat").header(CONTENT_TYPE, "application/json");
            browser.send(&app, request.body(Body::from(body)).unwrap()).await
        })
        .await;
        assert!(is_typed_refusal(answered.status, &answered.text), "{shown}: {} {}", answered.status, answered.text);
        assert!(!answered.headers.contains_key(SET_COOKIE), "{shown}");
        assert_eq!(calls.total(), 0, "{shown}");
    }
}

#[tokio::test]
async fn rubbish_paths_queries_and_cookies_are_refused() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let long = "x".repeat(3_000);
    for path in [
        "/api/nothing".to_owned(),
        "/api/tasks/1".into(),
        "/api/tasks/%00".into(),
        "/api/tasks/%ff%fe".into(),
        format!("/api/tasks/{long}"),
        "/api/tasks/%ff/events".into(),
        "/api/chats/%00/messages".into(),
        "/api/chats/%ff/messages".into(),
        format!("/api/chats/{long}/messages"),
        "/api/chats/c/messages/%00/files/0".into(),
        "/api/chats/c/messages/m/files/%ff".into(),
        "/api/chat/%00/stream".into(),
        format!("/api/chat/{long}/stream"),
        "/api/tasks?limit=0".into(),
        "/api/tasks?limit=lots".into(),
        "/api/chats?limit=101".into(),
        "/api/tasks?contextId=a%20b".into(),
        format!("/api/tasks?contextId={long}"),
    ] {
        let answered = Browser::default().get(&app, &path).await;
        assert!(
            is_typed_refusal(answered.status, &answered.text),
            "{path}: {} {}",
            answered.status,
            answered.text
        );
    }
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let request = Browser::default()
            .request(method, "/api/chat")
            .body(Body::empty())
            .unwrap();
        let answered = Browser::default().send(&app, request).await;
        assert_eq!(answered.status, StatusCode::METHOD_NOT_ALLOWED);
    }
    for cookie in [
        "switchyard_acme=sws_",
        "switchyard_acme=sws_AAAA",
        "=;;;",
        "switchyard_acme",
    ] {
        let browser = Browser::default();
        let request = browser.request(Method::GET, "/api/chats").header(COOKIE, cookie);
        let answered = browser.send(&app, request.body(Body::empty()).unwrap()).await;
        assert_eq!(
            (answered.status, answered.json()["chats"].clone()),
            (StatusCode::OK, json!([])),
            "{cookie}"
        );
    }
}

#[tokio::test]
async fn a_foreign_or_damaged_cursor_is_refused() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    browser
        .post(&app, "/api/chat", &super::world::says("c1", "m1", "hello"))
        .await;
    for path in ["/api/tasks?cursor=rubbish", "/api/chats?cursor=%00"] {
        let answered = browser.get(&app, path).await;
        assert_eq!(
            (answered.status, answered.json()["error"].clone()),
            (StatusCode::BAD_REQUEST, json!("bad_cursor"))
        );
    }
}
