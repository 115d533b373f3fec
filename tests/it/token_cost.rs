//! Checking a token costs no call to anybody once the keys are there: not to the issuer, and not to the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use auth::{Algorithm, Issuer, JwksCache, KeyPlace, KeySource, NoKeys, Profile, TenantRule, Verifier};
use axum::body::Body;
use domain::{Clock, Tenant};
use http::{Request, StatusCode};
use local::Signer;
use serde_json::{Value, json};
use system_testing::Local;
use tower::ServiceExt;
use url::Url;

/// An issuer's keys as they are fetched over the network, counted.
struct OverTheNetwork(AtomicUsize);

#[async_trait]
impl KeySource for OverTheNetwork {
    async fn fetch(&self, url: &Url) -> Result<Value, NoKeys> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let answer = system_testing::user::http()
            .get(url.clone())
            .send()
            .await
            .map_err(|_| NoKeys)?;
        answer.json().await.map_err(|_| NoKeys)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warm_check_of_a_token_makes_no_call_at_all() {
    let local = Local::start().await;
    let issuer = local.issuer("acme");
    let audience = local.resource("acme");
    let acme = Tenant::parse("acme").expect("a tenant");
    let keys = Arc::new(OverTheNetwork(AtomicUsize::new(0)));
    let trusted = Issuer {
        issuer: issuer.clone(),
        tenants: TenantRule::One(acme.clone()),
        profile: Profile::default(),
        algorithms: vec![Algorithm::Es256, Algorithm::Rs256],
        keys: KeyPlace::Jwks(Url::parse(&format!("{issuer}/jwks.json")).expect("an address")),
    };
    let cache = JwksCache::new(keys.clone());
    let verifier = Verifier::with_issuers(audience.clone(), vec![trusted], &cache).expect("a verifier");
    let now = local.clock.now();
    let (_, calls) = store::counted(async {
        for number in 0..500 {
            let subject = format!("user-{number}");
            let signed =
                local
                    .system
                    .signed(Signer::Idp("acme"), &subject, &audience, "tasks", Duration::ZERO);
            let caller = verifier
                .admit(&signed.expect("a token"), now, Some(&acme), "tasks")
                .await;
            assert_eq!(caller.expect("a caller").owner.as_str(), subject);
        }
    })
    .await;
    assert_eq!(keys.0.load(Ordering::Relaxed), 1, "the keys are fetched once");
    assert_eq!(calls.total(), 0, "{calls:?}");
    local.system.stop().await;
}

/// A call that is let in and then needs nothing of the tables makes none of their calls; one that is turned away neither.
#[tokio::test(flavor = "multi_thread")]
async fn agents_check_callers_without_the_database() {
    let local = Local::start().await;
    let gateway = local.endpoint("/gateway").trim_end_matches('/').to_owned();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "NoSuchMethod", "params": {} }).to_string();
    for (pointer, signer, scope) in [
        ("/tenants/acme/host_agent", Signer::Session("acme"), "tasks"),
        (
            "/tenants/acme/agents/horizon",
            Signer::Idp("acme"),
            "orders:read tasks",
        ),
        ("/agents/weather", Signer::Session("acme"), "tasks"),
    ] {
        let url = local.endpoint(pointer).trim_end_matches('/').to_owned();
        let path = url.strip_prefix(&gateway).expect("of the gateway").to_owned();
        // How its tenant stands is looked up once in ten seconds.
        for (at_most, ago, status) in [
            (1, 0, StatusCode::OK),
            (0, 0, StatusCode::OK),
            (0, 3600, StatusCode::UNAUTHORIZED),
        ] {
            let ago = Duration::from_secs(ago);
            let token = local
                .system
                .signed(signer, "user-ada", &url, scope, ago)
                .expect("a token");
            let request = Request::post(path.as_str())
                .header("authorization", format!("Bearer {token}"))
                .header("content-type", "application/json")
                .header("a2a-version", "1.0")
                .body(Body::from(body.clone()))
                .expect("a request");
            let (answer, calls) = store::counted(local.system.router().oneshot(request)).await;
            assert_eq!(answer.expect("an answer").status(), status, "{pointer}");
            assert!(calls.total() <= at_most, "{pointer}: {calls:?}");
        }
    }
    local.system.stop().await;
}
