//! `PATCH` and `DELETE /{tenant}/users/{username}`, `POST …/reset` and `…/end`: one user of a tenant, for its admins.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequestParts, RawPathParams, State as Held};
use axum::response::Response;
use domain::ExposeSecret as _;
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde_json::json;

use crate::error::unstored;
use crate::login::username;
use crate::people::{UserChange, new_password};
use crate::state::AppState;
use crate::users::{Admin, UserError, display_name, parse, shown};

/// An admin, and the name of the user in the path.
pub(crate) struct Of(Admin, String);

impl FromRequestParts<Arc<AppState>> for Of {
    type Rejection = UserError;
    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, UserError> {
        let admin = Admin::from_request_parts(parts, app).await?;
        let unreadable = |_| UserError::Nobody(String::new());
        let params = RawPathParams::from_request_parts(parts, app)
            .await
            .map_err(unreadable)?;
        let named = params.iter().find(|(name, _)| *name == "username");
        let named = named.map(|(_, named)| named.to_owned()).unwrap_or_default();
        // What nobody can be called leads to no key.
        match username(&named).as_ref() == Some(&named) {
            true => Ok(Self(admin, named)),
            false => Err(UserError::Nobody(named)),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Changed {
    display_name: Option<String>,
    roles: Option<Vec<String>>,
}

pub(crate) async fn change(
    Of(admin, username): Of,
    Held(app): Held<Arc<AppState>>,
    body: Bytes,
) -> Result<Response, UserError> {
    let Changed {
        display_name: name,
        roles,
    } = parse(&body)?;
    if name.is_none() && roles.is_none() {
        return Err(UserError::Invalid("name displayName, roles, or both".to_owned()));
    }
    let display_name = name.map(|name| display_name(&name)).transpose()?;
    let change = UserChange { display_name, roles };
    let user = admin.people(&app).change(&username, &change).await?;
    Ok(unstored(Json(shown(&user))))
}

pub(crate) async fn remove(
    Of(admin, username): Of,
    Held(app): Held<Arc<AppState>>,
) -> Result<StatusCode, UserError> {
    admin.people(&app).remove(&username).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn reset(
    Of(admin, username): Of,
    Held(app): Held<Arc<AppState>>,
) -> Result<Response, UserError> {
    let password = new_password(app.entropy());
    let at = (app.now(), app.entropy());
    admin.people(&app).reset(&username, &password, at).await?;
    let told = json!({ "username": username, "password": password.expose_secret() });
    Ok(unstored(Json(told)))
}

pub(crate) async fn end(
    Of(admin, username): Of,
    Held(app): Held<Arc<AppState>>,
) -> Result<StatusCode, UserError> {
    admin.people(&app).end(&username, app.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
