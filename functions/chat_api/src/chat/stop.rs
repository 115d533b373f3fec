//! `POST /api/chat/{id}/stop`: cancels the chat's unfinished task.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::error::RouteError;
use crate::session::guard::MayChange;
use crate::session::owned::OwnedChat;
use crate::state::AppState;
use crate::tasks::view;

/// The newest task that was not over, as it is now; `null` where there was none.
pub(crate) async fn stop(
    State(room): State<Arc<AppState>>,
    _: MayChange,
    OwnedChat(chat): OwnedChat,
) -> Result<Json<Value>, RouteError> {
    let tasks = room.tasks_of(&chat).await?;
    let Some(open) = tasks.iter().rfind(|task| !task.status.state.is_terminal()) else {
        return Ok(Json(json!({"task": null})));
    };
    match room.host.cancel(&chat.owner, open.id).await {
        // It ended while we asked: it is stopped.
        Ok(_) | Err(RouteError::Conflict { .. }) => {}
        Err(error) => return Err(error),
    }
    let now = room.find_task(&chat.owner, open.id).await?;
    Ok(Json(
        json!({"task": now.as_ref().map(|task| view::task(&room.base, task, None))}),
    ))
}
