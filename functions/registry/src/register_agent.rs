//! `POST /agents`: fetches a card, checks it, registers the agent. The same card for the same tenant is the same
//! agent: registering it again takes over its card as it is now. With `scope` the platform declares, in the same call, what
//! types the card or the tags bring that nobody declared before. With `rehearse` all is looked at, and nothing kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::State as Held;
use bytes::Bytes;
use domain::{AgentId, AgentType, Tag, Tenant, Timestamp, Transport, TypeScope};
use http::StatusCode;
use outbound::CallError;
use serde::Deserialize;
use serde_json::Value;
use store::audit::Action;
use store::{Health, Put, RegisteredAgent, Visibility};
use url::{Host, Url};

use crate::State;
use crate::access::Writer;
use crate::body::parse;
use crate::broker_cards;
use crate::declare_type;
use crate::error::RouteError;
use crate::pinned;
use crate::rehearsal::{self, why};
use crate::rules::{Terms, admit, type_names, type_of_name};
use crate::view::AgentView;

/// Most agents of one tenant, and most global ones.
const MAX_AGENTS: usize = 500;
/// Most tags a registration adds.
const MAX_ADDED: usize = 20;
/// Most hosts that a registration names for links.
const MAX_HOSTS: usize = 20;
/// Longest name of a host (RFC 1035 §2.3.4).
const MAX_HOST: usize = 253;
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
    /// How types are declared that nobody declared before; without it they are refused.
    #[serde(default)]
    scope: Option<TypeScope>,
    /// The types that it gets are private from now on.
    #[serde(default)]
    private: bool,
    /// Where the agent may send users to sign in, beside the card's own host; without it, what was named before stays.
    #[serde(default)]
    link_hosts: Option<Vec<String>>,
    /// Everything is looked at, and nothing is registered.
    #[serde(default)]
    rehearse: bool,
}

pub(crate) async fn register(
    writer: Writer,
    Held(state): Held<Arc<State>>,
    body: Bytes,
) -> Result<(StatusCode, Json<AgentView>), RouteError> {
    let mut registration: Registration = parse(&body)?;
    if (registration.scope.is_some() || registration.private) && !writer.is_platform() {
        return Err(RouteError::Forbidden("types are the platform's to declare"));
    }
    let card_url = card_url(registration.card_url.clone())?;
    // The registry reads such a card in the platform's name, also where it is another tenant's agent's.
    if broker_cards::has(&state, &card_url) && !writer.is_platform() {
        return Err(RouteError::Forbidden(
            "agents on a broker are the platform's to register",
        ));
    }
    let (by, is_platform) = (writer.by(), writer.is_platform());
    let tenant = writer.owner(registration.tenant.clone())?;
    if registration.tags.len() > MAX_ADDED {
        return Err(RouteError::Invalid(format!("at most {MAX_ADDED} tags")));
    }
    let named_hosts = registration.link_hosts.as_deref().map(link_hosts).transpose()?;
    let home = tenant.as_ref().map_or(Visibility::Global, Visibility::Tenant);
    let cards = state.store.registry();
    let id = AgentId::of_card(tenant.as_ref().map(Tenant::prefix), card_url.as_str());
    let known = cards.find(home, &id).await?;
    if known.is_none() && cards.all(home).await?.len() >= MAX_AGENTS {
        return Err(RouteError::Full(
            "agents of one tenant, or global ones, fit here",
            MAX_AGENTS,
        ));
    }
    let card = broker_cards::fetch(&state, &card_url)
        .await
        .map_err(|fault| RouteError::Card(vec![fetch_reason(&state, (&card_url, &fault))]))?;
    let (card, signature) = crate::signature::check(&state, &card_url, card)
        .await
        .map_err(|reason| RouteError::Card(vec![reason]))?;
    let mut types = declared(&state).await?;
    if is_platform {
        name_type(&mut registration, &card, (&types, known.as_ref()))?;
    }
    let new = new_types(&registration, &card, &types);
    types.extend(new.clone());
    let terms = Terms {
        tenant: tenant.as_ref(),
        added: &registration.tags,
        types: &types,
    };
    let skills = admit(&card, &terms)
        .and_then(|skills| callable(&state, &card).map(|()| skills))
        .map_err(RouteError::Card)?;
    let now = state.clock.now();
    let agent = RegisteredAgent {
        id,
        tenant,
        card_url,
        card,
        skills,
        registered_at: known.as_ref().map_or(now, |known| known.registered_at),
        health: healthy(now),
        signature,
        // Who registers a card again has it taken over; switched on it is by its operator.
        disabled: known.as_ref().is_some_and(|known| known.disabled),
        link_hosts: named_hosts
            .or(known.as_ref().map(|known| known.link_hosts.clone()))
            .unwrap_or_default(),
        pending: None,
    };
    if let Some(reason) = pinned::refused_name(&agent.card, &others(&state, &agent).await?) {
        return Err(RouteError::Card(vec![reason]));
    }
    if registration.rehearse {
        let warnings = rehearsal::warnings(&state, &agent.card).await;
        let new = new.into_keys().collect();
        return Ok((StatusCode::OK, Json(AgentView::warned(agent, warnings, new))));
    }
    for (name, scope) in &new {
        declare_type::declare_as(cards, name, *scope).await?;
    }
    // Types of tenants' own agents are private in any case.
    if registration.private || agent.tenant.is_none() && is_secured(&agent.card) {
        for name in types_of(&agent.skills) {
            cards.set_private(&name, true).await?;
        }
    }
    let status = if known.is_some() {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let (of, id) = (agent.tenant.as_ref(), agent.id.to_string());
    let entry = by.entry(&state, Action::AgentRegister, of, &id);
    let store = state.store.telling(&entry);
    done(store.registry().put(&agent).await?)?;
    entry.tell(&store).await;
    let warnings = rehearsal::warnings(&state, &agent.card).await;
    let new = new.into_keys().collect();
    Ok((status, Json(AgentView::warned(agent, warnings, new))))
}

/// Gives a card that names no type the one of its own name, where that is new here, or this agent's from before.
///
/// # Errors
/// Where its name gives none, or one that others are of: an agent joins them where its registration says so.
fn name_type(
    registration: &mut Registration,
    card: &Value,
    (types, known): (&BTreeMap<AgentType, TypeScope>, Option<&RegisteredAgent>),
) -> Result<(), RouteError> {
    let typed = registration.tags.iter().any(|tag| tag.key() == "type");
    if typed || type_names(card).next().is_some() {
        return Ok(());
    }
    let Some(name) = type_of_name(card) else {
        return Ok(());
    };
    let is_own = known.is_some_and(|known| types_of(&known.skills).contains(&name));
    if types.contains_key(&name) && !is_own {
        return Err(RouteError::Card(vec![format!(
            "the card: it names no type, and there is a type `{name}` already, which an agent joins by `type:{name}` alone"
        )]));
    }
    let usual = match registration.tenant {
        Some(_) => TypeScope::Tenant,
        None => TypeScope::Global,
    };
    registration.scope.get_or_insert(usual);
    let tag = Tag::parse(&format!("type:{name}")).map_err(|fault| RouteError::Invalid(fault.to_string()))?;
    registration.tags.push(tag);
    Ok(())
}

/// The agents that a reader sees beside this one.
pub(crate) async fn others(
    state: &State,
    agent: &RegisteredAgent,
) -> Result<Vec<RegisteredAgent>, RouteError> {
    let cards = state.store.registry();
    let mut others = cards.all(Visibility::Global).await?;
    if agent.tenant.is_some() {
        others.extend(cards.all(agent.visibility()).await?);
    }
    others.retain(|other| other.id != agent.id);
    Ok(others)
}

/// The types of a card, and of its registration, that nobody declared, as the registration declares them.
fn new_types(
    registration: &Registration,
    card: &Value,
    declared: &BTreeMap<AgentType, TypeScope>,
) -> BTreeMap<AgentType, TypeScope> {
    let Some(scope) = registration.scope else {
        return BTreeMap::new();
    };
    let added = registration.tags.iter().filter(|tag| tag.key() == "type");
    let named = type_names(card).chain(added.map(|tag| tag.value().to_owned()));
    let parsed = named.filter_map(|name| AgentType::parse(&name).ok());
    let new = parsed.filter(|name| !declared.contains_key(name));
    new.map(|name| (name, scope)).collect()
}

/// Whether a card asks for credentials of any kind.
fn is_secured(card: &Value) -> bool {
    a2a::card::parse(card).is_ok_and(|card| card.secured)
}

/// Whether an agent may be called where its card says. Every call would be refused otherwise, each user's task with it; an agent in
/// a container that writes the address it listens at into its card is one such.
pub(crate) fn callable(state: &State, card: &Value) -> Result<(), Vec<String>> {
    let Ok(card) = a2a::card::parse(card) else {
        return Ok(());
    };
    // Hosts call the first. One on a broker is the bridge's to reach.
    let first = card.endpoints.first();
    let first = first.filter(|to| to.transport != Transport::Mqtt);
    let refused = first.and_then(|to| Some((&to.url, state.outbound.check_url(&to.url).err()?)));
    refused.map_or(Ok(()), |(url, fault)| {
        let url: String = url.as_str().chars().take(200).collect();
        let fault = match fault {
            CallError::NotAllowed(reason) => reason,
            other => other.to_string(),
        };
        Err(vec![format!(
            "the card: its address {url} may not be called: {fault}"
        )])
    })
}

/// The types that an agent is found by.
pub(crate) fn types_of(skills: &[Vec<Tag>]) -> BTreeSet<AgentType> {
    let typed = skills.iter().flatten().filter(|tag| tag.key() == "type");
    typed
        .filter_map(|tag| AgentType::parse(tag.value()).ok())
        .collect()
}

/// What became of writing an agent with its tags.
pub(crate) fn done(put: Put) -> Result<(), RouteError> {
    match put {
        Put::Yes => Ok(()),
        // Ids are made of the card URL, so another id with the same URL is somebody's older entry.
        Put::CardUrlTaken(_) | Put::Conflict => Err(RouteError::Conflict),
    }
}

/// The types as the rules want them.
pub(crate) async fn declared(state: &State) -> Result<BTreeMap<AgentType, TypeScope>, RouteError> {
    let declared = state.store.registry().types().await?;
    Ok(declared
        .into_iter()
        .map(|known| (known.name, known.scope))
        .collect())
}

pub(crate) fn healthy(now: Timestamp) -> Health {
    Health {
        ok: true,
        checked_at: now,
        reason: None,
    }
}

/// Why a card could not be fetched.
pub(crate) fn fetch_reason(state: &State, (card_url, fault): (&Url, &CallError)) -> String {
    if let Some(reason) = broker_cards::reason(state, card_url, fault) {
        return reason.to_owned();
    }
    format!("the card cannot be fetched: {}", why(fault))
}

/// Hosts as addresses have them. Each is one host: `*` names none.
fn link_hosts(named: &[String]) -> Result<Vec<String>, RouteError> {
    if named.len() > MAX_HOSTS {
        return Err(RouteError::Invalid(format!("at most {MAX_HOSTS} linkHosts")));
    }
    let host = |text: &String| {
        let host = Host::parse(text).ok().map(|host| host.to_string());
        host.filter(|host| host.len() <= MAX_HOST && !host.contains('*'))
    };
    let hosts: Option<BTreeSet<String>> = named.iter().map(host).collect();
    let invalid = "each of linkHosts is a host without scheme and port, such as accounts.example";
    hosts
        .map(|hosts| hosts.into_iter().collect())
        .ok_or_else(|| RouteError::Invalid(invalid.to_owned()))
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
