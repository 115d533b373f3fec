//! Where the engine that understands people's words keeps what it made of vectors: in the store.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Clock, Tenant};
use nlu::VectorStore;
use store::Store;

/// A tenant's vectors in the tables.
pub struct StoredVectors {
    /// The tables.
    pub store: Store,
    /// Whose they are.
    pub tenant: Tenant,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl VectorStore for StoredVectors {
    async fn load(&self, key: &str) -> Option<Vec<u8>> {
        let found = self.store.vectors();
        let found = found.load(&self.tenant, key, self.clock.now()).await;
        found.unwrap_or_else(|error| {
            tracing::warn!(%error, "kept vectors cannot be read");
            None
        })
    }

    async fn keep(&self, key: &str, bytes: Vec<u8>) {
        let kept = self.store.vectors();
        let kept = kept.keep(&self.tenant, key, bytes, self.clock.now()).await;
        if let Err(error) = kept {
            tracing::warn!(%error, "vectors cannot be kept and are made again");
        }
    }
}
