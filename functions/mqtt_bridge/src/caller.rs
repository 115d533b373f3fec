//! Who calls: a tenant's host, by its own token for the bridge.

use std::sync::Arc;

use auth::{Refusal, Verified};
use axum::Json;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use domain::Tenant;
use http::StatusCode;
use http::header::WWW_AUTHENTICATE;
use http::request::Parts;
use serde_json::json;

use crate::bridge::Bridge;

/// Allows a host to call agents on the broker.
pub(crate) const CALL: &str = "mqtt:call";

/// Allows the registry to see the cards of agents on the broker.
pub(crate) const CARDS: &str = "mqtt:cards";

/// The tenant whose host calls.
pub(crate) struct Host(pub(crate) Tenant);

impl FromRequestParts<Arc<Bridge>> for Host {
    type Rejection = TokenRefused;
    async fn from_request_parts(parts: &mut Parts, bridge: &Arc<Bridge>) -> Result<Self, TokenRefused> {
        let verified = verified(parts, bridge).await?;
        let caller = verified.caller(None, CALL)?;
        Ok(Self(caller.tenant))
    }
}

/// The registry itself, in the platform's name.
pub(crate) struct RegistryCaller;

impl FromRequestParts<Arc<Bridge>> for RegistryCaller {
    type Rejection = TokenRefused;
    async fn from_request_parts(parts: &mut Parts, bridge: &Arc<Bridge>) -> Result<Self, TokenRefused> {
        let verified = verified(parts, bridge).await?;
        if verified.tenant.is_some() {
            return Err(Refusal::WrongTenant.into());
        }
        match verified.scopes.contains(CARDS) {
            true => Ok(Self),
            false => Err(Refusal::SmallScope {
                needed: CARDS.to_owned(),
            }
            .into()),
        }
    }
}

async fn verified(parts: &Parts, bridge: &Bridge) -> Result<Verified, Refusal> {
    let token = edge::bearer(&parts.headers)?;
    bridge.verifier.checked(token, bridge.clock.now(), None).await
}

/// A token that is not good here.
#[derive(Debug)]
pub(crate) struct TokenRefused(Refusal);

impl From<Refusal> for TokenRefused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl IntoResponse for TokenRefused {
    fn into_response(self) -> Response {
        let Self(refusal) = self;
        let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::UNAUTHORIZED);
        let challenge = refusal.www_authenticate();
        // A REST API renames the header on its way out, so the challenge stands in the body too.
        let body =
            json!({"error": refusal.error_code(), "message": refusal.to_string(), "challenge": challenge});
        ([(WWW_AUTHENTICATE, challenge)], (status, Json(body))).into_response()
    }
}
