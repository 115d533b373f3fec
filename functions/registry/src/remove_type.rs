//! `DELETE /types/{name}`: takes back what was declared of a type that no agent has.

use std::sync::Arc;

use axum::extract::{Path, State as Held};
use domain::AgentType;
use http::StatusCode;
use store::audit::Action;

use crate::State;
use crate::access::{By, Platform};
use crate::error::RouteError;
use crate::register_agent::types_of;

pub(crate) async fn remove(
    _: Platform,
    Held(state): Held<Arc<State>>,
    Path(name): Path<String>,
) -> Result<StatusCode, RouteError> {
    let name = AgentType::parse(&name).map_err(|fault| RouteError::Invalid(fault.to_string()))?;
    let cards = state.store.registry();
    let declared = cards.types().await?;
    let known = declared.into_iter().find(|known| known.name == name);
    let known = known.ok_or(RouteError::NoType)?;
    refuse_used(&state, &name).await?;
    if !cards.remove_type(&name).await? {
        return Err(RouteError::NoType);
    }
    // One that was registered between the look and the removal keeps its type, as it was declared.
    if let Err(refused) = refuse_used(&state, &name).await {
        cards.declare_type(&name, known.scope).await?;
        cards.set_private(&name, known.private).await?;
        return Err(refused);
    }
    // Told last: until here it may have been declared again.
    By::OPERATOR
        .entry(&state, Action::TypeRemove, None, name.as_str())
        .tell(&state.store)
        .await;
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses where an agent has the type, whoever's it is and switched on or off.
async fn refuse_used(state: &State, name: &AgentType) -> Result<(), RouteError> {
    let agents = state.store.registry().every(|_| true).await?;
    let having = agents
        .iter()
        .filter(|agent| types_of(&agent.skills).contains(name));
    match having.count() {
        0 => Ok(()),
        agents => Err(RouteError::InUse(agents)),
    }
}
