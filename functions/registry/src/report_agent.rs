//! `POST /agents/{id}/unreached`: a host could not reach an agent. Its word is a reason to look, and nothing else: whether the agent
//! answers is found out here, at most once a minute.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State as Held};
use http::StatusCode;
use store::Health;

use crate::State;
use crate::access::Reader;
use crate::check_agent::look_again;
use crate::error::RouteError;
use crate::find_agent::visible;

/// An agent that was looked at so lately is not looked at again.
const LATELY: Duration = Duration::from_secs(60);

pub(crate) async fn unreached(
    Reader(view): Reader,
    Held(state): Held<Arc<State>>,
    Path(id): Path<String>,
) -> Result<StatusCode, RouteError> {
    let agent = visible(&state, &view, &id).await?;
    let before = agent.health.clone();
    if agent.disabled || state.clock.now() < before.checked_at.after(LATELY) {
        return Ok(StatusCode::ACCEPTED);
    }
    let cards = state.store.registry();
    // Whoever tells the same meanwhile finds that it is looked at.
    let begun = Health {
        checked_at: state.clock.now(),
        ..before.clone()
    };
    cards
        .set_same_health(agent.visibility(), &agent.id, begun)
        .await?;
    let looked = look_again(&state, agent, true).await?;
    let part = looked.visibility();
    let health = looked.health.clone();
    if (health.ok, &health.reason) == (before.ok, &before.reason) {
        cards.set_same_health(part, &looked.id, health).await?;
    } else {
        tracing::info!(agent.id = %looked.id, ok = health.ok, reason = health.reason, "a host could not reach an agent");
        cards.set_health(part, &looked.id, health).await?;
    }
    Ok(StatusCode::ACCEPTED)
}
