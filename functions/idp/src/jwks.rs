//! `GET /{tenant}/jwks.json`: the public keys, the next one among them. `GET /{tenant}/sessions.json`: the same of the
//! tenant's own sessions, which others sign; who that is stands beside the keys. `GET /{tenant}/browsers.json`: likewise the
//! keys that sign proofs of a browser for agents that ask users for a consent of their own.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State as Held};
use axum::response::{IntoResponse as _, Response};
use domain::Tenant;
use serde_json::json;
use store::SessionIssuer;

use crate::error::TokenError;
use crate::metadata::cached;
use crate::state::AppState;
use crate::tenant::Here;

pub(crate) async fn show(_: Here, Held(app): Held<Arc<AppState>>) -> Response {
    cached(Json(app.keys().document()).into_response())
}

pub(crate) async fn sessions(
    name: Result<Path<String>, PathRejection>,
    Held(app): Held<Arc<AppState>>,
) -> Result<Response, TokenError> {
    let (tenant, SessionIssuer { issuer, keys, .. }) = vouched(name, &app).await?;
    let told = json!({ "issuer": issuer, "keys": keys, "tenant": tenant });
    Ok(cached(Json(told).into_response()))
}

/// A document apart, so that no verifier of sessions ever meets these keys.
pub(crate) async fn browsers(
    name: Result<Path<String>, PathRejection>,
    Held(app): Held<Arc<AppState>>,
) -> Result<Response, TokenError> {
    let (tenant, vouched) = vouched(name, &app).await?;
    let told = json!({ "issuer": vouched.issuer, "keys": vouched.browser_keys, "tenant": tenant });
    Ok(cached(Json(told).into_response()))
}

async fn vouched(
    name: Result<Path<String>, PathRejection>,
    app: &AppState,
) -> Result<(Tenant, SessionIssuer), TokenError> {
    // Whoever holds a token knows the tenant by its name; which incarnation of it is here now, nobody knows but we.
    let Path(name) = name.map_err(|_| TokenError::NoTenant)?;
    let asked = Tenant::from_prefix(&name).map_err(|_| TokenError::NoTenant)?;
    let present = app.given.store.tenants().present(&asked, app.now()).await?;
    let tenant = present.ok_or(TokenError::NoTenant)?;
    if asked.prefix() != asked.name() && asked != tenant {
        return Err(TokenError::NoTenant);
    }
    let found = app.identity().find_session_issuer(&tenant).await?;
    Ok((tenant, found.ok_or(TokenError::NoTenant)?))
}
