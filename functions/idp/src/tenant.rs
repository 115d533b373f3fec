//! Whose authorization server a request is for: the first segment of its path, if there is such a tenant here.

use std::sync::Arc;

use auth::Refusal;
use axum::extract::{FromRequestParts, RawPathParams};
use domain::{Brand, Tenant};
use http::request::Parts;
use store::Standing;
use tracing::Span;
use url::Url;

use crate::error::TokenError;
use crate::state::AppState;

/// A tenant's issuer: what stands as `iss` in its tokens, to the letter.
#[must_use]
pub fn issuer(idp: &Url, tenant: &Tenant) -> String {
    format!("{}/{}", idp.as_str().trim_end_matches('/'), tenant.prefix())
}

/// The tenant that a request is for. Handlers take this, so none can forget that it must exist.
#[derive(Debug, Clone)]
pub(crate) struct Here {
    pub(crate) tenant: Tenant,
    pub(crate) issuer: String,
    /// How its pages look.
    pub(crate) brand: Brand,
}

impl Here {
    /// The path of everything of this tenant, for cookies.
    pub(crate) fn path(&self, app: &AppState) -> String {
        format!(
            "{}/{}",
            app.given.url.path().trim_end_matches('/'),
            self.tenant.prefix()
        )
    }
}

impl FromRequestParts<Arc<AppState>> for Here {
    type Rejection = TokenError;
    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, TokenError> {
        let params = RawPathParams::from_request_parts(parts, app)
            .await
            .map_err(|_| TokenError::NoTenant)?;
        let name = params.iter().find(|(name, _)| *name == "tenant");
        let (_, name) = name.ok_or(TokenError::NoTenant)?;
        let tenant = Tenant::from_prefix(name).map_err(|_| TokenError::NoTenant)?;
        match app.given.store.tenants().standing(&tenant, app.now()).await? {
            Standing::Active => {}
            // Its keys stay known, so that whoever holds a token of it is told what is the matter.
            Standing::Suspended if parts.uri.path().ends_with("/jwks.json") => {}
            Standing::Suspended => return Err(TokenError::Token(Refusal::Suspended)),
            Standing::Gone => return Err(TokenError::NoTenant),
        }
        if !app.has(&tenant).await? {
            return Err(TokenError::NoTenant);
        }
        Span::current().record("tenant.id", tenant.name());
        Ok(Self {
            issuer: issuer(&app.given.url, &tenant),
            brand: app.given.store.tenants().brand(&tenant),
            tenant,
        })
    }
}
