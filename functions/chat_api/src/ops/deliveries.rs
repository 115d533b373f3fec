//! `GET /api/ops/deliveries`: what agents could not tell their clients in this tenant, and why.
//! `POST /api/ops/deliveries/replay`: has one of these tried again.
//!
//! Asked are the tenant's host and the platform's agents. A tenant's own agents take such tokens from the authorization
//! server alone: the command `switchyard deliveries` looks at them.

use std::sync::Arc;
use std::time::Duration;

use agent::DELIVERIES_SCOPE;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use domain::{AgentId, Owner, PushConfigId, TaskId};
use futures_util::future::join_all;
use http::Method;
use outbound::{CallError, below};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::audit::{self, Action};
use url::Url;

use crate::error::RouteError;
use crate::ops::agents::Operator;
use crate::session::guard::MayChange;
use crate::state::AppState;

/// How long an agent may take to say what it could not deliver.
const PATIENCE: Duration = Duration::from_secs(3);
/// Most agents that are asked.
const AGENTS_MAX: usize = 50;
/// What the host is called here, beside the ids of the others.
const HOST: &str = "host";
/// Where our agents have their cards.
const CARD: &str = "/.well-known/agent-card.json";

/// Somebody who delivers to clients.
struct Sender {
    id: String,
    name: String,
    url: Url,
}

/// An agent's own words, as far as they are of the form.
#[derive(Deserialize)]
struct Listed {
    deliveries: Vec<Parked>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Parked {
    task_id: TaskId,
    config_id: PushConfigId,
    /// The host name of whoever should have been told; no more of the address.
    host: String,
    #[serde(default)]
    attempts: u32,
    last_error: Option<String>,
    changed_at: domain::Timestamp,
}

/// Lists what is parked.
pub(crate) async fn list(
    State(room): State<Arc<AppState>>,
    Operator(owner): Operator,
) -> Result<Json<Value>, RouteError> {
    let senders = senders(&room, &owner).await?;
    let asked = senders.iter().map(|sender| parked_at(&room, &owner, sender));
    let (mut deliveries, mut unasked) = (Vec::new(), Vec::new());
    for (sender, answer) in senders.iter().zip(join_all(asked).await) {
        match answer? {
            Some(parked) => deliveries.extend(parked.into_iter().map(|one| shown(sender, one))),
            None => unasked.push(&sender.name),
        }
    }
    Ok(Json(json!({"deliveries": deliveries, "unasked": unasked})))
}

/// Which delivery is tried again.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Which {
    agent: String,
    task_id: TaskId,
    config_id: PushConfigId,
}

/// Has one tried again now.
pub(crate) async fn replay(
    State(room): State<Arc<AppState>>,
    Operator(owner): Operator,
    _: MayChange,
    body: Result<Json<Which>, JsonRejection>,
) -> Result<Json<Value>, RouteError> {
    let Json(which) = body.map_err(|error| RouteError::invalid("invalid_request", &error.body_text()))?;
    let mut senders = senders(&room, &owner).await?.into_iter();
    let sender = senders.find(|sender| sender.id == which.agent);
    let sender = sender.ok_or(RouteError::NotFound)?;
    let token = room.registry.token_for(&owner, &sender.url, DELIVERIES_SCOPE)?;
    let url = below(&sender.url, "deliveries/replay");
    let body = json!({"taskId": which.task_id, "configId": which.config_id});
    let asked = room
        .registry
        .outbound
        .request_json(Method::POST, &url, Some(&body), Some(&token));
    match asked.await.map_err(RouteError::Agent)? {
        (202, _) => {}
        (404, _) => {
            return Err(RouteError::conflict(
                "nothing_owed",
                "there is no such delivery, or nothing is owed to it, or it is on its way",
            ));
        }
        (status, _) => return Err(RouteError::Agent(CallError::Status(status))),
    }
    let object = format!("{}/{}", sender.id, which.task_id);
    room.tell(Action::OpsReplay, &owner, &object, audit::DONE).await;
    Ok(Json(json!({})))
}

/// The host, then the platform's agents.
async fn senders(room: &AppState, owner: &Owner) -> Result<Vec<Sender>, RouteError> {
    let host = Sender {
        id: HOST.to_owned(),
        name: "Host".to_owned(),
        url: room.host.url().clone(),
    };
    let agents = room.registry.agents(owner).await?;
    Ok(std::iter::once(host)
        .chain(agents.iter().filter_map(sender).take(AGENTS_MAX))
        .collect())
}

/// One of the platform's agents, where it is one of ours.
fn sender(agent: &Value) -> Option<Sender> {
    if agent.get("tenant").is_some_and(Value::is_string) {
        return None;
    }
    let id = AgentId::parse(agent.get("id")?.as_str()?).ok()?;
    let base = agent.get("cardUrl")?.as_str()?.strip_suffix(CARD)?;
    let name = agent.pointer("/card/name").and_then(Value::as_str);
    Some(Sender {
        id: id.to_string(),
        name: domain::clean(name.unwrap_or("Agent"), 80),
        url: Url::parse(base).ok()?,
    })
}

/// What is parked at one; `None` where it does not say. An agent that is not ours has no such list.
async fn parked_at(
    room: &AppState,
    owner: &Owner,
    sender: &Sender,
) -> Result<Option<Vec<Parked>>, RouteError> {
    let token = room.registry.token_for(owner, &sender.url, DELIVERIES_SCOPE)?;
    let mut url = below(&sender.url, "deliveries");
    url.query_pairs_mut().append_pair("parked", "true");
    let asked = room.registry.outbound.get_json::<Listed>(&url, Some(&token));
    Ok(match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(listed)) => Some(listed.deliveries),
        Ok(Err(CallError::Status(401 | 403 | 404 | 405))) => Some(Vec::new()),
        Ok(Err(fault)) => {
            let error = &fault as &dyn std::error::Error;
            tracing::warn!(
                error,
                agent = sender.name,
                "an agent does not say what it could not deliver"
            );
            None
        }
        Err(_) => None,
    })
}

fn shown(sender: &Sender, mut parked: Parked) -> Value {
    parked.host = domain::clean(&parked.host, 120);
    parked.last_error = parked.last_error.map(|error| domain::clean(&error, 200));
    let mut shown = serde_json::to_value(parked).unwrap_or_default();
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("agent".to_owned(), json!(sender.id));
        fields.insert("agentName".to_owned(), json!(sender.name));
    }
    shown
}
