//! `GET /cards/{org}/{unit}/{agent}`: the card of an agent on the broker, for the registry: 503 while the agent is not there, 404
//! where it has none.

use std::sync::Arc;

use a2a::mqtt::{AgentAddress, Presence};
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use edge::{later, refused};
use http::StatusCode;
use serde_json::Value;

use crate::bridge::Bridge;
use crate::caller::RegistryCaller;
use crate::discovered::normalised;

/// Why there is no card.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RouteError {
    #[error("no such agent on the broker")]
    NotFound,
    #[error("the agent is not on the broker at present")]
    Offline,
}

impl IntoResponse for RouteError {
    fn into_response(self) -> Response {
        let message = self.to_string();
        match self {
            Self::NotFound => refused(StatusCode::NOT_FOUND, "not_found", &message),
            Self::Offline => later("offline", &message),
        }
    }
}

pub(crate) async fn card(
    _: RegistryCaller,
    State(bridge): State<Arc<Bridge>>,
    Path((org, unit, agent)): Path<(String, String, String)>,
) -> Result<Json<Value>, RouteError> {
    let agent = AgentAddress::new(&org, &unit, &agent).map_err(|_| RouteError::NotFound)?;
    let found = bridge.discovered.card(&agent).ok_or(RouteError::NotFound)?;
    if found.presence == Presence::Offline {
        return Err(RouteError::Offline);
    }
    let place = (bridge.broker.url(), &bridge.prefix);
    Ok(Json(normalised(found.card, place, &agent)))
}
