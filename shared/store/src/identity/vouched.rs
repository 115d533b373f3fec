//! Who issues the tokens of a tenant's own sessions, and with which keys: what the authorization server tells verifiers of
//! a tenant that it knows.

use domain::Tenant;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Identity;
use crate::StoreError;
use crate::codec::Key;

/// A tenant's own issuer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionIssuer {
    /// The `iss` of its tokens, to the letter.
    pub issuer: String,
    /// Its public keys, as JWKs.
    pub keys: Vec<Value>,
    /// The public keys that proofs of its browsers may be signed with, as JWKs. No token of a session is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub browser_keys: Vec<Value>,
}

/// Beside the tenant's host, which is what makes a tenant one here.
pub(super) fn key(tenant: &Tenant) -> Key {
    (format!("{}#client#host", tenant.prefix()), "SESSIONS".to_owned())
}

impl Identity<'_> {
    /// Stores a tenant's own issuer, over the one before.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where it does not fit; otherwise what the database says.
    pub async fn put_session_issuer(
        &self,
        tenant: &Tenant,
        issuer: &SessionIssuer,
    ) -> Result<(), StoreError> {
        self.store
            .put_record(self.table(), key(tenant), "the sessions' issuer", issuer, None)
            .await
    }

    /// The tenant's own issuer.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find_session_issuer(&self, tenant: &Tenant) -> Result<Option<SessionIssuer>, StoreError> {
        self.store.record(self.table(), &key(tenant)).await
    }

    /// Removes the tenant's own issuer, if there is one.
    ///
    /// # Errors
    /// What the database says.
    pub async fn remove_session_issuer(&self, tenant: &Tenant) -> Result<(), StoreError> {
        self.store.take(self.table(), &key(tenant)).await.map(|_| ())
    }
}
