//! Who calls: the bearer token checked, before a byte of the body is looked at.

use std::sync::Arc;

use auth::Refusal;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::Caller;
use store::Standing;

use super::resource::{self, needed_scope};
use crate::{Access, Agent};

/// A verified caller. A handler that takes it cannot forget the check.
pub(crate) struct Called {
    pub(crate) caller: Caller,
}

impl FromRequestParts<Arc<Agent>> for Called {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, agent: &Arc<Agent>) -> Result<Self, Refused> {
        let header = parts.headers.get(header::AUTHORIZATION);
        let caller = match (header, agent.access) {
            (None, Access::Open) if agent.settings.public => Caller::anonymous(),
            (header, _) => {
                let header = header.map(|value| value.to_str().unwrap_or(""));
                admit(agent, header, &needed_scope(agent))
                    .await
                    .map_err(|refusal| refuse(agent, refusal))?
            }
        };
        tracing::Span::current().record("tenant.id", caller.tenant.name());
        Ok(Self { caller })
    }
}

/// Whoever this token is of, where it has the scope and its tenant is active.
pub(crate) async fn admit(agent: &Agent, header: Option<&str>, scope: &str) -> Result<Caller, Refusal> {
    let token = auth::bearer(header)?;
    let (now, own) = (agent.clock.now(), agent.own_tenant.as_ref());
    let caller = agent.validator.admit(token, now, own, scope).await?;
    match agent.store.tenants().standing(&caller.tenant, now).await {
        Ok(Standing::Active) => Ok(caller),
        Ok(Standing::Suspended) => Err(Refusal::Suspended),
        // A good token of somebody who is here no longer.
        Ok(Standing::Gone) => Err(Refusal::Malformed),
        Err(error) => {
            tracing::warn!(agent = %agent.name, %error, "nobody can tell how the caller's tenant stands");
            Err(Refusal::Unavailable)
        }
    }
}

fn refuse(agent: &Agent, refusal: Refusal) -> Refused {
    refuse_for(agent, refusal, &needed_scope(agent))
}

/// The refusal of a call that needs another scope than the agent's operations do.
pub(crate) fn refuse_for(agent: &Agent, refusal: Refusal, scope: &str) -> Refused {
    if refusal == Refusal::WrongTenant {
        // Somebody holds a good token and brings it where it does not belong: a mistake in a deployment, or worse.
        let own = agent.own_tenant.as_ref().map_or("", domain::Tenant::name);
        tracing::warn!(agent = %agent.name, agent.tenant = own, reason = %refusal, "call of another tenant refused");
    } else {
        tracing::info!(agent = %agent.name, reason = %refusal, "call refused");
    }
    let metadata = resource::resource_metadata_url(agent);
    let challenge = refusal.challenge(metadata.as_deref(), scope);
    Refused { refusal, challenge }
}

/// The refusal of a caller who showed no token where one is needed.
pub(super) fn unauthenticated(agent: &Agent) -> Refused {
    refuse(agent, Refusal::Missing)
}

/// A call without good credentials: 401 or 403 with the challenge of RFC 6750 and RFC 9728, repeated in the body,
/// because a REST API behind a proxy integration renames the header.
pub(crate) struct Refused {
    refusal: Refusal,
    challenge: String,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self { refusal, challenge } = self;
        let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::UNAUTHORIZED);
        let body = serde_json::json!({
            "error": refusal.error_code(),
            "error_description": refusal.to_string(),
            "www_authenticate": challenge,
        });
        let mut response = (status, axum::Json(body)).into_response();
        if let Ok(value) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}
