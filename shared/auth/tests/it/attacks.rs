//! Headers that would choose the key or the algorithm, and claims that stand twice.

use auth::{Algorithm, Refusal, SigningKey, Verifier};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{ExposeSecret as _, SecretString};
use jsonwebtoken::EncodingKey;
use serde_json::{Value, json};

use crate::config::key;
use crate::signed::{AGENT, ISSUER, now, verifier};

struct Bench {
    es256: (SigningKey, SecretString),
    rs256: (SigningKey, SecretString),
    verifier: Verifier,
}

/// An issuer with a key of each kind, both allowed.
fn bench() -> Bench {
    let (es256, rs256) = (key(Algorithm::Es256), key(Algorithm::Rs256));
    let verifier = verifier(json!({
        "issuer": ISSUER, "tenant": "acme", "keys": [es256.0.public_jwk(), rs256.0.public_jwk()],
        "algorithms": ["ES256", "RS256"],
    }));
    Bench {
        es256,
        rs256,
        verifier,
    }
}

fn claims() -> String {
    json!({ "iss": ISSUER, "sub": "s", "aud": AGENT, "exp": now().seconds() + 60, "tenant_id": "acme", "scope": "tasks" })
        .to_string()
}

impl Bench {
    /// Signs any header and any payload with the ES256 key.
    fn sign(&self, header: &str, payload: &str) -> String {
        let key = EncodingKey::from_ec_pem(self.es256.1.expose_secret().as_bytes()).unwrap();
        signed(header, payload, &key, jsonwebtoken::Algorithm::ES256)
    }

    fn header(&self, more: &Value) -> String {
        let mut header = json!({ "alg": "ES256", "typ": "at+jwt", "kid": self.es256.0.kid() });
        for (name, value) in more.as_object().unwrap() {
            header[name] = value.clone();
        }
        header.to_string()
    }

    fn check(&self, token: &str) -> Result<(), Refusal> {
        self.verifier.verify(token, now()).map(drop)
    }
}

fn signed(header: &str, payload: &str, key: &EncodingKey, algorithm: jsonwebtoken::Algorithm) -> String {
    let message = format!(
        "{}.{}",
        URL_SAFE_NO_PAD.encode(header),
        URL_SAFE_NO_PAD.encode(payload)
    );
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

#[test]
fn a_header_brings_no_key_and_points_at_none() {
    let bench = bench();
    let own = SigningKey::generate().unwrap().0.public_jwk();
    assert_eq!(
        bench.check(&bench.sign(
            &bench.header(&json!({ "cty": "x", "x5t": "y", "anything": 1 })),
            &claims()
        )),
        Ok(())
    );
    for more in [
        json!({ "jwk": own }),
        json!({ "jku": "https://attacker.example/keys" }),
        json!({ "x5u": "https://attacker.example/chain" }),
        json!({ "x5c": ["MIIB"] }),
        json!({ "crit": ["b64"], "b64": false }),
        json!({ "crit": [] }),
        json!({ "zip": "DEF" }),
        json!({ "kid": "../../../../dev/null" }),
        json!({ "kid": "' OR 1=1 --" }),
        json!({ "kid": "" }),
        json!({ "kid": null }),
        json!({ "kid": [bench.es256.0.kid()] }),
        json!({ "typ": "JWT" }),
        json!({ "typ": null }),
        json!({ "alg": null }),
        json!({ "alg": ["ES256"] }),
        json!({ "alg": "es256" }),
        json!({ "alg": "ES256 " }),
    ] {
        let token = bench.sign(&bench.header(&more), &claims());
        assert_eq!(bench.check(&token), Err(Refusal::Malformed), "{more}");
    }
}

#[test]
fn a_key_signs_with_its_own_algorithm_alone() {
    let bench = bench();
    let rsa = EncodingKey::from_rsa_pem(bench.rs256.1.expose_secret().as_bytes()).unwrap();
    let header =
        |alg: &str, key: &SigningKey| json!({ "alg": alg, "typ": "at+jwt", "kid": key.kid() }).to_string();
    let with_rsa = |header: &str, algorithm| signed(header, &claims(), &rsa, algorithm);
    use jsonwebtoken::Algorithm::{PS256, RS256, RS512};
    assert_eq!(
        bench.check(&with_rsa(&header("RS256", &bench.rs256.0), RS256)),
        Ok(())
    );
    for token in [
        // The right signature under another name of the algorithm or of the key.
        with_rsa(&header("ES256", &bench.rs256.0), RS256),
        with_rsa(&header("RS256", &bench.es256.0), RS256),
        with_rsa(&header("PS256", &bench.rs256.0), PS256),
        with_rsa(&header("RS512", &bench.rs256.0), RS512),
        bench.sign(&header("RS256", &bench.es256.0), &claims()),
        bench.sign(&header("ES256", &bench.rs256.0), &claims()),
    ] {
        assert_eq!(bench.check(&token), Err(Refusal::Malformed));
    }
    // The public key as the secret of an HMAC: its JWK, its modulus, and without any signature.
    let jwk = bench.rs256.0.public_jwk();
    let modulus = URL_SAFE_NO_PAD.decode(jwk["n"].as_str().unwrap()).unwrap();
    for alg in ["HS256", "HS384", "HS512", "none", "NONE", ""] {
        for secret in [jwk.to_string().into_bytes(), modulus.clone()] {
            let header = header(alg, &bench.rs256.0);
            let key = EncodingKey::from_secret(&secret);
            let token = signed(&header, &claims(), &key, jsonwebtoken::Algorithm::HS256);
            let unsigned = format!("{}.", token.rsplit_once('.').unwrap().0);
            for token in [token, unsigned] {
                assert_eq!(bench.check(&token), Err(Refusal::Malformed), "{alg}");
            }
        }
    }
}

#[test]
fn nothing_stands_twice_or_after_the_end() {
    let bench = bench();
    let header = bench.header(&json!({}));
    assert_eq!(bench.check(&bench.sign(&header, &claims())), Ok(()));
    let twice = |name: &str, value: Value| {
        let text = claims();
        format!("{},\"{name}\":{value}}}", &text[..text.len() - 1])
    };
    for (name, value) in [
        ("iss", json!(ISSUER)),
        ("sub", json!("admin")),
        ("aud", json!(AGENT)),
        ("exp", json!(9_999_999_999_i64)),
        ("tenant_id", json!("acme")),
        ("scope", json!("orders:read")),
        // The same name in another spelling of JSON.
        ("su\\u0062", json!("admin")),
    ] {
        assert_eq!(
            bench.check(&bench.sign(&header, &twice(name, value))),
            Err(Refusal::Malformed),
            "{name}"
        );
    }
    for payload in [
        format!("{}{{}}", claims()),
        format!("[{}]", claims()),
        format!("{} x", claims()),
        String::new(),
    ] {
        assert_eq!(
            bench.check(&bench.sign(&header, &payload)),
            Err(Refusal::Malformed),
            "{payload}"
        );
    }
    let head = header.trim_end_matches('}');
    for header in [
        format!("{head},\"alg\":\"ES256\"}}"),
        format!("{head},\"kid\":\"x\"}}"),
        format!("{header}{{}}"),
    ] {
        assert_eq!(
            bench.check(&bench.sign(&header, &claims())),
            Err(Refusal::Malformed),
            "{header}"
        );
    }
    // Parts too many, too few, padded, or in the other alphabet.
    let good = bench.sign(&header, &claims());
    for token in [
        format!("{good}.x"),
        format!(".{good}"),
        format!("{good}="),
        good.replacen('.', "", 1),
        format!(" {good}"),
        format!("{good}\n"),
    ] {
        assert_eq!(bench.check(&token), Err(Refusal::Malformed), "{token}");
    }
}
