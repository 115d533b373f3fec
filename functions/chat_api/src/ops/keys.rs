//! `GET /api/ops/keys`: the tenant's keys as its authorization server vouches for them, by their public halves: which they are, and
//! since when. Nothing here changes a key: the command `switchyard keys rotate` does.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::{Timestamp, clean};
use futures_util::future::try_join;
use outbound::{CallError, below};
use serde_json::{Value, json};
use url::Url;

use crate::error::RouteError;
use crate::ops::agents::Operator;
use crate::state::AppState;

/// Most keys that are told of each kind.
const MOST: usize = 20;

/// Lists the keys: those that sign sessions' tokens, then those that follow from the keys that seal secrets; newest first.
pub(crate) async fn keys(
    State(room): State<Arc<AppState>>,
    Operator(_): Operator,
) -> Result<Json<Value>, RouteError> {
    let issuer = room.authority.as_ref().ok_or(RouteError::NotFound)?;
    let (sessions, browsers) = (below(issuer, "sessions.json"), below(issuer, "browsers.json"));
    let (sessions, sealing) = try_join(published(&room, &sessions), published(&room, &browsers)).await?;
    let told = |purpose: &'static str| move |key: &Value| shown(key, purpose);
    let keys: Vec<Value> = sessions
        .iter()
        .filter_map(told("session"))
        .chain(sealing.iter().filter_map(told("sealing")))
        .collect();
    Ok(Json(json!({"keys": keys, "signingKey": room.registry.key.kid()})))
}

/// The keys of a public document.
async fn published(room: &AppState, url: &Url) -> Result<Vec<Value>, RouteError> {
    let document: Result<Value, CallError> = room.registry.outbound.get_json(url, None).await;
    let document = document.map_err(RouteError::Users)?;
    let keys = document.get("keys").and_then(Value::as_array);
    Ok(keys.into_iter().flatten().take(MOST).cloned().collect())
}

/// A key's name and its time; what is not of the form is left out.
fn shown(key: &Value, purpose: &str) -> Option<Value> {
    let id = clean(key.get("kid")?.as_str()?, 100);
    let since = key.get("iat").and_then(Value::as_i64);
    let since = since
        .and_then(|seconds| seconds.checked_mul(1000))
        .map(Timestamp::from_millis);
    Some(json!({"id": id, "purpose": purpose, "since": since}))
}
