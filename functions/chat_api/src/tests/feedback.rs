//! What a user thinks of an answer.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::world::{Answered, Browser, World, last_card, says};

async fn think(app: &Router, browser: &Browser, (chat, task): (&str, &str), body: &str) -> Answered {
    let request = browser.request(Method::PUT, &format!("/api/chats/{chat}/feedback/{task}"));
    let request = request.header(CONTENT_TYPE, "application/json");
    browser
        .send(app, request.body(Body::from(body.to_owned())).unwrap())
        .await
}

async fn shown(app: &Router, browser: &Browser) -> Value {
    let history = browser.get(app, "/api/chats/c1/messages").await.json();
    history[1]["metadata"]["feedback"].clone()
}

async fn asked(app: &Router, browser: &Browser, (chat, text): (&str, &str)) -> String {
    let asked = browser.post(app, "/api/chat", &says(chat, "m1", text)).await;
    last_card(&asked.chunks())["taskId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn it_stands_on_the_answer_until_its_user_thinks_otherwise() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let task = asked(&app, &browser, ("c1", "hello")).await;
    let good = json!({"verdict": "good"}).to_string();
    let early = think(&app, &browser, ("c1", &task), &good).await;
    assert_eq!(
        (early.status, &early.json()["error"]),
        (StatusCode::CONFLICT, &json!("not_over"))
    );
    world.work().await;
    assert_eq!(shown(&app, &browser).await, Value::Null);
    for (verdict, expected) in [
        ("good", json!("good")),
        ("bad", json!("bad")),
        ("bad", json!("bad")),
    ] {
        let body = json!({ "verdict": verdict }).to_string();
        let kept = think(&app, &browser, ("c1", &task), &body).await;
        assert_eq!(kept.status, StatusCode::NO_CONTENT);
        assert_eq!(shown(&app, &browser).await, expected);
    }
    for _ in 0..2 {
        let gone = think(
            &app,
            &browser,
            ("c1", &task),
            &json!({"verdict": null}).to_string(),
        )
        .await;
        assert_eq!(gone.status, StatusCode::NO_CONTENT);
        assert_eq!(shown(&app, &browser).await, Value::Null);
    }
}

#[tokio::test]
async fn rubbish_and_what_is_not_ones_own_change_nothing() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let task = asked(&app, &browser, ("c1", "hello")).await;
    let other = asked(&app, &browser, ("c2", "hello")).await;
    world.work().await;
    for bad in [
        "",
        "[",
        "{}",
        "7",
        "null",
        r#"{"verdict": "great"}"#,
        r#"{"verdict": 1}"#,
        r#"{"verdict": "unknown"}"#,
        r#"{"verdict": ["good"]}"#,
    ] {
        let refused = think(&app, &browser, ("c1", &task), bad).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{bad}");
        assert_eq!(refused.json()["error"], "invalid_verdict", "{bad}");
    }
    let good = json!({"verdict": "good"}).to_string();
    // Of another chat, of nobody, of somebody else.
    for place in [
        ("c1", other.as_str()),
        ("c1", "none"),
        ("c1", "%00"),
        ("none", task.as_str()),
    ] {
        let refused = think(&app, &browser, place, &good).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{place:?}");
    }
    let stranger = Browser::default();
    stranger.post(&app, "/api/chat", &says("c9", "m1", "hello")).await;
    for place in [("c1", task.as_str()), ("c9", task.as_str())] {
        let refused = think(&app, &stranger, place, &good).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{place:?}");
    }
    let request = browser.request(Method::PUT, &format!("/api/chats/c1/feedback/{task}"));
    let request = request
        .header(CONTENT_TYPE, "application/json")
        .header("sec-fetch-site", "cross-site");
    let cross = browser.send(&app, request.body(Body::from(good)).unwrap()).await;
    assert_eq!(cross.status, StatusCode::FORBIDDEN);
    assert_eq!(shown(&app, &browser).await, Value::Null);
}
