//! The users of a tenant, for its operator.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use domain::{ExposeSecret, Owner, SecretString, Tenant};
use http::{StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Admin, Operator, Refused};
use crate::error::StartError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Added {
    username: String,
    #[serde(default)]
    roles: Vec<String>,
}

pub(super) async fn list(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
) -> Result<Json<Value>, Refused> {
    let tenant = admin.control.named(&name?.0)?;
    let users = admin.control.site.store.identity().list_users(&tenant).await;
    let users = users.map_err(StartError::part("authorization server"))?;
    let issuer = idp::issuer(&admin.control.now().endpoints.idp, &tenant);
    let sessions = admin.control.site.store.sessions();
    let mut told = Vec::new();
    for user in &users {
        let mut owner = store::person_id(&issuer, &user.subject, user.since).ok();
        if let Some(id) = &owner {
            let known = sessions.find_person(&tenant, id).await;
            let known = known.map_err(StartError::part("people"))?;
            // Whoever took over a guest's work goes on as that guest.
            owner = known.and_then(|known| known.owner).or(owner);
        }
        told.push(
            json!({ "username": user.username, "displayName": user.display_name, "roles": user.roles, "owner": owner }),
        );
    }
    Ok(Json(json!({ "users": told })))
}

pub(super) async fn add(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
    body: Result<Json<Added>, JsonRejection>,
) -> Result<Response, Refused> {
    let (Path(name), Json(Added { username, roles })) = (name?, body?);
    let password = admin.control.add_user(&name, &username, &roles).await?;
    Ok(told(StatusCode::CREATED, &username, &password))
}

pub(super) async fn reset(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    path: Result<Path<(Tenant, String)>, PathRejection>,
) -> Result<Response, Refused> {
    let Path((name, username)) = path?;
    let password = admin.control.reset_user(&name, &username).await?;
    Ok(told(StatusCode::OK, &username, &password))
}

pub(super) async fn remove(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    path: Result<Path<(Tenant, String)>, PathRejection>,
) -> Result<StatusCode, Refused> {
    let Path((name, username)) = path?;
    admin.control.remove_user(&name, &username).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Person {
    issuer: String,
    subject: Owner,
}

pub(super) async fn end(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
    body: Result<Json<Person>, JsonRejection>,
) -> Result<StatusCode, Refused> {
    let (Path(name), Json(Person { issuer, subject })) = (name?, body?);
    admin.control.end_person(&name, (&issuer, &subject)).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Somebody {
    name: Option<String>,
}

pub(super) async fn erase(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    name: Result<Path<Tenant>, PathRejection>,
    body: Result<Json<Somebody>, JsonRejection>,
) -> Result<Json<Value>, Refused> {
    let (Path(name), Json(Somebody { name: person })) = (name?, body?);
    let erased = admin.control.erase_people(&name, person.as_deref()).await?;
    Ok(Json(json!({ "erased": erased })))
}

fn told(status: StatusCode, username: &str, password: &SecretString) -> Response {
    let body = json!({ "username": username, "password": password.expose_secret() });
    (status, [(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}
