//! `GET /api/connections`: where the session's owner is connected, also through agents that ask users themselves.
//! `DELETE /api/connections/{id}`: ends one of these, here at once and at its provider as far as that can be reached.
//!
//! The host knows; nothing of a grant is read here.

use std::sync::Arc;

use a2a::{Connection, Connections, Disconnected, is_connection_id};
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;

use crate::error::RouteError;
use crate::session::guard::FromHere;
use crate::session::visitor::Visitor;
use crate::state::AppState;
use crate::tasks::consent_view::{NamedScope, in_words};

/// Where a user is connected, as a page shows it.
#[derive(Serialize)]
pub(crate) struct ShownConnections {
    connections: Vec<ShownConnection>,
    unasked: Vec<String>,
}

/// A connection, with what it allows in words of ours.
#[derive(Serialize)]
struct ShownConnection {
    #[serde(flatten)]
    connection: Connection,
    allows: Vec<NamedScope>,
}

pub(crate) async fn connections(
    State(room): State<Arc<AppState>>,
    Visitor(visitor): Visitor,
) -> Result<Json<ShownConnections>, RouteError> {
    let told = match &visitor {
        Some(owner) => room.host.connections(owner).await?,
        None => Connections::default(),
    };
    let shown = |connection: Connection| ShownConnection {
        allows: in_words(&connection.scopes),
        connection,
    };
    Ok(Json(ShownConnections {
        connections: told.connections.into_iter().map(shown).collect(),
        unasked: told.unasked,
    }))
}

pub(crate) async fn disconnect(
    State(room): State<Arc<AppState>>,
    id: Result<Path<String>, PathRejection>,
    _: FromHere,
    Visitor(visitor): Visitor,
) -> Result<Json<Disconnected>, RouteError> {
    let id = id.map(|Path(id)| id).ok().filter(|id| is_connection_id(id));
    let (Some(owner), Some(id)) = (visitor, id) else {
        return Err(RouteError::NotFound);
    };
    Ok(Json(room.host.disconnect(&owner, &id).await?))
}
