//! An agent's deliveries, for whoever looks after them in a tenant: `GET /deliveries` lists them, with why they failed,
//! and `POST /deliveries/replay` tries one again. Both want a token of the tenant with the scope
//! [`crate::DELIVERIES_SCOPE`], at an open agent too: deliveries belong to all the tenant's users.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, Json, Query, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use domain::{PushConfigId, TaskId, Tenant};
use routes::Routes;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{Delivery, DeliveryFilter, DeliveryState, PageRequest, StoreError, TaskKey};

use crate::serve::caller::{Refused, admit, refuse_for};
use crate::{Agent, DELIVERIES_SCOPE, Wake, wake_or_log};

/// Deliveries on a page, where nothing else is asked for.
const PAGE: u32 = 50;

/// The routes, relative to the agent's URL.
pub(crate) fn routes() -> Routes<Arc<Agent>> {
    Routes::new()
        .get(
            "/deliveries",
            "lists what clients are owed, and why it failed",
            list,
        )
        .post("/deliveries/replay", "tries one delivery again", replay)
}

/// Somebody who looks after a tenant's deliveries.
struct Keeper(Tenant);

impl FromRequestParts<Arc<Agent>> for Keeper {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, agent: &Arc<Agent>) -> Result<Self, Refused> {
        let header = parts.headers.get(AUTHORIZATION);
        let header = header.map(|value| value.to_str().unwrap_or(""));
        let admitted = admit(agent, header, DELIVERIES_SCOPE).await;
        let caller = admitted.map_err(|refusal| refuse_for(agent, refusal, DELIVERIES_SCOPE))?;
        tracing::Span::current().record("tenant.id", caller.tenant.name());
        Ok(Self(caller.tenant))
    }
}

#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    parked: bool,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn list(
    State(agent): State<Arc<Agent>>,
    Keeper(tenant): Keeper,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Value>, Failure> {
    let filter = DeliveryFilter {
        parked_only: wanted.parked,
    };
    let page = PageRequest {
        limit: wanted.limit.unwrap_or(PAGE),
        cursor: wanted.cursor,
    };
    let tasks = agent.store.tasks();
    let found = tasks
        .deliveries(&tenant, &agent.name, filter, page, agent.clock.now())
        .await?;
    let shown: Vec<Value> = found.items.iter().map(show).collect();
    Ok(Json(json!({"deliveries": shown, "nextCursor": found.next})))
}

fn show(delivery: &Delivery) -> Value {
    json!({
        "taskId": delivery.key.id,
        "configId": delivery.config_id,
        "host": delivery.url_host,
        "state": match delivery.state {
            DeliveryState::Idle => "idle",
            DeliveryState::Owed => "owed",
            DeliveryState::Parked => "parked",
        },
        "delivered": delivery.delivered,
        "latest": delivery.latest,
        "attempts": delivery.attempts,
        "lastError": delivery.last_error,
        "changedAt": delivery.changed_at,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Which {
    task_id: TaskId,
    config_id: PushConfigId,
}

async fn replay(
    State(agent): State<Arc<Agent>>,
    Keeper(tenant): Keeper,
    Json(which): Json<Which>,
) -> Result<StatusCode, Failure> {
    let key = TaskKey {
        tenant,
        agent: agent.name.clone(),
        id: which.task_id,
    };
    let tasks = agent.store.tasks();
    if !tasks
        .replay_push(&key, &which.config_id, agent.clock.now())
        .await?
    {
        return Err(Failure::NothingOwed);
    }
    tracing::info!(tenant.id = key.tenant.name(), task.id = %key.id, "a delivery is tried again by hand");
    let wake = Wake::push(&key, which.config_id);
    wake_or_log(agent.wake.as_ref(), &wake, Duration::ZERO).await;
    Ok(StatusCode::ACCEPTED)
}

/// Why a keeper does not get what was asked for.
enum Failure {
    NothingOwed,
    Store(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, error, message) = match self {
            Self::NothingOwed => (
                StatusCode::NOT_FOUND,
                "nothing_owed",
                "there is no such delivery, or nothing is owed to it, or it is on its way",
            ),
            Self::Store(StoreError::BadCursor) => (
                StatusCode::BAD_REQUEST,
                "bad_cursor",
                "the cursor does not belong to this listing",
            ),
            Self::Store(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the store failed over deliveries"
                );
                return StatusCode::INTERNAL_SERVER_ERROR.into_response();
            }
        };
        (status, Json(json!({"error": error, "message": message}))).into_response()
    }
}
