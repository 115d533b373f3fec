//! Signatures of webhooks as Standard Webhooks has them: over `{id}.{seconds}.{body}`, as `v1` (HMAC-SHA256 with a secret
//! that both sides have) and `v1a` (Ed25519, whose public half the sender publishes).
//!
//! The secret of `v1` follows from what the client gave for its notifications, its token or else its credentials: one
//! that is itself a secret of Standard Webhooks (`whsec_` and 24 to 64 bytes in base64) is taken as that, of any other
//! the bytes are the key. So any library checks it, with `whsec_` and the base64 of the token.
//!
//! ```
//! use auth::webhook::{self, WebhookMessage};
//! use domain::Timestamp;
//!
//! let message = WebhookMessage { id: "msg_1", at: Timestamp::from_millis(1_767_225_600_000), body: b"{}" };
//! let signature = webhook::hmac_signature(&"the-token".into(), &message);
//! assert!(signature.starts_with("v1,"));
//! ```

use std::time::Duration;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, ParsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use domain::{ExposeSecret as _, SecretString, Timestamp};
use serde_json::{Value, json};

use crate::{KeyError, Sealer, token};

/// The header with the id of a notification: the same one with every resend.
pub const ID_HEADER: &str = "webhook-id";
/// The header with the time of sending, in Unix seconds.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// The header with the signatures, apart by blanks.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// What a shared secret begins with.
const SECRET_PREFIX: &str = "whsec_";
/// Bytes of a shared secret, as Standard Webhooks wants them.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// What the name of a key for webhooks begins with: in a JWKS document keys for other ends may stand beside it.
const KEY_PREFIX: &str = "whpk_";
/// How far the clocks of sender and receiver may differ, and how long a notification may travel.
const TOLERANCE: Duration = Duration::from_secs(300);
/// Most signatures that are looked at in one header.
const MAX_SIGNATURES: usize = 8;

/// What is signed.
#[derive(Debug, Clone, Copy)]
pub struct WebhookMessage<'a> {
    /// The notification's id.
    pub id: &'a str,
    /// When it is sent; whole seconds count.
    pub at: Timestamp,
    /// Its body, byte for byte.
    pub body: &'a [u8],
}

impl WebhookMessage<'_> {
    fn content(&self) -> Vec<u8> {
        [
            format!("{}.{}.", self.id, self.at.seconds()).as_bytes(),
            self.body,
        ]
        .concat()
    }
}

/// True where a token is a secret of Standard Webhooks, which must never travel itself.
#[must_use]
pub fn is_secret(token: &SecretString) -> bool {
    decoded(token).is_some()
}

fn decoded(token: &SecretString) -> Option<Vec<u8>> {
    let text = token.expose_secret().strip_prefix(SECRET_PREFIX)?;
    let bytes = STANDARD.decode(text).ok()?;
    SECRET_BYTES.contains(&bytes.len()).then_some(bytes)
}

/// The `v1` signature with the secret that follows from a token.
#[must_use]
pub fn hmac_signature(token: &SecretString, message: &WebhookMessage<'_>) -> String {
    let secret = decoded(token).unwrap_or_else(|| token.expose_secret().as_bytes().to_vec());
    let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
    format!("v1,{}", STANDARD.encode(hmac::sign(&key, &message.content())))
}

/// The Ed25519 keys of a sender. They follow from its sealing keys, each for its own purpose, and so are rotated with
/// them: the **oldest** one signs, so that a new one is published long before anybody has to know it.
pub struct SenderKeys {
    keys: Vec<Ed25519KeyPair>,
}

impl SenderKeys {
    /// The keys of the sender with this address.
    ///
    /// # Errors
    /// [`KeyError::NotMade`], which 32 bytes never give.
    pub fn of(sealer: &Sealer, sender: &str) -> Result<Self, KeyError> {
        let seeds = sealer.derived(&format!("webhook-signature/{sender}"));
        let keys = seeds
            .iter()
            .map(|seed| Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| KeyError::NotMade));
        Ok(Self {
            keys: keys.collect::<Result<_, _>>()?,
        })
    }

    /// The `v1a` signature; `None` where there is no key at all.
    #[must_use]
    pub fn signature(&self, message: &WebhookMessage<'_>) -> Option<String> {
        // The oldest key: receivers that read our keys before a rotation know it.
        let signature = self.keys.last()?.sign(&message.content());
        Some(format!("v1a,{}", STANDARD.encode(signature)))
    }

    /// The public halves as JWKs (RFC 8037), the signing one first.
    #[must_use]
    pub fn public_jwks(&self) -> Vec<Value> {
        let jwk = |key: &Ed25519KeyPair| {
            let x = URL_SAFE_NO_PAD.encode(key.public_key());
            let thumbprint = token::hash(&format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#));
            let kid = format!("{KEY_PREFIX}{thumbprint}");
            json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": kid, "use": "sig", "alg": "EdDSA"})
        };
        self.keys.iter().rev().map(jwk).collect()
    }
}

impl std::fmt::Debug for SenderKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SenderKeys").finish_non_exhaustive()
    }
}

/// The Ed25519 keys for webhooks of a JWKS document, as text to keep (base64url): those whose `kid` begins with `whpk_`.
/// Whoever publishes a key under such a name signs every notification; other keys are passed over.
#[must_use]
pub fn published_keys(document: &Value) -> Vec<String> {
    let keys = document.get("keys").and_then(Value::as_array);
    let text = |jwk: &Value, name: &str| jwk.get(name).and_then(Value::as_str).map(str::to_owned);
    keys.into_iter()
        .flatten()
        .filter(|jwk| text(jwk, "crv").as_deref() == Some("Ed25519"))
        .filter(|jwk| text(jwk, "kid").is_some_and(|kid| kid.starts_with(KEY_PREFIX)))
        .filter(|jwk| text(jwk, "use").is_none_or(|usage| usage == "sig"))
        .filter_map(|jwk| text(jwk, "x"))
        .filter(|x| public_key(x).is_some())
        .take(MAX_SIGNATURES)
        .collect()
}

fn public_key(text: &str) -> Option<ParsedPublicKey> {
    let bytes = (text.len() <= 64).then(|| URL_SAFE_NO_PAD.decode(text).ok())??;
    (bytes.len() == 32).then(|| ParsedPublicKey::new(&ED25519, bytes).ok())?
}

/// Why a notification is not from whom it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSignature {
    /// A header is missing or unreadable.
    #[error("it is not signed")]
    Absent,
    /// It was sent too long ago, or in the future.
    #[error("it was not sent just now")]
    OutOfTime,
    /// No signature fits any key.
    #[error("no signature fits")]
    Wrong,
}

/// Checks the `v1a` signatures of a notification with the keys of its sender, as [`published_keys`] gave them. The
/// arguments are the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`.
///
/// # Errors
/// [`BadSignature`]
pub fn verify(
    headers: [Option<&str>; 3],
    body: &[u8],
    keys: &[String],
    now: Timestamp,
) -> Result<(), BadSignature> {
    let [Some(id), Some(seconds), Some(signatures)] = headers else {
        return Err(BadSignature::Absent);
    };
    let seconds: i64 = seconds.parse().map_err(|_| BadSignature::Absent)?;
    let seconds_off = now.seconds().abs_diff(seconds);
    if seconds_off > TOLERANCE.as_secs() {
        return Err(BadSignature::OutOfTime);
    }
    let at = Timestamp::from_millis(seconds.saturating_mul(1000));
    let content = WebhookMessage { id, at, body }.content();
    let signatures: Vec<Vec<u8>> = signatures
        .split(' ')
        .filter_map(|one| one.strip_prefix("v1a,"))
        .filter_map(|one| STANDARD.decode(one).ok())
        .take(MAX_SIGNATURES)
        .collect();
    if signatures.is_empty() {
        return Err(BadSignature::Absent);
    }
    let fits = keys.iter().filter_map(|key| public_key(key)).any(|key| {
        signatures
            .iter()
            .any(|signature| key.verify_sig(&content, signature).is_ok())
    });
    if fits { Ok(()) } else { Err(BadSignature::Wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_millis(1_674_087_231_000)
    }

    fn sealer(keys: &[u8]) -> Sealer {
        let key = |byte: &u8| {
            (
                format!("k{byte}"),
                SecretString::from(URL_SAFE_NO_PAD.encode([*byte; 32])),
            )
        };
        Sealer::new(keys.iter().map(key).collect()).unwrap()
    }

    fn message(body: &[u8]) -> WebhookMessage<'_> {
        WebhookMessage {
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            at: now(),
            body,
        }
    }

    /// The example that the Standard Webhooks libraries test themselves with.
    #[test]
    fn the_published_example_comes_out() {
        let message = WebhookMessage {
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            at: Timestamp::from_millis(1_614_265_330_000),
            body: br#"{"test": 2432232314}"#,
        };
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into();
        assert!(is_secret(&secret));
        assert_eq!(
            hmac_signature(&secret, &message),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn any_token_is_the_key_by_its_own_bytes() {
        let token = SecretString::from("a-token-of-no-special-form-at-all");
        let as_secret = format!("whsec_{}", STANDARD.encode("a-token-of-no-special-form-at-all"));
        assert!(!is_secret(&token));
        assert_eq!(
            hmac_signature(&token, &message(b"x")),
            hmac_signature(&as_secret.into(), &message(b"x"))
        );
        for no_secret in ["whsec_", "whsec_AAAA", "whsec_!", "WHSEC_AAAA", ""] {
            assert!(!is_secret(&no_secret.into()), "{no_secret}");
        }
    }

    #[test]
    fn a_signature_is_good_for_its_message_key_and_time_alone() {
        let keys = SenderKeys::of(&sealer(&[1]), "https://agents.example/a").unwrap();
        let published = published_keys(&json!({"keys": keys.public_jwks()}));
        let other = SenderKeys::of(&sealer(&[1]), "https://agents.example/b").unwrap();
        let others = published_keys(&json!({"keys": other.public_jwks()}));
        let body: &[u8] = br#"{"task":{}}"#;
        let signature = keys.signature(&message(body)).unwrap();
        let seconds = now().seconds().to_string();
        let headers = [
            Some("msg_p5jXN8AQM9LWM0D4loKWxJek"),
            Some(seconds.as_str()),
            Some(signature.as_str()),
        ];
        let check = |headers, body: &[u8], keys: &[String]| verify(headers, body, keys, now());
        assert_eq!(check(headers, body, &published), Ok(()));
        assert_eq!(check(headers, b"{}", &published), Err(BadSignature::Wrong));
        assert_eq!(check(headers, body, &others), Err(BadSignature::Wrong));
        assert_eq!(check(headers, body, &[]), Err(BadSignature::Wrong));
        let mut another = headers;
        another[0] = Some("msg_other");
        assert_eq!(check(another, body, &published), Err(BadSignature::Wrong));
        for missing in 0..3 {
            let mut fewer = headers;
            fewer[missing] = None;
            assert_eq!(check(fewer, body, &published), Err(BadSignature::Absent));
        }
        let several = format!("v1,AAAA v2,x v1a,!! v1a,AAAA {signature}");
        let mut fewer = headers;
        fewer[2] = Some(&several);
        assert_eq!(check(fewer, body, &published), Ok(()));
        for (off, expect) in [
            (300, Ok(())),
            (301, Err(BadSignature::OutOfTime)),
            (-300, Ok(())),
            (-301, Err(BadSignature::OutOfTime)),
        ] {
            let at = Timestamp::from_millis(now().millis() + off * 1000);
            assert_eq!(verify(headers, body, &published, at), expect, "{off}");
        }
        let mut rubbish = headers;
        for text in ["", "x", "1e9", "-1", "99999999999999999999"] {
            rubbish[1] = Some(text);
            assert!(check(rubbish, body, &published).is_err(), "{text}");
        }
    }

    #[test]
    fn a_rotation_publishes_a_key_before_it_signs() {
        let sender = "https://agents.example/a";
        let of = |keys: &[u8]| SenderKeys::of(&sealer(keys), sender).unwrap();
        let kid = |jwk: &Value| jwk["kid"].as_str().unwrap().to_owned();
        let (before, during, after) = (of(&[1]), of(&[2, 1]), of(&[2]));
        assert_eq!(kid(&during.public_jwks()[0]), kid(&before.public_jwks()[0]));
        assert_eq!(kid(&during.public_jwks()[1]), kid(&after.public_jwks()[0]));
        assert_eq!(
            during.signature(&message(b"x")),
            before.signature(&message(b"x")),
            "the older one still signs"
        );
        assert!(before.public_jwks()[0].get("d").is_none());
    }

    #[test]
    fn only_usable_keys_of_the_kind_are_read() {
        let good = SenderKeys::of(&sealer(&[1]), "s")
            .unwrap()
            .public_jwks()
            .remove(0);
        let [mut short, mut encrypts, mut other] = [(); 3].map(|()| good.clone());
        short["x"] = json!("AAAA");
        other["kid"] = json!("of-cards");
        encrypts["use"] = json!("enc");
        let document =
            json!({"keys": [7, {"kty": "EC", "crv": "P-256", "x": "a"}, short, encrypts, other, good]});
        assert_eq!(published_keys(&document), [good["x"].as_str().unwrap()]);
        for rubbish in [json!(null), json!([]), json!({"keys": 1}), json!({"keys": {}})] {
            assert!(published_keys(&rubbish).is_empty());
        }
    }
}
