//! Who calls: the bearer token checked, before a byte of the body is looked at.

use std::sync::Arc;

use auth::Refusal;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::{Caller, TraceParent};

use crate::{Access, Agent, TASKS_SCOPE};

/// A verified caller with the trace of its call. A handler that takes it cannot forget the check.
pub(crate) struct Called {
    pub(crate) caller: Caller,
    pub(crate) trace: Option<TraceParent>,
}

impl FromRequestParts<Arc<Agent>> for Called {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, agent: &Arc<Agent>) -> Result<Self, Refused> {
        let header = parts.headers.get(header::AUTHORIZATION);
        let caller = match (header, agent.access) {
            (None, Access::Open) => Caller::anonymous(),
            (header, _) => {
                let header = header.map(|value| value.to_str().unwrap_or(""));
                auth::bearer(header)
                    .and_then(|token| agent.verifier.verify(token, agent.clock.now()))
                    .and_then(|verified| verified.caller(agent.own_tenant.as_ref(), TASKS_SCOPE))
                    .map_err(|refusal| refuse(agent, refusal))?
            }
        };
        tracing::Span::current().record("tenant.id", tracing::field::display(&caller.tenant));
        Ok(Self {
            caller,
            trace: parts.extensions.get::<TraceParent>().cloned(),
        })
    }
}

fn refuse(agent: &Agent, refusal: Refusal) -> Refused {
    tracing::info!(agent = %agent.name, reason = %refusal, "call refused");
    Refused(refusal)
}

/// A call without good credentials: 401 or 403 with the challenge of RFC 6750, repeated in the body, because a REST
/// API behind a proxy integration renames the header.
pub(crate) struct Refused(Refusal);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status()).unwrap_or(StatusCode::UNAUTHORIZED);
        let challenge = self.0.www_authenticate();
        let body = serde_json::json!({
            "error": self.0.error_code(),
            "error_description": self.0.to_string(),
            "www_authenticate": challenge,
        });
        let mut response = (status, axum::Json(body)).into_response();
        if let Ok(value) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}
