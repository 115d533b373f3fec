//! A long chat is read page by page, the newest first.

use std::time::Duration;

use axum::Router;
use http::StatusCode;
use serde_json::Value;

use super::world::{Browser, World, says};

/// What the user said of a page, and where the next begins.
async fn page(app: &Router, browser: &Browser, query: &str) -> (Vec<String>, Option<String>) {
    let path = format!("/api/chats/c1/messages?{query}");
    let answered = browser.get(app, &path).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    let page = answered.json();
    let said = page["messages"].as_array().unwrap().iter();
    let mut said = said.filter(|message| message["role"] == "user");
    let said = said
        .by_ref()
        .map(|message| message["parts"][0]["text"].as_str().unwrap().to_owned());
    (said.collect(), page["next"].as_str().map(str::to_owned))
}

#[tokio::test]
async fn pages_hold_every_message_once_whatever_is_said_meanwhile() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    for number in 0..7 {
        browser
            .post(
                &app,
                "/api/chat",
                &says("c1", &format!("m{number}"), &format!("hello {number}")),
            )
            .await;
        world.work().await;
        world.clock.advance(Duration::from_secs(1));
    }
    let (newest, next) = page(&app, &browser, "limit=3").await;
    assert_eq!(newest, ["hello 4", "hello 5", "hello 6"]);
    browser
        .post(&app, "/api/chat", &says("c1", "m7", "hello 7"))
        .await;
    let (middle, next) = page(&app, &browser, &format!("limit=3&cursor={}", next.unwrap())).await;
    assert_eq!(middle, ["hello 1", "hello 2", "hello 3"]);
    let (oldest, next) = page(&app, &browser, &format!("limit=3&cursor={}", next.unwrap())).await;
    assert_eq!((oldest, next), (vec!["hello 0".to_owned()], None));

    let paged = browser.get(&app, "/api/chats/c1/messages?limit=100").await.json();
    let whole: Value = browser.get(&app, "/api/chats/c1/messages").await.json();
    assert_eq!(
        paged["messages"], whole,
        "who names no page gets all of them, as before"
    );
    assert_eq!(
        (&paged["next"], whole.as_array().unwrap().len()),
        (&Value::Null, 16)
    );
}

#[tokio::test]
async fn a_cursor_that_was_not_given_out_is_refused() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    for chat in ["c1", "c2"] {
        browser
            .post(&app, "/api/chat", &says(chat, &format!("m-{chat}"), "hello"))
            .await;
    }
    for bad in ["", "x", "m-c2", "m-c1%20", "%00", "%F0%9F%98%80", "../m-c1"] {
        let answered = browser
            .get(&app, &format!("/api/chats/c1/messages?cursor={bad}"))
            .await;
        assert_eq!(answered.status, StatusCode::BAD_REQUEST, "{bad}");
        assert_eq!(answered.json()["error"], "bad_cursor", "{bad}");
    }
    for bad in ["0", "101", "-1", "x", ""] {
        let answered = browser
            .get(&app, &format!("/api/chats/c1/messages?limit={bad}"))
            .await;
        assert_eq!(answered.json()["error"], "invalid_limit", "{bad}");
    }
    let stranger = Browser::default();
    stranger.post(&app, "/api/chat", &says("c9", "m1", "hello")).await;
    let foreign = stranger.get(&app, "/api/chats/c1/messages?cursor=m-c1").await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND);
}
