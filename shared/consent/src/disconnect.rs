//! The end of a grant by its owner's word.

use outbound::oauth::{OAuthError, TokenKind};
use store::{StoreError, StoredGrant};

use crate::consents::Consents;
use crate::token::GrantNeed;

impl Consents {
    /// Ends a grant: it is gone here first, and then revoked at its provider. `None` where there is none; false where the
    /// provider could not be told, so that its owner should look there.
    ///
    /// # Errors
    /// What the database says.
    pub async fn disconnect(&self, need: GrantNeed<'_>) -> Result<Option<bool>, StoreError> {
        // Nobody else has these tokens: whatever the provider says, they are good for nothing from here on.
        let Some(gone) = self.grants().delete_grant(self.grant_key(need)).await? else {
            return Ok(None);
        };
        let revoked = self.revoke(need, &gone).await;
        if let Err(error) = &revoked {
            tracing::warn!(
                tenant.id = self.tenant.name(),
                provider = need.provider,
                error = error as &dyn std::error::Error,
                "a grant was not revoked at its provider"
            );
        }
        Ok(Some(revoked.is_ok()))
    }

    /// Revokes the refresh token, and with it all that came of it; or what there is.
    async fn revoke(&self, need: GrantNeed<'_>, grant: &StoredGrant) -> Result<(), OAuthError> {
        let provider = self.provider(need.provider);
        let provider = provider.ok_or(OAuthError::Metadata("the provider is not set up any more"))?;
        let secrets = self.open(need, grant);
        let secrets = secrets.ok_or(OAuthError::Metadata("the grant does not open"))?;
        let server = self.outbound.server_metadata(&provider.issuer).await?;
        let endpoint = server
            .revocation_endpoint
            .ok_or(OAuthError::Metadata("it revokes nothing"))?;
        let token = match &secrets.refresh_token {
            Some(token) => (TokenKind::Refresh, token),
            None => (TokenKind::Access, &secrets.access_token),
        };
        self.outbound.revoke(&endpoint, provider, token).await
    }
}
