//! Consent as the page sees it, and the accounts that users are connected to.

use std::sync::atomic::Ordering;
use std::time::Duration;

use a2a::Connection;
use axum::Router;
use axum::body::Body;
use domain::Clock as _;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::world::{Answered, Browser, World, last_card, says, text};

const LINK: &str = "http://127.0.0.1:3000/t/acme/connect/1";

impl World {
    /// Connects the browser's owner, by the host's word.
    async fn connected(&self, browser: &Browser, id: &str) {
        let cookie = browser.0.lock().unwrap().clone().unwrap();
        let (_, token) = cookie.split_once('=').unwrap();
        let (hash, now) = (auth::token::hash(token), self.clock.now());
        let session = self.store.sessions().find_session(&self.tenant, &hash, now).await;
        let owner = session.unwrap().unwrap().owner;
        let connection = Connection {
            id: id.to_owned(),
            provider: "google".to_owned(),
            account: None,
            scopes: vec!["calendar".to_owned()],
            agent: Some("Calendar".to_owned()),
            agents: 1,
            connected_at: now,
            last_used_at: now,
        };
        let mut all = self.connections.of.lock().unwrap();
        all.entry(owner).or_default().push(connection);
    }
}

async fn visitor(app: &Router) -> Browser {
    let browser = Browser::default();
    browser.post(app, "/api/chat", &says("c1", "m1", "hello")).await;
    browser
}

async fn delete(app: &Router, browser: &Browser, id: &str, headers: &[(&str, &str)]) -> Answered {
    let mut request = browser.request(Method::DELETE, &format!("/api/connections/{id}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    browser.send(app, request.body(Body::empty()).unwrap()).await
}

async fn connections(app: &Router, browser: &Browser) -> Value {
    browser.get(app, "/api/connections").await.json()["connections"].clone()
}

#[tokio::test]
async fn a_task_that_waits_for_consent_shows_the_link_and_a_reply_to_its_card_continues_it() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::from_secs(5));
    let asks = says("c1", "m1", "consent");
    let (first, ()) = browser.post_while(&app, "/api/chat", &asks, world.work()).await;
    let chunks = first.chunks();
    let card = last_card(&chunks);
    assert_eq!(
        (&card["state"], &card["authUrl"]),
        (&json!("auth-required"), &json!(LINK))
    );
    assert_eq!(text(&chunks), "I need your consent.");
    let id = card["taskId"].as_str().unwrap();
    let path = format!("/api/tasks/{id}");
    let shown = browser.get(&app, &path).await.json();
    assert_eq!(
        (&shown["authUrl"], &shown["authUrlBy"]),
        (&json!(LINK), &json!("platform"))
    );

    let mut done = says("c1", "m2", "done");
    done["taskId"] = json!(id);
    let (second, ()) = browser.post_while(&app, "/api/chat", &done, world.work()).await;
    let card = last_card(&second.chunks());
    assert_eq!(
        (&card["taskId"], &card["state"]),
        (&json!(id), &json!("completed"))
    );
    assert_eq!(card.get("authUrl"), None, "nothing to consent to any more");
    assert_eq!(browser.get(&app, &path).await.json()["authUrl"], Value::Null);
}

#[tokio::test]
async fn connections_are_shown_as_the_host_says_and_only_to_their_owner() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let (ada, alan) = (visitor(&app).await, visitor(&app).await);
    world.connected(&ada, "agent-1~google").await;
    let shown = browser_json(&app, &ada).await;
    let at = "2026-01-01T00:00:00.000Z";
    let expected = json!([{
        "id": "agent-1~google", "provider": "google", "account": null, "scopes": ["calendar"], "agent": "Calendar",
        "agents": 1, "connectedAt": at, "lastUsedAt": at, "allows": [{"name": "calendar", "words": null}],
    }]);
    assert_eq!(
        (&shown["connections"], &shown["unasked"]),
        (&expected, &json!(["Diary"]))
    );
    assert_eq!(connections(&app, &alan).await, json!([]));
    // Who has no session is nobody, and the host is not asked.
    world.connections.away.store(true, Ordering::Relaxed);
    assert_eq!(connections(&app, &Browser::default()).await, json!([]));
    let away = ada.get(&app, "/api/connections").await;
    assert_eq!(away.status, StatusCode::SERVICE_UNAVAILABLE, "{away:?}");
}

async fn browser_json(app: &Router, browser: &Browser) -> Value {
    browser.get(app, "/api/connections").await.json()
}

#[tokio::test]
async fn disconnecting_ends_ones_own_and_nothing_else() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let (ada, alan) = (visitor(&app).await, visitor(&app).await);
    world.connected(&ada, "idp").await;
    world.connected(&ada, "agent-1~google").await;
    let long = "x".repeat(300);
    for (browser, id) in [
        (&ada, "nobody"),
        (&alan, "agent-1~google"),
        (&Browser::default(), "idp"),
        (&ada, "idp%23x"),
        (&ada, "%2e%2e"),
        (&ada, "a%2fb"),
        (&ada, "%00"),
        (&ada, "%ff"),
        (&ada, &long),
    ] {
        assert_eq!(
            delete(&app, browser, id, &[]).await.status,
            StatusCode::NOT_FOUND,
            "{id}"
        );
    }
    // What is no id does not reach the host, nor does anybody without a session.
    assert_eq!(world.connections.ended.lock().unwrap().len(), 2);
    let foreign = delete(&app, &ada, "idp", &[("sec-fetch-site", "cross-site")]).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
    assert_eq!(world.connections.ended.lock().unwrap().len(), 2);

    let gone = delete(&app, &ada, "idp", &[("sec-fetch-site", "same-origin")]).await;
    assert_eq!(
        (gone.status, gone.json()),
        (StatusCode::OK, json!({"provider": "google", "revoked": true}))
    );
    assert_eq!(connections(&app, &ada).await[0]["id"], "agent-1~google");
    assert_eq!(
        delete(&app, &ada, "idp", &[]).await.status,
        StatusCode::NOT_FOUND,
        "it is gone"
    );
}
