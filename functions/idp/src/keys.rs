//! The key set in use. Making, keeping and rotating one is `auth::KeySet`.

use std::sync::{Arc, PoisonError, RwLock};

use auth::KeySet;

/// The key set in use. Every clone is the same one, so that a set that was rotated while the system runs can take its
/// place. A function that is not told of a rotation goes on well: the key it signs with stays published, and the key
/// that the others sign with is the one it publishes as the next.
#[derive(Debug, Clone)]
pub struct Keyring(Arc<RwLock<Arc<KeySet>>>);

impl Keyring {
    /// A keyring with this set.
    #[must_use]
    pub fn new(set: KeySet) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(set))))
    }

    /// Puts another set in its place.
    pub fn replace(&self, set: KeySet) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(set);
    }

    /// The set in use.
    #[must_use]
    pub fn set(&self) -> Arc<KeySet> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
