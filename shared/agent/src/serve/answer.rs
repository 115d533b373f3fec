//! What both bindings share: the card, the version a client names.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use crate::Agent;

/// The card, readable by clients of both generations.
pub(crate) async fn card(State(agent): State<Arc<Agent>>) -> Response {
    let card = a2a::card::encode(&agent.card, a2a::Generation::V1_0);
    ([(header::CACHE_CONTROL, "public, max-age=60")], Json(card)).into_response()
}

/// `A2A-Version`, as a header or a query parameter (A2A 1.0, 3.6).
pub(crate) fn version(headers: &HeaderMap, query: Option<&str>) -> Option<String> {
    let header = headers.get("a2a-version").and_then(|value| value.to_str().ok());
    let from_query = || {
        url::form_urlencoded::parse(query?.as_bytes())
            .find(|(name, _)| name.eq_ignore_ascii_case("a2a-version"))
            .map(|(_, value)| value.into_owned())
    };
    header
        .map(|text| text.trim().to_owned())
        .or_else(from_query)
        .filter(|text| !text.is_empty())
}
