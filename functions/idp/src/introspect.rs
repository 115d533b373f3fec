//! `POST /{tenant}/introspect` (RFC 7662): what a token of this tenant stands for. Only clients with a secret are told;
//! of a refresh token only the one that holds it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Held;
use axum::response::Response;
use domain::{Owner, Timestamp};
use http::HeaderMap;
use serde_json::{Value, json};
use store::{Client, StoreError};

use crate::error::{TokenError, unstored};
use crate::fields::Fields;
use crate::refresh::RefreshToken;
use crate::state::AppState;
use crate::tenant::Here;
use crate::userinfo::user_of;
use crate::{client, own_token};

pub(crate) async fn answer(
    here: Here,
    Held(app): Held<Arc<AppState>>,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response, TokenError> {
    let client = client::authenticated(&app, &here, &headers, &fields).await?;
    if client.public {
        return Err(TokenError::InvalidClient);
    }
    let token = fields.needed("token", "token is missing")?;
    let told = match RefreshToken::parse(token) {
        Some(refresh) => of_refresh(&app, &here, &client, &refresh).await?,
        None => of_access(&app, &here, token).await?,
    };
    // One answer for whatever is not good: RFC 7662 §2.2.
    Ok(unstored(Json(told.unwrap_or_else(|| json!({"active": false})))))
}

async fn of_refresh(
    app: &AppState,
    here: &Here,
    client: &Client,
    refresh: &RefreshToken,
) -> Result<Option<Value>, StoreError> {
    let identity = app.identity();
    let found = identity
        .find_family(&here.tenant, refresh.family(), app.now())
        .await?;
    let good = found.filter(|family| {
        !family.revoked && family.client_id == client.client_id && family.refresh_hash == refresh.hash()
    });
    let Some(family) = good else { return Ok(None) };
    let user = user_of(app, here, &family.subject).await?;
    let signed_in = family.auth_time.unwrap_or(Timestamp::from_millis(0));
    let good = Some(family).filter(|_| user.is_some_and(|user| user.admits(signed_in)));
    Ok(good.map(|family| {
        json!({
            "active": true,
            "scope": family.scope,
            "client_id": family.client_id,
            "sub": family.subject,
            "aud": family.resource,
            "iss": here.issuer,
            "exp": family.expires_at.seconds(),
            "tenant_id": here.tenant.name(),
        })
    }))
}

async fn of_access(app: &AppState, here: &Here, token: &str) -> Result<Option<Value>, StoreError> {
    let Ok(told) = own_token::verify(app, here, token) else {
        return Ok(None);
    };
    // A client's own token is nobody's but its.
    if told.sub != told.client_id {
        let user = match Owner::parse(&told.sub) {
            Ok(subject) => user_of(app, here, &subject).await?,
            Err(_) => None,
        };
        if !user.is_some_and(|user| told.is_after(user.not_before)) {
            return Ok(None);
        }
    }
    Ok(Some(json!({
        "active": true,
        "token_type": "Bearer",
        "scope": told.scope,
        "client_id": told.client_id,
        "sub": told.sub,
        "aud": told.aud,
        "iss": here.issuer,
        "exp": told.exp,
        "iat": told.iat,
        "jti": told.jti,
        "tenant_id": here.tenant.name(),
    })))
}
