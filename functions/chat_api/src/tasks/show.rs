//! `GET /api/tasks/{id}`: one task with the history of its states, as it is now or as it was at an earlier revision.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use domain::{Event, JobLog, Task};
use serde_json::Value;
use store::TaskKey;

use crate::chat::list::parameter;
use crate::error::RouteError;
use crate::session::owned::OwnedTask;
use crate::state::AppState;
use crate::tasks::view;

/// Most events whose states are shown; a task has a handful.
const EVENTS_MAX: u64 = 1_000;
const LOOK: u32 = 200;

/// With `?refresh=true` the host first asks the agents that work on it; where that fails, what is stored is shown.
pub(crate) async fn task(
    State(room): State<Arc<AppState>>,
    OwnedTask { mut task, owner, .. }: OwnedTask,
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
    let latest = task.rev;
    let wanted = parameter(query.as_deref(), "rev")
        .map(|text| revision(&text, latest))
        .transpose()?;
    let events = log(&room, &task, wanted.unwrap_or(latest)).await?;
    if let Some(rev) = wanted.filter(|rev| *rev < latest) {
        task = earlier(&task, &events, rev)?;
    }
    let mut view = view::task(&room.base, &task, Some(&events));
    if let Some(fields) = view.as_object_mut() {
        fields.extend(wanted.map(|_| ("latestRev".into(), Value::from(latest))));
        fields.extend(refreshed.map(|refreshed| ("refreshed".into(), Value::Bool(refreshed))));
    }
    Ok(Json(view))
}

/// The revision that `?rev=` names: one that the task has had, and that is not too far from the beginning of its log.
fn revision(text: &str, latest: u64) -> Result<u64, RouteError> {
    let last = latest.min(EVENTS_MAX);
    let named = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    named
        .and_then(|text| text.parse().ok())
        .filter(|rev| (1..=last).contains(rev))
        .ok_or_else(|| RouteError::invalid("invalid_rev", &format!("rev must be a number from 1 to {last}")))
}

/// The task as its log tells that it was.
fn earlier(task: &Task, events: &[Event], rev: u64) -> Result<Task, RouteError> {
    let then = task.replayed(events).map_err(|error| {
        tracing::error!(task.id = %task.id, error = &error as &dyn std::error::Error, "a log cannot be replayed");
        RouteError::conflict("no_such_past", "this revision of the task cannot be shown")
    })?;
    match then.rev == rev {
        true => Ok(then),
        // Entries of the log have expired.
        false => Err(RouteError::conflict(
            "no_such_past",
            "this revision of the task is no longer kept",
        )),
    }
}

/// The log of a task up to a revision, as far as it is kept.
pub(crate) async fn log(room: &AppState, task: &Task, until: u64) -> Result<Vec<Event>, RouteError> {
    let key = TaskKey::from(task);
    let mut jobs = JobLog::default();
    // A task of which nothing more is known has no log yet.
    let mut events: Vec<Event> = (task.rev == 1).then(|| task.first_event()).into_iter().collect();
    // What came after the task was read is left for the next look, so that history and status agree.
    let last = until.min(EVENTS_MAX);
    while let Some(seen) = Some(events.last().map_or(0, |event| event.seq)).filter(|seen| *seen < last) {
        let more = room.tasks().events(&key, seen, LOOK).await?;
        if more.is_empty() {
            break;
        }
        let more = more.into_iter().filter(|event| event.seq <= last);
        events.extend(more.map(|event| jobs.whole(event)));
    }
    Ok(events)
}
