//! Issuers that are not ours: their claims, their tenants, their algorithms.

use auth::{Algorithm, Issuer, JwksCache, KeyError, Refusal, SigningKey, Verifier};
use domain::{Scopes, Tenant};
use jsonwebtoken::{EncodingKey, Header};
use serde_json::{Value, json};

use crate::config::key;
use crate::signed::{AGENT, now, verifier};

const LOGIN: &str = "https://login.example/";

/// A provider with its own ideas of a token.
struct Provider {
    key: SigningKey,
    encoding: EncodingKey,
}

fn provider() -> Provider {
    use domain::ExposeSecret as _;
    let (key, pem) = key(Algorithm::Rs256);
    let encoding = EncodingKey::from_rsa_pem(pem.expose_secret().as_bytes()).unwrap();
    Provider { key, encoding }
}

impl Provider {
    fn token(&self, changed: Value) -> String {
        let mut header = Header::new(jsonwebtoken::Algorithm::RS256);
        header.kid = Some(self.key.kid().to_owned());
        let mut claims = json!({
            "iss": LOGIN, "sub": "auth0|42", "aud": ["api://orders", "https://login.example/userinfo"],
            "exp": now().seconds() + 60, "iat": now().seconds(), "org": "globex", "scp": ["tasks", "orders:read"],
            "azp": "client", "tenant_id": "acme", "scope": "registry:admin", "deep": { "sub": "x" },
        });
        for (name, value) in changed.as_object().unwrap() {
            claims[name] = value.clone();
        }
        jsonwebtoken::encode(&header, &claims, &self.encoding).unwrap()
    }

    fn described(&self, changed: Value) -> Value {
        let mut issuer = json!({
            "issuer": LOGIN, "tenants": ["acme", "globex"], "keys": [self.key.public_jwk()], "algorithms": ["RS256"],
            "profile": { "tenant_claim": "org", "scope_claim": "scp", "audience": "api://orders", "types": ["JWT"],
                "audiences_beside": ["https://login.example/userinfo"] },
        });
        for (name, value) in changed.as_object().unwrap() {
            issuer[name] = value.clone();
        }
        issuer
    }
}

#[test]
fn a_profile_names_the_claims() {
    let provider = provider();
    let verified = verifier(provider.described(json!({})))
        .verify(&provider.token(json!({})), now())
        .unwrap();
    assert_eq!(verified.tenant, Some(Tenant::parse("globex").unwrap()));
    assert_eq!(verified.subject, "auth0|42");
    // `scope` and `tenant_id` are not this issuer's claims, whatever they say.
    assert_eq!(
        verified.scopes,
        Scopes::from(["tasks".into(), "orders:read".into()])
    );
    let text = provider.token(json!({ "scp": "tasks  orders:read registry:admin" }));
    assert_eq!(
        verifier(provider.described(json!({})))
            .verify(&text, now())
            .unwrap()
            .scopes,
        verified.scopes
    );
}

#[test]
fn an_issuer_speaks_only_for_the_tenants_of_its_list() {
    let provider = provider();
    let verifier = verifier(provider.described(json!({ "tenants": ["acme"] })));
    assert!(
        verifier
            .verify(&provider.token(json!({ "org": "acme" })), now())
            .is_ok()
    );
    for org in [
        json!("globex"),
        json!("ACME"),
        json!(""),
        json!("public"),
        Value::Null,
    ] {
        let token = provider.token(json!({ "org": org }));
        assert_eq!(verifier.verify(&token, now()), Err(Refusal::WrongTenant), "{org}");
    }
    for rubbish in [json!(["acme"]), json!({ "acme": 1 }), json!(1)] {
        let token = provider.token(json!({ "org": rubbish }));
        assert_eq!(
            verifier.verify(&token, now()),
            Err(Refusal::Malformed),
            "{rubbish}"
        );
    }
}

#[test]
fn an_issuer_of_one_tenant_need_not_name_it_where_its_profile_says_so() {
    let provider = provider();
    let profile = json!({ "tenant_claim": null, "scope_claim": "scp", "audience": "api://orders", "types": ["jwt"],
            "audiences_beside": ["https://login.example/userinfo"] });
    let silent = provider.described(json!({ "tenant": "acme", "tenants": null, "profile": profile }));
    let verified = verifier(silent)
        .verify(&provider.token(json!({})), now())
        .unwrap();
    assert_eq!(verified.tenant, Some(Tenant::parse("acme").unwrap()));
}

#[test]
fn every_other_claim_is_checked_as_ever() {
    let provider = provider();
    let check = |changed: Value, described: Value| {
        verifier(provider.described(described)).verify(&provider.token(changed), now())
    };
    assert!(check(json!({}), json!({})).is_ok());
    for (changed, described) in [
        (json!({ "aud": AGENT }), json!({})),
        (json!({ "aud": ["api://orders/"] }), json!({})),
        (json!({ "aud": ["api://orders", 7] }), json!({})),
        (json!({ "aud": ["api://orders", "api://mail"] }), json!({})),
        (json!({ "aud": ["https://login.example/userinfo"] }), json!({})),
        (json!({ "aud": "https://login.example/userinfo" }), json!({})),
        (json!({ "scp": { "tasks": true } }), json!({})),
        (json!({ "scp": [["tasks"]] }), json!({})),
        (json!({ "nbf": now().seconds() + 61 }), json!({})),
        (json!({ "iss": "https://login.example" }), json!({})),
        // Neither its algorithm nor its kind of token is what was agreed.
        (json!({}), json!({ "algorithms": ["ES256"], "keys": [] })),
        (
            json!({}),
            json!({ "profile": { "tenant_claim": "org", "scope_claim": "scp", "audience": "api://orders" } }),
        ),
    ] {
        assert_eq!(
            check(changed.clone(), described.clone()),
            Err(Refusal::Malformed),
            "{changed} {described}"
        );
    }
    assert_eq!(
        check(json!({ "exp": now().seconds() - 60 }), json!({})),
        Err(Refusal::Expired)
    );
}

#[test]
fn a_written_down_key_that_its_issuer_cannot_use_is_found_at_the_start() {
    let provider = provider();
    let (es256, _) = SigningKey::generate().unwrap();
    let build = |issuers: Vec<Value>| {
        let issuers: Vec<Issuer> = issuers
            .into_iter()
            .map(|issuer| serde_json::from_value(issuer).unwrap())
            .collect();
        Verifier::with_issuers(AGENT.into(), issuers, &JwksCache::offline()).map(drop)
    };
    let mut weak = provider.key.public_jwk();
    weak["e"] = "Aw".into();
    let mut private = provider.key.public_jwk();
    private["d"] = "AQAB".into();
    let mut encrypting = provider.key.public_jwk();
    encrypting["use"] = "enc".into();
    let mut pss = provider.key.public_jwk();
    pss["alg"] = "PS256".into();
    for jwk in [
        es256.public_jwk(),
        weak,
        private,
        encrypting,
        pss,
        json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB" }),
        json!({ "kty": "oct", "k": "AQAB" }),
    ] {
        let refused = build(vec![provider.described(json!({ "keys": [jwk] }))]);
        assert!(matches!(refused, Err(KeyError::Unusable(_))), "{jwk}");
    }
    let both = vec![
        provider.described(json!({})),
        provider.described(json!({ "tenants": ["acme"] })),
    ];
    assert!(matches!(build(both), Err(KeyError::Contradiction)));
    // One issuer cannot have keys of both kinds of place.
    let fetched = json!({ "keys": null, "jwks_uri": "https://login.example/keys" });
    assert!(matches!(
        build(vec![provider.described(json!({})), provider.described(fetched)]),
        Err(KeyError::Contradiction)
    ));
}

#[test]
fn one_server_speaks_for_each_tenant_under_that_tenants_name() {
    let provider = provider();
    let issuer = json!({ "issuer": "https://idp.example/{tenant}", "tenants": null, "profile": {
        "scope_claim": "scp", "audience": "api://orders", "types": ["JWT"],
        "audiences_beside": ["https://login.example/userinfo"] } });
    let verifier = verifier(provider.described(issuer));
    let check = |iss: &str, tenant: &str| {
        let verified = verifier.verify(&provider.token(json!({ "iss": iss, "tenant_id": tenant })), now());
        verified.map(|verified| verified.tenant.unwrap().name().to_owned())
    };
    assert_eq!(
        check("https://idp.example/initech", "initech"),
        Ok("initech".to_owned())
    );
    for (iss, tenant) in [
        ("https://idp.example/acme", "globex"),
        ("https://idp.example/public", "public"),
        ("https://idp.example/{tenant}", "{tenant}"),
        ("https://idp.example/", ""),
        ("https://idp.example/ACME", "ACME"),
    ] {
        assert_eq!(check(iss, tenant), Err(Refusal::WrongTenant), "{iss}");
    }
    for iss in [
        "https://idp.example",
        "https://idp.example/a/acme",
        "https://idp.example/acme/",
        "https://idp.example.attacker.example/acme",
        "acme",
    ] {
        assert_eq!(check(iss, "acme"), Err(Refusal::Malformed), "{iss}");
    }
}

#[test]
fn only_our_server_says_what_the_tenants_host_was_let_do_and_nobody_else_that_something_is_handed_on() {
    let provider = provider();
    let delegated = |issuer: Value, claims: Value| {
        let verified = verifier(provider.described(issuer)).verify(&provider.token(claims), now());
        verified.unwrap().scopes.contains(auth::scope::DELEGATED)
    };
    let ours = json!({ "issuer": "https://idp.example/{tenant}", "tenants": null, "profile": {
        "scope_claim": "scp", "audience": "api://orders", "types": ["JWT"],
        "audiences_beside": ["https://login.example/userinfo"] } });
    let of = |client: Value, scope: &str| json!({ "iss": "https://idp.example/acme", "tenant_id": "acme", "client_id": client, "scope": scope, "scp": scope });
    assert!(delegated(ours.clone(), of(json!("host"), "tasks")));
    for client in [json!("app"), json!(["host"]), json!(7), json!(null)] {
        assert!(
            !delegated(ours.clone(), of(client.clone(), "tasks delegated")),
            "{client}"
        );
    }
    let theirs = json!({});
    assert!(!delegated(
        theirs,
        json!({ "client_id": "host", "scope": "tasks delegated", "scp": "tasks delegated" })
    ));
}
