//! `PATCH /api/chats/{id}`: another title. `DELETE /api/chats/{id}`: its end.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use domain::Task;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use store::Chat;
use store::audit::{self, Action};

use crate::chat::list::shown;
use crate::error::RouteError;
use crate::session::guard::{FromHere, MayChange};
use crate::session::owned::{MaybeChat, OwnedChat};
use crate::state::AppState;

/// Most characters of a title that its user gives.
const TITLE_MAX: usize = 80;

#[derive(Deserialize)]
struct Named {
    title: String,
}

pub(crate) async fn rename(
    State(room): State<Arc<AppState>>,
    _: MayChange,
    OwnedChat(chat): OwnedChat,
    body: Bytes,
) -> Result<Json<Value>, RouteError> {
    let title = title(&body)?;
    let sessions = room.store.sessions();
    let named = sessions
        .rename_chat(&room.tenant, &chat.owner, chat.place(), &title)
        .await?;
    Ok(Json(shown(&named.ok_or(RouteError::Deleted)?)))
}

/// What runs in it is called off; its messages and tasks are removed, and no task of it is shared any more. A repeat goes on where the first broke off.
pub(crate) async fn delete(
    State(room): State<Arc<AppState>>,
    _: FromHere,
    MaybeChat(chat): MaybeChat,
) -> Result<StatusCode, RouteError> {
    let chat = chat.ok_or(RouteError::NotFound)?;
    call_off(&room, &chat, |_| true).await?;
    let (sessions, now) = (room.store.sessions(), room.clock.now());
    sessions
        .delete_chat(&room.tenant, &chat.owner, chat.place(), now)
        .await?;
    // What began while that was done, from another tab perhaps.
    call_off(&room, &chat, |_| true).await?;
    sessions.tidy_deleted(&room.tenant, chat.place()).await?;
    let ended = sessions
        .end_shares_of(&room.tenant, &chat.owner, &chat.context_id)
        .await?;
    if ended > 0 {
        room.tell(Action::ShareEnd, &chat.owner, "chat", audit::DONE)
            .await;
    }
    // What was said stands in its tasks too.
    let of = (&room.tenant, &chat.owner);
    let erasures = room.store.erasures();
    let left = erasures.erase_conversation(of, &chat.context_id, now).await?;
    if left > 0 {
        tracing::info!(
            left,
            "tasks of a deleted chat wait until those who work on them have heard"
        );
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Calls off what runs in a chat, where it is meant.
pub(crate) async fn call_off(
    room: &AppState,
    chat: &Chat,
    is_meant: impl Fn(&Task) -> bool,
) -> Result<(), RouteError> {
    let tasks = room.tasks_of(chat).await?;
    let runs = |task: &&Task| !task.status.state.is_terminal() && is_meant(task);
    for task in tasks.iter().filter(runs) {
        match room.host.cancel(&chat.owner, task.id).await {
            // It ended while we asked.
            Ok(_) | Err(RouteError::Conflict { .. } | RouteError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn title(body: &[u8]) -> Result<String, RouteError> {
    let wrong = |why: &str| RouteError::invalid("invalid_title", why);
    let named: Named = serde_json::from_slice(body).map_err(|_| wrong("the body must be {title}, a text"))?;
    let title = named.title.trim();
    if title.is_empty() {
        return Err(wrong("a title must not be empty"));
    }
    if title.chars().count() > TITLE_MAX {
        return Err(wrong("a title has at most 80 characters"));
    }
    if title.chars().any(char::is_control) {
        return Err(wrong("a title must not have control characters"));
    }
    Ok(title.to_owned())
}
