//! Keys that are fetched: how seldom, how many, and what happens while they cannot be.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use auth::{Grant, Issuer, JwksCache, KeySource, NoKeys, Refusal, SigningKey, Verifier};
use domain::{ExposeSecret as _, SystemEntropy, Tenant, Timestamp};
use serde_json::{Value, json};
use url::Url;

use crate::signed::{AGENT, ISSUER, now};

#[derive(Default)]
struct Source {
    document: Mutex<Option<Value>>,
    fetched: Mutex<Vec<Url>>,
}

#[async_trait]
impl KeySource for Source {
    async fn fetch(&self, url: &Url) -> Result<Value, NoKeys> {
        self.fetched.lock().unwrap().push(url.clone());
        // Others get a turn in between, as over a network.
        tokio::task::yield_now().await;
        self.document.lock().unwrap().clone().ok_or(NoKeys)
    }
}

struct Bench {
    source: Arc<Source>,
    cache: Arc<JwksCache>,
    verifier: Verifier,
}

fn verifier(cache: &JwksCache) -> Verifier {
    let issuers: Vec<Issuer> = serde_json::from_value(
        json!([{ "issuer": ISSUER, "tenant": "acme", "jwks_uri": "https://idp.example/acme/jwks.json" }]),
    )
    .unwrap();
    Verifier::with_issuers(AGENT.into(), issuers, cache).unwrap()
}

fn bench(document: Option<Value>) -> Bench {
    let source = Arc::new(Source::default());
    *source.document.lock().unwrap() = document;
    let cache = JwksCache::new(source.clone());
    Bench {
        verifier: verifier(&cache),
        source,
        cache,
    }
}

impl Bench {
    async fn admit(&self, key: &SigningKey, at: Timestamp) -> Result<(), Refusal> {
        self.verifier
            .admit(&token(key, at), at, None, "tasks")
            .await
            .map(drop)
    }

    fn fetches(&self) -> usize {
        self.source.fetched.lock().unwrap().len()
    }

    fn publish(&self, document: Option<Value>) {
        *self.source.document.lock().unwrap() = document;
    }
}

fn token(key: &SigningKey, at: Timestamp) -> String {
    let acme = Tenant::parse("acme").unwrap();
    let grant = Grant {
        issuer: ISSUER,
        subject: "user-ada",
        tenant: Some(&acme),
        audience: AGENT,
        scopes: &["tasks"],
        lifetime: Duration::from_secs(300),
    };
    key.sign(&grant, at, &SystemEntropy)
        .unwrap()
        .expose_secret()
        .to_owned()
}

fn key() -> SigningKey {
    SigningKey::generate().unwrap().0
}

fn published(keys: &[&SigningKey]) -> Option<Value> {
    let keys: Vec<Value> = keys.iter().map(|key| key.public_jwk()).collect();
    Some(json!({ "keys": keys }))
}

fn after(seconds: u64) -> Timestamp {
    now().after(Duration::from_secs(seconds))
}

#[tokio::test]
async fn a_warm_cache_costs_no_look_up_and_is_shared() {
    let key = key();
    let bench = bench(published(&[&key]));
    for seconds in [0, 1, 60, 3599] {
        assert_eq!(bench.admit(&key, after(seconds)).await, Ok(()));
    }
    let other = verifier(&bench.cache);
    assert!(
        other
            .admit(&token(&key, now()), now(), None, "tasks")
            .await
            .is_ok()
    );
    assert!(other.verify(&token(&key, now()), now()).is_ok());
    assert_eq!(bench.fetches(), 1);
}

#[tokio::test]
async fn callers_who_miss_the_same_key_wait_for_one_fetch() {
    let key = key();
    let bench = bench(published(&[&key]));
    let calls = (0..50).map(|_| bench.admit(&key, now()));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(bench.fetches(), 1);
}

#[tokio::test]
async fn whoever_goes_away_while_it_waits_does_not_have_the_next_one_refused() {
    let key = key();
    let bench = bench(published(&[&key]));
    let leaves = async || {
        let waiting = std::pin::pin!(bench.admit(&key, now()));
        assert!(futures_util::poll!(waiting).is_pending());
    };
    leaves().await;
    assert_eq!(bench.admit(&key, now()).await, Ok(()));
    assert_eq!(bench.fetches(), 2);
    // Nor do those who always go away make it fetch for ever.
    let unlucky = self::bench(published(&[&key]));
    for _ in 0..9 {
        let waiting = std::pin::pin!(unlucky.admit(&key, now()));
        let _left = futures_util::poll!(waiting);
    }
    assert_eq!(unlucky.fetches(), 3);
    assert_eq!(unlucky.admit(&key, now()).await, Err(Refusal::Unavailable));
    assert_eq!(unlucky.admit(&key, after(6)).await, Ok(()));
}

#[tokio::test]
async fn unknown_keys_make_it_fetch_once_a_minute_at_most() {
    let (known, stranger) = (key(), key());
    let bench = bench(published(&[&known]));
    assert_eq!(bench.admit(&known, now()).await, Ok(()));
    for second in 1..=120 {
        assert_eq!(
            bench.admit(&stranger, after(second)).await,
            Err(Refusal::Malformed)
        );
    }
    assert_eq!(bench.fetches(), 3, "at the start, after one minute, after two");
    // A key that was added is found at the next chance.
    bench.publish(published(&[&known, &stranger]));
    assert_eq!(bench.admit(&stranger, after(179)).await, Err(Refusal::Malformed));
    assert_eq!(bench.admit(&stranger, after(180)).await, Ok(()));
}

#[tokio::test]
async fn tokens_that_name_no_issuer_of_ours_fetch_nothing() {
    let key = key();
    let bench = bench(published(&[&key]));
    let good = token(&key, now());
    for rubbish in ["", "a.b.c", "e30.e30.e30", good.split_once('.').unwrap().1] {
        let refused = bench.verifier.admit(rubbish, now(), None, "tasks").await;
        assert_eq!(refused, Err(Refusal::Malformed));
    }
    assert_eq!(bench.fetches(), 0);
    // Without waiting nothing is fetched either.
    assert_eq!(bench.verifier.verify(&good, now()), Err(Refusal::Malformed));
    assert_eq!(bench.fetches(), 0);
}

#[tokio::test]
async fn keys_outlive_an_outage_and_a_withdrawn_one_goes_within_the_hour() {
    let (old, new) = (key(), key());
    let bench = bench(published(&[&old]));
    assert_eq!(bench.admit(&old, now()).await, Ok(()));
    for outage in [
        None,
        Some(json!({})),
        Some(json!({ "keys": [] })),
        Some(json!("rubbish")),
        Some(json!({ "keys": [1, { "kty": "oct", "k": "AA" }] })),
    ] {
        bench.publish(outage);
        assert_eq!(bench.admit(&old, after(3600)).await, Ok(()));
    }
    assert_eq!(bench.fetches(), 2, "an outage is not hammered either");
    bench.publish(published(&[&new]));
    assert_eq!(bench.admit(&old, after(3659)).await, Ok(()));
    assert_eq!(bench.admit(&old, after(3660)).await, Err(Refusal::Malformed));
    assert_eq!(bench.admit(&new, after(3661)).await, Ok(()));
}

#[tokio::test]
async fn while_no_key_was_ever_had_the_answer_is_that_nobody_knows() {
    let key = key();
    let bench = bench(None);
    for seconds in [0, 1, 2] {
        assert_eq!(bench.admit(&key, after(seconds)).await, Err(Refusal::Unavailable));
    }
    assert_eq!(bench.fetches(), 1);
    bench.publish(published(&[&key]));
    assert_eq!(bench.admit(&key, after(5)).await, Ok(()));
}

#[tokio::test]
async fn a_document_is_bounded_and_its_useless_keys_are_passed_over() {
    let (first, last) = (key(), key());
    let (rsa, _) = SigningKey::generate_rs256().unwrap();
    let huge = json!({ "kty": "EC", "crv": "P-256", "kid": "k".repeat(10_000), "x": "A", "y": "A" });
    let mut keys = vec![
        huge,
        json!({ "kty": "OKP", "crv": "Ed25519", "x": "AA" }),
        rsa.public_jwk(),
        first.public_jwk(),
    ];
    keys.extend((0..10_000).map(|_| json!({ "kty": "EC" })));
    keys.push(last.public_jwk());
    let bench = bench(Some(json!({ "keys": keys })));
    assert_eq!(bench.admit(&first, now()).await, Ok(()));
    assert_eq!(bench.admit(&last, now()).await, Err(Refusal::Malformed));
    // RS256 was not agreed with this issuer, though its key is published.
    assert_eq!(bench.admit(&rsa, now()).await, Err(Refusal::Malformed));
    assert_eq!(bench.fetches(), 1);
}
