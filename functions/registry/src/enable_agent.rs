//! `POST /agents/{id}/disable` and `…/enable`: switches an agent off, so that no host is offered it, and on again. What was
//! handed to it before goes on.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State as Held};
use store::RegisteredAgent;
use store::audit::Action;

use crate::State;
use crate::access::Writer;
use crate::error::RouteError;
use crate::find_agent::changeable;
use crate::register_agent::done;
use crate::view::AgentView;

pub(crate) async fn switch(
    writer: Writer,
    Held(state): Held<Arc<State>>,
    Path(id): Path<String>,
    disabled: bool,
) -> Result<Json<AgentView>, RouteError> {
    let (agent, by) = changeable(&state, writer, &id).await?;
    let switched = RegisteredAgent {
        disabled,
        ..agent.clone()
    };
    let action = match disabled {
        true => Action::AgentDisable,
        false => Action::AgentEnable,
    };
    let entry = by.entry(&state, action, agent.tenant.as_ref(), &agent.id.to_string());
    let store = state.store.telling(&entry);
    done(store.registry().replace(&agent, &switched).await?)?;
    entry.tell(&store).await;
    Ok(Json(switched.into()))
}
