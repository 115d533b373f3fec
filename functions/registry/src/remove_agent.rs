//! `DELETE /agents/{id}`: takes an agent out of the registry.

use std::sync::Arc;

use axum::extract::{Path, State as Held};
use http::StatusCode;
use store::audit::Action;

use crate::State;
use crate::access::Writer;
use crate::error::RouteError;
use crate::find_agent::changeable;

pub(crate) async fn remove(
    writer: Writer,
    Held(state): Held<Arc<State>>,
    Path(id): Path<String>,
) -> Result<StatusCode, RouteError> {
    let (agent, by) = changeable(&state, writer, &id).await?;
    let (tenant, id) = (agent.tenant.as_ref(), agent.id.to_string());
    let entry = by.entry(&state, Action::AgentRemove, tenant, &id);
    let store = state.store.telling(&entry);
    if store.registry().remove(agent.visibility(), &agent.id).await? {
        entry.tell(&store).await;
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(RouteError::NotFound)
    }
}
