//! `POST /{tenant}/revoke` (RFC 7009): ends a refresh token with its whole family. An access token cannot be called
//! back, as agents check it without asking; it ends within ten minutes, and that is what the caller is told.

use std::sync::Arc;

use axum::extract::State as Held;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use store::audit::{self, Action, Actor};

use crate::error::{TokenError, unstored};
use crate::fields::Fields;
use crate::refresh::RefreshToken;
use crate::state::AppState;
use crate::tenant::Here;
use crate::{client, own_token};

pub(crate) async fn revoke(
    here: Here,
    Held(app): Held<Arc<AppState>>,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response, TokenError> {
    let client = client::authenticated(&app, &here, &headers, &fields).await?;
    let token = fields.needed("token", "token is missing")?;
    let Some(refresh) = RefreshToken::parse(token) else {
        let is_access =
            own_token::verify(&app, &here, token).is_ok_and(|told| told.client_id == client.client_id);
        return if is_access {
            Err(TokenError::UnsupportedTokenType)
        } else {
            Ok(unstored(StatusCode::OK))
        };
    };
    let (identity, now) = (app.identity(), app.now());
    let found = identity.find_family(&here.tenant, refresh.family(), now).await?;
    // What is not this client's does not exist for it; an old token of its own ends the family all the same.
    if found.is_some_and(|family| family.client_id == client.client_id && !family.revoked) {
        identity
            .revoke_family(&here.tenant, refresh.family(), now)
            .await?;
        let (by, family) = (Actor::Client(&client.client_id), refresh.family());
        let told = app.tell(Action::TokenRevoke, &here.tenant, by, family, audit::DONE);
        told.await;
    }
    Ok(unstored(StatusCode::OK))
}
