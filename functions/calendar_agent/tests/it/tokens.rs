//! Who may call: valid, missing, expired, of another audience, of a smaller scope; and rubbish.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use domain::{Entropy as _, SystemEntropy};
use serde_json::{Value, json};

use crate::world::{ADA, URL, World, said, world};

async fn sent(world: &World, token: Option<&str>, parts: Value) -> (StatusCode, Value) {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "message": { "messageId": SystemEntropy.uuid().to_string(), "role": "ROLE_USER", "parts": parts },
        "configuration": { "returnImmediately": true },
    }});
    let mut request = Request::post("/")
        .header("content-type", "application/json")
        .header("a2a-version", "1.0");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let (status, _, answer) = world
        .answer(request.body(Body::from(body.to_string())).unwrap())
        .await;
    (status, answer)
}

#[tokio::test]
async fn only_a_good_token_of_a_tenant_is_taken() {
    let world = world().await;
    let question = json!([{"text": "Am I free on Friday?"}]);
    let good = world.token(ADA, URL, "tasks");
    let (status, answer) = sent(&world, Some(&good), question.clone()).await;
    assert_eq!((status, answer.get("error")), (StatusCode::OK, None));
    for (bad, expected) in [
        (None, StatusCode::UNAUTHORIZED),
        (Some("rubbish".to_owned()), StatusCode::UNAUTHORIZED),
        (
            Some(world.token(ADA, "https://other.example/", "tasks")),
            StatusCode::UNAUTHORIZED,
        ),
        (
            Some(world.token(ADA, URL, "registry:read")),
            StatusCode::FORBIDDEN,
        ),
    ] {
        let (status, _) = sent(&world, bad.as_deref(), question.clone()).await;
        assert_eq!(status, expected, "{bad:?}");
    }
    world.clock.advance(Duration::from_secs(3600));
    let (status, _) = sent(&world, Some(&good), question).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "expired");
}

#[tokio::test]
async fn rubbish_is_asked_about_and_never_guessed() {
    let world = world().await;
    for parts in [
        json!([{"text": ""}]),
        json!([{"text": "\u{202e}\u{0}".repeat(500)}]),
        json!([{"text": "x".repeat(100_000)}]),
        json!([{"data": {"ask": 7, "days": {}, "minutes": "x"}}]),
        json!([{"data": {"ask": "free", "days": ["2026-02-30"]}}]),
        json!([{"data": [1, 2, 3]}]),
    ] {
        let (status, answer) = sent(&world, Some(&world.token(ADA, URL, "tasks")), parts.clone()).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        world.work().await;
        let task = world.task(ADA, &answer["result"]["task"]).await;
        assert_eq!(
            task["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
            "{parts}: {task}"
        );
        let said = said(&task);
        assert!(
            said.ends_with('?') || said.starts_with("I cannot read your data: "),
            "{task}"
        );
    }
}
