//! `PUT /types/{name}`: says once whether the agents of a type serve every tenant or each its own; and at any time whether they
//! are private. A type whose agents are private by their cards is so whatever is said here.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State as Held};
use bytes::Bytes;
use domain::{AgentType, TypeScope};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::audit::Action;
use store::{Cards, Declared};

use crate::State;
use crate::access::{By, Platform};
use crate::body::parse;
use crate::error::RouteError;

/// Most types a registry holds.
const MAX_TYPES: usize = 500;

#[derive(Deserialize)]
struct Declaration {
    scope: TypeScope,
    /// What its agents say goes to no other without their user's word; what was said before stays where it is not said.
    #[serde(default)]
    private: Option<bool>,
}

pub(crate) async fn declare(
    _: Platform,
    Held(state): Held<Arc<State>>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), RouteError> {
    let name = AgentType::parse(&name).map_err(|fault| RouteError::Invalid(fault.to_string()))?;
    let Declaration { scope, private } = parse(&body)?;
    let entry = By::OPERATOR.entry(&state, Action::TypeDeclare, None, name.as_str());
    let store = state.store.telling(&entry);
    let cards = store.registry();
    let status = match declare_as(cards, &name, scope).await? {
        Declared::New => StatusCode::CREATED,
        Declared::Same => StatusCode::OK,
        Declared::Contradicts(declared) => return Err(RouteError::Contradiction(declared)),
    };
    if let Some(private) = private {
        cards.set_private(&name, private).await?;
    }
    entry.tell(&store).await;
    let mut told = Map::from_iter([
        ("type".to_owned(), json!(name)),
        ("scope".to_owned(), json!(scope)),
    ]);
    told.extend(private.map(|private| ("private".to_owned(), json!(private))));
    Ok((status, Json(Value::Object(told))))
}

/// Declares a type, as far as there is room for one more.
pub(crate) async fn declare_as(
    cards: Cards<'_>,
    name: &AgentType,
    scope: TypeScope,
) -> Result<Declared, RouteError> {
    let known = cards.types().await?;
    if known.len() >= MAX_TYPES && !known.iter().any(|known| known.name == *name) {
        return Err(RouteError::Full(
            "types fit here; remove those that no agent has",
            MAX_TYPES,
        ));
    }
    Ok(cards.declare_type(name, scope).await?)
}
