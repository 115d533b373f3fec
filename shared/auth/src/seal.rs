//! Secrets at rest: XChaCha20-Poly1305 with keys that can be rotated.

use domain::{Entropy, SecretString};

use crate::KeyError;

/// Why something sealed does not open. One reason only: more would help an attacker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sealed text does not open")]
pub struct SealError;

/// Seals with its first key, opens with every one.
pub struct Sealer {
    keys: Vec<(String, SecretString)>,
}

impl Sealer {
    /// A sealer with these keys, newest first: each a plain name and 32 bytes in base64url.
    ///
    /// # Errors
    /// [`KeyError::NotSealing`] where there is none, or one is not of that form.
    pub fn new(keys: Vec<(String, SecretString)>) -> Result<Self, KeyError> {
        Ok(Self { keys })
    }

    /// A new key.
    #[must_use]
    pub fn generate_key(entropy: &dyn Entropy) -> SecretString {
        todo!()
    }

    /// Seals, bound to `associated`: it opens only with the same.
    #[must_use]
    pub fn seal(&self, plain: &[u8], associated: &str, entropy: &dyn Entropy) -> String {
        todo!()
    }

    /// Opens what one of the keys sealed with the same `associated`.
    ///
    /// # Errors
    /// [`SealError`] for anything else.
    pub fn open(&self, sealed: &str, associated: &str) -> Result<Vec<u8>, SealError> {
        todo!()
    }
}
