//! `POST /reply`: an agent's news of a request, which becomes its reply.
//!
//! The agent's push outbox stores, orders and repeats: 2xx is answered once the broker has acknowledged the reply.

use std::sync::Arc;

use a2a::mqtt::{Publication, ReplyWriter, is_stream_end};
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::SecretString;
use edge::{later, refused};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use mqtt::{PublishError, Published};
use serde_json::Value;

use crate::asking::publish_all;
use crate::bridge::Bridge;
use crate::handle::last_status;
use crate::replies::PIECE;
use crate::ticket::{Mode, Ticket};

/// Why a notification is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RouteError {
    #[error("the token is missing or none of this bridge's")]
    Unauthorized,
    #[error("the body is no notification of A2A 1.0")]
    Rubbish,
    #[error("nobody listens on the reply topic any more")]
    Gone,
    #[error("the reply cannot be published now")]
    Unavailable,
}

impl IntoResponse for RouteError {
    fn into_response(self) -> Response {
        let message = self.to_string();
        match self {
            Self::Unauthorized => {
                let refused = refused(StatusCode::UNAUTHORIZED, "unauthorized", &message);
                ([(WWW_AUTHENTICATE, "Bearer")], refused).into_response()
            }
            Self::Rubbish => refused(StatusCode::BAD_REQUEST, "invalid_notification", &message),
            Self::Gone => refused(StatusCode::GONE, "gone", &message),
            Self::Unavailable => later("unavailable", &message),
        }
    }
}

pub(crate) async fn reply(
    State(bridge): State<Arc<Bridge>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, RouteError> {
    // The token first: what is not from an agent of ours is not even parsed.
    let ticket = token(&headers).and_then(|token| Ticket::open(&token, &bridge.sealer));
    let ticket = ticket.ok_or(RouteError::Unauthorized)?;
    let told: Value = serde_json::from_slice(&body).map_err(|_| RouteError::Rubbish)?;
    let items = items(ticket.mode, told).ok_or(RouteError::Rubbish)?;
    if items.is_empty() {
        return Ok(StatusCode::NO_CONTENT);
    }
    // Another instance may have the agent's connection, or will.
    let publisher = bridge
        .publisher(&ticket.responder)
        .ok_or(RouteError::Unavailable)?;
    bridge.under_way.over(&ticket.reply).await;
    let writer = ReplyWriter {
        path: ticket.reply,
        id: ticket.id,
        responder: ticket.names_responder.then(|| ticket.responder.clone()),
        artifacts: ticket.artifacts,
        max_packet: publisher.max_packet(),
    };
    let replies = items.into_iter().flat_map(|item| numbered(writer.result(item)));
    let replies = replies.collect();
    match publish_all(publisher.as_ref(), replies).await {
        Ok(Published::Taken) => Ok(StatusCode::NO_CONTENT),
        // The work goes on; who comes back asks for the task.
        Ok(Published::NoMatchingSubscribers) | Err(PublishError::NotAuthorized) => Err(RouteError::Gone),
        Err(_) => Err(RouteError::Unavailable),
    }
}

/// The publications of one event; those of one that was cut are numbered.
fn numbered(mut pieces: Vec<Publication>) -> Vec<Publication> {
    if pieces.len() > 1 {
        for (number, piece) in pieces.iter_mut().enumerate() {
            piece.properties.user.push((PIECE.to_owned(), number.to_string()));
        }
    }
    pieces
}

fn token(headers: &HeaderMap) -> Option<SecretString> {
    let told = headers.get(AUTHORIZATION)?.to_str().ok()?;
    auth::bearer(Some(told)).ok().map(SecretString::from)
}

/// What of a notification is told, in this order; `None` where it is none.
fn items(mode: Mode, told: Value) -> Option<Vec<Value>> {
    let known = ["task", "statusUpdate", "artifactUpdate", "message"];
    let is_known = known
        .iter()
        .any(|name| told.get(*name).is_some_and(Value::is_object));
    let ends = is_stream_end(&told);
    match (mode, told.get("task")) {
        _ if !is_known => None,
        (Mode::Settled, _) => Some(if ends { vec![told] } else { Vec::new() }),
        // Of the last event the requester has everything but the state.
        (Mode::Stream, Some(task)) if ends => Some(vec![last_status(task)]),
        (Mode::Stream, _) => Some(vec![told]),
    }
}
