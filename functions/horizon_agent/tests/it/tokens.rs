//! Who may call: valid, missing, invalid, expired tokens, those of another tenant, and those that allow too little.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use auth::SigningKey;
use axum::http::StatusCode;
use domain::ExposeSecret as _;
use serde_json::{Value, json};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::world::{ACME, Answer, GLOBEX, GOOD, Says, URL, World, world};

const METADATA: &str = "http://127.0.0.1:9/a/horizon/.well-known/oauth-protected-resource";

async fn with(world: &World, token: &str) -> Answer {
    world
        .message(Some(&format!("Bearer {token}")), "Where is my order 1001?", None)
        .await
}

fn check(answer: &Answer, status: u16, error: &str, description: &str) {
    assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
    assert_eq!(answer.body["error"], error, "{}", answer.body);
    assert_eq!(answer.body["error_description"], description);
    let challenge = answer.headers["www-authenticate"].to_str().unwrap();
    assert_eq!(answer.body["www_authenticate"], challenge);
    assert!(
        challenge.contains(&format!("resource_metadata=\"{METADATA}\"")),
        "{challenge}"
    );
    assert!(challenge.contains("scope=\"tasks orders:read\""), "{challenge}");
    let told = challenge.contains(&format!("error=\"{error}\""));
    assert_eq!(told, error != "missing_token", "{challenge}");
}

#[tokio::test]
async fn a_valid_token_is_taken_and_costs_one_look_up_of_keys_at_all() {
    let world = world().await;
    for _ in 0..5 {
        let answer = with(&world, &world.token(GOOD)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert!(answer.body["result"]["task"]["id"].is_string(), "{}", answer.body);
    }
    assert_eq!(*world.published.fetched.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_missing_token_is_asked_for() {
    let world = world().await;
    for authorization in [None, Some(""), Some("Basic YTpi")] {
        let answer = world
            .message(authorization, "Where is my order 1001?", None)
            .await;
        check(&answer, 401, "missing_token", "a bearer token is needed");
    }
}

#[tokio::test]
async fn an_invalid_token_is_refused() {
    let world = world().await;
    let (stranger, _) = SigningKey::generate().unwrap();
    let good = world.token(GOOD);
    for token in [
        "rubbish".to_owned(),
        "a.b.c".to_owned(),
        world.signed_by(&stranger, GOOD),
        world.token(Says {
            audience: "http://127.0.0.1:9/a/other",
            ..GOOD
        }),
        world.token(Says {
            issuer: "http://127.0.0.1:9/idp/initech",
            ..GOOD
        }),
        good[..good.len() - 8].to_owned(),
    ] {
        check(
            &with(&world, &token).await,
            401,
            "invalid_token",
            "the token is not valid here",
        );
    }
}

#[tokio::test]
async fn an_expired_token_is_said_to_be() {
    let world = world().await;
    let token = world.token(GOOD);
    world.clock.advance(Duration::from_secs(659));
    assert_eq!(with(&world, &token).await.status, StatusCode::OK);
    world.clock.advance(Duration::from_secs(1));
    check(
        &with(&world, &token).await,
        401,
        "invalid_token",
        "token has expired",
    );
}

/// What was logged, a JSON object a line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_call_of_another_tenant_is_in_the_log_with_agent_tenant_and_reason() {
    let world = world().await;
    let lines = Lines::default();
    let writer = lines.clone();
    let _logged = tracing_subscriber::fmt()
        .json()
        .with_writer(move || writer.clone())
        .set_default();
    let token = world.token(Says {
        issuer: GLOBEX,
        tenant: "globex",
        ..GOOD
    });
    assert_eq!(with(&world, &token).await.status, StatusCode::FORBIDDEN);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let warnings: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["level"] == "WARN")
        .collect();
    assert_eq!(warnings.len(), 1, "{text}");
    let said = &warnings[0]["fields"];
    assert_eq!(said["agent"], "horizon");
    assert_eq!(said["agent.tenant"], "acme");
    assert_eq!(said["reason"], "the token is of another tenant");
    assert!(!text.contains(&token) && !text.contains("order 1001"), "{text}");
}

#[tokio::test]
async fn a_token_of_another_tenant_is_refused_as_that() {
    let world = world().await;
    let globex = Says {
        issuer: GLOBEX,
        tenant: "globex",
        ..GOOD
    };
    for says in [
        globex,
        // For its own tenant's agent; a token that lies about its tenant; one that allows nothing.
        Says {
            audience: "http://127.0.0.1:9/a/horizon-of-globex",
            ..globex
        },
        Says {
            tenant: "globex",
            ..GOOD
        },
        Says {
            issuer: GLOBEX,
            ..GOOD
        },
        Says { scope: "", ..globex },
    ] {
        check(
            &with(&world, &world.token(says)).await,
            403,
            "wrong_tenant",
            "the token is of another tenant",
        );
    }
}

#[tokio::test]
async fn a_token_that_allows_too_little_is_told_what_is_needed() {
    let world = world().await;
    for scope in [
        "",
        "tasks",
        "orders:read",
        "tasks orders:write",
        "tasks orders:reader",
    ] {
        let answer = with(&world, &world.token(Says { scope, ..GOOD })).await;
        check(
            &answer,
            403,
            "insufficient_scope",
            "the scope tasks orders:read is needed",
        );
    }
}

#[tokio::test]
async fn a_task_is_read_by_its_owner_alone() {
    let world = world().await;
    let task = world.ask(GOOD, "Where is my order 1001?", None).await;
    let other = format!(
        "Bearer {}",
        world.token(Says {
            subject: "user-alan",
            ..GOOD
        })
    );
    let read = world
        .rpc(Some(&other), "GetTask", json!({ "id": task["id"] }))
        .await;
    assert_eq!(read.body["error"]["code"], -32001, "{}", read.body);
}

#[tokio::test]
async fn every_operation_wants_a_token_and_the_two_documents_do_not() {
    use axum::body::Body;
    use axum::http::Request;

    let world = world().await;
    for (method, path) in [
        ("POST", "/"),
        ("POST", "/jsonrpc"),
        ("POST", "/message:send"),
        ("POST", "/v1/message:send"),
        ("GET", "/tasks/1"),
        ("GET", "/v1/tasks/1"),
        ("POST", "/tasks/1:cancel"),
        ("POST", "/v1/tasks/1:cancel"),
    ] {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .body(Body::from("{}"))
            .unwrap();
        check(
            &world.call(request).await,
            401,
            "missing_token",
            "a bearer token is needed",
        );
    }

    let metadata = world.get("/.well-known/oauth-protected-resource").await;
    assert_eq!(
        metadata.body,
        json!({
            "resource": URL, "resource_name": "Horizon", "authorization_servers": [ACME],
            "scopes_supported": ["tasks", "orders:read"], "bearer_methods_supported": ["header"],
        })
    );
    let card = a2a::card::parse(&world.get("/.well-known/agent-card.json").await.body).unwrap();
    let oauth = card.oauth.unwrap();
    assert_eq!(oauth.scopes, ["tasks", "orders:read"]);
    assert_eq!(oauth.token_url.unwrap().as_str(), format!("{ACME}/token"));
    assert_eq!(
        oauth.metadata_url.unwrap().as_str(),
        format!("{ACME}/.well-known/oauth-authorization-server")
    );
    let tags: Vec<String> = card.skills[0].tags.iter().map(ToString::to_string).collect();
    assert!(
        tags.contains(&"type:horizon".to_owned()) && tags.contains(&"tenant_id:acme".to_owned()),
        "{tags:?}"
    );
}

#[tokio::test]
async fn a_new_key_of_the_issuer_is_fetched_and_an_outage_is_no_refusal() {
    let world = world().await;
    assert_eq!(with(&world, &world.token(GOOD)).await.status, StatusCode::OK);
    let (next, _) = SigningKey::generate().unwrap();
    // Down: nobody can say whether the new key is good, but the one that is here stays so.
    *world.published.document.lock().unwrap() = None;
    world.clock.advance(Duration::from_secs(61));
    check(
        &with(&world, &world.signed_by(&next, GOOD)).await,
        503,
        "temporarily_unavailable",
        "the token cannot be checked now",
    );
    assert_eq!(with(&world, &world.token(GOOD)).await.status, StatusCode::OK);
    *world.published.document.lock().unwrap() =
        Some(json!({ "keys": [next.public_jwk(), world.key.public_jwk()] }));
    world.clock.advance(Duration::from_secs(61));
    assert_eq!(
        with(&world, &world.signed_by(&next, GOOD)).await.status,
        StatusCode::OK
    );
    assert_eq!(*world.published.fetched.lock().unwrap(), 3);
}

#[tokio::test]
async fn an_identity_token_of_the_same_key_opens_nothing() {
    let world = world().await;
    let tenant = crate::world::acme();
    let now = domain::Clock::now(world.clock.as_ref());
    let token = auth::IdToken {
        issuer: ACME,
        subject: "user-ada",
        tenant: Some(&tenant),
        client_id: URL,
        nonce: None,
        auth_time: now,
        name: None,
        preferred_username: None,
        lifetime: Duration::from_secs(600),
    };
    let token = world.key.sign_id_token(&token, now).unwrap();
    check(
        &with(&world, token.expose_secret()).await,
        401,
        "invalid_token",
        "the token is not valid here",
    );
}
