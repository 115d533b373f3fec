//! Open-Meteo's geocoding and forecast APIs over a few hundred well-known places: the real wire formats, errors
//! included, with forecasts that are made up from coordinates and date and stay the same for both.
//!
//! Not here: hourly and current weather, models, several coordinates at once, languages other than English.

mod forecast;
pub(crate) mod gazetteer;
mod geocoding;
mod weather;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use domain::Clock;
use serde_json::json;

/// Both APIs on one router: `/v1/search` and `/v1/forecast`. The clock says what "today" is.
pub fn open_meteo(clock: Arc<dyn Clock>) -> Router {
    Router::new()
        .route("/v1/search", get(geocoding::search))
        .route("/v1/forecast", get(forecast::forecast))
        .with_state(clock)
}

/// The service's refusal of a question: status 400 with its reason.
struct Refusal(String);

impl Refusal {
    fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// What the service says when a parameter is not there.
    fn missing(name: &str) -> Self {
        Self(format!("Value required for key '{name}'."))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (
            StatusCode::BAD_REQUEST,
            Json(json!({ "error": true, "reason": self.0 })),
        )
            .into_response()
    }
}
