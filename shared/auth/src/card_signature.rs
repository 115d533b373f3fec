//! Signatures of agent cards: detached JWS (RFC 7515, appendix F) over bytes that somebody else made canonical.
//!
//! An agent's keys are ES256 and follow from its sealing keys, so that there is no further secret to keep or to rotate.
//! Others' signatures are checked with ES256 or RS256 keys of a JWKS document that somebody else fetched.
//!
//! ```
//! use auth::card_signature::{self, CardKeys, Checked};
//! use auth::Sealer;
//! use domain::SystemEntropy;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sealer = Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))])?;
//! let keys = CardKeys::of(&sealer, "https://agents.example/weather")?;
//! let signed = keys.sign(b"{}", Some("https://agents.example/weather/.well-known/jwks.json"))?;
//! let jwks = serde_json::json!({ "keys": keys.public_jwks() });
//! let checked = card_signature::check(&signed.protected, &signed.signature, b"{}", &jwks);
//! assert!(matches!(checked, Checked::Good { .. }));
//! # Ok(()) }
//! ```

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::public_key::{PublicKey, name_of};
use crate::{KeyError, Sealer};

/// Longest protected header, and longest signature, in base64url.
const MAX_TEXT: usize = 4096;
/// Most keys of a document that are looked at.
const MAX_KEYS: usize = 32;
/// How often a derivation is tried: one value in 2^32 is no key of the curve.
const TRIES: u32 = 8;

/// The keys that an agent signs its card with, each following from one of its sealing keys.
pub struct CardKeys {
    /// Newest first; the newest one signs.
    keys: Vec<Key>,
}

struct Key {
    pair: EcdsaKeyPair,
    kid: String,
    jwk: Value,
}

/// The two halves of a JWS whose payload travels elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detached {
    /// The protected header, base64url.
    pub protected: String,
    /// The signature, base64url.
    pub signature: String,
}

impl CardKeys {
    /// The keys of this agent.
    ///
    /// # Errors
    /// [`KeyError::NotMade`], which does not happen with keys that seal.
    pub fn of(sealer: &Sealer, agent: &str) -> Result<Self, KeyError> {
        let mut keys: Vec<Key> = Vec::new();
        for attempt in 0..TRIES {
            let seeds = sealer.derived(&format!("card-signature/{attempt}/{agent}"));
            let made: Option<Vec<Key>> = seeds.iter().map(key_of).collect();
            if let Some(made) = made {
                keys = made;
                break;
            }
        }
        if keys.is_empty() {
            return Err(KeyError::NotMade);
        }
        Ok(Self { keys })
    }

    /// Signs these bytes with the newest key. `jku` says where the key is published.
    ///
    /// # Errors
    /// [`KeyError::NotSigned`] where the system has no entropy.
    pub fn sign(&self, payload: &[u8], jku: Option<&str>) -> Result<Detached, KeyError> {
        let key = self.keys.first().ok_or(KeyError::NotSigned)?;
        let mut header = json!({ "alg": "ES256", "kid": key.kid, "typ": "JOSE" });
        if let (Some(jku), Some(members)) = (jku, header.as_object_mut()) {
            members.insert("jku".to_owned(), jku.into());
        }
        let protected = URL_SAFE_NO_PAD.encode(header.to_string());
        let signature = key
            .pair
            .sign(
                &SystemRandom::new(),
                signing_input(&protected, payload).as_bytes(),
            )
            .map_err(|_| KeyError::NotSigned)?;
        Ok(Detached {
            signature: URL_SAFE_NO_PAD.encode(signature.as_ref()),
            protected,
        })
    }

    /// The public halves, for a JWKS document: those of older sealing keys too, as cards that they signed are still
    /// about.
    #[must_use]
    pub fn public_jwks(&self) -> Vec<Value> {
        self.keys.iter().map(|key| key.jwk.clone()).collect()
    }
}

impl std::fmt::Debug for CardKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kids: Vec<&str> = self.keys.iter().map(|key| key.kid.as_str()).collect();
        f.debug_struct("CardKeys")
            .field("kids", &kids)
            .finish_non_exhaustive()
    }
}

/// The key whose secret number this is; `None` where the curve has none such.
fn key_of(seed: &[u8; 32]) -> Option<Key> {
    let public = PrivateKey::from_private_key(&ECDH_P256, seed)
        .ok()?
        .compute_public_key()
        .ok()?;
    let pair = EcdsaKeyPair::from_private_key_and_public_key(
        &ECDSA_P256_SHA256_FIXED_SIGNING,
        seed,
        public.as_ref(),
    )
    .ok()?;
    // An uncompressed point: a byte 4, then both coordinates.
    let (_, coordinates) = pair.public_key().as_ref().split_first()?;
    let (x, y) = coordinates.split_at_checked(32)?;
    let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
    let mut jwk = json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "use": "sig", "alg": "ES256" });
    let kid = name_of(&jwk).ok()?;
    jwk.as_object_mut()?.insert("kid".to_owned(), kid.as_str().into());
    Some(Key { pair, kid, jwk })
}

/// What the protected header of a signature says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SignatureHeader {
    /// The algorithm.
    pub alg: String,
    /// The key's name.
    pub kid: String,
    /// Where the key is published. Whoever signed wrote it: it is no reason to trust what lies there.
    #[serde(default)]
    pub jku: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

/// What a check of one signature says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// The key of that name made it over these bytes.
    Good {
        /// The key's name.
        kid: String,
    },
    /// That key did not make it over these bytes, or it is no signature at all.
    Bad(&'static str),
    /// There is no way to tell here.
    Unknown(&'static str),
}

/// Reads a protected header.
///
/// # Errors
/// What is wrong with it.
pub fn header(protected: &str) -> Result<SignatureHeader, &'static str> {
    let no = "a signature's protected header is none";
    if protected.len() > MAX_TEXT {
        return Err(no);
    }
    let text = URL_SAFE_NO_PAD.decode(protected).map_err(|_| no)?;
    let header: SignatureHeader = serde_json::from_slice(&text).map_err(|_| no)?;
    if header.kid.is_empty() {
        return Err("a signature names no key");
    }
    Ok(header)
}

/// Checks a signature over these bytes with the keys of a JWKS document.
#[must_use]
pub fn check(protected: &str, signature: &str, payload: &[u8], jwks: &Value) -> Checked {
    let header = match header(protected) {
        Ok(header) => header,
        Err(reason) => return Checked::Bad(reason),
    };
    if header.crit.is_some() {
        // RFC 7515, 4.1.11: what one does not understand there must not be passed over.
        return Checked::Unknown("a signature has critical parameters that are not known here");
    }
    let listed = jwks.get("keys").and_then(Value::as_array);
    let keys = listed.into_iter().flatten().take(MAX_KEYS);
    let mut named = keys
        .filter_map(|jwk| PublicKey::read(jwk).ok())
        .filter(|(kid, _)| *kid == header.kid)
        .peekable();
    if named.peek().is_none() {
        return Checked::Unknown(
            "the key of a signature is not published, or of a kind that is not known here",
        );
    }
    let Some(signature) = Some(signature)
        .filter(|text| text.len() <= MAX_TEXT)
        .and_then(|text| URL_SAFE_NO_PAD.decode(text).ok())
    else {
        return Checked::Bad("a signature is not base64url");
    };
    let input = signing_input(protected, payload);
    // The key says its algorithm; the header may only agree.
    let good = named
        .any(|(_, key)| key.algorithm.as_str() == header.alg && key.signed(input.as_bytes(), &signature));
    if good {
        Checked::Good { kid: header.kid }
    } else {
        Checked::Bad("a signature does not fit the card")
    }
}

fn signing_input(protected: &str, payload: &[u8]) -> String {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload))
}

#[cfg(test)]
mod tests {
    use domain::SecretString;

    use super::*;
    use crate::SigningKey;

    fn sealer(keys: &[u8]) -> Sealer {
        let key = |byte: &u8| {
            let text = SecretString::from(URL_SAFE_NO_PAD.encode([*byte; 32]));
            (format!("k{byte}"), text)
        };
        Sealer::new(keys.iter().map(key).collect()).unwrap()
    }

    fn jwks(keys: &CardKeys) -> Value {
        json!({ "keys": keys.public_jwks() })
    }

    #[test]
    fn a_signature_is_good_for_its_bytes_and_key_alone() {
        let keys = CardKeys::of(&sealer(&[1]), "https://agents.example/a").unwrap();
        let signed = keys.sign(b"card", Some("https://agents.example/jwks")).unwrap();
        let told = header(&signed.protected).unwrap();
        assert_eq!(
            (told.alg.as_str(), told.jku.as_deref()),
            ("ES256", Some("https://agents.example/jwks"))
        );
        let check = |payload: &[u8], jwks: &Value| check(&signed.protected, &signed.signature, payload, jwks);
        assert_eq!(
            check(b"card", &jwks(&keys)),
            Checked::Good {
                kid: told.kid.clone()
            }
        );
        assert!(matches!(check(b"cart", &jwks(&keys)), Checked::Bad(_)));

        let other = CardKeys::of(&sealer(&[1]), "https://agents.example/b").unwrap();
        assert!(matches!(check(b"card", &jwks(&other)), Checked::Unknown(_)));
        // Another key under the same name.
        let mut forged = jwks(&other);
        forged["keys"][0]["kid"] = told.kid.into();
        assert!(matches!(check(b"card", &forged), Checked::Bad(_)));
        for none in [
            json!({}),
            json!(null),
            json!({"keys": 7}),
            json!({"keys": [7, {}]}),
        ] {
            assert!(matches!(check(b"card", &none), Checked::Unknown(_)), "{none}");
        }
    }

    #[test]
    fn the_same_sealing_key_gives_the_same_key_and_an_older_one_stays_published() {
        let agent = "https://agents.example/a";
        let of = |keys: &[u8]| CardKeys::of(&sealer(keys), agent).unwrap();
        assert_eq!(of(&[1]).public_jwks(), of(&[1]).public_jwks());
        let before = of(&[1]).sign(b"card", None).unwrap();
        let after = of(&[2, 1]);
        assert_eq!(after.public_jwks().len(), 2);
        let still = check(&before.protected, &before.signature, b"card", &jwks(&after));
        assert!(matches!(still, Checked::Good { .. }));
        let signed = after.sign(b"card", None).unwrap();
        assert_eq!(
            header(&signed.protected).unwrap().kid,
            after.public_jwks()[0]["kid"]
        );
        assert!(!format!("{after:?}").contains(after.public_jwks()[0]["x"].as_str().unwrap()));
    }

    #[test]
    fn headers_cannot_choose_what_is_checked() {
        let (key, _) = SigningKey::generate().unwrap();
        let jwks = json!({ "keys": [key.public_jwk()] });
        let told = |header: Value| {
            let protected = URL_SAFE_NO_PAD.encode(header.to_string());
            check(&protected, "AAAA", b"card", &jwks)
        };
        let kid = key.kid();
        assert!(matches!(
            told(json!({"alg": "none", "kid": kid})),
            Checked::Bad(_)
        ));
        assert!(matches!(
            told(json!({"alg": "HS256", "kid": kid})),
            Checked::Bad(_)
        ));
        assert!(matches!(
            told(json!({"alg": "ES256", "kid": kid})),
            Checked::Bad(_)
        ));
        assert!(matches!(told(json!({"alg": "ES256"})), Checked::Bad(_)));
        assert!(matches!(
            told(json!({"alg": "ES256", "kid": ""})),
            Checked::Bad(_)
        ));
        assert!(matches!(told(json!([])), Checked::Bad(_)));
        let critical = told(json!({"alg": "ES256", "kid": kid, "crit": ["b64"], "b64": false}));
        assert!(matches!(critical, Checked::Unknown(_)));
        for rubbish in ["", "*", &"A".repeat(MAX_TEXT + 1)] {
            assert!(matches!(check(rubbish, "AAAA", b"card", &jwks), Checked::Bad(_)));
        }
    }
}
