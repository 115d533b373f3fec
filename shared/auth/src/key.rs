//! Signing keys: ES256 (ECDSA on P-256 with SHA-256), named by their JWK thumbprint.

use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{Entropy, ExposeSecret as _, SecretString, Tenant, Timestamp};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::Serialize;
use serde_json::Value;

/// A key that is unusable.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It could not be made.
    #[error("no key could be made")]
    NotMade,
    /// It is not an ES256 key in the wanted form.
    #[error("not an ES256 key: {0}")]
    NotEs256(&'static str),
    /// It is not a sealing key: 32 bytes, base64url, under a plain name.
    #[error("not a sealing key: {0}")]
    NotSealing(&'static str),
    /// One issuer is said to speak for two.
    #[error("an issuer is listed for two tenants")]
    Contradiction,
    /// It did not sign.
    #[error("the key did not sign")]
    NotSigned,
}

/// A private key that signs access tokens.
pub struct SigningKey {
    kid: String,
    jwk: Jwk,
    key: EncodingKey,
}

/// What a token is to say.
#[derive(Debug, Clone, Copy)]
pub struct Grant<'a> {
    /// Who issues it.
    pub issuer: &'a str,
    /// Whom it speaks of.
    pub subject: &'a str,
    /// Whose data it is for; none for the platform's own.
    pub tenant: Option<&'a Tenant>,
    /// The one service that it is for.
    pub audience: &'a str,
    /// What it allows.
    pub scopes: &'a [&'a str],
    /// How long it lives.
    pub lifetime: Duration,
}

/// What our access tokens say (RFC 9068).
#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
    jti: String,
    scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_id: Option<&'a Tenant>,
}

impl SigningKey {
    /// A new key, and its PKCS#8 PEM to keep. Made of the system's own entropy, which no test needs to foresee.
    ///
    /// # Errors
    /// [`KeyError::NotMade`] where the system has no entropy.
    pub fn generate() -> Result<(Self, SecretString), KeyError> {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let key = STANDARD.encode(key.map_err(|_| KeyError::NotMade)?.as_ref());
        let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
        for (index, char) in key.chars().enumerate() {
            if index > 0 && index % 64 == 0 {
                pem.push('\n');
            }
            pem.push(char);
        }
        pem.push_str("\n-----END PRIVATE KEY-----\n");
        let pem = SecretString::from(pem);
        Ok((Self::from_pem(&pem)?, pem))
    }

    /// The key of a PKCS#8 PEM.
    ///
    /// # Errors
    /// [`KeyError::NotEs256`] where it is none.
    pub fn from_pem(pem: &SecretString) -> Result<Self, KeyError> {
        let bad = |_| KeyError::NotEs256("no PKCS#8 PEM of a P-256 key");
        let key = EncodingKey::from_ec_pem(pem.expose_secret().as_bytes()).map_err(bad)?;
        let mut jwk = Jwk::from_encoding_key(&key, Algorithm::ES256).map_err(bad)?;
        let kid = thumbprint(&jwk)?;
        jwk.common.key_id = Some(kid.clone());
        jwk.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(Self { kid, jwk, key })
    }

    /// The key's name: its JWK thumbprint (RFC 7638).
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The public half, as a JWK.
    #[must_use]
    pub fn public_jwk(&self) -> Value {
        serde_json::to_value(&self.jwk).unwrap_or_default()
    }

    /// Signs an access token (RFC 9068).
    ///
    /// # Errors
    /// [`KeyError::NotSigned`], which a good key never gives.
    pub fn sign(
        &self,
        grant: &Grant<'_>,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<SecretString, KeyError> {
        let claims = Claims {
            iss: grant.issuer,
            sub: grant.subject,
            aud: grant.audience,
            iat: now.seconds(),
            exp: now.after(grant.lifetime).seconds(),
            jti: entropy.uuid().to_string(),
            scope: grant.scopes.join(" "),
            tenant_id: grant.tenant,
        };
        let mut header = Header::new(Algorithm::ES256);
        header.typ = Some(TYPE.to_owned());
        header.kid = Some(self.kid.clone());
        let token = jsonwebtoken::encode(&header, &claims, &self.key);
        token.map(SecretString::from).map_err(|_| KeyError::NotSigned)
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey")
            .field("kid", &self.kid)
            .field("key", &"***")
            .finish_non_exhaustive()
    }
}

/// The `typ` of an access token (RFC 9068): an identity token or a logout token of the same key is none.
pub(crate) const TYPE: &str = "at+jwt";

/// A JWK's name by its content, for keys of P-256 only.
pub(crate) fn thumbprint(jwk: &Jwk) -> Result<String, KeyError> {
    match &jwk.algorithm {
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => {}
        _ => return Err(KeyError::NotEs256("another kind or curve")),
    }
    let bad = |_| KeyError::NotEs256("without a thumbprint");
    jwk.thumbprint(ThumbprintHash::SHA256).map_err(bad)
}

#[cfg(test)]
mod tests {
    use domain::SystemEntropy;

    use super::*;

    #[test]
    fn a_key_survives_its_pem_and_never_prints() {
        let (key, pem) = SigningKey::generate().unwrap();
        let again = SigningKey::from_pem(&pem).unwrap();
        assert_eq!(key.kid(), again.kid());
        assert_eq!(key.public_jwk(), again.public_jwk());
        assert_ne!(key.kid(), SigningKey::generate().unwrap().0.kid());
        let body: String = pem.expose_secret().lines().nth(1).unwrap().to_owned();
        assert!(!format!("{key:?} {pem:?}").contains(&body));
    }

    #[test]
    fn the_public_jwk_has_no_private_part_and_its_name_is_its_thumbprint() {
        let (key, _) = SigningKey::generate().unwrap();
        let jwk = key.public_jwk();
        let mut names: Vec<_> = jwk.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["alg", "crv", "kid", "kty", "use", "x", "y"]);
        // RFC 7638: the required members in lexical order, without blanks.
        let members = format!(
            r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#,
            jwk["x"], jwk["y"]
        );
        assert_eq!(jwk["kid"], crate::token::hash(&members));
    }

    #[test]
    fn what_is_no_p_256_key_is_refused() {
        let p384 = EcdsaKeyPair::generate_pkcs8(
            &aws_lc_rs::signature::ECDSA_P384_SHA384_FIXED_SIGNING,
            &SystemRandom::new(),
        );
        let p384 = STANDARD.encode(p384.unwrap().as_ref());
        let (_, good) = SigningKey::generate().unwrap();
        let truncated = good.expose_secret().replacen("MIGH", "MIG", 1);
        for rubbish in [
            String::new(),
            "rubbish".into(),
            "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n".into(),
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".into(),
            format!("-----BEGIN PRIVATE KEY-----\n{p384}\n-----END PRIVATE KEY-----\n"),
            truncated,
        ] {
            let refused = SigningKey::from_pem(&rubbish.clone().into());
            assert!(matches!(refused, Err(KeyError::NotEs256(_))), "{rubbish}");
        }
    }

    #[test]
    fn no_two_tokens_are_alike() {
        let (key, _) = SigningKey::generate().unwrap();
        let grant = Grant {
            issuer: "i",
            subject: "s",
            tenant: None,
            audience: "a",
            scopes: &["tasks"],
            lifetime: Duration::from_secs(300),
        };
        let token = || {
            key.sign(&grant, Timestamp::from_millis(0), &SystemEntropy)
                .unwrap()
        };
        let ids = [token(), token()].map(|token| {
            jsonwebtoken::dangerous::insecure_decode_claims::<Value>(token.expose_secret()).unwrap()["jti"].clone()
        });
        assert_ne!(ids[0], ids[1]);
    }
}
