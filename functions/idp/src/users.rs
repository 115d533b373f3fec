//! `GET` and `POST /{tenant}/users`: the users of a tenant, for its admins.
//!
//! An admin comes with a token for this very address (RFC 8707) and the scope `users`: one that a person with the role `admin` has
//! let an application have, or one of the tenant's own chat, which has looked at the role of whoever is signed in there.

use std::sync::Arc;

use auth::{Algorithm, Issuer, JwksCache, KeyPlace, Profile, Refusal, TenantRule, Verifier, scope};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequestParts, RawQuery, State as Held};
use axum::response::{IntoResponse, Response};
use domain::{ExposeSecret as _, Owner, Tenant, clean};
use edge::refused;
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use store::audit::Actor;
use store::{PageRequest, StoreError, User};

use crate::error::{TokenError, unstored};
use crate::login::username;
use crate::own_token;
use crate::people::{People, new_password};
use crate::provision::{NewUser, ProvisionError};
use crate::state::AppState;
use crate::tenant::Here;
use crate::userinfo::user_of;

/// Most bytes of a body.
const BODY_MAX: usize = 4 * 1024;
/// Most users on a page, and how many there are where nobody says.
const PAGE_MAX: u32 = 100;
/// Longest name to call a user by, in characters.
const NAME_MAX: usize = 80;

/// Why an admin is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UserError {
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("{0}")]
    Invalid(String),
    #[error("the body is longer than {BODY_MAX} bytes")]
    TooLarge,
    #[error("there is a user {0} already")]
    Taken(String),
    #[error("there is no user {0}")]
    Nobody(String),
}

impl From<Refusal> for UserError {
    fn from(refusal: Refusal) -> Self {
        Self::Token(refusal.into())
    }
}

impl From<StoreError> for UserError {
    fn from(error: StoreError) -> Self {
        Self::Token(error.into())
    }
}

impl From<ProvisionError> for UserError {
    fn from(error: ProvisionError) -> Self {
        match error {
            ProvisionError::Taken(username) => Self::Taken(username),
            ProvisionError::Nobody(username) => Self::Nobody(username),
            ProvisionError::Store(error) => error.into(),
            wrong => Self::Invalid(wrong.to_string()),
        }
    }
}

impl IntoResponse for UserError {
    fn into_response(self) -> Response {
        let message = self.to_string();
        match self {
            Self::Token(error) => error.into_response(),
            Self::Invalid(_) => refused(StatusCode::BAD_REQUEST, "invalid_request", &message),
            Self::TooLarge => refused(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", &message),
            Self::Taken(_) => refused(StatusCode::CONFLICT, "user_exists", &message),
            Self::Nobody(_) => refused(StatusCode::NOT_FOUND, "not_found", &message),
        }
    }
}

/// A caller who may change the users of the tenant. Handlers take this, so none can forget the check.
pub(crate) struct Admin {
    tenant: Tenant,
    by: Owner,
}

impl FromRequestParts<Arc<AppState>> for Admin {
    type Rejection = UserError;
    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, UserError> {
        let here = Here::from_request_parts(parts, app).await?;
        let token = edge::bearer(&parts.headers)?;
        let of = |issuer: &str, keys| Issuer {
            issuer: issuer.to_owned(),
            tenants: TenantRule::One(here.tenant.clone()),
            profile: Profile::default(),
            algorithms: vec![Algorithm::Es256, Algorithm::Rs256],
            keys: KeyPlace::Static(keys),
        };
        let mut issuers = vec![of(&here.issuer, app.keys().public_jwks())];
        let sessions = app.identity().find_session_issuer(&here.tenant).await?;
        issuers.extend(sessions.map(|sessions| of(&sessions.issuer, sessions.keys)));
        let audience = format!("{}/users", here.issuer);
        let verifier = Verifier::with_issuers(audience, issuers, &JwksCache::offline());
        let verified = verifier.map_err(TokenError::from)?.verify(token, app.now())?;
        let by = verified.caller(Some(&here.tenant), scope::USERS)?.owner;
        // The chat has looked whether its admin is still one; here nobody has yet.
        if verified.issuer == here.issuer && !still_admin(app, &here, &by, token).await? {
            return Err(Refusal::Malformed.into());
        }
        let tenant = here.tenant;
        Ok(Self { tenant, by })
    }
}

/// Whether the token is of somebody who is still here, has not been signed out since, and is an admin.
async fn still_admin(app: &AppState, here: &Here, subject: &Owner, token: &str) -> Result<bool, UserError> {
    #[derive(Deserialize)]
    struct Issued {
        iat: i64,
    }
    let Some(Issued { iat }) = own_token::payload(token) else {
        return Ok(false);
    };
    let user = user_of(app, here, subject).await?;
    Ok(user.is_some_and(|user| {
        let is_after = user.not_before.is_none_or(|from| iat >= from.seconds());
        is_after && scope::may_allow(scope::USERS, &user.roles)
    }))
}

impl Admin {
    /// The tenant's users, for this admin.
    pub(crate) fn people<'a>(&'a self, app: &'a AppState) -> People<'a> {
        People {
            store: &app.given.store,
            tenant: &self.tenant,
            by: Actor::Owner(&self.by),
            now: app.now(),
        }
    }
}

/// A user, as admins see one.
pub(crate) fn shown(user: &User) -> Value {
    json!({ "username": user.username, "displayName": user.display_name, "roles": user.roles })
}

/// Parses a body; the fault names the place, never the content.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, UserError> {
    if body.len() > BODY_MAX {
        return Err(UserError::TooLarge);
    }
    serde_json::from_slice(body).map_err(|fault| {
        let (line, column) = (fault.line(), fault.column());
        UserError::Invalid(format!(
            "the body has not the wanted form (line {line}, column {column})"
        ))
    })
}

/// What to call a user: short, and nothing in it that is not seen.
pub(crate) fn display_name(text: &str) -> Result<String, UserError> {
    let name = clean(text, NAME_MAX + 1);
    match name.chars().count() {
        1..=NAME_MAX if name == text => Ok(name),
        _ => Err(UserError::Invalid(format!(
            "displayName is a name of 1 to {NAME_MAX} visible characters, without blanks around it"
        ))),
    }
}

/// A name that people can sign in with and that stands in an address: the same as the command takes.
fn new_name(text: &str) -> Result<(), UserError> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._@+-".contains(&b);
    let is_name = !text.bytes().all(|b| b == b'.') && text.bytes().all(fits);
    match is_name && username(text).is_some() {
        true => Ok(()),
        false => Err(UserError::Invalid(
            "username is 1 to 64 lower-case letters, digits and ._@+-".to_owned(),
        )),
    }
}

pub(crate) async fn list(
    admin: Admin,
    Held(app): Held<Arc<AppState>>,
    RawQuery(query): RawQuery,
) -> Result<Response, UserError> {
    let query = query.unwrap_or_default();
    let asked = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "cursor");
    let cursor = asked.map(|(_, cursor)| cursor.into_owned());
    if cursor
        .as_deref()
        .is_some_and(|cursor| username(cursor).as_deref() != Some(cursor))
    {
        return Err(UserError::Invalid(
            "the cursor does not belong to this listing".to_owned(),
        ));
    }
    let wanted = PageRequest {
        limit: PAGE_MAX,
        cursor,
    };
    let page = app.identity().page_of_users(&admin.tenant, &wanted).await?;
    let users: Vec<Value> = page.items.iter().map(shown).collect();
    Ok(unstored(Json(json!({ "users": users, "nextCursor": page.next }))))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Added {
    username: String,
    display_name: Option<String>,
    #[serde(default)]
    roles: Vec<String>,
}

pub(crate) async fn add(
    admin: Admin,
    Held(app): Held<Arc<AppState>>,
    body: Bytes,
) -> Result<Response, UserError> {
    let added: Added = parse(&body)?;
    new_name(&added.username)?;
    let password = new_password(app.entropy());
    let user = NewUser {
        display_name: display_name(added.display_name.as_deref().unwrap_or(&added.username))?,
        username: added.username,
        password: password.clone(),
        roles: added.roles,
    };
    let user = admin.people(&app).add(&user, app.now(), app.entropy()).await?;
    let mut told = shown(&user);
    if let Some(told) = told.as_object_mut() {
        told.insert("password".to_owned(), password.expose_secret().into());
    }
    Ok(unstored((StatusCode::CREATED, Json(told))))
}
