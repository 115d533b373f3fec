//! Who may call: anybody without a token; with one, only who has a good one.

use std::sync::LazyLock;
use std::time::Duration;

use auth::{Grant, Refusal, SigningKey};
use axum::body::Body;
use domain::{Clock as _, ExposeSecret as _, MessageId, SystemEntropy, Tenant};
use http::StatusCode;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::{ISSUER, URL, World};

static GLOBEX: LazyLock<Tenant> = LazyLock::new(|| Tenant::parse("globex").unwrap());

fn token(world: &World, key: &SigningKey, changed: impl FnOnce(&mut Grant<'_>)) -> String {
    let acme = Tenant::parse("acme").unwrap();
    let mut grant = Grant {
        issuer: ISSUER,
        subject: "user-1",
        tenant: Some(&acme),
        audience: URL,
        scopes: &["tasks"],
        lifetime: Duration::from_secs(300),
    };
    changed(&mut grant);
    let token = key.sign(&grant, world.clock.now(), &SystemEntropy).unwrap();
    format!("Bearer {}", token.expose_secret())
}

async fn call(
    world: &World,
    authorization: Option<&str>,
    method: &str,
    params: Value,
) -> (StatusCode, Value) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut request = http::Request::post("/")
        .header("content-type", "application/json")
        .header("a2a-version", "1.0");
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    let request = request.body(Body::from(body.to_string())).unwrap();
    let answer = world.router().oneshot(request).await.unwrap();
    let status = answer.status();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap())
}

async fn send(world: &World, authorization: Option<&str>) -> (StatusCode, Value) {
    let message = json!({
        "messageId": MessageId::random(&SystemEntropy).to_string(),
        "role": "ROLE_USER",
        "parts": [{"text": "A report on rain"}],
    });
    let params = json!({"message": message, "configuration": {"returnImmediately": true}});
    call(world, authorization, "SendMessage", params).await
}

async fn refused(world: &World, authorization: &str, refusal: &Refusal) {
    let (status, body) = send(world, Some(authorization)).await;
    assert_eq!(status.as_u16(), refusal.status(), "{body}");
    assert_eq!(body["error"], refusal.error_code());
    assert_eq!(body["error_description"], refusal.to_string());
}

#[tokio::test]
async fn a_task_made_with_a_valid_token_is_read_with_it_alone() {
    let world = World::new().await;
    let own = token(&world, &world.key, |_| {});
    let (status, body) = send(&world, Some(&own)).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let id = json!({"id": body["result"]["task"]["id"]});
    let (_, read) = call(&world, Some(&own), "GetTask", id.clone()).await;
    assert_eq!(read["result"]["id"], id["id"], "{read}");
    let other = token(&world, &world.key, |grant| grant.subject = "user-2");
    for stranger in [None, Some(other.as_str())] {
        let (_, body) = call(&world, stranger, "GetTask", id.clone()).await;
        assert_eq!(body["error"]["code"], -32001, "{body}");
    }
}

#[tokio::test]
async fn without_a_token_anybody_may_ask_and_list_nothing() {
    let world = World::new().await;
    let (status, body) = send(&world, None).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let id = json!({"id": body["result"]["task"]["id"]});
    let (_, read) = call(&world, None, "GetTask", id.clone()).await;
    assert_eq!(read["result"]["id"], id["id"], "{read}");
    let (_, listed) = call(&world, None, "ListTasks", json!({})).await;
    assert_eq!(listed["result"]["totalSize"], 0, "{listed}");
}

#[tokio::test]
async fn a_token_that_is_there_must_be_good() {
    let world = World::new().await;
    let old = token(&world, &world.key, |_| {});
    world.clock.advance(Duration::from_secs(600));
    refused(&world, &old, &Refusal::Expired).await;
    for rubbish in ["Bearer rubbish", "Basic dXNlcjpwYXNz", "Bearer "] {
        let (status, body) = send(&world, Some(rubbish)).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{rubbish}: {body}");
    }
    let strange = SigningKey::generate().unwrap().0;
    refused(&world, &token(&world, &strange, |_| {}), &Refusal::Malformed).await;
    let elsewhere = token(&world, &world.key, |grant| {
        grant.audience = "https://agents.example/other"
    });
    refused(&world, &elsewhere, &Refusal::Malformed).await;
    let foreign = token(&world, &world.key, |grant| grant.tenant = Some(&GLOBEX));
    refused(&world, &foreign, &Refusal::WrongTenant).await;
    let small = token(&world, &world.key, |grant| grant.scopes = &["registry:read"]);
    let needed = "tasks".to_owned();
    refused(&world, &small, &Refusal::SmallScope { needed }).await;
}
