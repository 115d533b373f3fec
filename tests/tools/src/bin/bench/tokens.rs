//! What checking a token costs: `bench tokens`. Keys are warm, as they are for all but the first request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use auth::{
    AccessToken, Algorithm, Issuer, JwksCache, KeyPlace, KeySource, NoKeys, Profile, SigningKey, TenantRule,
    Verifier,
};
use domain::{ExposeSecret, SystemEntropy, Tenant, Timestamp};
use serde_json::{Value, json};
use url::Url;

const ISSUER: &str = "https://idp.example/acme";
const AUDIENCE: &str = "https://agents.example/horizon";

/// An issuer's keys behind a counter.
struct Published(Value, AtomicUsize);

#[async_trait]
impl KeySource for Published {
    async fn fetch(&self, _: &Url) -> Result<Value, NoKeys> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(self.0.clone())
    }
}

/// Prints one row for each algorithm, and fails where a warm check asks anybody for anything.
pub async fn run(requests: usize) {
    println!("| token | µs per check | p50 µs | p99 µs | fetches of keys | DynamoDB calls |");
    println!("|---|---:|---:|---:|---:|---:|");
    for algorithm in [Algorithm::Es256, Algorithm::Rs256] {
        row(algorithm, requests).await;
    }
    println!("\n{requests} checks a row, one after the other: signature, all claims, tenant, and scope.");
}

async fn row(algorithm: Algorithm, requests: usize) {
    let (key, _) = SigningKey::generate_for(algorithm).expect("a key");
    let published = Arc::new(Published(
        json!({ "keys": [key.public_jwk()] }),
        AtomicUsize::new(0),
    ));
    let acme = Tenant::parse("acme").expect("a tenant");
    let issuer = Issuer {
        issuer: ISSUER.to_owned(),
        tenants: TenantRule::One(acme.clone()),
        profile: Profile::default(),
        algorithms: vec![algorithm],
        keys: KeyPlace::Jwks(Url::parse("https://idp.example/acme/jwks.json").expect("an address")),
    };
    let cache = JwksCache::new(published.clone());
    let verifier = Verifier::with_issuers(AUDIENCE.to_owned(), vec![issuer], &cache).expect("a verifier");
    let now = Timestamp::from_millis(1_767_261_600_000);
    let token = AccessToken {
        issuer: ISSUER,
        subject: "user-ada",
        tenant: Some(&acme),
        audience: AUDIENCE,
        client_id: "host",
        scope: "offline_access orders:read tasks",
        auth_time: Some(now),
        lifetime: Duration::from_secs(600),
    };
    let token = key
        .sign_access_token(&token, now, &SystemEntropy)
        .expect("a token");
    let token = token.expose_secret();
    let check = async || {
        let caller = verifier.admit(token, now, Some(&acme), "orders:read tasks").await;
        assert!(std::hint::black_box(caller).is_ok());
    };
    check().await;
    let warm = published.1.load(Ordering::Relaxed);
    let (times, calls) = store::counted(async {
        let mut times = Vec::with_capacity(requests);
        for _ in 0..requests {
            let began = Instant::now();
            check().await;
            times.push(began.elapsed());
        }
        times
    })
    .await;
    let fetches = published.1.load(Ordering::Relaxed) - warm;
    let mut sorted = times.clone();
    sorted.sort();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let at = |share: f64| micros(sorted[((sorted.len() - 1) as f64 * share) as usize]);
    let mean = micros(times.iter().sum::<Duration>()) / requests as f64;
    println!(
        "| {} | {mean:.1} | {:.1} | {:.1} | {fetches} | {} |",
        match algorithm {
            Algorithm::Es256 => "ES256",
            Algorithm::Rs256 => "RS256, 2048 bits",
        },
        at(0.5),
        at(0.99),
        calls.total()
    );
    assert_eq!((fetches, calls.total()), (0, 0), "a warm check asks nobody");
}
