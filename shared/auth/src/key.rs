//! Signing keys: ES256 (ECDSA on P-256 with SHA-256), named by their JWK thumbprint.

use std::time::Duration;

use domain::{Entropy, SecretString, Tenant, Timestamp};
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
    /// It did not sign.
    #[error("the key did not sign")]
    NotSigned,
}

/// A private key that signs access tokens.
pub struct SigningKey {
    kid: String,
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

impl SigningKey {
    /// A new key, and its PKCS#8 PEM to keep.
    ///
    /// # Errors
    /// [`KeyError::NotMade`] where the system has no entropy.
    pub fn generate() -> Result<(Self, SecretString), KeyError> {
        todo!()
    }

    /// The key of a PKCS#8 PEM.
    ///
    /// # Errors
    /// [`KeyError::NotEs256`] where it is none.
    pub fn from_pem(pem: &SecretString) -> Result<Self, KeyError> {
        todo!()
    }

    /// The key's name: its JWK thumbprint (RFC 7638).
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The public half, as a JWK.
    #[must_use]
    pub fn public_jwk(&self) -> Value {
        todo!()
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
        todo!()
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey")
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}
