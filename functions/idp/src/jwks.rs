//! `GET /{tenant}/jwks.json`: the public keys, the next one among them. `GET /{tenant}/sessions.json`: the same of the
//! tenant's own sessions, which others sign; who that is stands beside the keys.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Held;
use axum::response::{IntoResponse as _, Response};

use crate::error::TokenError;
use crate::metadata::cached;
use crate::state::AppState;
use crate::tenant::Here;

pub(crate) async fn show(_: Here, Held(app): Held<Arc<AppState>>) -> Response {
    cached(Json(app.keys().document()).into_response())
}

pub(crate) async fn sessions(here: Here, Held(app): Held<Arc<AppState>>) -> Result<Response, TokenError> {
    let found = app.identity().find_session_issuer(&here.tenant).await?;
    let issuer = found.ok_or(TokenError::NoTenant)?;
    Ok(cached(Json(issuer).into_response()))
}
