//! Verifying access tokens, offline, against a configured list of issuers.

use domain::{Caller, Scopes, Tenant, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{KeyError, Refusal};

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

impl Verifier {
    /// A verifier for the service `audience`.
    ///
    /// # Errors
    /// [`KeyError::NotEs256`] where one of the keys is not an ES256 key.
    pub fn new(audience: String, issuers: Vec<TrustedIssuer>) -> Result<Self, KeyError> {
        Ok(Self { audience })
    }

    /// Verifies a token: signature, form, issuer, audience, time, and that its issuer may speak for its tenant.
    ///
    /// # Errors
    /// [`Refusal`] says which answer the caller gets.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Verified, Refusal> {
        todo!()
    }
}

impl Verified {
    /// The caller, where the token allows `needed_scope` and its tenant is the agent's own (or the agent has none).
    ///
    /// # Errors
    /// [`Refusal::WrongTenant`] or [`Refusal::SmallScope`].
    pub fn caller(&self, own: Option<&Tenant>, needed_scope: &str) -> Result<Caller, Refusal> {
        todo!()
    }
}
