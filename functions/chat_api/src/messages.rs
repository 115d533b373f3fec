//! `GET /api/chats/{id}/messages`: the chat as the AI SDK's `UIMessage[]`, with every answer in its state of now.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::{ContextId, Task};
use serde_json::{Value, json};
use store::StoredMessage;

use crate::chat::assistant;
use crate::error::RouteError;
use crate::owned::OwnedChat;
use crate::resume::user_message_id;
use crate::state::AppState;
use crate::turn::{self, Turn};
use crate::view;

pub(crate) async fn messages(
    State(room): State<Arc<AppState>>,
    OwnedChat(chat): OwnedChat,
) -> Result<Json<Value>, RouteError> {
    let stored = room.store.sessions().messages(&room.tenant, &chat.id).await?;
    let tasks = room.tasks_of(&chat).await?;
    Ok(Json(Value::Array(conversation(&chat.context_id, stored, &tasks))))
}

/// The messages of both sides: each of the user's followed by the answer of the task that took it.
fn conversation(context: &ContextId, stored: Vec<StoredMessage>, tasks: &[Task]) -> Vec<Value> {
    let mut messages = Vec::with_capacity(stored.len() * 2);
    for StoredMessage { body, .. } in stored {
        let turn = user_message_id(&body).map(|ui_id| Turn::of(context, &ui_id, tasks));
        messages.push(body);
        if let Some(Turn { task: Some(task), .. }) = &turn {
            messages.extend(turn.as_ref().map(|turn| answered(turn, task)));
        }
    }
    messages
}

fn answered(turn: &Turn<'_>, task: &Task) -> Value {
    let mut parts = Vec::new();
    if turn::has_card(task) || !task.status.state.is_terminal() {
        parts.push(json!({"type": "data-task", "id": task.id, "data": view::card(task)}));
    }
    if let Some(text) = turn::answer(task, &turn.message_id) {
        parts.push(json!({"type": "text", "text": text, "state": "done"}));
    }
    assistant(&turn.answer_id(), parts)
}
