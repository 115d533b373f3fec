//! `GET /api/connections`: where the session's owner is connected, one entry a provider.
//! `DELETE /api/connections/{provider}`: ends that, here at once and at the provider as far as it can be reached.

use std::collections::BTreeMap;
use std::sync::Arc;

use auth::GrantSecrets;
use axum::Json;
use axum::extract::{Path, State};
use domain::{GrantKey, Owner};
use outbound::oauth::{OAuthError, TokenKind};
use serde_json::{Value, json};
use store::StoredGrant;

use crate::error::RouteError;
use crate::guard::FromHere;
use crate::session::Visitor;
use crate::state::AppState;

pub(crate) async fn connections(
    State(room): State<Arc<AppState>>,
    Visitor(visitor): Visitor,
) -> Result<Json<Value>, RouteError> {
    let grants = match &visitor {
        Some(owner) => room.store.grants().list_grants(&room.tenant, owner).await?,
        None => Vec::new(),
    };
    let mut providers: BTreeMap<&str, Vec<&StoredGrant>> = BTreeMap::new();
    for grant in &grants {
        providers.entry(&grant.provider).or_default().push(grant);
    }
    let entry = |(provider, grants): (&str, Vec<&StoredGrant>)| {
        let mut scopes: Vec<&String> = grants.iter().flat_map(|grant| &grant.scopes).collect();
        scopes.sort();
        scopes.dedup();
        let account = visitor.as_ref().and_then(|owner| {
            let known = |grant: &&StoredGrant| opened(&room, owner, grant)?.id_token_subject;
            grants.iter().find_map(known)
        });
        // The resources are agents' addresses, which nobody needs to know.
        json!({
            "provider": provider,
            "account": account,
            "scopes": scopes,
            "agents": grants.len(),
            "connectedAt": grants.iter().map(|grant| grant.created_at).min(),
        })
    };
    let connections: Vec<Value> = providers.into_iter().map(entry).collect();
    Ok(Json(json!({"connections": connections})))
}

pub(crate) async fn disconnect(
    State(room): State<Arc<AppState>>,
    Path(provider): Path<String>,
    _: FromHere,
    Visitor(visitor): Visitor,
) -> Result<Json<Value>, RouteError> {
    let owner = visitor.ok_or(RouteError::NotFound)?;
    let store = room.store.grants();
    let all = store.list_grants(&room.tenant, &owner).await?;
    let mut ended = Vec::new();
    for grant in all.iter().filter(|grant| grant.provider == provider) {
        // Gone here whatever the provider says: nobody else has these tokens.
        // What was there last has the newest tokens; where that answer is lost, what was listed must do.
        let gone = store.delete_grant(key(&room, &owner, grant)).await?;
        ended.push(gone.unwrap_or_else(|| grant.clone()));
    }
    if ended.is_empty() {
        return Err(RouteError::NotFound);
    }
    let mut revoked = true;
    for grant in &ended {
        if let Err(error) = revoke(&room, &owner, grant).await {
            tracing::warn!(
                provider,
                error = &error as &dyn std::error::Error,
                "a grant was not revoked at its provider"
            );
            revoked = false;
        }
    }
    tracing::info!(provider, revoked, "connection ended");
    Ok(Json(json!({"provider": provider, "revoked": revoked})))
}

/// Revokes the refresh token, and with it all that came of it; or what there is.
async fn revoke(room: &AppState, owner: &Owner, grant: &StoredGrant) -> Result<(), OAuthError> {
    let provider = room.providers.get(&grant.provider);
    let provider = provider.ok_or(OAuthError::Metadata("the provider is not set up any more"))?;
    let secrets = opened(room, owner, grant).ok_or(OAuthError::Metadata("the grant does not open"))?;
    let server = room.outbound.server_metadata(&provider.issuer).await?;
    let endpoint = server
        .revocation_endpoint
        .ok_or(OAuthError::Metadata("it revokes nothing"))?;
    let token = match &secrets.refresh_token {
        Some(token) => (TokenKind::Refresh, token),
        None => (TokenKind::Access, &secrets.access_token),
    };
    room.outbound.revoke(&endpoint, provider, token).await
}

fn opened(room: &AppState, owner: &Owner, grant: &StoredGrant) -> Option<GrantSecrets> {
    GrantSecrets::open(&room.sealer, &grant.sealed, &key(room, owner, grant)).ok()
}

fn key<'a>(room: &'a AppState, owner: &'a Owner, grant: &'a StoredGrant) -> GrantKey<'a> {
    GrantKey {
        tenant: &room.tenant,
        owner,
        provider: &grant.provider,
        resource: &grant.resource,
    }
}
