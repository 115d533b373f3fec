//! `POST /api/push/tasks`: the host tells of a task whose owner wants to hear of it in browsers that have no page open.
//!
//! It is a push notification of A2A to ourselves, so that it is kept, repeated and given up by the host's own schedule. Browsers are told
//! that a task has ended, or waits for its user, and which: never what it is about.

use std::sync::Arc;
use std::time::Duration;

use auth::web_push::Subscriber;
use auth::{bearer, token};
use axum::body::Bytes;
use axum::extract::{FromRequestParts, State};
use domain::{Owner, Task, TaskId, TaskState};
use futures_util::future::join_all;
use http::StatusCode;
use http::header::AUTHORIZATION;
use http::request::Parts;
use outbound::{CallError, PushError, WebPush};
use serde_json::json;
use store::PushSubscription;

use crate::chat::turn;
use crate::error::RouteError;
use crate::push::browsers::{Reach, place};
use crate::session::guard::FromHere;
use crate::state::AppState;

/// How long a push service keeps the word for a browser that is off.
const TTL: Duration = Duration::from_secs(7 * 24 * 3600);
/// Characters of a topic (RFC 8030 §5.4).
const TOPIC_CHARS: usize = 32;

/// Whose tasks the request may tell of: proved by the pass that was given with the request to be told.
pub(crate) struct TellsOf(Owner);

impl FromRequestParts<Arc<AppState>> for TellsOf {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        let pass = parts.headers.get(AUTHORIZATION);
        let pass = pass.and_then(|pass| bearer(Some(pass.to_str().ok()?)).ok());
        let owner = pass.and_then(|pass| room.push.owner_of(pass));
        owner.map(Self).ok_or(RouteError::NoPass)
    }
}

/// 204 once there is nothing left to do; 503 where some browser has to be told once more.
pub(crate) async fn told(
    State(room): State<Arc<AppState>>,
    _: FromHere,
    TellsOf(owner): TellsOf,
    body: Bytes,
) -> Result<StatusCode, RouteError> {
    let told = a2a::decode::notification(&body)
        .map_err(|rubbish| RouteError::invalid("invalid_notification", &rubbish.to_string()))?;
    let state = told.update.as_ref().map(|update| update.state);
    let task = told.remote_task_id;
    let (Some(state), Some(task)) = (
        state.filter(|state| state.is_terminal() || state.is_interrupted()),
        task,
    ) else {
        return Ok(StatusCode::NO_CONTENT);
    };
    let Some(id) = TaskId::parse(task.as_str()).ok() else {
        return Ok(StatusCode::NO_CONTENT);
    };
    let Some(task) = room.find_task(&owner, id).await? else {
        return Ok(StatusCode::NO_CONTENT);
    };
    // What it has come to since will be told by itself.
    if task.status.state != state || !is_worth_telling(&task) {
        return Ok(StatusCode::NO_CONTENT);
    }
    let (sessions, now) = (room.store.sessions(), room.clock.now());
    let browsers = sessions.live_subscriptions(&room.tenant, &owner, now).await?;
    let news = format!("{}/{}", task.id, task.rev);
    let untold = browsers.iter().filter(|one| one.told.as_ref() != Some(&news));
    let untold: Vec<&PushSubscription> = untold.collect();
    let outcomes = join_all(untold.iter().map(|one| tell(&room, &owner, one, &task))).await;
    let again = outcomes.contains(&Outcome::Later);
    for (one, outcome) in untold.iter().zip(outcomes) {
        match outcome {
            Outcome::Gone => sessions.end_subscription(&room.tenant, &owner, &one.id).await?,
            Outcome::Told if again => {
                let told = (one.id.as_str(), news.as_str());
                sessions.note_told(&room.tenant, &owner, told).await?;
            }
            Outcome::Told | Outcome::Refused | Outcome::Later => {}
        }
    }
    match again {
        true => Err(RouteError::ToldLater),
        false => Ok(StatusCode::NO_CONTENT),
    }
}

/// Talk has no card to look at, and whoever called a task off knows.
fn is_worth_telling(task: &Task) -> bool {
    turn::has_card(task) && task.status.state != TaskState::Canceled
}

/// What became of telling a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Told,
    /// There is no such browser any more.
    Gone,
    /// Its push service does not take it, now or ever.
    Refused,
    /// Its push service takes nothing now.
    Later,
}

async fn tell(room: &AppState, owner: &Owner, one: &PushSubscription, task: &Task) -> Outcome {
    let sent = send(room, owner, one, task).await;
    let outcome = match &sent {
        Ok(()) => Outcome::Told,
        Err(NotTold::Push(PushError::NotNow { .. })) => Outcome::Later,
        Err(NotTold::Unknown | NotTold::Push(PushError::Failed(CallError::Status(404 | 410)))) => {
            Outcome::Gone
        }
        Err(NotTold::Push(PushError::Failed(fault))) if fault.is_retryable() => Outcome::Later,
        Err(_) => Outcome::Refused,
    };
    match sent {
        Ok(()) => tracing::info!(task.id = %task.id, "a browser was told"),
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(task.id = %task.id, error, ?outcome, "a browser was not told");
        }
    }
    outcome
}

/// Why a browser was not told.
#[derive(Debug, thiserror::Error)]
enum NotTold {
    /// Its keys were sealed under another session key: it subscribes anew when it is here again.
    #[error("it has to subscribe anew")]
    Sealed,
    /// It subscribed when any service was taken, or when an operator had added this one.
    #[error("its push service is not one that browsers are reached at here")]
    Unknown,
    #[error("nothing can be encrypted for it")]
    Key(#[from] auth::KeyError),
    #[error(transparent)]
    Push(#[from] PushError),
}

async fn send(room: &AppState, owner: &Owner, one: &PushSubscription, task: &Task) -> Result<(), NotTold> {
    let plain = room.push.sealer().open(&one.sealed, &place(room, owner, &one.id));
    let plain = plain.map_err(|_| NotTold::Sealed)?;
    let reach: Reach = serde_json::from_slice(&plain).map_err(|_| NotTold::Sealed)?;
    if !room.push_services.have(&reach.endpoint) {
        return Err(NotTold::Unknown);
    }
    let browser = Subscriber::parse(&reach.keys.p256dh, &reach.keys.auth).map_err(|_| NotTold::Sealed)?;
    let waits = !task.status.state.is_terminal();
    let message = json!({"task": task.id, "waits": waits}).to_string();
    // Of what waits for a browser the last word about a task is enough.
    let topic = token::hash(&format!("web-push/{}/{}", room.tenant.prefix(), task.id));
    let push = WebPush {
        tenant: &room.tenant,
        endpoint: &reach.endpoint,
        body: browser.encrypt(message.as_bytes(), room.entropy.as_ref())?,
        authorization: &room
            .push
            .authorization(&reach.endpoint, &contact(room), room.clock.now())?,
        topic: topic.get(..TOPIC_CHARS).unwrap_or_default(),
        ttl: TTL,
    };
    Ok(room.outbound.web_push(push, room.clock.as_ref()).await?)
}

/// Where a push service finds whoever sends: the site that the tenant's page is at. One without https is a local system's.
fn contact(room: &AppState) -> String {
    match room.base.scheme() {
        "https" => room.base.origin().ascii_serialization(),
        _ => "mailto:nobody@example.com".to_owned(),
    }
}
