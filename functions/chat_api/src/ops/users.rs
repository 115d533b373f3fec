//! `/api/admin/users`: the tenant's users at its own authorization server, for its admins. To everybody else there is no such thing.
//!
//! They are kept and changed there: it is asked in the admin's name, by a token of a minute that is good for nothing else.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use domain::Owner;
use http::request::Parts;
use http::{Method, StatusCode};
use outbound::CallError;
use serde_json::Value;
use store::SignedIn;
use store::audit::{self, Action};
use url::Url;

use crate::error::RouteError;
use crate::ops::agents::person_with;
use crate::session::guard::{FromHere, MayChange};
use crate::state::AppState;

/// Who looks after users and settings.
pub(crate) const ADMIN: &str = "admin";
/// Most bytes of a body.
const BODY_MAX: usize = 4 * 1024;
/// Longest name of a user, in bytes.
const USERNAME_MAX: usize = 64;

/// Somebody who has signed in and is an admin of the tenant.
pub(crate) struct Admin {
    pub(crate) owner: Owner,
    person: SignedIn,
}

impl FromRequestParts<Arc<AppState>> for Admin {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, room: &Arc<AppState>) -> Result<Self, RouteError> {
        let (owner, person) = person_with(&[ADMIN], parts, room).await?;
        Ok(Self { owner, person })
    }
}

impl Admin {
    /// Whether that user of our own authorization server is the admin.
    fn is(&self, username: &str) -> bool {
        !self.person.is_foreign && self.person.username == username
    }
}

pub(crate) async fn list(
    State(room): State<Arc<AppState>>,
    admin: Admin,
    RawQuery(query): RawQuery,
) -> Result<Response, RouteError> {
    let query = query.unwrap_or_default();
    let cursor = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "cursor");
    let mut url = users(&room)?.clone();
    if let Some((_, cursor)) = &cursor {
        url.query_pairs_mut().append_pair("cursor", cursor);
    }
    let (_, users) = ask(&room, &admin, (Method::GET, &url), None).await?;
    Ok(Json(users).into_response())
}

pub(crate) async fn add(
    State(room): State<Arc<AppState>>,
    admin: Admin,
    _: MayChange,
    body: Bytes,
) -> Result<Response, RouteError> {
    let body = parsed(&body)?;
    let named = body.get("username").and_then(Value::as_str).unwrap_or_default();
    let added = ask(&room, &admin, (Method::POST, users(&room)?), Some(&body)).await;
    told(
        &room,
        &admin,
        &format!("{}/add", domain::clean(named, USERNAME_MAX)),
        &added,
    )
    .await;
    let (status, user) = added?;
    Ok((status, Json(user)).into_response())
}

pub(crate) async fn change(
    State(room): State<Arc<AppState>>,
    admin: Admin,
    _: MayChange,
    username: Result<Path<String>, PathRejection>,
    body: Bytes,
) -> Result<Response, RouteError> {
    let username = named(username)?;
    let body = parsed(&body)?;
    let roles = body.get("roles").and_then(Value::as_array);
    if admin.is(&username) && roles.is_some_and(|roles| !roles.contains(&ADMIN.into())) {
        return Err(own_account());
    }
    let url = at(&room, &username, None)?;
    let changed = ask(&room, &admin, (Method::PATCH, &url), Some(&body)).await;
    told(&room, &admin, &format!("{username}/change"), &changed).await;
    Ok(Json(changed?.1).into_response())
}

pub(crate) async fn remove(
    State(room): State<Arc<AppState>>,
    admin: Admin,
    _: FromHere,
    username: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, RouteError> {
    let username = named(username)?;
    if admin.is(&username) {
        return Err(own_account());
    }
    let url = at(&room, &username, None)?;
    let removed = ask(&room, &admin, (Method::DELETE, &url), None).await;
    told(&room, &admin, &format!("{username}/remove"), &removed).await;
    removed.map(|(status, _)| status)
}

pub(crate) async fn act(
    State(room): State<Arc<AppState>>,
    admin: Admin,
    _: MayChange,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Response, RouteError> {
    let Path((username, verb)) = path.map_err(|_| RouteError::NotFound)?;
    let username = named(Ok(Path(username)))?;
    let verb = ["reset", "end"].into_iter().find(|known| *known == verb);
    let verb = verb.ok_or(RouteError::NotFound)?;
    let url = at(&room, &username, Some(verb))?;
    let body = Value::Object(serde_json::Map::new());
    let done = ask(&room, &admin, (Method::POST, &url), Some(&body)).await;
    told(&room, &admin, &format!("{username}/{verb}"), &done).await;
    match done? {
        (status @ StatusCode::NO_CONTENT, _) => Ok(status.into_response()),
        (status, user) => Ok((status, Json(user)).into_response()),
    }
}

/// An admin who could not come back would need the operator.
pub(crate) fn own_account() -> RouteError {
    RouteError::conflict(
        "own_account",
        "this is your own account: another admin, or the operator, removes it or its role",
    )
}

/// A body that is an object, and of the size of one.
fn parsed(body: &[u8]) -> Result<Value, RouteError> {
    if body.len() > BODY_MAX {
        return Err(RouteError::TooLarge);
    }
    let read: Option<Value> = serde_json::from_slice(body).ok();
    let object = read.filter(Value::is_object);
    object.ok_or_else(|| RouteError::invalid("invalid_body", "the body must be a JSON object"))
}

/// A name that can be somebody's. What an address would take for a step in it is nobody's.
fn named(username: Result<Path<String>, PathRejection>) -> Result<String, RouteError> {
    let Path(username) = username.map_err(|_| RouteError::NotFound)?;
    let fits = !username.is_empty()
        && username.len() <= USERNAME_MAX
        && !username.bytes().all(|b| b == b'.')
        && !username
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || c == '#');
    fits.then_some(username).ok_or(RouteError::NotFound)
}

/// Where the users are. What is not known is not there.
fn users(room: &AppState) -> Result<&Url, RouteError> {
    room.users.as_ref().ok_or(RouteError::NotFound)
}

/// The address of a user, or of something done to one.
pub(crate) fn at(room: &AppState, username: &str, verb: Option<&str>) -> Result<Url, RouteError> {
    let mut url = users(room)?.clone();
    url.path_segments_mut()
        .map_err(|()| RouteError::NotFound)?
        .push(username)
        .extend(verb);
    Ok(url)
}

/// Has the authorization server do it. What it refuses is refused in its words.
pub(crate) async fn ask(
    room: &AppState,
    admin: &Admin,
    (method, url): (Method, &Url),
    body: Option<&Value>,
) -> Result<(StatusCode, Value), RouteError> {
    let scope = auth::scope::USERS;
    let token = room.registry.token_for(&admin.owner, users(room)?, scope)?;
    let outbound = &room.registry.outbound;
    let asked = outbound.request_json(method, url, body, Some(&token)).await;
    let (status, answer) = asked.map_err(RouteError::Users)?;
    let message = answer.get("message").and_then(Value::as_str).unwrap_or_default();
    match status {
        200 => Ok((StatusCode::OK, answer)),
        201 => Ok((StatusCode::CREATED, answer)),
        204 => Ok((StatusCode::NO_CONTENT, answer)),
        400 => Err(RouteError::invalid("invalid_request", message)),
        404 => Err(RouteError::NotFound),
        409 => Err(RouteError::conflict("user_exists", message)),
        413 => Err(RouteError::TooLarge),
        status => Err(RouteError::Users(CallError::Status(status))),
    }
}

/// Tells of a change and from where it was asked for; the authorization server tells of it too, and knows us alone.
async fn told(room: &AppState, admin: &Admin, object: &str, done: &Result<(StatusCode, Value), RouteError>) {
    let result = done.as_ref().map_or_else(RouteError::code, |_| audit::DONE);
    room.tell(Action::AdminUser, &admin.owner, object, result).await;
}
