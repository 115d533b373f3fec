//! Clients of a tenant at the MQTT broker, for its operator.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use domain::{ExposeSecret, Tenant};
use edge::refused;
use http::{StatusCode, header};
use serde::Deserialize;
use serde_json::json;

use super::{Admin, Operator, Refused};

/// Most redirect URIs of one client.
const REDIRECT_URIS_MAX: usize = 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Wanted {
    #[serde(default)]
    redirect_uris: Vec<String>,
}

pub(super) async fn put(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    path: Result<Path<(Tenant, String)>, PathRejection>,
    body: Result<Json<Wanted>, JsonRejection>,
) -> Result<Response, Refused> {
    let (Path((name, client)), Json(Wanted { redirect_uris })) = (path?, body?);
    if redirect_uris.len() > REDIRECT_URIS_MAX {
        let message = format!("a client has at most {REDIRECT_URIS_MAX} redirect URIs");
        return Err(Refused(refused(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            &message,
        )));
    }
    let control = Arc::clone(&admin.control);
    // A caller who goes away leaves no client half admitted.
    let admitted = tokio::spawn(async move { control.admit_client(&name, &client, redirect_uris).await });
    let admitted = admitted.await.map_err(|_| Refused::broken())??;
    let body = json!({
        "address": admitted.address.to_string(),
        "password": admitted.password.expose_secret(),
        "clientId": admitted.client_id,
    });
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response())
}

pub(super) async fn remove(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    path: Result<Path<(Tenant, String)>, PathRejection>,
) -> Result<StatusCode, Refused> {
    let Path((name, client)) = path?;
    let control = Arc::clone(&admin.control);
    let gone = tokio::spawn(async move { control.dismiss_client(&name, &client).await });
    gone.await.map_err(|_| Refused::broken())??;
    Ok(StatusCode::NO_CONTENT)
}
