//! `POST /agents/{id}/approve`: the card that has changed serves from now on. What is approved is named by its pin, so that nobody
//! says yes to a card that has changed once more since they read it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State as Held};
use bytes::Bytes;
use serde::Deserialize;
use store::RegisteredAgent;
use store::audit::Action;

use crate::State;
use crate::access::Writer;
use crate::body::parse;
use crate::error::RouteError;
use crate::find_agent::changeable;
use crate::pinned;
use crate::register_agent::{done, others};
use crate::view::AgentView;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Approval {
    /// The pin of the pending card, as the agent shows it.
    pin: String,
}

pub(crate) async fn approve(
    writer: Writer,
    Held(state): Held<Arc<State>>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<AgentView>, RouteError> {
    let (agent, by) = changeable(&state, writer, &id).await?;
    let Approval { pin } = parse(&body)?;
    let pending = agent
        .pending
        .clone()
        .filter(|pending| pinned::pin(&pending.card) == pin);
    let pending = pending.ok_or(RouteError::Unread)?;
    let others = others(&state, &agent).await?;
    if let Some(reason) = pinned::refused_name(&pending.card, &others) {
        return Err(RouteError::Card(vec![reason]));
    }
    let approved = RegisteredAgent {
        card: pending.card,
        skills: pending.skills,
        signature: pending.signature,
        pending: None,
        ..agent.clone()
    };
    let (of, id) = (agent.tenant.as_ref(), agent.id.to_string());
    let entry = by.entry(&state, Action::AgentApprove, of, &id);
    let store = state.store.telling(&entry);
    done(store.registry().replace(&agent, &approved).await?)?;
    entry.tell(&store).await;
    Ok(Json(approved.into()))
}
