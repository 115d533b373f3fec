//! Public keys: what is taken of a JWK (RFC 7517), its name, and checking signatures with it.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::{Algorithm, KeyError, token};

/// Longest name of a key.
const KID_LIMIT: usize = 256;
/// Bytes of an RSA modulus: 2048 to 4096 bits. Larger ones only cost whoever verifies.
const MODULUS: std::ops::RangeInclusive<usize> = 256..=512;

/// Most keys of a set that are judged.
const JUDGED_MAX: usize = 100;

/// A key that signatures are checked with, parsed once.
pub(crate) struct PublicKey {
    pub(crate) algorithm: Algorithm,
    key: ParsedPublicKey,
}

/// The members of a JWK that matter here.
#[derive(Deserialize)]
struct Jwk<'a> {
    kty: &'a str,
    crv: Option<&'a str>,
    x: Option<&'a str>,
    y: Option<&'a str>,
    n: Option<&'a str>,
    e: Option<&'a str>,
    kid: Option<&'a str>,
    alg: Option<&'a str>,
    #[serde(rename = "use")]
    usage: Option<&'a str>,
    d: Option<IgnoredAny>,
}

impl PublicKey {
    /// The key of a JWK with its name: its `kid`, or its thumbprint where it has none.
    pub(crate) fn read(jwk: &Value) -> Result<(String, Self), KeyError> {
        let jwk = Jwk::deserialize(jwk).map_err(|_| KeyError::Unusable("no JWK"))?;
        if jwk.d.is_some() {
            return Err(KeyError::Unusable("a private key where a public one belongs"));
        }
        if jwk.usage.is_some_and(|usage| usage != "sig") {
            return Err(KeyError::Unusable("not for signatures"));
        }
        let (algorithm, key) = match jwk.kty {
            "EC" => (Algorithm::Es256, point(&jwk)?),
            "RSA" => (Algorithm::Rs256, modulus(&jwk)?),
            _ => return Err(KeyError::Unusable("neither P-256 nor RSA")),
        };
        if jwk.alg.is_some_and(|told| told != algorithm.as_str()) {
            return Err(KeyError::Unusable("for another algorithm than ES256 or RS256"));
        }
        let kid = match jwk.kid {
            Some(kid) if kid.len() > KID_LIMIT => return Err(KeyError::Unusable("with too long a name")),
            Some(kid) => kid.to_owned(),
            None => thumbprint(&jwk),
        };
        Ok((kid, Self { algorithm, key }))
    }

    /// Whether the key's owner signed this.
    pub(crate) fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        self.key.verify_sig(message, signature).is_ok()
    }
}

/// The keys of a JWK set (RFC 7517 §5): of each its name, or why no signature is checked with it. A hundred at most are looked at.
#[must_use]
pub fn judged_keys(set: &Value) -> Vec<Result<String, KeyError>> {
    let keys = set.get("keys").and_then(Value::as_array);
    let judged = keys.into_iter().flatten().take(JUDGED_MAX).map(PublicKey::read);
    judged.map(|key| key.map(|(name, _)| name)).collect()
}

/// What a JWK without a name is known by (RFC 7638).
pub(crate) fn name_of(jwk: &Value) -> Result<String, KeyError> {
    let jwk = Jwk::deserialize(jwk).map_err(|_| KeyError::Unusable("no JWK"))?;
    Ok(thumbprint(&jwk))
}

/// The required members in lexical order, without blanks. Whoever asks has decoded them: they need no escapes.
fn thumbprint(jwk: &Jwk<'_>) -> String {
    let text = |member: Option<&str>| member.unwrap_or_default().to_owned();
    let members = match jwk.kty {
        "RSA" => format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, text(jwk.e), text(jwk.n)),
        kty => format!(
            r#"{{"crv":"{}","kty":"{kty}","x":"{}","y":"{}"}}"#,
            text(jwk.crv),
            text(jwk.x),
            text(jwk.y)
        ),
    };
    token::hash(&members)
}

fn point(jwk: &Jwk<'_>) -> Result<ParsedPublicKey, KeyError> {
    if jwk.crv != Some("P-256") {
        return Err(KeyError::Unusable("of another curve than P-256"));
    }
    let bad = KeyError::Unusable("no point of the curve");
    let (Some(x), Some(y)) = (bytes(jwk.x), bytes(jwk.y)) else {
        return Err(bad);
    };
    if x.len() != 32 || y.len() != 32 {
        return Err(bad);
    }
    let point = [&[4][..], &x, &y].concat();
    ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).map_err(|_| bad)
}

fn modulus(jwk: &Jwk<'_>) -> Result<ParsedPublicKey, KeyError> {
    let bad = KeyError::Unusable("no RSA key of 2048 to 4096 bits with the exponent 65537");
    let (Some(n), Some(e)) = (bytes(jwk.n), bytes(jwk.e)) else {
        return Err(bad);
    };
    if !MODULUS.contains(&n.len()) || e != [1, 0, 1] {
        return Err(bad);
    }
    let components = RsaPublicKeyComponents { n, e };
    components
        .to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256)
        .map_err(|_| bad)
}

fn bytes(member: Option<&str>) -> Option<Vec<u8>> {
    // Four thirds of the largest modulus, so that nothing huge is decoded.
    let text = member.filter(|text| text.len() <= 700)?;
    URL_SAFE_NO_PAD.decode(text).ok()
}
