//! `GET /api/events`: the cards of all the owner's tasks as they change, in one stream; or, for who does not ask for a stream,
//! one look: what is unfinished, and what has ended since.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::Timestamp;
use futures_util::stream;
use http::header::{ACCEPT, CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::chat::frames::{HEARTBEAT, event_stream};
use crate::chat::list::parameter;
use crate::error::RouteError;
use crate::session::seat::Seat;
use crate::session::visitor::Visitor;
use crate::state::AppState;
use crate::tasks::watch::{Watch, place};

/// The first look after news, and the longest wait between two: news are on the page within a second.
const SOON: Duration = Duration::from_millis(250);
const SELDOM: Duration = Duration::from_millis(700);
/// Something is sent at least this often.
const QUIET: Duration = Duration::from_secs(10);
/// How soon a browser comes back when the stream has ended.
const RETRY: &str = "retry: 500\n\n";

pub(crate) async fn news(
    State(room): State<Arc<AppState>>,
    headers: HeaderMap,
    Visitor(visitor): Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, RouteError> {
    let after = after(&headers, query.as_deref(), room.clock.now())?;
    let wants_stream = header(&headers, &ACCEPT).is_some_and(|accept| accept.contains("text/event-stream"));
    let Some(owner) = visitor else {
        return Ok(match wants_stream {
            // Do not come again: who has no session has no tasks.
            true => StatusCode::NO_CONTENT.into_response(),
            false => Json(json!({"tasks": [], "cursor": ""})).into_response(),
        });
    };
    let seat = Seat::of(&room, &headers, &owner);
    let watch = Watch::new(Arc::clone(&room), owner, after);
    match wants_stream {
        true => {
            let seat = seat.taken().await?;
            Ok(event_stream(
                seat.sees(followed(watch, room.settings.events_limit)),
            ))
        }
        false => Ok(look(watch, &headers).await?),
    }
}

/// Two looks that show the same have one entity tag, though their cursors differ.
async fn look(mut watch: Watch, headers: &HeaderMap) -> Result<Response, RouteError> {
    let tasks = watch.look().await?;
    let tag = format!(
        "\"{}\"",
        auth::token::hash(&Value::from(tasks.clone()).to_string())
    );
    let fresh = [
        (ETAG, tag.clone()),
        (CACHE_CONTROL, "private, no-cache".to_owned()),
    ];
    if header(headers, &IF_NONE_MATCH).is_some_and(|known| known == tag) {
        return Ok((StatusCode::NOT_MODIFIED, fresh).into_response());
    }
    Ok((fresh, Json(json!({"tasks": tasks, "cursor": watch.cursor()}))).into_response())
}

struct Followed {
    watch: Watch,
    pause: Duration,
    look_at: Instant,
    spoke: Instant,
    deadline: Instant,
}

fn followed(watch: Watch, limit: Duration) -> impl futures_util::Stream<Item = Bytes> + Send {
    let now = Instant::now();
    let followed = Followed {
        watch,
        pause: SOON,
        look_at: now,
        spoke: now,
        deadline: now + limit,
    };
    let first = stream::iter([Bytes::from_static(RETRY.as_bytes())]);
    let rest = stream::unfold(Some(followed), |followed| async {
        let mut followed = followed?;
        let bytes = followed.next().await?;
        Some((bytes, Some(followed)))
    });
    futures_util::StreamExt::chain(first, rest)
}

impl Followed {
    /// `None` at its end: the browser comes back with the last cursor.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if Instant::now() >= self.deadline {
                return None;
            }
            tokio::time::sleep_until(self.look_at.min(self.deadline)).await;
            let before = self.watch.cursor();
            let cards = match self.watch.look().await {
                Ok(cards) => cards,
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "tasks could not be watched"
                    );
                    return None;
                }
            };
            let now = Instant::now();
            if !cards.is_empty() {
                (self.pause, self.spoke) = (SOON, now);
                self.look_at = now + SOON;
                return Some(written(&cards, &before, &self.watch.cursor()));
            }
            self.pause = (self.pause * 3 / 2).min(SELDOM);
            self.look_at = now + self.pause;
            if now >= self.spoke + QUIET {
                self.spoke = now;
                return Some(Bytes::from_static(HEARTBEAT.as_bytes()));
            }
        }
    }
}

/// Only the last of them moves the cursor: who loses the stream in between gets all of them again.
fn written(cards: &[Value], before: &str, after: &str) -> Bytes {
    let mut text = String::new();
    for (number, card) in cards.iter().enumerate() {
        let cursor = if number + 1 == cards.len() { after } else { before };
        text.push_str(&format!("id: {cursor}\ndata: {card}\n\n"));
    }
    text.into()
}

fn header<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> Option<&'h str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// `Last-Event-ID`, which a browser sends by itself, or `?after=`.
fn after(headers: &HeaderMap, query: Option<&str>, now: Timestamp) -> Result<Option<Timestamp>, RouteError> {
    let named = headers
        .get("last-event-id")
        .map(|value| value.to_str().unwrap_or("?").to_owned());
    match named.or_else(|| parameter(query, "after")).as_deref() {
        None | Some("") => Ok(None),
        Some(cursor) => place(cursor, now).map(Some).ok_or_else(|| {
            RouteError::invalid(
                "invalid_cursor",
                "after must be a cursor that this stream has given out",
            )
        }),
    }
}
