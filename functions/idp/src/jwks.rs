//! `GET /{tenant}/jwks.json`: the public keys, the next one among them. `GET /{tenant}/sessions.json`: the same of the
//! tenant's own sessions, which others sign; who that is stands beside the keys.

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
    // Whoever holds a token knows the tenant by its name; which incarnation of it is here now, nobody knows but we.
    let Path(name) = name.map_err(|_| TokenError::NoTenant)?;
    let asked = Tenant::from_prefix(&name).map_err(|_| TokenError::NoTenant)?;
    let present = app.given.store.tenants().present(&asked, app.now()).await?;
    let tenant = present.ok_or(TokenError::NoTenant)?;
    if asked.prefix() != asked.name() && asked != tenant {
        return Err(TokenError::NoTenant);
    }
    let found = app.identity().find_session_issuer(&tenant).await?;
    let SessionIssuer { issuer, keys } = found.ok_or(TokenError::NoTenant)?;
    let told = json!({ "issuer": issuer, "keys": keys, "tenant": tenant });
    Ok(cached(Json(told).into_response()))
}
