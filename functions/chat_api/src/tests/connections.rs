//! Consent as the page sees it, and the accounts that users are connected to.

use std::time::Duration;

use auth::GrantSecrets;
use axum::Router;
use axum::body::Body;
use domain::{Clock as _, GrantKey, Owner, SystemEntropy};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::world::{Answered, Browser, World, last_card, says, text};

const LINK: &str = "http://127.0.0.1:3000/t/acme/connect/1";
const RESOURCE: &str = "http://127.0.0.1:9/a/secret-slug";

impl World {
    /// Connects the browser's owner, with tokens of this name.
    async fn connected(&self, browser: &Browser, provider: &str, resource: &str, name: &str) -> Owner {
        let cookie = browser.0.lock().unwrap().clone().unwrap();
        let (_, token) = cookie.split_once('=').unwrap();
        let (hash, now) = (auth::token::hash(token), self.clock.now());
        let session = self.store.sessions().find_session(&self.tenant, &hash, now).await;
        let owner = session.unwrap().unwrap().owner;
        let secrets = GrantSecrets {
            access_token: format!("at-{name}").into(),
            refresh_token: Some(format!("rt-{name}").into()),
            expires_at: now,
            scopes: vec!["orders:read".into()],
            id_token_subject: Some(name.to_owned()),
        };
        let binding = GrantKey {
            tenant: &self.tenant,
            owner: &owner,
            provider,
            resource,
        };
        let sealed = secrets.seal(&self.sealer, &binding, &SystemEntropy);
        let key = GrantKey {
            tenant: &self.tenant,
            owner: &owner,
            provider,
            resource,
        };
        self.store
            .grants()
            .put_grant(key, &secrets.scopes, &sealed, now)
            .await
            .unwrap();
        owner
    }
}

async fn visitor(app: &Router) -> Browser {
    let browser = Browser::default();
    browser.post(app, "/api/chat", &says("c1", "m1", "hello")).await;
    browser
}

async fn delete(app: &Router, browser: &Browser, provider: &str, headers: &[(&str, &str)]) -> Answered {
    let mut request = browser.request(Method::DELETE, &format!("/api/connections/{provider}"));
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
async fn connections_are_shown_without_tokens_and_addresses_and_only_to_their_owner() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let (ada, alan) = (visitor(&app).await, visitor(&app).await);
    world.connected(&ada, "idp", RESOURCE, "ada").await;
    world
        .connected(&ada, "idp", "http://127.0.0.1:9/a/other", "ada")
        .await;
    let shown = browser_text(&app, &ada).await;
    for secret in ["at-", "rt-", "slug", "sealed"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let expected = json!([{
        "provider": "idp", "account": "ada", "scopes": ["orders:read"], "agents": 2, "connectedAt": "2026-01-01T00:00:00.000Z"
    }]);
    assert_eq!(connections(&app, &ada).await, expected);
    assert_eq!(connections(&app, &alan).await, json!([]));
    assert_eq!(connections(&app, &Browser::default()).await, json!([]));
}

async fn browser_text(app: &Router, browser: &Browser) -> String {
    browser.get(app, "/api/connections").await.text
}

#[tokio::test]
async fn disconnecting_revokes_and_deletes_ones_own_and_nothing_else() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let (ada, alan) = (visitor(&app).await, visitor(&app).await);
    world.connected(&ada, "idp", RESOURCE, "ada").await;
    world.connected(&ada, "google", RESOURCE, "ada-g").await;
    world.connected(&alan, "idp", RESOURCE, "alan").await;

    for (browser, provider) in [
        (&ada, "nobody"),
        (&ada, "idp%23x"),
        (&alan, "google"),
        (&Browser::default(), "idp"),
    ] {
        assert_eq!(
            delete(&app, browser, provider, &[]).await.status,
            StatusCode::NOT_FOUND,
            "{provider}"
        );
    }
    let foreign = delete(&app, &ada, "idp", &[("sec-fetch-site", "cross-site")]).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
    assert!(world.idp.revoked.lock().unwrap().is_empty());

    let gone = delete(&app, &ada, "idp", &[("sec-fetch-site", "same-origin")]).await;
    assert_eq!(
        (gone.status, gone.json()),
        (StatusCode::OK, json!({"provider": "idp", "revoked": true}))
    );
    assert_eq!(
        *world.idp.revoked.lock().unwrap(),
        ["token=rt-ada&token_type_hint=refresh_token"]
    );
    assert_eq!(connections(&app, &ada).await[0]["provider"], "google");
    assert_eq!(connections(&app, &alan).await[0]["account"], "alan");
    assert_eq!(
        delete(&app, &ada, "idp", &[]).await.status,
        StatusCode::NOT_FOUND,
        "it is gone"
    );
}

#[tokio::test]
async fn a_provider_that_is_out_of_reach_does_not_keep_one_connected() {
    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let browser = visitor(&app).await;
    world.connected(&browser, "idp", RESOURCE, "ada").await;
    world.connected(&browser, "google", RESOURCE, "ada").await;
    world.idp.stop();
    for provider in ["idp", "google"] {
        let gone = delete(&app, &browser, provider, &[]).await;
        assert_eq!(
            (gone.status, gone.json()["revoked"].clone()),
            (StatusCode::OK, json!(false))
        );
    }
    assert_eq!(connections(&app, &browser).await, json!([]));
}
