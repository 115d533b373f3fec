//! `GET /api/tasks/{id}/events`: the task's log as server-sent events, from the beginning or behind `Last-Event-ID`.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::Event;
use futures_util::stream;
use http::{HeaderMap, StatusCode};

use crate::chats::parameter;
use crate::error::RouteError;
use crate::frames::{HEARTBEAT, event_stream};
use crate::owned::OwnedTask;
use crate::state::Room;
use crate::tail::{News, Tail};
use crate::view;
use store::TaskKey;

/// Most old events of one write.
const LOOK: u32 = 100;

struct Log {
    room: Arc<Room>,
    tail: Tail,
    key: TaskKey,
    seen: u64,
}

/// Ends with the task, or after the time that a stream may stay open; a browser then comes back by itself, and gets
/// 204 (do not come again) where the task is over and everything was told.
pub(crate) async fn events(
    State(room): State<Arc<Room>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    OwnedTask { task, .. }: OwnedTask,
) -> Result<Response, RouteError> {
    let seen = seen(&headers, query.as_deref())?;
    if task.status.state.is_terminal() && seen >= task.rev {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let key = TaskKey::from(&task);
    let tail = Tail::new(room.store.clone(), task, room.settings.events_limit);
    let frames = stream::unfold(
        Some(Log {
            room,
            tail,
            key,
            seen,
        }),
        |log| async {
            let mut log = log?;
            match log.next().await {
                Ok(Some(bytes)) => Some((bytes, Some(log))),
                Ok(None) => None,
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "a task's events could not be followed"
                    );
                    None
                }
            }
        },
    );
    Ok(event_stream(frames))
}

impl Log {
    async fn next(&mut self) -> Result<Option<Bytes>, store::StoreError> {
        // First what had happened when the task was read, then what happens.
        if self.seen < self.tail.task().rev {
            let events = self.room.store.tasks().events(&self.key, self.seen, LOOK).await?;
            let known: Vec<_> = events
                .into_iter()
                .filter(|event| event.seq <= self.tail.task().rev)
                .collect();
            if !known.is_empty() {
                return Ok(Some(self.written(&known)));
            }
            self.seen = self.tail.task().rev;
        }
        if self.tail.task().status.state.is_terminal() {
            return Ok(None);
        }
        Ok(match self.tail.next().await? {
            News::Events(events) => Some(self.written(&events)),
            News::Quiet => Some(Bytes::from_static(HEARTBEAT.as_bytes())),
            News::TimeUp => None,
        })
    }

    fn written(&mut self, events: &[Event]) -> Bytes {
        let mut text = String::new();
        for event in events.iter().filter(|event| event.seq > self.seen) {
            text.push_str(&format!("id: {}\ndata: {}\n\n", event.seq, view::event(event)));
        }
        self.seen = events.last().map_or(self.seen, |event| event.seq.max(self.seen));
        text.into()
    }
}

fn seen(headers: &HeaderMap, query: Option<&str>) -> Result<u64, RouteError> {
    let header = headers
        .get("last-event-id")
        .map(|value| value.to_str().unwrap_or("?").to_owned());
    match header
        .or_else(|| parameter(query, "after"))
        .as_deref()
        .map(str::trim)
    {
        None | Some("") => Ok(0),
        Some(text) => text.parse().map_err(|_| {
            RouteError::invalid("invalid_event_id", "Last-Event-ID must be the number of an event")
        }),
    }
}
