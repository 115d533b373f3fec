//! The verifier under attack: every refusal, algorithm confusion, tampering.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{ExposeSecret as _, SystemEntropy};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Grant, SigningKey};

const ACME: &str = "http://127.0.0.1:3000/t/acme";
const PLATFORM: &str = "http://127.0.0.1:3000";
const AGENT: &str = "https://agents.example/weather";
const NOW: i64 = 1_767_225_600;

struct Fixture {
    key: SigningKey,
    pem: domain::SecretString,
    platform: SigningKey,
    verifier: Verifier,
}

fn fixture() -> Fixture {
    let (key, pem) = SigningKey::generate().unwrap();
    let (platform, _) = SigningKey::generate().unwrap();
    let issuers = vec![
        trusted(ACME, Some("acme"), &key),
        trusted(PLATFORM, None, &platform),
    ];
    let verifier = Verifier::new(AGENT.into(), issuers).unwrap();
    Fixture {
        key,
        pem,
        platform,
        verifier,
    }
}

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

fn trusted(issuer: &str, tenant: Option<&str>, key: &SigningKey) -> TrustedIssuer {
    TrustedIssuer {
        issuer: issuer.into(),
        tenant: tenant.map(self::tenant),
        keys: vec![key.public_jwk()],
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn grant<'a>(tenant: Option<&'a Tenant>) -> Grant<'a> {
    Grant {
        issuer: if tenant.is_some() { ACME } else { PLATFORM },
        subject: "user-1",
        tenant,
        audience: AGENT,
        scopes: &["tasks", "registry:admin"],
        lifetime: Duration::from_secs(300),
    }
}

fn sign(key: &SigningKey, grant: &Grant<'_>) -> String {
    key.sign(grant, at(NOW), &SystemEntropy)
        .unwrap()
        .expose_secret()
        .to_owned()
}

/// A token with a header and claims of one's own, rightly signed with the fixture's key.
fn forge(fixture: &Fixture, header: impl Fn(&mut Header), claims: impl Fn(&mut Value)) -> String {
    let mut head = Header::new(Algorithm::ES256);
    head.typ = Some("at+jwt".into());
    head.kid = Some(fixture.key.kid().into());
    header(&mut head);
    let mut body = json!({
        "iss": ACME, "sub": "user-1", "aud": AGENT, "exp": NOW + 300, "iat": NOW, "scope": "tasks", "tenant_id": "acme",
    });
    claims(&mut body);
    let key = EncodingKey::from_ec_pem(fixture.pem.expose_secret().as_bytes()).unwrap();
    jsonwebtoken::encode(&head, &body, &key).unwrap()
}

#[test]
fn a_good_token_says_who_calls() {
    let fixture = fixture();
    let acme = tenant("acme");
    let verified = fixture
        .verifier
        .verify(&sign(&fixture.key, &grant(Some(&acme))), at(NOW))
        .unwrap();
    assert_eq!(
        verified,
        Verified {
            issuer: ACME.into(),
            subject: "user-1".into(),
            tenant: Some(acme.clone()),
            // A tenant's key cannot make an administrator of the platform.
            scopes: Scopes::from(["tasks".into()]),
            expires_at: at(NOW + 300),
        }
    );
    let caller = verified.caller(Some(&acme), "tasks").unwrap();
    assert_eq!((caller.tenant, caller.owner.as_str()), (acme, "user-1"));
    assert!(verified.caller(None, "tasks").is_ok());
}

#[test]
fn a_verified_caller_still_needs_the_right_tenant_and_scope() {
    let fixture = fixture();
    let acme = tenant("acme");
    let verified = fixture
        .verifier
        .verify(&sign(&fixture.key, &grant(Some(&acme))), at(NOW))
        .unwrap();
    assert_eq!(
        verified.caller(Some(&tenant("globex")), "tasks"),
        Err(Refusal::WrongTenant)
    );
    assert_eq!(
        verified.caller(Some(&acme), "orders"),
        Err(Refusal::SmallScope {
            needed: "orders".into()
        })
    );
}

#[test]
fn the_platform_speaks_for_no_tenant_but_administers() {
    let fixture = fixture();
    let verified = fixture
        .verifier
        .verify(&sign(&fixture.platform, &grant(None)), at(NOW))
        .unwrap();
    assert_eq!(verified.tenant, None);
    assert!(verified.scopes.contains("registry:admin"));
    assert_eq!(verified.caller(None, "tasks"), Err(Refusal::WrongTenant));
}

#[test]
fn a_token_lives_until_its_end_and_a_minute_of_clock_difference() {
    let fixture = fixture();
    let token = sign(&fixture.key, &grant(Some(&tenant("acme"))));
    assert!(fixture.verifier.verify(&token, at(NOW + 359)).is_ok());
    assert_eq!(
        fixture.verifier.verify(&token, at(NOW + 360)),
        Err(Refusal::Expired)
    );
    assert!(fixture.verifier.verify(&token, at(NOW - 60)).is_ok());
    assert_eq!(
        fixture.verifier.verify(&token, at(NOW - 61)),
        Err(Refusal::Malformed)
    );
}

#[test]
fn every_wrong_claim_is_refused_for_its_own_reason() {
    let fixture = fixture();
    let cases: [(&str, Value, Refusal); 27] = [
        ("iss", json!("http://127.0.0.1:3000/t/globex"), Refusal::Malformed),
        ("iss", json!("http://127.0.0.1:3000/t/acme/"), Refusal::Malformed),
        ("iss", json!(PLATFORM), Refusal::Malformed),
        ("iss", Value::Null, Refusal::Malformed),
        ("aud", json!("https://agents.example/other"), Refusal::Malformed),
        ("aud", json!([]), Refusal::Malformed),
        ("aud", json!(["https://agents.example/other"]), Refusal::Malformed),
        ("aud", json!(["other", AGENT]), Refusal::Malformed),
        ("aud", json!([AGENT, ["other"]]), Refusal::Malformed),
        ("aud", Value::Null, Refusal::Malformed),
        ("aud", json!(7), Refusal::Malformed),
        ("sub", Value::Null, Refusal::Malformed),
        ("sub", json!(""), Refusal::Malformed),
        ("sub", json!("a#b"), Refusal::Malformed),
        ("sub", json!("anonymous"), Refusal::Malformed),
        ("sub", json!("a".repeat(256)), Refusal::Malformed),
        ("exp", Value::Null, Refusal::Malformed),
        ("exp", json!("tomorrow"), Refusal::Malformed),
        ("exp", json!(NOW + 31 * 365 * 24 * 3600), Refusal::Malformed),
        ("iat", json!(NOW - 24 * 3600), Refusal::Malformed),
        ("exp", json!(NOW - 60), Refusal::Expired),
        ("exp", json!(-1), Refusal::Expired),
        ("nbf", json!(NOW + 61), Refusal::Malformed),
        ("iat", json!(NOW + 61), Refusal::Malformed),
        ("tenant_id", json!("globex"), Refusal::WrongTenant),
        ("tenant_id", json!("public"), Refusal::WrongTenant),
        ("tenant_id", Value::Null, Refusal::WrongTenant),
    ];
    for (name, value, refusal) in cases {
        let token = forge(&fixture, |_| {}, |claims| claims[name] = value.clone());
        assert_eq!(
            fixture.verifier.verify(&token, at(NOW)),
            Err(refusal),
            "{name}: {value}"
        );
    }
    let listed = forge(&fixture, |_| {}, |claims| claims["aud"] = json!([AGENT]));
    assert!(fixture.verifier.verify(&listed, at(NOW)).is_ok());
    let undated = forge(
        &fixture,
        |_| {},
        |claims| {
            claims["iat"] = Value::Null;
            claims["exp"] = json!(NOW + 25 * 3600);
        },
    );
    assert_eq!(
        fixture.verifier.verify(&undated, at(NOW)),
        Err(Refusal::Malformed)
    );
}

#[test]
fn a_platform_token_that_names_a_tenant_is_refused() {
    let fixture = fixture();
    let acme = tenant("acme");
    let grant = Grant {
        issuer: PLATFORM,
        ..grant(Some(&acme))
    };
    let token = sign(&fixture.platform, &grant);
    assert_eq!(
        fixture.verifier.verify(&token, at(NOW)),
        Err(Refusal::WrongTenant)
    );
}

#[test]
fn an_issuer_signs_only_with_its_own_keys() {
    let fixture = fixture();
    let acme = tenant("acme");
    // The platform's key under a tenant's name, and a key nobody knows.
    let (stranger, _) = SigningKey::generate().unwrap();
    for key in [&fixture.platform, &stranger] {
        let token = sign(key, &grant(Some(&acme)));
        assert_eq!(fixture.verifier.verify(&token, at(NOW)), Err(Refusal::Malformed));
    }
    // A stranger's signature under the right key's name.
    let good = sign(&fixture.key, &grant(Some(&acme)));
    let bad = sign(&stranger, &grant(Some(&acme)));
    let [head, body, _] = parts(&good);
    let [_, _, signature] = parts(&bad);
    let token = format!("{head}.{body}.{signature}");
    assert_eq!(fixture.verifier.verify(&token, at(NOW)), Err(Refusal::Malformed));
}

#[test]
fn another_algorithm_is_never_taken() {
    let fixture = fixture();
    let good = sign(&fixture.key, &grant(Some(&tenant("acme"))));
    let [_, body, signature] = parts(&good);
    let kid = fixture.key.kid();
    for alg in ["none", "None", "HS256", "ES384", "RS256", "EdDSA"] {
        let head = json!({ "alg": alg, "typ": "at+jwt", "kid": kid });
        let head = URL_SAFE_NO_PAD.encode(head.to_string());
        for signature in ["", signature] {
            let token = format!("{head}.{body}.{signature}");
            assert_eq!(
                fixture.verifier.verify(&token, at(NOW)),
                Err(Refusal::Malformed),
                "{alg}"
            );
        }
    }
    // The public key as the secret of an HMAC, in the forms an attacker would try.
    let jwk = fixture.key.public_jwk();
    let coordinate = |name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap();
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    for secret in [jwk.to_string().into_bytes(), point, coordinate("x")] {
        let mut head = Header::new(Algorithm::HS256);
        head.typ = Some("at+jwt".into());
        head.kid = Some(kid.into());
        let claims: Value = jsonwebtoken::dangerous::insecure_decode_claims(&good).unwrap();
        let token = jsonwebtoken::encode(&head, &claims, &EncodingKey::from_secret(&secret)).unwrap();
        assert_eq!(fixture.verifier.verify(&token, at(NOW)), Err(Refusal::Malformed));
    }
}

#[test]
fn only_access_tokens_with_a_named_key_are_taken() {
    let fixture = fixture();
    let check =
        |header: &dyn Fn(&mut Header)| fixture.verifier.verify(&forge(&fixture, header, |_| {}), at(NOW));
    assert!(check(&|_| {}).is_ok());
    assert!(check(&|header| header.typ = Some("application/AT+JWT".into())).is_ok());
    for typ in [
        None,
        Some("JWT"),
        Some("at+jwt "),
        Some("application/jwt"),
        Some("ä"),
        Some(""),
    ] {
        let refused = check(&|header| header.typ = typ.map(str::to_owned));
        assert_eq!(refused, Err(Refusal::Malformed), "{typ:?}");
    }
    assert_eq!(check(&|header| header.kid = None), Err(Refusal::Malformed));
    assert_eq!(
        check(&|header| header.kid = Some("other".into())),
        Err(Refusal::Malformed)
    );
    assert_eq!(
        check(&|header| header.crit = Some(vec!["exp".into()])),
        Err(Refusal::Malformed)
    );
}

#[test]
fn every_changed_character_of_a_token_is_noticed() {
    let fixture = fixture();
    let good = sign(&fixture.key, &grant(Some(&tenant("acme"))));
    for index in 0..good.len() {
        let mut changed = good.clone().into_bytes();
        // Another value of the same alphabet, which differs in a high bit: the last character's low bits may be unused.
        changed[index] = if changed[index].is_ascii_lowercase() {
            b'9'
        } else {
            b'a'
        };
        let changed = String::from_utf8(changed).unwrap();
        assert!(fixture.verifier.verify(&changed, at(NOW)).is_err(), "{index}");
    }
}

#[test]
fn rubbish_and_giant_tokens_are_malformed() {
    let fixture = fixture();
    let giant = forge(
        &fixture,
        |_| {},
        |claims| claims["more"] = json!("a".repeat(10_000)),
    );
    let deep = URL_SAFE_NO_PAD.encode("[".repeat(5000));
    let endless = "a".repeat(10_000_000);
    for rubbish in [
        "",
        ".",
        "..",
        "...",
        "a.b.c",
        "\0.\0.\0",
        "e30.e30.e30",
        "bnVsbA.bnVsbA.bnVsbA",
        &format!("{deep}.{deep}."),
        &giant,
        &endless,
    ] {
        assert_eq!(fixture.verifier.verify(rubbish, at(NOW)), Err(Refusal::Malformed));
    }
}

#[test]
fn a_trusted_key_must_be_one_of_p_256_and_an_issuer_has_one_tenant() {
    let (key, _) = SigningKey::generate().unwrap();
    let with = |keys: Vec<Value>| {
        Verifier::new(
            AGENT.into(),
            vec![TrustedIssuer {
                issuer: ACME.into(),
                tenant: None,
                keys,
            }],
        )
        .map(drop)
    };
    assert!(with(vec![key.public_jwk()]).is_ok());
    let mut unnamed = key.public_jwk();
    unnamed.as_object_mut().unwrap().remove("kid");
    assert!(with(vec![unnamed]).is_ok());
    for bad in [
        Value::Null,
        json!({ "kty": "oct", "k": "c2VjcmV0" }),
        json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB" }),
        json!({ "kty": "EC", "crv": "P-384", "x": "AQAB", "y": "AQAB" }),
        json!({ "kty": "EC", "crv": "P-256", "x": "!", "y": "AQAB" }),
    ] {
        assert!(
            matches!(with(vec![bad.clone()]), Err(KeyError::Unusable(_))),
            "{bad}"
        );
    }
    let two = vec![
        trusted(ACME, Some("acme"), &key),
        trusted(ACME, Some("globex"), &key),
    ];
    assert!(matches!(
        Verifier::new(AGENT.into(), two),
        Err(KeyError::Contradiction)
    ));
}

#[test]
fn a_key_without_a_name_is_known_by_its_thumbprint_and_rotation_overlaps() {
    let ((old, _), (new, _)) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let mut unnamed = old.public_jwk();
    unnamed.as_object_mut().unwrap().remove("kid");
    let mut issuer = trusted(ACME, Some("acme"), &new);
    issuer.keys.push(unnamed);
    let verifier = Verifier::new(AGENT.into(), vec![issuer]).unwrap();
    for key in [&old, &new] {
        assert!(
            verifier
                .verify(&sign(key, &grant(Some(&tenant("acme")))), at(NOW))
                .is_ok()
        );
    }
}

#[test]
fn trusted_issuers_are_read_from_json() {
    let (key, _) = SigningKey::generate().unwrap();
    let text = json!([
        { "issuer": PLATFORM, "tenant": null, "keys": [key.public_jwk()] },
        { "issuer": ACME, "tenant": "acme", "keys": [] },
    ]);
    let issuers: Vec<TrustedIssuer> = serde_json::from_value(text).unwrap();
    assert_eq!(issuers[1].tenant, Some(tenant("acme")));
    assert!(Verifier::new(AGENT.into(), issuers).is_ok());
}

proptest! {
    #[test]
    fn no_text_passes_for_a_token(text in "\\PC{0,200}|([A-Za-z0-9_-]{0,60}\\.){0,4}[A-Za-z0-9_-]{0,60}") {
        let verifier = Verifier::new(AGENT.into(), vec![]).unwrap();
        prop_assert_eq!(verifier.verify(&text, at(NOW)), Err(Refusal::Malformed));
    }
}

fn parts(token: &str) -> [&str; 3] {
    let parts: Vec<&str> = token.split('.').collect();
    parts.try_into().unwrap()
}
