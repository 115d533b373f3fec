//! `GET /types`: every declared type with its scope, and which of them are private.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Held;
use serde_json::{Map, Value};

use crate::State;
use crate::access::Reader;
use crate::error::RouteError;
use crate::view;

pub(crate) async fn list(_: Reader, Held(state): Held<Arc<State>>) -> Result<Json<Value>, RouteError> {
    let declared = state.store.registry().types().await?;
    Ok(Json(view::with_types(Map::new(), &declared)))
}
