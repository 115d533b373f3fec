//! `/api/ops`: what the tenant's operators look after: its agents, and what its language models took (its tasks: `ops_tasks`). To
//! everybody else there is no such thing. Nothing here tells what anybody said or was told.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use bytes::Bytes;
use domain::price::Cost;
use domain::{AgentId, Owner, ServicePlan, TaskId};
use http::request::Parts;
use serde::Deserialize;
use serde_json::{Value, json};
use store::audit::{self, Action};
use store::{ROLES, SignedIn, kept_bytes};

use crate::chat::list::parameter;
use crate::error::RouteError;
use crate::ops::registry::Verb;
use crate::session::guard::MayChange;
use crate::session::visitor::{Seen, Visitor};
use crate::state::AppState;

/// So many days of usage are told, today first.
const DAYS: u32 = 14;
/// So long after a sign-in a person may change what is more than their own.
pub(crate) const CHANGES_FOR: Duration = Duration::from_secs(15 * 60);

/// Somebody who has signed in and looks after the tenant.
pub(crate) struct Operator(pub(crate) Owner);

impl FromRequestParts<Arc<AppState>> for Operator {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        let (owner, _) = person_with(&ROLES, parts, room).await?;
        Ok(Self(owner))
    }
}

/// The person who has signed in, where they have one of these roles. Whoever changes something has proved it of late.
pub(crate) async fn person_with(
    roles: &[&str],
    parts: &mut Parts,
    room: &Arc<AppState>,
) -> Result<(Owner, SignedIn), RouteError> {
    let seen = Seen::from_request_parts(parts, room).await?;
    // Where one must sign in, that comes first.
    let Visitor(_) = Visitor::of(&seen, room)?;
    let session = seen.0.ok_or(RouteError::NotFound)?;
    let person = session.signed_in.ok_or(RouteError::NotFound)?;
    if !person.roles.iter().any(|role| roles.contains(&role.as_str())) {
        return Err(RouteError::NotFound);
    }
    let proved_at = session.person.map(|person| person.auth_time);
    let is_fresh = proved_at.is_some_and(|at| at.is_lately(CHANGES_FOR, room.clock.now()));
    if !parts.method.is_safe() && !is_fresh {
        return Err(RouteError::SignInAgain {
            at: room.sign_in.clone(),
        });
    }
    Ok((session.owner, person))
}

/// `GET /api/ops/agents`: every agent that the tenant sees, and how it is.
pub(crate) async fn agents(
    State(room): State<Arc<AppState>>,
    Operator(owner): Operator,
) -> Result<Json<Value>, RouteError> {
    let found = room.registry.agents(&owner).await?;
    let agents: Vec<Value> = found.iter().map(shown).collect();
    Ok(Json(json!({"agents": agents})))
}

/// Which changed card is approved.
#[derive(Deserialize)]
struct Approval {
    pin: String,
}

/// `POST /api/ops/agents/{id}/{verb}`: has one looked at anew, switches it off or on, or approves its changed card.
pub(crate) async fn act(
    State(room): State<Arc<AppState>>,
    Operator(owner): Operator,
    _: MayChange,
    Path((id, verb)): Path<(String, String)>,
    body: Bytes,
) -> Result<Json<Value>, RouteError> {
    let verb = Verb::parse(&verb).ok_or(RouteError::NotFound)?;
    let id = AgentId::parse(&id).map_err(|_| RouteError::NotFound)?;
    let body = match verb {
        Verb::Approve => {
            let Approval { pin } = serde_json::from_slice(&body).map_err(|_| {
                RouteError::invalid("invalid_request", "say which card: `pin`, as the agent shows it")
            })?;
            json!({ "pin": pin })
        }
        Verb::Check | Verb::Disable | Verb::Enable => json!({}),
    };
    let agent = room.registry.act(&owner, id, (verb, &body)).await?;
    let object = format!("{id}/{}", verb.name());
    room.tell(Action::OpsAgent, &owner, &object, audit::DONE).await;
    Ok(Json(shown(&agent)))
}

/// Of which task something is told, if not of all: `task=ID`.
pub(crate) struct Of(pub(crate) Option<TaskId>);

impl FromRequestParts<Arc<AppState>> for Of {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, _: &Arc<AppState>) -> Result<Self, RouteError> {
        let named = parameter(parts.uri.query(), "task")
            .map(|id| TaskId::parse(&id))
            .transpose();
        let id = named.map_err(|_| RouteError::invalid("invalid_request", "task is the id of a task"))?;
        Ok(Self(id))
    }
}

/// `GET /api/ops/usage`: tokens of language models by day (UTC), and how many may be used in one: what the tenant has set, and the
/// host's own limit without that. Days without any are left out. Beside them what tasks cost, by day, owner and agent, how the
/// agents did lately, and the tenant's plan with what is used of it; with `task=ID` what that one cost so far.
pub(crate) async fn usage(
    State(room): State<Arc<AppState>>,
    Operator(_): Operator,
    Of(task): Of,
) -> Result<Json<Value>, RouteError> {
    if let Some(id) = task {
        let task = room.anybodys_task(id).await?.ok_or(RouteError::NotFound)?;
        let Cost { tokens, work } = Cost::of(&task, kept_bytes(&task));
        return Ok(Json(json!({
            "taskId": id, "state": task.status.state, "microDollars": tokens.saturating_add(work), "ofTokens": tokens,
        })));
    }
    let (now, ledger) = (room.clock.now(), room.store.ledger());
    let spent = ledger.spent(&room.tenant, now, DAYS).await?;
    let settings = room.store.tenants().settings(&room.tenant).await?;
    let settings = settings.unwrap_or_default();
    let setting = |key: &str| settings.get(key).map(String::as_str);
    let (quota, none) = (domain::quota_of(setting), ServicePlan::NONE);
    let plan = json!({
        "name": domain::plan_of(setting).map(|plan| plan.name),
        "isPaused": domain::is_paused(setting),
        "tasksPerDay": limit(quota.tasks_per_day, none.tasks_per_day),
        "tasksAtOnce": limit(quota.tasks_at_once, none.tasks_at_once),
        "storageMb": limit(quota.storage_mb, none.storage_mb),
        "dollarsPerMonth": limit(quota.dollars_per_month, none.dollars_per_month),
        "now": ledger.today(&room.tenant, now).await?,
    });
    let days = room
        .store
        .usage()
        .last(&room.tenant, room.clock.now(), DAYS)
        .await?;
    // Where the tenant has set none, the host's own limit counts.
    let (budget, lately) = (room.own.tokens_per_day().await, room.lately().await?);
    Ok(Json(
        json!({"days": days, "tokensPerDay": budget, "hostTokensPerDay": room.tokens_per_day, "spent": spent, "lately": lately, "plan": plan}),
    ))
}

/// A limit, where it is less than what is allowed without a plan.
fn limit(own: u64, none: u64) -> Option<u64> {
    (own < none).then_some(own)
}

/// An agent, as far as its operator needs it: its card's texts are its own, and what is not of the form is left out.
fn shown(agent: &Value) -> Value {
    let skills = agent.pointer("/card/skills").and_then(Value::as_array);
    let tags = skills
        .into_iter()
        .flatten()
        .filter_map(|skill| skill.get("tags")?.as_array())
        .flatten()
        .filter_map(Value::as_str);
    let mut types: Vec<&str> = tags.filter_map(|tag| tag.strip_prefix("type:")).collect();
    types.sort_unstable();
    types.dedup();
    let at = |pointer: &str| agent.pointer(pointer).cloned().unwrap_or_default();
    json!({
        "id": at("/id"),
        "name": at("/card/name"),
        "version": at("/card/version"),
        "types": types,
        "cardUrl": at("/cardUrl"),
        "isOwn": agent.get("tenant").is_some_and(Value::is_string),
        "isEnabled": at("/enabled"),
        "isWell": at("/health/ok"),
        "checkedAt": at("/health/checkedAt"),
        "reason": at("/health/reason"),
        "registeredAt": at("/registeredAt"),
        "pending": at("/pending"),
    })
}
