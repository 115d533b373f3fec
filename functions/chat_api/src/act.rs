//! `POST /api/tasks/{id}/{cancel,start,retry}`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawPathParams, State};
use domain::TaskState;
use serde_json::Value;

use crate::error::RouteError;
use crate::guard::MayChange;
use crate::owned::{OwnedTask, Trace};
use crate::state::Room;
use crate::view;

pub(crate) async fn act(
    State(room): State<Arc<Room>>,
    params: RawPathParams,
    _: MayChange,
    OwnedTask { task, owner }: OwnedTask,
    Trace(trace): Trace,
) -> Result<Json<Value>, RouteError> {
    let action = params
        .iter()
        .find(|(name, _)| *name == "action")
        .map(|(_, action)| action);
    match action {
        Some("cancel") => {
            room.host.cancel(&owner, task.id, trace.as_ref()).await?;
            let now = room
                .find_task(&owner, task.id)
                .await?
                .ok_or(RouteError::NotFound)?;
            Ok(Json(view::task(&now, None)))
        }
        Some("start") => Err(RouteError::conflict(
            "not_startable",
            "a task starts by itself; this one has",
        )),
        Some("retry") => Err(match task.status.state {
            TaskState::Failed | TaskState::Rejected | TaskState::Canceled | TaskState::Unknown => {
                RouteError::NotImplemented("a task cannot be retried yet; ask again in the chat")
            }
            _ => RouteError::conflict("not_retryable", "only a task that did not succeed can be retried"),
        }),
        _ => Err(RouteError::NotFound),
    }
}
