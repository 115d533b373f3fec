//! `GET`, `PUT /api/push` and `DELETE /api/push/{id}`: the browser that asks is told of its user's tasks while no page is open, or no
//! longer (Web Push).
//!
//! A subscription is known by a digest of the push service's address for the browser, which is kept sealed with the browser's keys.

use std::sync::Arc;
use std::time::Duration;

use auth::token;
use auth::web_push::Subscriber;
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use domain::{ExposeSecret, Lasting, Owner, TaskId, Timestamp};
use futures_util::future::join_all;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{PushSubscription, Session};
use url::Url;

use crate::error::RouteError;
use crate::session::guard::{FromHere, MayChange};
use crate::session::visitor::{Seen, Visitor};
use crate::state::AppState;

/// So often the end of a subscription is put off.
const SLIDES_EVERY: Duration = Duration::from_secs(24 * 3600);
/// Most bytes of a push service's address.
const ENDPOINT_MAX: usize = 2048;
/// Most bytes of what is sent here.
const BODY_MAX: usize = 8 * 1024;
/// Characters of a subscription's id.
const ID_CHARS: usize = 43;
/// Most tasks under way that are told of as well: the newest.
const RUNNING_MAX: usize = 20;
/// Most tasks that those are looked for among.
const LOOKED_AT: u32 = 50;

/// The browser that asks, where it has subscribed.
#[derive(Deserialize)]
pub(crate) struct Here {
    id: Option<String>,
}

/// The key to subscribe with, and whether the browser is told of what its present user's tasks do.
pub(crate) async fn show(
    State(room): State<Arc<AppState>>,
    seen: Seen,
    headers: HeaderMap,
    here: Result<Query<Here>, QueryRejection>,
) -> Result<Json<Value>, RouteError> {
    let Visitor(visitor) = Visitor::of(&seen, &room)?;
    let here = here.ok().and_then(|Query(here)| here.id);
    let here = here.filter(|id| is_id(id));
    let now = room.clock.now();
    let found = match (&visitor, &here) {
        (Some(owner), Some(id)) => {
            let sessions = room.store.sessions();
            sessions.find_subscription(&room.tenant, owner, id, now).await?
        }
        _ => None,
    };
    let is_on = found.is_some();
    if let (Some(owner), Some(found)) = (&visitor, found) {
        slid(&room, &headers, owner, found, now).await?;
    }
    Ok(Json(json!({"key": room.push.public(), "on": is_on})))
}

/// How long a subscription lasts whose browser is not here again.
fn lasts(room: &AppState) -> Duration {
    let retention = room.store.tenants().retention(&room.tenant);
    retention.of(Lasting::Subscriptions)
}

/// Once a day the end of a subscription is put off, and what it was proved by renewed.
async fn slid(
    room: &AppState,
    headers: &HeaderMap,
    owner: &Owner,
    found: PushSubscription,
    now: Timestamp,
) -> Result<(), RouteError> {
    let Some((hash, session)) = session(room, headers, now).await? else {
        return Ok(());
    };
    let is_its_own = session.pushes.here.as_ref() == Some(&found.id);
    let lasts = lasts(room);
    if is_its_own && found.expires_at.since(now) + SLIDES_EVERY > lasts {
        return Ok(());
    }
    let found = PushSubscription {
        person: session.person,
        expires_at: now.after(lasts),
        ..found
    };
    let sessions = room.store.sessions();
    sessions
        .extend_subscription(&room.tenant, (owner, &hash), &found)
        .await?;
    Ok(())
}

/// The session that the request came with, under the hash of its token.
async fn session(
    room: &AppState,
    headers: &HeaderMap,
    now: Timestamp,
) -> Result<Option<(String, Session)>, RouteError> {
    let Some(token) = edge::session::presented(headers, &room.tenant, &room.base) else {
        return Ok(None);
    };
    let hash = token::hash(token.expose_secret());
    let sessions = room.store.sessions();
    let found = sessions.find_session(&room.tenant, &hash, now).await?;
    Ok(found.map(|session| (hash, session)))
}

/// What a browser sends: its `PushSubscription`, and the id of the one before in its place.
#[derive(Deserialize)]
struct Body {
    endpoint: String,
    keys: Keys,
    #[serde(default)]
    replaces: Option<String>,
}

/// How a browser can be reached; sealed where it is kept.
#[derive(Serialize, Deserialize)]
pub(crate) struct Reach {
    pub(crate) endpoint: Url,
    pub(crate) keys: Keys,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Keys {
    pub(crate) p256dh: String,
    pub(crate) auth: String,
}

/// From here on this browser is told: of what is begun, and of what is under way. A repeat changes nothing.
pub(crate) async fn subscribe(
    State(room): State<Arc<AppState>>,
    _: MayChange,
    seen: Seen,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, RouteError> {
    let Visitor(visitor) = Visitor::of(&seen, &room)?;
    let (id, reach, replaces) = parsed(&room, &body)?;
    let now = room.clock.now();
    let (Some(owner), Some((hash, session))) = (visitor, session(&room, &headers, now).await?) else {
        let reason = "there is nobody here yet who could be told; say something first";
        return Err(RouteError::conflict("nobody_here", reason));
    };
    let sessions = room.store.sessions();
    if let Some(before) = replaces.filter(|before| *before != id) {
        sessions.end_subscription(&room.tenant, &owner, &before).await?;
    }
    let plain = json!(reach).to_string();
    let place = place(&room, &owner, &id);
    let subscription = PushSubscription {
        sealed: room
            .push
            .sealer()
            .seal(plain.as_bytes(), &place, room.entropy.as_ref()),
        id,
        person: session.person,
        created_at: now,
        expires_at: now.after(lasts(&room)),
        told: None,
    };
    sessions
        .keep_subscription(&room.tenant, (&owner, &hash), &subscription)
        .await?;
    tell_of_running(&room, &owner).await?;
    tracing::info!("a browser is told of tasks from here on");
    Ok(Json(json!({"on": true})))
}

/// What seals a subscription to where it lies.
pub(crate) fn place(room: &AppState, owner: &Owner, id: &str) -> String {
    format!("web-push/{}/{owner}/{id}", room.tenant.prefix())
}

fn parsed(room: &AppState, body: &[u8]) -> Result<(String, Reach, Option<String>), RouteError> {
    let wrong = |message: &str| RouteError::invalid("invalid_subscription", message);
    if body.len() > BODY_MAX {
        return Err(RouteError::too_large(
            "payload_too_large",
            "this is no browser's subscription",
        ));
    }
    let Body {
        endpoint,
        keys,
        replaces,
    } = serde_json::from_slice(body)
        .map_err(|_| wrong("the body must be {endpoint, keys: {p256dh, auth}}, as a browser makes it"))?;
    let refused = |message: &str| RouteError::invalid("invalid_endpoint", message);
    if endpoint.len() > ENDPOINT_MAX {
        return Err(refused("endpoint must be shorter"));
    }
    let id = token::hash(&endpoint);
    let endpoint = Url::parse(&endpoint).map_err(|_| refused("endpoint must be an https address"))?;
    room.outbound.check_url(&endpoint).map_err(|error| {
        refused(&format!(
            "endpoint must be a public https address of a push service: {error}"
        ))
    })?;
    if !room.push_services.have(&endpoint) {
        let host = endpoint.host_str().unwrap_or_default();
        let message =
            format!("{host} is not a push service that browsers are reached at here; an operator can add it");
        return Err(RouteError::invalid("unknown_push_service", &message));
    }
    Subscriber::parse(&keys.p256dh, &keys.auth).map_err(|error| wrong(&error.to_string()))?;
    if replaces.as_ref().is_some_and(|id| !is_id(id)) {
        return Err(wrong("replaces must be the id of a subscription"));
    }
    Ok((id, Reach { endpoint, keys }, replaces))
}

/// What is under way is told of as well. A task of which that cannot be had now is merely not told of.
async fn tell_of_running(room: &AppState, owner: &Owner) -> Result<(), RouteError> {
    let tasks = room.store.tasks();
    let heads = tasks.heads(&room.tenant, &room.agent, owner, LOOKED_AT).await?;
    let running = heads.iter().filter(|head| !head.state.is_terminal());
    let running: Vec<TaskId> = running.map(|head| head.id).take(RUNNING_MAX).collect();
    let asked = running.iter().map(|task| room.host.tells_of(owner, *task));
    for (task, asked) in running.iter().zip(join_all(asked).await) {
        if let Err(error) = asked {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(task.id = %task, error, "a browser will not be told of a task under way");
        }
    }
    Ok(())
}

/// This browser is told no longer.
pub(crate) async fn unsubscribe(
    State(room): State<Arc<AppState>>,
    id: Result<Path<String>, PathRejection>,
    _: FromHere,
    Visitor(visitor): Visitor,
) -> Result<StatusCode, RouteError> {
    let id = id.map(|Path(id)| id).ok().filter(|id| is_id(id));
    let (Some(owner), Some(id)) = (visitor, id) else {
        return Err(RouteError::NotFound);
    };
    let (sessions, now) = (room.store.sessions(), room.clock.now());
    let found = sessions.find_subscription(&room.tenant, &owner, &id, now);
    if found.await?.is_none() {
        return Err(RouteError::NotFound);
    }
    sessions.end_subscription(&room.tenant, &owner, &id).await?;
    tracing::info!("a browser is told of tasks no longer");
    Ok(StatusCode::NO_CONTENT)
}

fn is_id(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    text.len() == ID_CHARS && text.bytes().all(fits)
}
