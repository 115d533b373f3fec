//! `POST /api/session/guest`: a person who has signed in says whether the work of the guest who was in this browser before is theirs.
//!
//! Where it is, the guest's id becomes the person's. What the guest had been let do elsewhere, links that are open and every
//! session of the guest end before that: a cookie that somebody planted here, and whoever holds a copy of it, has nothing of
//! the person's. A guest's work is taken over once.

use std::sync::Arc;

use a2a::EVERY_CONNECTION;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::{ExposeSecret, Owner};
use http::HeaderMap;
use http::header::SET_COOKIE;
use serde_json::{Value, json};
use store::audit::{self, Action};
use store::{Adopted, GuestBefore, LiveSession, PageRequest, Pushes, Session};

use crate::error::RouteError;
use crate::session::guard::MayChange;
use crate::session::visitor::{Seen, Visitor};
use crate::state::AppState;

/// Most chats that are counted for the question.
const COUNTED: u32 = 100;

pub(crate) async fn guest(
    State(room): State<Arc<AppState>>,
    _: MayChange,
    seen: Seen,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, RouteError> {
    // Where one must sign in, that comes first.
    let Visitor(_) = Visitor::of(&seen, &room)?;
    let Seen(session) = seen;
    let told: Option<Value> = serde_json::from_slice(&body).ok();
    let take = told.and_then(|told| told.get("take")?.as_bool());
    let take = take
        .ok_or_else(|| RouteError::invalid("invalid_body", "the body must be {\"take\": true or false}"))?;
    let token = edge::session::presented(&headers, &room.tenant, &room.base);
    let hash = token.map(|token| auth::token::hash(token.expose_secret()));
    let (Some(session), Some(hash)) = (session, hash) else {
        return Err(gone());
    };
    let asked = Asked::of(session).ok_or_else(gone)?;
    match take {
        true => take_over(&room, &hash, &asked).await,
        false => {
            room.store.sessions().forget_guest(&room.tenant, &hash).await?;
            Ok(Json(json!({"taken": false})).into_response())
        }
    }
}

fn gone() -> RouteError {
    RouteError::conflict(
        "guest_gone",
        "there is nothing to be taken over here, or not any more",
    )
}

/// Somebody who has not said yet whose a guest's work is.
struct Asked {
    person: Owner,
    guest: GuestBefore,
}

impl Asked {
    fn of(session: LiveSession) -> Option<Self> {
        let person = session.signed_in?.id?;
        // Whoever works under another id than their own has taken over a guest's work before.
        let is_own = session.owner == person;
        let guest = session.guest.filter(|_| is_own)?;
        Some(Self { person, guest })
    }
}

async fn take_over(room: &AppState, hash: &str, asked: &Asked) -> Result<Response, RouteError> {
    let (sessions, tenant) = (room.store.sessions(), &room.tenant);
    let Asked { person, guest } = asked;
    // Another try of the same person goes on where the one before broke off.
    let before = sessions.adopted_by(tenant, &guest.owner).await?;
    if before.as_ref() != Some(person) {
        let now = room.clock.now();
        let found = sessions.find_session(tenant, &guest.session, now).await?;
        let is_there = found.is_some_and(|found| found.owner == guest.owner && found.person.is_none());
        if before.is_some() || !is_there || has_work(room, person).await? {
            return Err(gone());
        }
        // Whoever takes over two guests at once gets the one, and nothing of the other ends.
        if sessions.adopt(tenant, &guest.owner, person).await? != Adopted::Yes {
            return Err(gone());
        }
    }
    // From here on the old cookie leads nowhere, so that nothing comes after what is ended now.
    sessions.end_sessions_of(tenant, &guest.owner, None).await?;
    room.host.disconnect(&guest.owner, EVERY_CONNECTION).await?;
    if !sessions.give_work(tenant, person, &guest.owner).await? {
        return Err(gone());
    }
    let cookie = rotated(room, hash, &guest.owner).await?;
    // In other browsers they sign in once more, and find the same there.
    sessions.end_sessions_of(tenant, person, None).await?;
    room.tell(Action::ChatTakeOver, person, guest.owner.as_str(), audit::DONE)
        .await;
    let mut response = Json(json!({"taken": true})).into_response();
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// The person's session under a new token, and with the guest's work; the cookie to set.
async fn rotated(room: &AppState, hash: &str, owner: &Owner) -> Result<http::HeaderValue, RouteError> {
    let (sessions, now) = (room.store.sessions(), room.clock.now());
    let found = sessions.find_session(&room.tenant, hash, now).await?;
    let session = Session {
        owner: owner.clone(),
        guest: None,
        // Browsers subscribe anew: whoever planted a guest's cookie must not hear of what becomes the person's.
        pushes: Pushes::default(),
        ..found.ok_or_else(gone)?
    };
    let token = edge::session::token(room.entropy.as_ref());
    let next = auth::token::hash(token.expose_secret());
    let moved = sessions.replace_session(&room.tenant, (hash, &next), &session);
    if !moved.await? {
        return Err(gone());
    }
    let lifetime = session.expires_at.since(now);
    edge::session::given((&room.tenant, &room.base), &token, lifetime)
        .ok_or_else(|| RouteError::invalid("invalid_cookie", "the cookie cannot be written"))
}

/// Whether a person has chats or tasks of their own.
async fn has_work(room: &AppState, person: &Owner) -> Result<bool, RouteError> {
    let one = PageRequest {
        limit: 1,
        cursor: None,
    };
    let chats = room
        .store
        .sessions()
        .chats_of(&room.tenant, person, one, room.clock.now())
        .await?;
    let tasks = room.store.tasks();
    let tasks = tasks.heads(&room.tenant, &room.agent, person, 1).await?;
    Ok(!chats.items.is_empty() || !tasks.is_empty())
}

/// What the page asks of whoever has signed in where a guest has chatted; nothing where there is no question.
pub(crate) async fn question(room: &AppState, session: &LiveSession) -> Result<Option<Value>, RouteError> {
    let Some(asked) = Asked::of(session.clone()) else {
        return Ok(None);
    };
    let all = PageRequest {
        limit: COUNTED,
        cursor: None,
    };
    let sessions = room.store.sessions();
    let chats = sessions.chats_of(&room.tenant, &asked.guest.owner, all, room.clock.now());
    let chats = chats.await?.items;
    let mut kept = Vec::new();
    for chat in &chats {
        if chat.deleted_at.is_none() {
            kept.push(chat.updated_at);
        }
    }
    let Some(newest) = kept.first() else {
        return Ok(None);
    };
    if has_work(room, &asked.person).await? {
        return Ok(None);
    }
    Ok(Some(json!({
        "chats": kept.len(),
        "lastAt": newest,
        "suggested": !asked.guest.shared,
    })))
}
