//! `GET /{tenant}/jwks.json`: the public keys, the next one among them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State as Held;
use axum::response::{IntoResponse as _, Response};

use crate::metadata::cached;
use crate::state::Room;
use crate::tenant::Here;

pub(crate) async fn show(_: Here, Held(room): Held<Arc<Room>>) -> Response {
    cached(Json(room.keys.set().document()).into_response())
}
