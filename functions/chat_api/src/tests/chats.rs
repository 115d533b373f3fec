//! Chats have a name that can be changed, can be found by it, and can be deleted for good.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use domain::{Clock as _, Owner};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use store::Conversation;

use super::world::{Answered, Browser, World, last_card, says};

async fn rename(app: &Router, browser: &Browser, chat: &str, body: String) -> Answered {
    let request = browser.request(Method::PATCH, &format!("/api/chats/{chat}"));
    let request = request.header(CONTENT_TYPE, "application/json");
    browser.send(app, request.body(Body::from(body)).unwrap()).await
}

async fn delete(app: &Router, browser: &Browser, chat: &str) -> StatusCode {
    let request = browser.request(Method::DELETE, &format!("/api/chats/{chat}"));
    browser
        .send(app, request.body(Body::empty()).unwrap())
        .await
        .status
}

async fn titles(app: &Router, browser: &Browser, query: &str) -> Vec<String> {
    let listed = browser.get(app, &format!("/api/chats{query}")).await.json();
    let chats = listed["chats"].as_array().unwrap().iter();
    chats
        .map(|chat| chat["title"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_chat_is_renamed_and_found_by_its_name() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    for (chat, text) in [("c1", "hello"), ("c2", "good bye")] {
        browser.post(&app, "/api/chat", &says(chat, "m1", text)).await;
        world.clock.advance(Duration::from_secs(1));
    }
    let named = rename(&app, &browser, "c1", json!({"title": " Über Größe "}).to_string()).await;
    assert_eq!(
        (named.status, &named.json()["title"]),
        (StatusCode::OK, &json!("Über Größe"))
    );
    assert_eq!(titles(&app, &browser, "").await, ["good bye", "Über Größe"]);
    assert_eq!(titles(&app, &browser, "?q=%C3%BCber").await, ["Über Größe"]);
    assert_eq!(titles(&app, &browser, "?q=none").await, Vec::<String>::new());
    for bad in [
        json!({"title": ""}).to_string(),
        json!({"title": "  "}).to_string(),
        json!({"title": "x".repeat(81)}).to_string(),
        json!({"title": "a\u{0}b"}).to_string(),
        json!({"title": "a\u{1b}[31m"}).to_string(),
        json!({"title": 7}).to_string(),
        json!({}).to_string(),
        "[".into(),
        String::new(),
    ] {
        let refused = rename(&app, &browser, "c1", bad.clone()).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{bad}");
        assert_eq!(refused.json()["error"], "invalid_title", "{bad}");
    }
    assert_eq!(titles(&app, &browser, "").await, ["good bye", "Über Größe"]);
    let long = browser
        .get(&app, &format!("/api/chats?q={}", "x".repeat(81)))
        .await;
    assert_eq!(long.json()["error"], "invalid_search");
    let stranger = Browser::default();
    stranger.post(&app, "/api/chat", &says("c9", "m1", "hello")).await;
    let foreign = rename(&app, &stranger, "c1", json!({"title": "Mine"}).to_string()).await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_deleted_chat_is_gone_with_its_messages_and_what_ran_in_it() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let asked = browser.post(&app, "/api/chat", &says("c1", "m1", "park")).await;
    let task = last_card(&asked.chunks())["taskId"].as_str().unwrap().to_owned();
    world.work().await;
    browser.post(&app, "/api/chat", &says("c2", "m1", "hello")).await;
    world.work().await;

    let stranger = Browser::default();
    stranger.post(&app, "/api/chat", &says("c9", "m1", "hello")).await;
    assert_eq!(delete(&app, &stranger, "c1").await, StatusCode::NOT_FOUND);
    assert_eq!(delete(&app, &browser, "c1").await, StatusCode::NO_CONTENT);
    // A repeat, as after a lost answer, is no failure.
    assert_eq!(delete(&app, &browser, "c1").await, StatusCode::NO_CONTENT);

    assert_eq!(titles(&app, &browser, "").await, ["hello"]);
    let task = browser.get(&app, &format!("/api/tasks/{task}")).await.json();
    assert_eq!(task["status"], "canceled");
    let said = says("c1", "m2", "hello again");
    let rename = rename(&app, &browser, "c1", json!({"title": "x"}).to_string()).await;
    for answered in [
        browser.get(&app, "/api/chats/c1/messages").await,
        browser.post(&app, "/api/chat", &said).await,
        browser.post(&app, "/api/chat/c1/stop", &json!({})).await,
        rename,
    ] {
        assert_eq!(answered.status, StatusCode::GONE);
        assert_eq!(answered.json()["error"], "chat_deleted");
    }
    // To anybody else it is what every foreign chat is.
    let foreign = stranger.get(&app, "/api/chats/c1/messages").await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND);
    assert_eq!(left(&world, &browser, "c1").await, Conversation::default());
    let _: Value = browser.get(&app, "/api/chats/c2/messages").await.json();
}

/// What lies in the browser's deleted chat.
async fn left(world: &World, browser: &Browser, chat: &str) -> Conversation {
    let cookie = browser.0.lock().unwrap().clone().unwrap();
    let token = auth::token::hash(cookie.split_once('=').unwrap().1);
    let (sessions, now) = (world.store.sessions(), domain::Clock::now(world.clock.as_ref()));
    let session = sessions.find_session(&world.tenant, &token, now).await.unwrap();
    let owner: Owner = session.unwrap().owner;
    let chat = domain::ChatId::parse(chat).unwrap();
    let chat = sessions
        .find_chat(&world.tenant, &owner, &chat, world.clock.now())
        .await
        .unwrap()
        .unwrap();
    assert!(chat.deleted_at.is_some());
    sessions
        .conversation(&world.tenant, chat.place(), world.clock.now())
        .await
        .unwrap()
}

#[tokio::test]
async fn an_answer_that_another_tab_still_reads_is_not_kept_in_a_deleted_chat() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::from_secs(20));
    let in_the_other_tab = async {
        world.work().await;
        delete(&app, &browser, "c1").await
    };
    let said = says("c1", "m1", "park");
    let (told, deleted) = browser
        .post_while(&app, "/api/chat", &said, in_the_other_tab)
        .await;
    assert_eq!(deleted, StatusCode::NO_CONTENT);
    assert_eq!(
        last_card(&told.chunks())["state"],
        "canceled",
        "the stream has seen the end"
    );
    assert_eq!(left(&world, &browser, "c1").await, Conversation::default());
}
