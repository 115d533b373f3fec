//! `GET /api/session`: who the page is talking to.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::ExposeSecret;
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use store::LiveSession;

use crate::error::RouteError;
use crate::session::guest::question;
use crate::session::visitor::Seen;
use crate::state::AppState;

/// So often the end of a guest's session is put off.
const SLIDES_EVERY: Duration = Duration::from_secs(24 * 3600);

/// Tells who is there, and what they are asked.
pub(crate) async fn session(
    State(room): State<Arc<AppState>>,
    headers: HeaderMap,
    Seen(session): Seen,
) -> Result<Response, RouteError> {
    let cookie = match &session {
        Some(guest) if guest.signed_in.is_none() => slid(&room, &headers, guest).await?,
        _ => None,
    };
    let question = match &session {
        Some(session) => question(&room, session).await?,
        None => None,
    };
    let may_share = room
        .store
        .tenants()
        .sharing(&room.tenant, room.clock.now())
        .await?
        .is_some();
    let owner = session.as_ref().map(|session| room.mark(&session.owner));
    let mut told = json!({
        "who": "nobody",
        "owner": owner.unwrap_or_default(),
        "signIn": room.sign_in,
        "signInRequired": room.require_sign_in,
        "sharing": may_share,
    });
    let more = match session {
        None => json!({}),
        Some(LiveSession {
            signed_in: Some(person),
            expires_at,
            ..
        }) => {
            let has = |role: &str| person.roles.iter().any(|own| own == role);
            let role = ["admin", "operator"].into_iter().find(|role| has(role));
            let mut told = json!({
                "who": "person",
                "name": person.display_name,
                "username": person.username,
                "role": role.unwrap_or("member"),
                "until": expires_at,
            });
            if let (Some(told), Some(question)) = (told.as_object_mut(), question) {
                told.insert("takeOver".to_owned(), question);
            }
            told
        }
        Some(guest) => json!({ "who": "guest", "until": guest.expires_at }),
    };
    if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
        told.extend(more);
    }
    let mut response = Json(told).into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// A guest's session ends a month after the guest was last here, not after the first time: once a day its end is put off. The cookie to
/// set then.
async fn slid(
    room: &AppState,
    headers: &HeaderMap,
    guest: &LiveSession,
) -> Result<Option<HeaderValue>, RouteError> {
    let (now, lifetime) = (room.clock.now(), room.settings.session_lifetime);
    if guest.expires_at.since(now) + SLIDES_EVERY > lifetime {
        return Ok(None);
    }
    let Some(token) = edge::session::presented(headers, &room.tenant, &room.base) else {
        return Ok(None);
    };
    let hash = auth::token::hash(token.expose_secret());
    let sessions = room.store.sessions();
    let place = (hash.as_str(), &guest.owner);
    let is_there = sessions
        .extend_session(&room.tenant, place, now.after(lifetime))
        .await?;
    let cookie = edge::session::given((&room.tenant, &room.base), &token, lifetime);
    Ok(cookie.filter(|_| is_there))
}
