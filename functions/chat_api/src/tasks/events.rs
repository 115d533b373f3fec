//! `GET /api/tasks/{id}/events`: the task's log as server-sent events, from the beginning or behind `Last-Event-ID`; between
//! them the words of an answer under way, where its message asked for those, without a number.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::{Event, JobLog};
use futures_util::stream;
use http::{HeaderMap, StatusCode};

use crate::chat::frames::{HEARTBEAT, event_stream};
use crate::chat::list::parameter;
use crate::chat::tail::{News, Tail};
use crate::error::RouteError;
use crate::session::owned::OwnedTask;
use crate::session::seat::Seat;
use crate::state::AppState;
use crate::tasks::view;
use store::TaskKey;

/// Most old events of one write.
const LOOK: u32 = 100;

struct Log {
    room: Arc<AppState>,
    tail: Tail,
    key: TaskKey,
    seen: u64,
    /// The jobs as they were after the events that were seen; none before the first look.
    jobs: Option<JobLog>,
}

/// Ends with the task, or after the time that a stream may stay open; a browser then comes back by itself, and gets
/// 204 (do not come again) where the task is over and everything was told.
pub(crate) async fn events(
    State(room): State<Arc<AppState>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    OwnedTask { task, owner, .. }: OwnedTask,
) -> Result<Response, RouteError> {
    let seen = seen(&headers, query.as_deref())?;
    if task.status.state.is_terminal() && seen >= task.rev {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let key = TaskKey::from(&task);
    let seat = Seat::of(&room, &headers, &owner).taken().await?;
    let tail = Tail::new(room.store.clone(), task, room.settings.events_limit);
    let tail = tail.with_drafts(Arc::clone(&room.clock));
    let frames = stream::unfold(
        Some(Log {
            room,
            tail,
            key,
            seen,
            jobs: None,
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
    Ok(event_stream(seat.sees(frames)))
}

impl Log {
    async fn next(&mut self) -> Result<Option<Bytes>, store::StoreError> {
        if self.jobs.is_none() {
            self.jobs = Some(self.jobs_before().await?);
        }
        // First what had happened when the task was read, then what happens.
        if self.seen < self.tail.task().rev {
            let events = self.room.tasks().events(&self.key, self.seen, LOOK).await?;
            let known: Vec<_> = events
                .into_iter()
                .filter(|event| event.seq <= self.tail.task().rev)
                .collect();
            if !known.is_empty() {
                return Ok(Some(self.written(known)));
            }
            self.seen = self.tail.task().rev;
        }
        if self.tail.task().status.state.is_terminal() {
            return Ok(None);
        }
        Ok(match self.tail.next().await? {
            News::Events(events) => Some(self.written(events)),
            News::Draft(draft) => Some(format!("data: {}\n\n", view::draft(&draft)).into()),
            News::Quiet => Some(Bytes::from_static(HEARTBEAT.as_bytes())),
            News::TimeUp => None,
        })
    }

    /// The log tells what changes of a job, so that whoever comes back in the middle needs what was before.
    async fn jobs_before(&self) -> Result<JobLog, store::StoreError> {
        let (mut jobs, mut read) = (JobLog::default(), 0);
        let seen = self.seen.min(self.tail.task().rev);
        while read < seen && !self.tail.task().jobs.is_empty() {
            let events = self.room.tasks().events(&self.key, read, LOOK).await?;
            let Some(last) = events.last().map(|event| event.seq) else {
                break;
            };
            for event in events.into_iter().filter(|event| event.seq <= seen) {
                jobs.whole(event);
            }
            read = last;
        }
        Ok(jobs)
    }

    fn written(&mut self, events: Vec<Event>) -> Bytes {
        let mut text = String::new();
        let (jobs, seen) = (self.jobs.get_or_insert_default(), self.seen);
        for event in events.into_iter().filter(|event| event.seq > seen) {
            let event = jobs.whole(event);
            text.push_str(&format!("id: {}\ndata: {}\n\n", event.seq, view::event(&event)));
            self.seen = event.seq;
        }
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
