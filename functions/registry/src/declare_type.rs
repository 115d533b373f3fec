//! `PUT /types/{name}`: says once whether the agents of a type serve every tenant or each its own.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State as Held};
use bytes::Bytes;
use domain::{AgentType, TypeScope};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{Cards, Declared};

use crate::State;
use crate::access::Platform;
use crate::body::parse;
use crate::error::RouteError;

/// Most types a registry holds.
const MAX_TYPES: usize = 500;

#[derive(Deserialize)]
struct Declaration {
    scope: TypeScope,
}

pub(crate) async fn declare(
    _: Platform,
    Held(state): Held<Arc<State>>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), RouteError> {
    let name = AgentType::parse(&name).map_err(|fault| RouteError::Invalid(fault.to_string()))?;
    let Declaration { scope } = parse(&body)?;
    let status = match declare_as(state.store.registry(), &name, scope).await? {
        Declared::New => StatusCode::CREATED,
        Declared::Same => StatusCode::OK,
        Declared::Contradicts(declared) => return Err(RouteError::Contradiction(declared)),
    };
    Ok((status, Json(json!({"type": name, "scope": scope}))))
}

/// Declares a type, as far as there is room for one more.
pub(crate) async fn declare_as(
    cards: Cards<'_>,
    name: &AgentType,
    scope: TypeScope,
) -> Result<Declared, RouteError> {
    let known = cards.types().await?;
    if known.len() >= MAX_TYPES && !known.iter().any(|(type_, _)| type_ == name) {
        return Err(RouteError::Full(MAX_TYPES));
    }
    Ok(cards.declare_type(name, scope).await?)
}
