//! What both bindings share: the card, the metadata of the resource that the agent is, the version a client names.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::caller::needed_scope;
use crate::Agent;

/// Below the agent's URL.
pub(crate) const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";

/// The card, readable by clients of both generations.
pub(crate) async fn card(State(agent): State<Arc<Agent>>) -> Response {
    let card = a2a::card::encode(&agent.card, a2a::Generation::V1_0);
    ([(header::CACHE_CONTROL, "public, max-age=60")], Json(card)).into_response()
}

/// What the agent, as a resource, says of the authorization server that issues tokens for it (RFC 9728). An agent
/// without one has no such document.
pub(crate) async fn resource_metadata(State(agent): State<Arc<Agent>>) -> Response {
    let Some(oauth) = agent
        .card
        .secured
        .as_ref()
        .and_then(|bearer| bearer.oauth.as_ref())
    else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let metadata = serde_json::json!({
        "resource": agent.card.url.as_str(),
        "resource_name": agent.card.name,
        "authorization_servers": [oauth.issuer],
        "scopes_supported": needed_scope(&agent).split(' ').collect::<Vec<_>>(),
        "bearer_methods_supported": ["header"],
    });
    ([(header::CACHE_CONTROL, "public, max-age=60")], Json(metadata)).into_response()
}

/// Where [`resource_metadata`] stands, for challenges; `None` where there is none.
pub(crate) fn resource_metadata_url(agent: &Agent) -> Option<String> {
    agent.card.secured.as_ref()?.oauth.as_ref()?;
    let base = agent.card.url.as_str().trim_end_matches('/');
    Some(format!("{base}{RESOURCE_METADATA}"))
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
