//! `POST /agents`: fetches a card, checks it, registers the agent. The same card for the same tenant is the same
//! agent: registering it again takes over its card as it is now.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State as Held;
use bytes::Bytes;
use domain::{AgentId, AgentType, Tag, Tenant, Timestamp, TypeScope};
use http::StatusCode;
use outbound::CallError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use store::{Cards, Health, Put, RegisteredAgent, Visibility};
use url::Url;

use crate::State;
use crate::access::Writer;
use crate::error::RouteError;
use crate::rules::{Terms, admit};
use crate::view::AgentView;

/// Most agents of one tenant, and most global ones.
const MAX_AGENTS: usize = 500;
/// Most tags a registration adds.
const MAX_ADDED: usize = 20;
/// Longest URL of a card.
const MAX_URL: usize = 2048;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Registration {
    card_url: Url,
    #[serde(default)]
    tags: Vec<Tag>,
    #[serde(default)]
    tenant: Option<Tenant>,
}

pub(crate) async fn register(
    writer: Writer,
    Held(state): Held<Arc<State>>,
    body: Bytes,
) -> Result<(StatusCode, Json<AgentView>), RouteError> {
    let registration: Registration = parse(&body)?;
    let tenant = writer.owner(registration.tenant)?;
    let card_url = card_url(registration.card_url)?;
    if registration.tags.len() > MAX_ADDED {
        return Err(RouteError::Invalid(format!("at most {MAX_ADDED} tags")));
    }
    let home = tenant.as_ref().map_or(Visibility::Global, Visibility::Tenant);
    let cards = state.store.registry();
    let id = AgentId::derived(&format!(
        "{}#{card_url}",
        tenant.as_ref().map_or("global", Tenant::prefix)
    ));
    let known = cards.find(home, &id).await?;
    if known.is_none() && cards.all(home).await?.len() >= MAX_AGENTS {
        return Err(RouteError::Full(MAX_AGENTS));
    }
    let card = state
        .outbound
        .card(&card_url)
        .await
        .map_err(|fault| RouteError::Card(vec![fetch_reason(&fault)]))?;
    let (card, signature) = crate::signature::check(&state, &card_url, card)
        .await
        .map_err(|reason| RouteError::Card(vec![reason]))?;
    let types = declared(&state).await?;
    let terms = Terms {
        tenant: tenant.as_ref(),
        added: &registration.tags,
        types: &types,
    };
    let skills = admit(&card, &terms).map_err(RouteError::Card)?;
    let now = state.clock.now();
    let status = if known.is_some() {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let agent = RegisteredAgent {
        id,
        tenant,
        card_url,
        card,
        skills,
        registered_at: known.map_or(now, |known| known.registered_at),
        health: healthy(now),
        signature,
    };
    put(cards, &agent).await?;
    Ok((status, Json(agent.into())))
}

/// Writes an agent with its tags.
pub(crate) async fn put(cards: Cards<'_>, agent: &RegisteredAgent) -> Result<(), RouteError> {
    match cards.put(agent).await? {
        Put::Yes => Ok(()),
        // Ids are made of the card URL, so another id with the same URL is somebody's older entry.
        Put::CardUrlTaken(_) | Put::Conflict => Err(RouteError::Conflict),
    }
}

/// The types as the rules want them.
pub(crate) async fn declared(state: &State) -> Result<BTreeMap<AgentType, TypeScope>, RouteError> {
    Ok(state.store.registry().types().await?.into_iter().collect())
}

pub(crate) fn healthy(now: Timestamp) -> Health {
    Health {
        ok: true,
        checked_at: now,
        reason: None,
    }
}

/// Why a card could not be fetched: enough to mend it, nothing that would map somebody's network.
pub(crate) fn fetch_reason(fault: &CallError) -> String {
    let why = match fault {
        CallError::NotAllowed(_) => "its address is not one that may be called",
        CallError::Timeout => "nobody answered in time",
        CallError::Unreachable { .. } => "nobody answers there",
        CallError::Status(status) => return format!("the card cannot be fetched: the answer was {status}"),
        _ => "the answer is not JSON of an allowed size",
    };
    format!("the card cannot be fetched: {why}")
}

/// Parses a body of ours; the fault names the place, never the content.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, RouteError> {
    serde_json::from_slice(body).map_err(|fault| {
        let what = match fault.classify() {
            serde_json::error::Category::Data => "the body has not the wanted form",
            _ => "the body is not JSON",
        };
        RouteError::Invalid(format!(
            "{what} (line {}, column {})",
            fault.line(),
            fault.column()
        ))
    })
}

fn card_url(mut url: Url) -> Result<Url, RouteError> {
    url.set_fragment(None);
    let fault = if !matches!(url.scheme(), "http" | "https") {
        "must be http or https"
    } else if !url.username().is_empty() || url.password().is_some() {
        "must not carry credentials"
    } else if url.as_str().len() > MAX_URL {
        "is too long"
    } else {
        return Ok(url);
    };
    Err(RouteError::Invalid(format!("cardUrl {fault}")))
}
