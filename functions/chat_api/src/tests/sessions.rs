//! Whose is what: sessions, and that another one's things do not exist.

use std::time::Duration;

use axum::body::Body;
use http::header::{CONTENT_TYPE, SET_COOKIE};
use http::{Method, StatusCode};
use serde_json::json;

use super::world::{Browser, World, last_card, says};

#[tokio::test]
async fn a_guest_is_made_by_the_first_message_and_not_by_looking() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    for path in ["/", "/api/chats", "/api/tasks", "/api/chats/c1/messages"] {
        let answered = browser.get(&app, path).await;
        assert!(!answered.headers.contains_key(SET_COOKIE), "{path}");
    }
    let answered = browser.post(&app, "/api/chat", &says("c1", "m1", "hello")).await;
    let cookie = answered.headers[SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.starts_with("switchyard_acme=sws_"), "{cookie}");
    for attribute in ["; HttpOnly", "; SameSite=Lax", "; Path=/t/acme;"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    let answered = browser
        .post(&app, "/api/chat", &says("c1", "m2", "hello again"))
        .await;
    assert!(!answered.headers.contains_key(SET_COOKIE), "the session goes on");
    let chats = browser.get(&app, "/api/chats").await.json();
    assert_eq!(chats["chats"].as_array().unwrap().len(), 1);
    assert_eq!(chats["chats"][0]["title"], "hello");
}

#[tokio::test]
async fn an_expired_session_is_none() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    browser.post(&app, "/api/chat", &says("c1", "m1", "hello")).await;
    world.clock.advance(Duration::from_secs(31 * 24 * 3600));
    assert_eq!(browser.get(&app, "/api/chats").await.json()["chats"], json!([]));
    assert_eq!(
        browser.get(&app, "/api/chats/c1/messages").await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn nothing_of_another_session_exists() {
    let (world, mine, theirs) = (World::new().await, Browser::default(), Browser::default());
    let app = world.app(Duration::ZERO);
    let card = last_card(
        &mine
            .post(&app, "/api/chat", &says("mine", "m1", "park"))
            .await
            .chunks(),
    );
    theirs
        .post(&app, "/api/chat", &says("theirs", "m1", "hello"))
        .await;
    let (id, context) = (
        card["taskId"].as_str().unwrap(),
        card["contextId"].as_str().unwrap(),
    );
    for stranger in [&theirs, &Browser::default()] {
        for path in [
            format!("/api/tasks/{id}"),
            format!("/api/tasks/{id}?refresh=true"),
            format!("/api/tasks/{id}/events"),
            "/api/chats/mine/messages".to_owned(),
        ] {
            assert_eq!(
                stranger.get(&app, &path).await.status,
                StatusCode::NOT_FOUND,
                "{path}"
            );
        }
        for path in [
            format!("/api/tasks/{id}/cancel"),
            format!("/api/tasks/{id}/start"),
            format!("/api/tasks/{id}/retry"),
            "/api/chat/mine/stop".to_owned(),
        ] {
            assert_eq!(
                stranger.post(&app, &path, &json!({})).await.status,
                StatusCode::NOT_FOUND,
                "{path}"
            );
        }
        assert_eq!(
            stranger.get(&app, "/api/chat/mine/stream").await.status,
            StatusCode::NO_CONTENT
        );
        let listed = stranger
            .get(&app, &format!("/api/tasks?contextId={context}"))
            .await
            .json();
        assert_eq!(listed["tasks"], json!([]));
        let taken = stranger
            .post(&app, "/api/chat", &says("mine", "m9", "let me in"))
            .await;
        assert_eq!(taken.status, StatusCode::NOT_FOUND);
    }
    let history = mine.get(&app, "/api/chats/mine/messages").await.json();
    assert_eq!(history.as_array().unwrap().len(), 2, "and nothing was added");
    assert_eq!(
        mine.get(&app, &format!("/api/tasks/{id}")).await.json()["status"],
        "submitted"
    );
}

#[tokio::test]
async fn another_sites_request_changes_nothing() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let body = says("c1", "m1", "hello").to_string();
    for (name, value, media, status) in [
        (
            "origin",
            "https://evil.example",
            "application/json",
            StatusCode::FORBIDDEN,
        ),
        (
            "sec-fetch-site",
            "cross-site",
            "application/json",
            StatusCode::FORBIDDEN,
        ),
        (
            "sec-fetch-site",
            "same-origin",
            "text/plain",
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
    ] {
        let request = browser
            .request(Method::POST, "/api/chat")
            .header(name, value)
            .header(CONTENT_TYPE, media);
        let answered = browser
            .send(&app, request.body(Body::from(body.clone())).unwrap())
            .await;
        assert_eq!(answered.status, status);
        assert!(!answered.headers.contains_key(SET_COOKIE));
    }
}

#[tokio::test]
async fn the_page_is_whole_and_allows_nothing_from_elsewhere() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let page = browser.get(&app, "/").await;
    assert!(page.text.contains(r#"<base href="/t/acme/">"#) && !page.text.contains("{{"));
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"));
    // Each view is the same page.
    for view in ["/chats/1", "/chats/1/tasks/2", "/tasks", "/tasks/2", "/accounts"] {
        assert_eq!(browser.get(&app, view).await.text, page.text, "{view}");
    }
    let named: Vec<&str> = page
        .text
        .split("\"./")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    for media in ["text/javascript", "text/css"] {
        let ending = if media == "text/css" { ".css" } else { ".js" };
        let path = named.iter().find(|path| path.ends_with(ending)).unwrap();
        let asset = browser.get(&app, &format!("/{path}")).await;
        assert!(asset.headers[CONTENT_TYPE].to_str().unwrap().starts_with(media));
        assert!(
            asset.headers["cache-control"]
                .to_str()
                .unwrap()
                .contains("immutable")
        );
        assert!(
            !asset.text.contains("import(\"http") && !asset.text.contains("url(http"),
            "{path}"
        );

        let mut known = browser.request(Method::GET, &format!("/{path}"));
        known = known.header("if-none-match", &asset.headers["etag"]);
        let known = browser.send(&app, known.body(Body::empty()).unwrap()).await;
        assert_eq!(
            (known.status, known.text.as_str()),
            (StatusCode::NOT_MODIFIED, "")
        );
    }
    let unknown = browser.get(&app, "/assets/none.js").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}
