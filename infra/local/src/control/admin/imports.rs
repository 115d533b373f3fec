//! Which agents of the MQTT broker the registry is to know.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use serde_json::{Value, json};

use super::{Admin, Operator, Refused};
use crate::data::secrets::ImportChange;

pub(super) async fn list(_: Operator, State(admin): State<Arc<Admin>>) -> Json<Value> {
    Json(listed(&admin))
}

pub(super) async fn change(
    _: Operator,
    State(admin): State<Arc<Admin>>,
    body: Result<Json<ImportChange>, JsonRejection>,
) -> Result<Json<Value>, Refused> {
    let Json(change) = body?;
    admin.control.import(&change).await?;
    Ok(Json(listed(&admin)))
}

fn listed(admin: &Admin) -> Value {
    json!({ "imports": admin.control.imports() })
}
