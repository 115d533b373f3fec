//! What the agent, as a resource that tokens are for, says of itself.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::{Agent, TASKS_SCOPE};

/// Below the agent's URL.
pub(crate) const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";

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

/// What the card says it needs: nobody can ask for the right token without that.
pub(super) fn needed_scope(agent: &Agent) -> String {
    match &agent.card.secured {
        Some(bearer) if !bearer.scopes.is_empty() => bearer.scopes.join(" "),
        _ => TASKS_SCOPE.to_owned(),
    }
}
