//! `POST /agents/{id}/check`: fetches the card again and records how the agent is. A card that has changed in what is pinned waits
//! for a word ([`crate::pinned`]); one that is not admissible leaves the old one in place, marked unwell. So does one that names a type
//! which the agent was not registered as: what an agent is asked for, nobody but whoever registers it decides.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State as Held};
use domain::{AgentType, Tag};
use serde_json::Value;
use store::audit::{self, Action, Actor};
use store::{CardSignature, Health, RegisteredAgent};

use crate::State;
use crate::access::Writer;
use crate::broker_cards;
use crate::error::RouteError;
use crate::find_agent::changeable;
use crate::pinned;
use crate::register_agent::{callable, declared, done, fetch_reason, healthy, types_of};
use crate::rehearsal;
use crate::rules::{Terms, added_tags, admit};
use crate::view::AgentView;

pub(crate) async fn check(
    writer: Writer,
    Held(state): Held<Arc<State>>,
    Path(id): Path<String>,
) -> Result<Json<AgentView>, RouteError> {
    let (agent, _) = changeable(&state, writer, &id).await?;
    let checked = look_again(&state, agent.clone(), false).await?;
    let cards = state.store.registry();
    let mut warnings = Vec::new();
    if checked.health.ok {
        done(cards.replace(&agent, &checked).await?)?;
        tell_of_change(&state, &agent, &checked).await;
        warnings = rehearsal::warnings(&state, &checked.card).await;
    } else {
        let health = checked.health.clone();
        if !cards
            .set_health(checked.visibility(), &checked.id, health)
            .await?
        {
            return Err(RouteError::NotFound);
        }
    }
    Ok(Json(AgentView::warned(checked, warnings, Vec::new())))
}

/// The agent as its card says now. Where its endpoint did not answer, or somebody says so, that has to answer too.
pub(crate) async fn look_again(
    state: &State,
    agent: RegisteredAgent,
    is_doubted: bool,
) -> Result<RegisteredAgent, RouteError> {
    let mut looked = looked(state, &agent).await?;
    if let Ok((card, ..)) = &looked
        && (is_doubted || rehearsal::is_silence(agent.health.reason.as_deref()))
        && let Some(reason) = rehearsal::silence(state, card).await
    {
        looked = Err(reason);
    }
    let now = state.clock.now();
    match looked {
        Ok((card, skills, signature)) => {
            let fetched = RegisteredAgent {
                card,
                skills,
                health: healthy(now),
                signature,
                ..agent.clone()
            };
            pinned::renewed(state, agent, fetched).await
        }
        Err(reason) => Ok(RegisteredAgent {
            health: Health {
                ok: false,
                checked_at: now,
                reason: Some(reason),
            },
            ..agent
        }),
    }
}

/// Tells that a card says something new, the first time that it does.
pub(crate) async fn tell_of_change(state: &State, before: &RegisteredAgent, now: &RegisteredAgent) {
    let pin = |agent: &RegisteredAgent| agent.pending.as_ref().map(|pending| pinned::pin(&pending.card));
    if pin(now).is_some() && pin(now) != pin(before) {
        let (of, id, audit) = (
            now.tenant.as_ref(),
            now.id.to_string(),
            state.store.audit(state.clock.now()),
        );
        audit
            .tell(Action::AgentChange, of, Actor::Unknown, &id, audit::DONE)
            .await;
    }
}

/// What a look at an agent's card brought: the card, the tags of its skills, and what its signatures say.
type Looked = (Value, Vec<Vec<Tag>>, CardSignature);

/// Fetches an agent's card, and holds it against what the agent is registered as; or why that is not well.
async fn looked(state: &State, agent: &RegisteredAgent) -> Result<Result<Looked, String>, RouteError> {
    let card = match broker_cards::fetch(state, &agent.card_url).await {
        Ok(card) => crate::signature::check(state, &agent.card_url, card).await,
        Err(fault) => Err(fetch_reason(state, (&agent.card_url, &fault))),
    };
    let (card, signature) = match card {
        Ok(card) => card,
        Err(reason) => return Ok(Err(reason)),
    };
    let types = declared(state).await?;
    let terms = Terms {
        tenant: agent.tenant.as_ref(),
        added: &added_tags(&agent.card, &agent.skills),
        types: &types,
    };
    let skills = admit(&card, &terms)
        .and_then(|skills| same_types(&agent.skills, skills))
        .and_then(|skills| callable(state, &card).map(|()| skills));
    Ok(skills
        .map(|skills| (card, skills, signature))
        .map_err(|reasons| reasons.join("; ")))
}

/// The tags of a card that has changed, where they make the agent nothing that it was not before.
fn same_types(before: &[Vec<Tag>], skills: Vec<Vec<Tag>>) -> Result<Vec<Vec<Tag>>, Vec<String>> {
    let held: BTreeSet<AgentType> = types_of(before);
    let new: Vec<String> = types_of(&skills)
        .difference(&held)
        .map(|name| {
            format!(
                "the card names the type `{name}`, which the agent was not registered as; whoever registers it again takes that over"
            )
        })
        .collect();
    if new.is_empty() { Ok(skills) } else { Err(new) }
}
