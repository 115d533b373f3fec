//! `GET /api/tasks/{id}`: one task with the history of its states.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use domain::{Event, JobLog, Task};
use serde_json::Value;
use store::TaskKey;

use crate::chats::parameter;
use crate::error::RouteError;
use crate::owned::OwnedTask;
use crate::state::AppState;
use crate::view;

/// Most events whose states are shown; a task has a handful.
const EVENTS_MAX: u64 = 1_000;
const LOOK: u32 = 200;

/// With `?refresh=true` the host first asks the agents that work on it; where that fails, what is stored is shown.
pub(crate) async fn task(
    State(room): State<Arc<AppState>>,
    OwnedTask { mut task, owner }: OwnedTask,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, RouteError> {
    let mut refreshed = None;
    if parameter(query.as_deref(), "refresh").as_deref() == Some("true") {
        let asked = room.host.refresh(&owner, task.id).await;
        if let Err(error) = &asked {
            tracing::warn!(task.id = %task.id, error = error as &dyn std::error::Error, "no latest state to be had");
        }
        refreshed = Some(asked.is_ok());
        task = room
            .find_task(&owner, task.id)
            .await?
            .ok_or(RouteError::NotFound)?;
    }
    let events = log(&room, &task).await?;
    let mut view = view::task(&task, Some(&events));
    if let (Some(refreshed), Some(fields)) = (refreshed, view.as_object_mut()) {
        fields.insert("refreshed".into(), Value::Bool(refreshed));
    }
    Ok(Json(view))
}

async fn log(room: &AppState, task: &Task) -> Result<Vec<Event>, RouteError> {
    let key = TaskKey::from(task);
    let mut jobs = JobLog::default();
    // A task of which nothing more is known has no log yet.
    let mut events: Vec<Event> = (task.rev == 1).then(|| task.first_event()).into_iter().collect();
    // What came after the task was read is left for the next look, so that history and status agree.
    let last = task.rev.min(EVENTS_MAX);
    while let Some(seen) = Some(events.last().map_or(0, |event| event.seq)).filter(|seen| *seen < last) {
        let more = room.store.tasks().events(&key, seen, LOOK).await?;
        if more.is_empty() {
            break;
        }
        let more = more.into_iter().filter(|event| event.seq <= last);
        events.extend(more.map(|event| jobs.whole(event)));
    }
    Ok(events)
}
