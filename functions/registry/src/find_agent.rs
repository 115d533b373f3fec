//! `GET /agents/{id}`: one agent, with its card and health.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State as Held};
use domain::AgentId;
use store::RegisteredAgent;

use crate::State;
use crate::access::{By, Reader, View, Writer};
use crate::error::RouteError;
use crate::view::AgentView;

pub(crate) async fn find(
    Reader(view): Reader,
    Held(state): Held<Arc<State>>,
    Path(id): Path<String>,
) -> Result<Json<AgentView>, RouteError> {
    let agent = visible(&state, &view, &id).await?;
    Ok(Json(agent.into()))
}

/// The agent of that id, where the caller can see it. A text that is no id at all is simply not found.
pub(crate) async fn visible(state: &State, view: &View, id: &str) -> Result<RegisteredAgent, RouteError> {
    let id = AgentId::parse(id).map_err(|_| RouteError::NotFound)?;
    for part in view.parts() {
        if let Some(agent) = state.store.registry().find(part, &id).await? {
            return Ok(agent);
        }
    }
    Err(RouteError::NotFound)
}

/// The agent of that id, where the caller may change it, and who that is.
pub(crate) async fn changeable(
    state: &State,
    writer: Writer,
    id: &str,
) -> Result<(RegisteredAgent, By), RouteError> {
    let target = writer.view()?;
    let agent = visible(state, &target.view, id).await?;
    target.may_change(agent.tenant.as_ref())?;
    Ok((agent, target.by))
}
