//! What our keys sign, of both kinds.

use std::time::Duration;

use auth::{AccessToken, Algorithm, IdToken, Issuer, JwksCache, KeySet, Refusal, Verifier};
use domain::{ExposeSecret as _, SystemEntropy, Tenant, Timestamp};
use jsonwebtoken::dangerous::insecure_decode_claims;
use serde_json::{Value, json};

use crate::config::key;

pub(crate) const ISSUER: &str = "https://idp.example/acme";
pub(crate) const AGENT: &str = "https://agents.example/horizon";

pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000)
}

/// The verifier of one issuer with the given fields.
pub(crate) fn verifier(issuer: Value) -> Verifier {
    let issuer: Issuer = serde_json::from_value(issuer).unwrap();
    Verifier::with_issuers(AGENT.into(), vec![issuer], &JwksCache::offline()).unwrap()
}

#[test]
fn access_tokens_of_both_algorithms_are_verified_where_they_are_allowed() {
    let acme = Tenant::parse("acme").unwrap();
    for algorithm in [Algorithm::Es256, Algorithm::Rs256] {
        let (key, _) = key(algorithm);
        let token = AccessToken {
            issuer: ISSUER,
            subject: "user-ada",
            tenant: Some(&acme),
            audience: AGENT,
            client_id: "host",
            scope: "tasks orders:read",
            auth_time: Some(now()),
            lifetime: Duration::from_secs(600),
        };
        let token = key.sign_access_token(&token, now(), &SystemEntropy).unwrap();
        let token = token.expose_secret();
        let header = jsonwebtoken::decode_header(token).unwrap();
        assert_eq!(
            (header.typ.as_deref(), header.kid.as_deref()),
            (Some("at+jwt"), Some(key.kid()))
        );
        let claims: Value = insecure_decode_claims(token).unwrap();
        let seconds = now().seconds();
        assert!(
            claims["jti"].as_str().is_some_and(|id| id.len() == 36),
            "{claims}"
        );
        let mut rest = claims.clone();
        rest.as_object_mut().unwrap().remove("jti");
        assert_eq!(
            rest,
            json!({
                "iss": ISSUER, "sub": "user-ada", "aud": AGENT, "client_id": "host", "scope": "tasks orders:read",
                "tenant_id": "acme", "iat": seconds, "exp": seconds + 600, "auth_time": seconds,
            })
        );

        let issuer = json!({ "issuer": ISSUER, "tenant": "acme", "keys": [key.public_jwk()], "algorithms": [algorithm] });
        let caller = verifier(issuer)
            .verify(token, now())
            .unwrap()
            .caller(Some(&acme), "orders:read tasks")
            .unwrap();
        assert_eq!(caller.owner.as_str(), "user-ada");
        // The library that others use agrees.
        let jwk: jsonwebtoken::jwk::Jwk = serde_json::from_value(key.public_jwk()).unwrap();
        let mut validation = jsonwebtoken::Validation::new(header.alg);
        validation.validate_exp = false;
        validation.set_audience(&[AGENT]);
        let decoding = jsonwebtoken::DecodingKey::from_jwk(&jwk).unwrap();
        assert!(jsonwebtoken::decode::<Value>(token, &decoding, &validation).is_ok());
    }
}

#[test]
fn an_identity_token_is_no_access_token() {
    let (key, _) = key(Algorithm::Es256);
    let acme = Tenant::parse("acme").unwrap();
    let token = IdToken {
        issuer: ISSUER,
        subject: "user-ada",
        tenant: Some(&acme),
        client_id: AGENT,
        nonce: Some("n-1"),
        auth_time: now(),
        name: Some("Ada"),
        preferred_username: None,
        lifetime: Duration::from_secs(600),
    };
    let token = key.sign_id_token(&token, now()).unwrap();
    let claims: Value = insecure_decode_claims(token.expose_secret()).unwrap();
    assert_eq!(
        (&claims["nonce"], &claims["name"], &claims["aud"]),
        (&json!("n-1"), &json!("Ada"), &json!(AGENT))
    );
    assert!(
        claims.get("preferred_username").is_none() && claims.get("scope").is_none(),
        "{claims}"
    );
    let issuer = json!({ "issuer": ISSUER, "tenant": "acme", "keys": [key.public_jwk()] });
    assert_eq!(
        verifier(issuer).verify(token.expose_secret(), now()),
        Err(Refusal::Malformed)
    );
}

#[test]
fn an_rsa_key_survives_its_pem_and_shows_no_private_part() {
    let (key, pem) = key(Algorithm::Rs256);
    let again = auth::SigningKey::from_pem(&pem).unwrap();
    assert_eq!((key.kid(), key.algorithm()), (again.kid(), Algorithm::Rs256));
    let mut names: Vec<_> = key.public_jwk().as_object().unwrap().keys().cloned().collect();
    names.sort_unstable();
    assert_eq!(names, ["alg", "e", "kid", "kty", "n", "use"]);
    // RFC 7638, as the JWT library computes it too.
    let jwk: jsonwebtoken::jwk::Jwk = serde_json::from_value(key.public_jwk()).unwrap();
    assert_eq!(
        jwk.thumbprint(jsonwebtoken::jwk::ThumbprintHash::SHA256).unwrap(),
        key.kid()
    );
}

#[test]
fn tokens_outlive_a_rotation_and_a_change_of_algorithm() {
    let acme = Tenant::parse("acme").unwrap();
    let sign = |set: &KeySet| {
        let grant = auth::Grant {
            issuer: ISSUER,
            subject: "s",
            tenant: Some(&acme),
            audience: AGENT,
            scopes: &["tasks"],
            lifetime: Duration::from_secs(600),
        };
        let token = set.current().sign(&grant, now(), &SystemEntropy).unwrap();
        token.expose_secret().to_owned()
    };
    let (first, text) = KeySet::generate(Algorithm::Es256).unwrap();
    let text = KeySet::rotated(&text, Algorithm::Rs256).unwrap();
    let second = KeySet::from_secret(&text).unwrap();
    let third = KeySet::from_secret(&KeySet::rotated(&text, Algorithm::Es256).unwrap()).unwrap();
    assert_eq!(third.current().algorithm(), Algorithm::Rs256);
    let check = |published: &KeySet, signing: &KeySet| {
        let issuer = json!({ "issuer": ISSUER, "tenant": "acme", "keys": published.public_jwks(), "algorithms": ["ES256", "RS256"] });
        verifier(issuer).verify(&sign(signing), now()).is_ok()
    };
    // Who read the document before a rotation knows the key that signs after it, and the other way round.
    assert!(check(&first, &second) && check(&second, &first));
    assert!(check(&second, &third) && check(&third, &second));
    assert!(!check(&third, &first));
}
