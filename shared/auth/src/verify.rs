//! Verifying access tokens, offline, against a configured list of issuers.

use std::collections::HashMap;
use std::time::Duration;

use domain::{Caller, Owner, Scopes, Tenant, Timestamp};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::key::{TYPE, thumbprint};
use crate::{KeyError, Refusal};

/// How far clocks may be apart.
const LEEWAY: Duration = Duration::from_secs(60);

/// Longest token that is looked at.
const TOKEN_LIMIT: usize = 8 * 1024;

/// Scopes that only the platform's own issuer can grant, whatever a tenant's key signs.
const PLATFORM_SCOPES: [&str; 1] = ["registry:admin"];

/// An issuer whose tokens are trusted, and for which tenant it may speak.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct TrustedIssuer {
    /// The `iss` of its tokens, to the letter.
    pub issuer: String,
    /// The one tenant it speaks for; none for the platform, which speaks for no tenant.
    pub tenant: Option<Tenant>,
    /// Its public keys, as JWKs.
    pub keys: Vec<Value>,
}

/// Verifies the tokens for one service.
pub struct Verifier {
    audience: String,
    issuers: HashMap<String, Issuer>,
}

struct Issuer {
    tenant: Option<Tenant>,
    keys: HashMap<String, DecodingKey>,
}

/// What a verified token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Who issued it.
    pub issuer: String,
    /// Whom it speaks of: the text of an owner.
    pub subject: String,
    /// Whose data it is for; none for the platform's own.
    pub tenant: Option<Tenant>,
    /// What it allows.
    pub scopes: Scopes,
    /// Until when it says so.
    pub expires_at: Timestamp,
}

/// What a token claims before its signature is checked: good for choosing the key, and for nothing else.
#[derive(Deserialize)]
struct UnverifiedClaims {
    iss: String,
}

/// What a token says once its signature is checked.
#[derive(Deserialize)]
struct Claims {
    sub: String,
    aud: Audience,
    exp: i64,
    #[serde(default)]
    nbf: Option<i64>,
    #[serde(default)]
    iat: Option<i64>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    tenant_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Verifier {
    /// A verifier for the service `audience`. Several entries of one issuer are one, as long as they agree on its
    /// tenant.
    ///
    /// # Errors
    /// [`KeyError::NotEs256`] where one of the keys is not an ES256 key; [`KeyError::Contradiction`] where an issuer
    /// is said to speak for two.
    pub fn new(audience: String, issuers: Vec<TrustedIssuer>) -> Result<Self, KeyError> {
        let mut known: HashMap<String, Issuer> = HashMap::new();
        for TrustedIssuer { issuer, tenant, keys } in issuers {
            let entry = known.entry(issuer).or_insert_with(|| Issuer {
                tenant: tenant.clone(),
                keys: HashMap::new(),
            });
            if entry.tenant != tenant {
                return Err(KeyError::Contradiction);
            }
            for key in keys {
                let jwk: Jwk = serde_json::from_value(key).map_err(|_| KeyError::NotEs256("no JWK"))?;
                let thumbprint = thumbprint(&jwk)?;
                let key =
                    DecodingKey::from_jwk(&jwk).map_err(|_| KeyError::NotEs256("no point of the curve"))?;
                entry.keys.insert(jwk.common.key_id.unwrap_or(thumbprint), key);
            }
        }
        Ok(Self {
            audience,
            issuers: known,
        })
    }

    /// Verifies a token: signature, form, issuer, audience, time, and that its issuer may speak for its tenant.
    ///
    /// # Errors
    /// [`Refusal`] says which answer the caller gets.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Verified, Refusal> {
        if token.len() > TOKEN_LIMIT {
            return Err(Refusal::Malformed);
        }
        let malformed = |_| Refusal::Malformed;
        let header = jsonwebtoken::decode_header(token).map_err(malformed)?;
        let kid = acceptable(&header).ok_or(Refusal::Malformed)?;
        let UnverifiedClaims { iss } =
            jsonwebtoken::dangerous::insecure_decode_claims(token).map_err(malformed)?;
        let issuer = self.issuers.get(&iss).ok_or(Refusal::Malformed)?;
        let key = issuer.keys.get(kid).ok_or(Refusal::Malformed)?;
        let claims = jsonwebtoken::decode::<Claims>(token, key, &signature_only())
            .map_err(malformed)?
            .claims;

        let audience = match &claims.aud {
            Audience::One(audience) => *audience == self.audience,
            Audience::Many(audiences) => audiences.contains(&self.audience),
        };
        if !audience || Owner::parse(&claims.sub).is_err() {
            return Err(Refusal::Malformed);
        }
        let soon = now.after(LEEWAY).seconds();
        if claims.nbf.is_some_and(|from| from > soon) || claims.iat.is_some_and(|made| made > soon) {
            return Err(Refusal::Malformed);
        }
        if claims.exp <= now.before(LEEWAY).seconds() {
            return Err(Refusal::Expired);
        }
        if claims.tenant_id.as_deref() != issuer.tenant.as_ref().map(Tenant::as_str) {
            return Err(Refusal::WrongTenant);
        }
        let granted = |scope: &&str| issuer.tenant.is_none() || !PLATFORM_SCOPES.contains(scope);
        Ok(Verified {
            issuer: iss,
            subject: claims.sub,
            tenant: issuer.tenant.clone(),
            scopes: claims
                .scope
                .split_ascii_whitespace()
                .filter(granted)
                .map(str::to_owned)
                .collect(),
            expires_at: Timestamp::from_millis(claims.exp.saturating_mul(1000)),
        })
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier")
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}

/// The key's name, where the header is one we take: no other algorithm, no other kind of token, and no extension
/// that we would have to understand.
fn acceptable(header: &Header) -> Option<&str> {
    let kind = header.typ.as_deref()?;
    let kind = kind
        .get(.."application/".len())
        .filter(|start| start.eq_ignore_ascii_case("application/"))
        .map_or(kind, |start| kind.get(start.len()..).unwrap_or_default());
    let fits = header.alg == Algorithm::ES256 && kind.eq_ignore_ascii_case(TYPE) && header.crit.is_none();
    header.kid.as_deref().filter(|_| fits)
}

/// Everything but the signature is checked here, against the time that is passed in.
fn signature_only() -> Validation {
    let mut validation = Validation::new(Algorithm::ES256);
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    validation
}

impl Verified {
    /// The caller, where the token allows `needed_scope` and its tenant is the agent's own (or the agent has none).
    ///
    /// # Errors
    /// [`Refusal::WrongTenant`] where it is another tenant's or the platform's, [`Refusal::SmallScope`].
    pub fn caller(&self, own: Option<&Tenant>, needed_scope: &str) -> Result<Caller, Refusal> {
        let tenant = self.tenant.as_ref().ok_or(Refusal::WrongTenant)?;
        if own.is_some_and(|own| own != tenant) {
            return Err(Refusal::WrongTenant);
        }
        if !self.scopes.contains(needed_scope) {
            return Err(Refusal::SmallScope {
                needed: needed_scope.to_owned(),
            });
        }
        Ok(Caller {
            tenant: tenant.clone(),
            owner: Owner::parse(&self.subject).map_err(|_| Refusal::Malformed)?,
            scopes: self.scopes.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
