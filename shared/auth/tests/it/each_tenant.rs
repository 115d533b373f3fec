//! Issuers whose keys are each tenant's own: what a token says of its tenant decides whose keys are asked for, and must
//! decide nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use auth::{Grant, Issuer, JwksCache, KeySource, NoKeys, Refusal, SigningKey, Verifier};
use domain::{ExposeSecret as _, SystemEntropy, Tenant, Timestamp};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use url::Url;

use crate::signed::{AGENT, now};

const BASE: &str = "https://idp.example/auth";
const ACME: &str = "https://acme.example";
const GLOBEX: &str = "https://api.example/globex";

/// What lies below the authorization server.
#[derive(Default)]
struct Source {
    documents: Mutex<HashMap<String, Value>>,
    fetched: Mutex<Vec<Url>>,
}

#[async_trait]
impl KeySource for Source {
    async fn fetch(&self, url: &Url) -> Result<Value, NoKeys> {
        self.fetched.lock().unwrap().push(url.clone());
        tokio::task::yield_now().await;
        self.documents
            .lock()
            .unwrap()
            .get(url.as_str())
            .cloned()
            .ok_or(NoKeys)
    }
}

struct Bench {
    source: Arc<Source>,
    verifier: Verifier,
    acme: (SigningKey, EncodingKey),
    globex: (SigningKey, EncodingKey),
}

fn pair() -> (SigningKey, EncodingKey) {
    let (key, pem) = SigningKey::generate().unwrap();
    let encoding = EncodingKey::from_ec_pem(pem.expose_secret().as_bytes()).unwrap();
    (key, encoding)
}

/// A service that takes the tenants' own sessions, and what the authorization server issues for each of them.
fn bench() -> Bench {
    let source = Arc::new(Source::default());
    let issuers: Vec<Issuer> = serde_json::from_value(json!([
        { "jwks_uri": format!("{BASE}/{{tenant}}/sessions.json") },
        { "issuer": format!("{BASE}/{{tenant}}"), "jwks_uri": format!("{BASE}/{{tenant}}/jwks.json") },
    ]))
    .unwrap();
    let cache = JwksCache::new(source.clone());
    let bench = Bench {
        verifier: Verifier::with_issuers(AGENT.into(), issuers, &cache).unwrap(),
        source,
        acme: pair(),
        globex: pair(),
    };
    bench.publish("acme/sessions.json", Some(document(ACME, &bench.acme.0)));
    bench.publish("globex/sessions.json", Some(document(GLOBEX, &bench.globex.0)));
    bench.publish(
        "acme/jwks.json",
        Some(json!({ "keys": [bench.acme.0.public_jwk()] })),
    );
    bench.publish(
        "globex/jwks.json",
        Some(json!({ "keys": [bench.globex.0.public_jwk()] })),
    );
    bench
}

fn document(issuer: &str, key: &SigningKey) -> Value {
    json!({ "issuer": issuer, "keys": [key.public_jwk()] })
}

impl Bench {
    fn publish(&self, path: &str, document: Option<Value>) {
        let url = format!("{BASE}/{path}");
        let mut documents = self.source.documents.lock().unwrap();
        match document {
            Some(document) => documents.insert(url, document),
            None => documents.remove(&url),
        };
    }

    fn fetches(&self) -> usize {
        self.source.fetched.lock().unwrap().len()
    }

    /// Who the caller is, by a token under one of the keys.
    async fn admit(
        &self,
        key: &(SigningKey, EncodingKey),
        iss: &str,
        tenant: Value,
    ) -> Result<String, Refusal> {
        self.admit_at(key, iss, tenant, now()).await
    }

    async fn admit_at(
        &self,
        (key, encoding): &(SigningKey, EncodingKey),
        iss: &str,
        tenant: Value,
        at: Timestamp,
    ) -> Result<String, Refusal> {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(key.kid().to_owned());
        header.typ = Some("at+jwt".to_owned());
        let claims = json!({
            "iss": iss, "sub": "user-ada", "aud": AGENT, "exp": at.seconds() + 60, "tenant_id": tenant, "scope": "tasks registry:admin",
        });
        let token = jsonwebtoken::encode(&header, &claims, encoding).unwrap();
        let caller = self.verifier.admit(&token, at, None, "tasks").await?;
        assert!(
            !caller.scopes.contains("registry:admin"),
            "no tenant speaks for the platform"
        );
        Ok(caller.tenant.name().to_owned())
    }
}

#[tokio::test]
async fn the_document_says_which_incarnation_of_its_name_a_tenant_is() {
    let first = bench();
    let prefix = async |bench: &Bench, at: Timestamp| {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(bench.acme.0.kid().to_owned());
        header.typ = Some("at+jwt".to_owned());
        let claims = json!({
            "iss": ACME, "sub": "user-ada", "aud": AGENT, "exp": at.seconds() + 60, "tenant_id": "acme", "scope": "tasks",
        });
        let token = jsonwebtoken::encode(&header, &claims, &bench.acme.1).unwrap();
        let caller = bench.verifier.admit(&token, at, None, "tasks").await;
        caller.map(|caller| caller.tenant.prefix().to_owned())
    };
    assert_eq!(prefix(&first, now()).await, Ok("acme".into()));
    let mut told = document(ACME, &first.acme.0);
    told["tenant"] = json!("acme.7f3a9c2e");
    first.publish("acme/sessions.json", Some(told.clone()));
    let later = now().after(Duration::from_secs(3600));
    assert_eq!(prefix(&first, later).await, Ok("acme.7f3a9c2e".into()));

    // A document vouches for the tenant that it was asked of, and for no other.
    told["tenant"] = json!("globex.7f3a9c2e");
    let other = bench();
    told["keys"] = json!([other.acme.0.public_jwk()]);
    other.publish("acme/sessions.json", Some(told.clone()));
    assert_eq!(prefix(&other, now()).await, Err(Refusal::WrongTenant));
    told["tenant"] = json!("not a tenant");
    let rubbish = bench();
    told["keys"] = json!([rubbish.acme.0.public_jwk()]);
    rubbish.publish("acme/sessions.json", Some(told));
    assert_eq!(prefix(&rubbish, now()).await, Err(Refusal::Unavailable));
}

#[tokio::test]
async fn a_tenant_that_nobody_listed_is_known_by_its_document() {
    let bench = bench();
    for _ in 0..3 {
        assert_eq!(
            bench.admit(&bench.acme, ACME, json!("acme")).await,
            Ok("acme".into())
        );
        assert_eq!(
            bench.admit(&bench.globex, GLOBEX, json!("globex")).await,
            Ok("globex".into())
        );
        assert_eq!(
            bench
                .admit(&bench.acme, &format!("{BASE}/acme"), json!("acme"))
                .await,
            Ok("acme".into())
        );
    }
    assert_eq!(bench.fetches(), 3, "once each");
    // One that is set up later is known at once, with the token that our own signer makes.
    let (key, _) = pair();
    let initech = Tenant::parse("initech").unwrap();
    bench.publish(
        "initech/sessions.json",
        Some(document("https://initech.example", &key)),
    );
    let grant = Grant {
        issuer: "https://initech.example",
        subject: "user-ada",
        tenant: Some(&initech),
        audience: AGENT,
        scopes: &["tasks"],
        lifetime: Duration::from_secs(300),
    };
    let token = key.sign(&grant, now(), &SystemEntropy).unwrap();
    let admitted = bench
        .verifier
        .admit(token.expose_secret(), now(), Some(&initech), "tasks")
        .await;
    assert_eq!(admitted.unwrap().tenant, initech);
}

#[tokio::test]
async fn no_tenant_speaks_for_another() {
    let bench = bench();
    let templated = |tenant: &str| format!("{BASE}/{tenant}");
    for (key, iss, tenant, refusal) in [
        // Its own key and issuer, another's name.
        (&bench.acme, ACME.to_owned(), "globex", Refusal::Malformed),
        (&bench.acme, templated("acme"), "globex", Refusal::WrongTenant),
        // Its own key, another's issuer.
        (&bench.acme, GLOBEX.to_owned(), "globex", Refusal::Malformed),
        (&bench.acme, templated("globex"), "globex", Refusal::Malformed),
        (&bench.acme, GLOBEX.to_owned(), "acme", Refusal::Malformed),
        (&bench.acme, templated("globex"), "acme", Refusal::Malformed),
    ] {
        assert_eq!(
            bench.admit(key, &iss, json!(tenant)).await,
            Err(refusal),
            "{iss} {tenant}"
        );
    }
    // A document may name whom it likes: it speaks for its own tenant alone, and not in the name of a known issuer.
    bench.publish("globex/sessions.json", Some(document(ACME, &bench.globex.0)));
    assert_eq!(
        bench.admit(&bench.globex, ACME, json!("acme")).await,
        Err(Refusal::Malformed)
    );
    bench.publish(
        "globex/sessions.json",
        Some(document(&templated("acme"), &bench.globex.0)),
    );
    let later = now().after(Duration::from_secs(120));
    assert_eq!(
        bench
            .admit_at(&bench.globex, &templated("acme"), json!("acme"), later)
            .await,
        Err(Refusal::Malformed)
    );
}

#[tokio::test]
async fn only_a_tenants_name_below_the_configured_address_is_ever_asked_for() {
    let bench = bench();
    let names = [
        "",
        ".",
        "..",
        "../acme",
        "acme/..",
        "acme/../globex",
        "a/acme",
        "acme/",
        "/acme",
        "//evil.example",
        "acme%2f..",
        "%61cme",
        "acme%00",
        "ACME",
        "Acme",
        "acme\\",
        "acme@evil.example",
        "user:pw@evil.example",
        "acme?x",
        "acme#x",
        "acme;x",
        "acme.json",
        " acme",
        "acme ",
        "acme\n",
        "acm\u{435}",
        "{tenant}",
        "public",
        "a",
        "1acme",
        "https://evil.example/acme",
    ];
    for name in names.map(str::to_owned).into_iter().chain(["a".repeat(5000)]) {
        for iss in [
            ACME.to_owned(),
            format!("{BASE}/{name}"),
            format!("https://evil.example/auth/{name}"),
            name.clone(),
        ] {
            let refused = bench.admit(&bench.acme, &iss, json!(name)).await;
            assert!(
                matches!(refused, Err(Refusal::Malformed | Refusal::WrongTenant)),
                "{iss:?} {name:?} {refused:?}"
            );
        }
    }
    for claim in [Value::Null, json!(1), json!(["acme"]), json!({ "acme": 1 })] {
        let refused = bench.admit(&bench.acme, ACME, claim).await;
        assert_eq!(refused, Err(Refusal::Malformed));
    }
    for iss in [
        "https://IDP.example/auth/acme",
        "https://idp.example/AUTH/acme",
        "https://idp.example:443/auth/acme",
        "http://idp.example/auth/acme",
        "https://idp.example.evil.example/auth/acme",
        "https://idp.example@evil.example/auth/acme",
        "https://idp.example/auth/acme/",
        "https://idp.example/auth//acme",
        "https://idp.example/auth/./acme",
        "https://idp.example/auth/x/../acme",
        "https://idp.example/auth%2facme",
        "https://acme.example/",
        "https://ACME.example",
        "",
    ] {
        assert_eq!(
            bench.admit(&bench.acme, iss, json!("acme")).await,
            Err(Refusal::Malformed),
            "{iss}"
        );
    }
    let fetched = bench.source.fetched.lock().unwrap().clone();
    assert!(!fetched.is_empty());
    for url in &fetched {
        let own = ["acme/sessions.json", "acme/jwks.json"].map(|path| format!("{BASE}/{path}"));
        assert!(own.contains(&url.to_string()), "{url}");
    }
    assert!(fetched.len() <= 2, "{fetched:?}");
}

#[tokio::test]
async fn tokens_of_made_up_tenants_push_nobody_out_and_keep_nobody_out() {
    let bench = bench();
    assert!(bench.admit(&bench.acme, ACME, json!("acme")).await.is_ok());
    for n in 0..5000 {
        let made_up = format!("made-up-{n}");
        for _ in 0..2 {
            let refused = bench.admit(&bench.acme, ACME, json!(made_up)).await;
            assert_eq!(refused, Err(Refusal::Unavailable), "nobody knows");
        }
    }
    assert!(bench.fetches() <= 1 + 5000, "each name once: {}", bench.fetches());
    assert!(bench.admit(&bench.acme, ACME, json!("acme")).await.is_ok());
    let fetched = bench.fetches();
    assert!(fetched <= 1 + 5000, "who was here still is: {fetched}");
    // One that was not here yet has its turn in the same moment.
    assert_eq!(
        bench.admit(&bench.globex, GLOBEX, json!("globex")).await,
        Ok("globex".into())
    );
}

/// Beside names that nobody answers for, not even with a no.
#[tokio::test]
async fn fetches_that_are_under_way_are_bounded_and_nobody_loses_theirs() {
    let bench = bench();
    let made_up: Vec<String> = (0..200).map(|n| format!("made-up-{n}")).collect();
    let flood = made_up
        .iter()
        .map(|name| bench.admit(&bench.acme, ACME, json!(name)));
    let (first, refused) = futures_util::future::join(
        bench.admit(&bench.globex, GLOBEX, json!("globex")),
        futures_util::future::join_all(flood),
    )
    .await;
    assert_eq!(first, Ok("globex".into()));
    assert!(refused.iter().all(|told| *told == Err(Refusal::Unavailable)));
    assert!(bench.fetches() <= 32, "at once: {}", bench.fetches());
}

#[tokio::test]
async fn more_tenants_than_are_kept_are_served_all_the_same() {
    let bench = bench();
    for n in 0..4200 {
        let name = format!("tenant-{n}");
        bench.publish(
            &format!("{name}/sessions.json"),
            Some(document(ACME, &bench.acme.0)),
        );
        let at = now().after(Duration::from_millis(100 * n));
        assert_eq!(bench.admit_at(&bench.acme, ACME, json!(name), at).await, Ok(name));
    }
    assert_eq!(bench.fetches(), 4200);
    // The last are kept, the first were pushed out and come back.
    let at = now().after(Duration::from_secs(420));
    for (name, fetches) in [("tenant-4199", 4200), ("tenant-0", 4201)] {
        assert!(bench.admit_at(&bench.acme, ACME, json!(name), at).await.is_ok());
        assert_eq!(bench.fetches(), fetches);
    }
}

#[tokio::test]
async fn a_rotated_session_key_is_found_and_a_tenant_that_is_gone_is_known_no_longer() {
    let bench = bench();
    let after = |seconds| now().after(Duration::from_secs(seconds));
    assert!(bench.admit(&bench.acme, ACME, json!("acme")).await.is_ok());
    bench.publish("acme/sessions.json", Some(document(ACME, &bench.globex.0)));
    assert!(
        bench
            .admit_at(&bench.globex, ACME, json!("acme"), after(60))
            .await
            .is_ok()
    );
    assert_eq!(
        bench.admit_at(&bench.acme, ACME, json!("acme"), after(61)).await,
        Err(Refusal::Malformed)
    );
    // An outage changes nothing for a day; then nobody vouches for the tenant.
    bench.publish("acme/sessions.json", None);
    let fetched = 60;
    assert!(
        bench
            .admit_at(&bench.globex, ACME, json!("acme"), after(23 * 3600))
            .await
            .is_ok()
    );
    assert_eq!(
        bench
            .admit_at(&bench.globex, ACME, json!("acme"), after(fetched + 24 * 3600))
            .await,
        Err(Refusal::Unavailable)
    );
}
