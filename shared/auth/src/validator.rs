//! The seam between services that take access tokens and what knows whether a token is good.

use async_trait::async_trait;
use domain::{Caller, Tenant, Timestamp};

use crate::{Refusal, Verifier};

/// Says who is behind an access token. Deployed, that is a [`Verifier`]; a test may put its own in the place.
#[async_trait]
pub trait TokenValidator: Send + Sync {
    /// The caller behind a token: one of the service's own tenant, where it has one, whose token allows all the words of
    /// `needed_scope`.
    ///
    /// # Errors
    /// [`Refusal`] says which answer the caller gets.
    async fn admit(
        &self,
        token: &str,
        now: Timestamp,
        own: Option<&Tenant>,
        needed_scope: &str,
    ) -> Result<Caller, Refusal>;
}

#[async_trait]
impl TokenValidator for Verifier {
    async fn admit(
        &self,
        token: &str,
        now: Timestamp,
        own: Option<&Tenant>,
        needed_scope: &str,
    ) -> Result<Caller, Refusal> {
        Self::admit(self, token, now, own, needed_scope).await
    }
}
