//! `DELETE /api/me`: whoever is here is erased, with all that is kept of them. Whoever has signed in has proved it of late.
//!
//! It is done by the request itself, and what drives it to its end is whoever asks again: their session goes last. An operator sees and
//! repeats those that nobody asked for again (`switchyard user erase`). No function works on it by the clock, since none but this one
//! has the right to all of somebody's items, and a queue and a role more would serve a command that few give.

use std::sync::Arc;

use a2a::EVERY_CONNECTION;
use axum::Json;
use axum::extract::State;
use domain::ExposeSecret;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use store::audit::{self, Action};

use crate::error::RouteError;
use crate::ops::agents::CHANGES_FOR;

use crate::session::guard::FromHere;
use crate::session::visitor::{Seen, Visitor};
use crate::state::AppState;

/// 200 with the certificate once it is done, 202 while agents have not heard yet that their tasks are canceled.
pub(crate) async fn erase(
    State(room): State<Arc<AppState>>,
    _: FromHere,
    headers: HeaderMap,
    seen: Seen,
) -> Result<(StatusCode, Json<Value>), RouteError> {
    let Visitor(_) = Visitor::of(&seen, &room)?;
    let session = seen.0.ok_or(RouteError::NotFound)?;
    let now = room.clock.now();
    let person = session.person.as_ref();
    if person.is_some_and(|person| !person.auth_time.is_lately(CHANGES_FOR, now)) {
        return Err(RouteError::SignInAgain {
            at: room.sign_in.clone(),
        });
    }
    let token = edge::session::presented(&headers, &room.tenant, &room.base);
    let hash = token.map(|token| auth::token::hash(token.expose_secret()));
    // What was granted elsewhere is given back there, as far as that is to be had now.
    if let Err(error) = room.host.disconnect(&session.owner, EVERY_CONNECTION).await {
        tracing::warn!(%error, "connections of somebody who is erased were not ended where they lead");
    }
    let erasures = room.store.erasures();
    let erasure = erasures
        .erase(&room.tenant, &session.owner, hash.as_deref(), now)
        .await?;
    let (status, result) = match erasure.done_at {
        Some(_) => (StatusCode::OK, audit::DONE),
        None => (StatusCode::ACCEPTED, "waiting"),
    };
    room.tell(Action::PersonErase, &session.owner, &erasure.id, result)
        .await;
    Ok((status, Json(erasure.certificate())))
}
