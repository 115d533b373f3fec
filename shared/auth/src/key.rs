//! Signing keys: ES256 (ECDSA on P-256 with SHA-256) or RS256 (RSA, 2048 bits), named by their JWK thumbprint, and
//! what they sign.

use std::time::Duration;

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use domain::{Entropy, ExposeSecret as _, SecretString, Tenant, Timestamp};
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{EncodingKey, Header};
use serde::Serialize;
use serde_json::Value;

use crate::public_key::{PublicKey, name_of};
use crate::{Algorithm, KeyError};

/// A private key that signs tokens.
pub struct SigningKey {
    kid: String,
    algorithm: Algorithm,
    jwk: Value,
    key: EncodingKey,
    /// The key as what other keys are derived from.
    root: hmac::Key,
}

/// What a token of a session is to say.
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

/// What an access token of an authorization server is to say (RFC 9068).
#[derive(Debug, Clone, Copy)]
pub struct AccessToken<'a> {
    /// Who issues it.
    pub issuer: &'a str,
    /// Whom it speaks of; the client itself where no user is involved.
    pub subject: &'a str,
    /// Whose data it is for.
    pub tenant: Option<&'a Tenant>,
    /// The one resource that it is for (RFC 8707).
    pub audience: &'a str,
    /// Who asked for it.
    pub client_id: &'a str,
    /// What it allows, words apart by blanks.
    pub scope: &'a str,
    /// When the user logged in; none where no user is involved.
    pub auth_time: Option<Timestamp>,
    /// How long it lives.
    pub lifetime: Duration,
}

/// What an identity token is to say (OpenID Connect Core, 2). No agent takes one for an access token: its `typ` differs.
#[derive(Debug, Clone, Copy)]
pub struct IdToken<'a> {
    /// Who issues it.
    pub issuer: &'a str,
    /// Whom it speaks of.
    pub subject: &'a str,
    /// Whose user that is.
    pub tenant: Option<&'a Tenant>,
    /// Who asked for it; its audience.
    pub client_id: &'a str,
    /// What the client sent along to know its own request by.
    pub nonce: Option<&'a str>,
    /// When the user logged in.
    pub auth_time: Timestamp,
    /// What the user is called, where the scope `profile` was granted.
    pub name: Option<&'a str>,
    /// The name the user logs in with, likewise.
    pub preferred_username: Option<&'a str>,
    /// How long it lives.
    pub lifetime: Duration,
}

/// The claims of all of them.
#[derive(Serialize, Default)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_username: Option<&'a str>,
}

impl SigningKey {
    /// A new ES256 key, and its PKCS#8 PEM to keep. Made of the system's own entropy, which no test needs to foresee.
    ///
    /// # Errors
    /// [`KeyError::NotMade`] where the system has no entropy.
    pub fn generate() -> Result<(Self, SecretString), KeyError> {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        kept(key.map_err(|_| KeyError::NotMade)?.as_ref())
    }

    /// A new RS256 key of 2048 bits, and its PKCS#8 PEM to keep. It takes a good part of a second to make.
    ///
    /// # Errors
    /// As [`SigningKey::generate`].
    pub fn generate_rs256() -> Result<(Self, SecretString), KeyError> {
        let key = RsaKeyPair::generate(KeySize::Rsa2048).map_err(|_| KeyError::NotMade)?;
        let key: Pkcs8V1Der<'_> = key.as_der().map_err(|_| KeyError::NotMade)?;
        kept(key.as_ref())
    }

    /// A new key for this algorithm, and its PKCS#8 PEM to keep.
    ///
    /// # Errors
    /// As [`SigningKey::generate`].
    pub fn generate_for(algorithm: Algorithm) -> Result<(Self, SecretString), KeyError> {
        match algorithm {
            Algorithm::Es256 => Self::generate(),
            Algorithm::Rs256 => Self::generate_rs256(),
        }
    }

    /// The key of a PKCS#8 PEM, of either kind.
    ///
    /// # Errors
    /// [`KeyError::Unusable`] where it is none.
    pub fn from_pem(pem: &SecretString) -> Result<Self, KeyError> {
        let bad = |_| KeyError::Unusable("no PKCS#8 PEM of a P-256 or RSA key");
        let root = root(pem)?;
        let pem = pem.expose_secret().as_bytes();
        let (key, algorithm) = match EncodingKey::from_ec_pem(pem) {
            Ok(key) => (key, Algorithm::Es256),
            Err(_) => (EncodingKey::from_rsa_pem(pem).map_err(bad)?, Algorithm::Rs256),
        };
        let mut jwk = Jwk::from_encoding_key(&key, jws(algorithm)).map_err(bad)?;
        jwk.common.public_key_use = Some(PublicKeyUse::Signature);
        let mut jwk = serde_json::to_value(jwk).unwrap_or_default();
        let kid = name_of(&jwk)?;
        if let Some(members) = jwk.as_object_mut() {
            members.insert("kid".to_owned(), kid.as_str().into());
        }
        // A key that no verifier would take must not sign either.
        PublicKey::read(&jwk)?;
        Ok(Self {
            kid,
            algorithm,
            jwk,
            key,
            root,
        })
    }

    /// 32 bytes for a purpose: keys of other kinds need no secret of their own, and nothing about this one can be learned from them
    /// (HMAC-SHA256 as a key derivation function, as [`Sealer::derived`](crate::Sealer::derived) has it).
    pub(crate) fn derived(&self, purpose: &str) -> [u8; 32] {
        let mut derived = [0; 32];
        let tag = hmac::sign(&self.root, format!("switchyard/{purpose}").as_bytes());
        derived.copy_from_slice(tag.as_ref());
        derived
    }

    /// The public half as an uncompressed point; none of an RSA key.
    pub(crate) fn public_point(&self) -> Option<Vec<u8>> {
        let part = |name: &str| URL_SAFE_NO_PAD.decode(self.jwk.get(name)?.as_str()?).ok();
        Some([vec![4], part("x")?, part("y")?].concat())
    }

    /// A JWT with this very header and these claims, for those who want no more in it.
    pub(crate) fn sign_plain(
        &self,
        header: &Header,
        claims: &impl Serialize,
    ) -> Result<SecretString, KeyError> {
        let token = jsonwebtoken::encode(header, claims, &self.key);
        token.map(SecretString::from).map_err(|_| KeyError::NotSigned)
    }

    /// The key's name: its JWK thumbprint (RFC 7638).
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// What it signs with.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The public half, as a JWK.
    #[must_use]
    pub fn public_jwk(&self) -> Value {
        self.jwk.clone()
    }

    /// Signs an access token of a session.
    ///
    /// # Errors
    /// [`KeyError::NotSigned`], which a good key never gives.
    pub fn sign(
        &self,
        grant: &Grant<'_>,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<SecretString, KeyError> {
        self.sign_as(TYPE, grant, now, entropy)
    }

    /// The key whose secret number this is; `None` where the curve has none such.
    pub(crate) fn of_number(number: &[u8; 32]) -> Option<Self> {
        let public = PrivateKey::from_private_key(&ECDH_P256, number)
            .ok()?
            .compute_public_key()
            .ok()?;
        let signs = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_private_key_and_public_key(signs, number, public.as_ref()).ok()?;
        kept(pair.to_pkcs8v1().ok()?.as_ref()).ok().map(|(key, _)| key)
    }

    fn sign_as(
        &self,
        kind: &str,
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
            jti: Some(entropy.uuid().to_string()),
            scope: Some(&grant.scopes.join(" ")),
            tenant_id: grant.tenant.map(Tenant::name),
            ..Claims::default()
        };
        self.encode(kind, &claims)
    }

    /// Signs a proof of a browser ([`crate::BrowserKeys`]), which no verifier of access tokens takes: its type is another.
    pub(crate) fn sign_proof(
        &self,
        kind: &str,
        grant: &Grant<'_>,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<SecretString, KeyError> {
        self.sign_as(kind, grant, now, entropy)
    }

    /// Signs an access token of an authorization server (RFC 9068).
    ///
    /// # Errors
    /// As [`SigningKey::sign`].
    pub fn sign_access_token(
        &self,
        token: &AccessToken<'_>,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<SecretString, KeyError> {
        let claims = Claims {
            iss: token.issuer,
            sub: token.subject,
            aud: token.audience,
            iat: now.seconds(),
            exp: now.after(token.lifetime).seconds(),
            jti: Some(entropy.uuid().to_string()),
            scope: Some(token.scope),
            tenant_id: token.tenant.map(Tenant::name),
            client_id: Some(token.client_id),
            auth_time: token.auth_time.map(Timestamp::seconds),
            ..Claims::default()
        };
        self.encode(TYPE, &claims)
    }

    /// Signs an identity token.
    ///
    /// # Errors
    /// As [`SigningKey::sign`].
    pub fn sign_id_token(&self, token: &IdToken<'_>, now: Timestamp) -> Result<SecretString, KeyError> {
        let claims = Claims {
            iss: token.issuer,
            sub: token.subject,
            aud: token.client_id,
            iat: now.seconds(),
            exp: now.after(token.lifetime).seconds(),
            tenant_id: token.tenant.map(Tenant::name),
            auth_time: Some(token.auth_time.seconds()),
            nonce: token.nonce,
            name: token.name,
            preferred_username: token.preferred_username,
            ..Claims::default()
        };
        self.encode("JWT", &claims)
    }

    fn encode(&self, kind: &str, claims: &Claims<'_>) -> Result<SecretString, KeyError> {
        let mut header = Header::new(jws(self.algorithm));
        header.typ = Some(kind.to_owned());
        header.kid = Some(self.kid.clone());
        let token = jsonwebtoken::encode(&header, claims, &self.key);
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

fn jws(algorithm: Algorithm) -> jsonwebtoken::Algorithm {
    match algorithm {
        Algorithm::Es256 => jsonwebtoken::Algorithm::ES256,
        Algorithm::Rs256 => jsonwebtoken::Algorithm::RS256,
    }
}

/// What other keys are derived from: the key's bytes, however its PEM is broken into lines.
fn root(pem: &SecretString) -> Result<hmac::Key, KeyError> {
    let lines = pem.expose_secret().lines().map(str::trim);
    let text: String = lines.filter(|line| !line.starts_with("-----")).collect();
    let bytes = STANDARD.decode(text);
    let bytes = bytes.map_err(|_| KeyError::Unusable("no PKCS#8 PEM of a P-256 or RSA key"))?;
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

/// A new key from its PKCS#8, with the PEM of it.
fn kept(pkcs8: &[u8]) -> Result<(SigningKey, SecretString), KeyError> {
    let key = STANDARD.encode(pkcs8);
    let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
    for (index, char) in key.chars().enumerate() {
        if index > 0 && index % 64 == 0 {
            pem.push('\n');
        }
        pem.push(char);
    }
    pem.push_str("\n-----END PRIVATE KEY-----\n");
    let pem = SecretString::from(pem);
    Ok((SigningKey::from_pem(&pem)?, pem))
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
    fn what_is_neither_a_p_256_nor_an_rsa_key_is_refused() {
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
            assert!(matches!(refused, Err(KeyError::Unusable(_))), "{rubbish}");
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
