//! Who may call an open agent: anybody without a token; with one, only who has a good one.

use std::sync::LazyLock;
use std::time::Duration;

use auth::{Grant, Refusal, SigningKey, TrustedIssuer, Verifier};
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use domain::{Clock as _, ExposeSecret as _, SystemEntropy, Tenant};
use serde_json::{Value, json};

use crate::world::{URL, World, world_with};

static GLOBEX: LazyLock<Tenant> = LazyLock::new(|| Tenant::parse("globex").unwrap());
const ISSUER: &str = "https://switchyard.example/t/acme";

struct Bench {
    world: World,
    key: SigningKey,
}

async fn bench() -> Bench {
    let (key, _) = SigningKey::generate().unwrap();
    let issuer = TrustedIssuer {
        issuer: ISSUER.into(),
        tenant: Some(Tenant::parse("acme").unwrap()),
        keys: vec![key.public_jwk()],
    };
    let verifier = Verifier::new(URL.into(), vec![issuer]).unwrap();
    Bench {
        world: world_with(verifier, |_| None).await,
        key,
    }
}

impl Bench {
    fn token(&self, changed: impl FnOnce(&mut Grant<'_>)) -> String {
        self.signed_by(&self.key, changed)
    }

    fn signed_by(&self, key: &SigningKey, changed: impl FnOnce(&mut Grant<'_>)) -> String {
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
        let token = key.sign(&grant, self.world.clock.now(), &SystemEntropy).unwrap();
        format!("Bearer {}", token.expose_secret())
    }

    async fn rpc(
        &self,
        authorization: Option<&str>,
        method: &str,
        params: Value,
    ) -> (StatusCode, HeaderMap, Value) {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = Request::post("/")
            .header("content-type", "application/json")
            .header("a2a-version", "1.0");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        self.world
            .answer(request.body(Body::from(body.to_string())).unwrap())
            .await
    }

    async fn send(&self, authorization: Option<&str>) -> (StatusCode, HeaderMap, Value) {
        let id = domain::MessageId::random(&SystemEntropy).to_string();
        let message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": "A flat in Oslo for two, Friday to Sunday" }] });
        let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
        self.rpc(authorization, "SendMessage", params).await
    }

    async fn refused(&self, authorization: &str, refusal: &Refusal) {
        let (status, headers, body) = self.send(Some(authorization)).await;
        assert_eq!(status.as_u16(), refusal.status(), "{body}");
        assert_eq!(body["error"], refusal.error_code());
        assert_eq!(body["error_description"], refusal.to_string());
        let challenge = headers["www-authenticate"].to_str().unwrap();
        assert!(
            challenge.starts_with("Bearer ") && challenge.contains("scope=\"tasks\""),
            "{challenge}"
        );
        // It has no authorization server to send anybody to.
        assert!(!challenge.contains("resource_metadata"), "{challenge}");
    }
}

#[tokio::test]
async fn a_task_made_with_a_valid_token_is_read_with_it_alone() {
    let bench = bench().await;
    let token = bench.token(|_| {});
    let (status, _, body) = bench.send(Some(&token)).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let id = json!({ "id": body["result"]["task"]["id"] });
    let (_, _, own) = bench.rpc(Some(&token), "GetTask", id.clone()).await;
    assert_eq!(own["result"]["id"], id["id"], "{own}");
    let other = bench.token(|grant| grant.subject = "user-2");
    for stranger in [None, Some(other.as_str())] {
        let (_, _, body) = bench.rpc(stranger, "GetTask", id.clone()).await;
        assert_eq!(body["error"]["code"], -32001, "{body}");
    }
}

#[tokio::test]
async fn without_a_token_anybody_may_ask() {
    let bench = bench().await;
    let (status, _, body) = bench.send(None).await;
    assert_eq!(status, StatusCode::OK);
    let (_, _, read) = bench
        .rpc(None, "GetTask", json!({ "id": body["result"]["task"]["id"] }))
        .await;
    assert!(read["result"]["id"].is_string(), "{read}");
}

#[tokio::test]
async fn a_token_that_is_there_must_be_good() {
    let bench = bench().await;
    let (stranger, _) = SigningKey::generate().unwrap();
    let small = Refusal::SmallScope {
        needed: "tasks".into(),
    };
    for (token, refusal) in [
        ("Bearer rubbish".to_owned(), Refusal::Malformed),
        ("Bearer ".to_owned(), Refusal::Malformed),
        ("Basic YTpi".to_owned(), Refusal::Missing),
        (bench.signed_by(&stranger, |_| {}), Refusal::Malformed),
        (
            bench.token(|grant| grant.audience = "https://agents.example/other"),
            Refusal::Malformed,
        ),
        (
            bench.token(|grant| grant.issuer = "https://attacker.example"),
            Refusal::Malformed,
        ),
        (bench.token(|grant| grant.tenant = None), Refusal::WrongTenant),
        (
            bench.token(|grant| grant.tenant = Some(&GLOBEX)),
            Refusal::WrongTenant,
        ),
        (bench.token(|grant| grant.scopes = &["orders:read"]), small),
    ] {
        bench.refused(&token, &refusal).await;
    }
}

#[tokio::test]
async fn an_expired_token_is_said_to_be() {
    let bench = bench().await;
    let token = bench.token(|_| {});
    bench.world.clock.advance(Duration::from_secs(359));
    assert_eq!(bench.send(Some(&token)).await.0, StatusCode::OK);
    bench.world.clock.advance(Duration::from_secs(1));
    bench.refused(&token, &Refusal::Expired).await;
}
