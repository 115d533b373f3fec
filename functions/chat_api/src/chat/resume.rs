//! `GET /api/chat/{id}/stream`: the answer that is under way, from its beginning.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::MessageId;
use http::{HeaderMap, StatusCode};

use crate::chat::relay::Relay;
use crate::chat::turn::{self, Turn};
use crate::error::RouteError;
use crate::session::owned::MaybeChat;
use crate::session::seat::Seat;
use crate::state::AppState;

/// 204 where no answer runs. A page asks for every chat it opens, also for one that has no message yet, so a chat
/// that is not there (or not the asker's) has no running answer either.
pub(crate) async fn resume(
    State(room): State<Arc<AppState>>,
    headers: HeaderMap,
    MaybeChat(chat): MaybeChat,
) -> Result<Response, RouteError> {
    let Some(chat) = chat else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let tasks = room.tasks_of(&chat).await?;
    let Some(running) = tasks.iter().rfind(|task| !turn::rests(task.status.state)) else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    // The page knows the answer by the message it answers: the newest that this task took.
    let messages = room
        .store
        .sessions()
        .messages(&room.tenant, chat.place(), room.clock.now())
        .await?;
    let turn = messages.iter().rev().find_map(|message| {
        let ui_id = user_message_id(&message.body)?;
        let turn = Turn::of(&chat.context_id, (&ui_id, message.edits), &tasks);
        turn.task
            .is_some_and(|task| task.id == running.id)
            .then_some(turn)
    });
    let Some(turn) = turn else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let (message_id, answer_id) = (turn.message_id.clone(), turn.answer_id());
    let seat = Seat::of(&room, &headers, &chat.owner).taken().await?;
    let grace = room.settings.grace;
    let relay = Relay::new(
        (room.store.clone(), chat.place().clone(), Arc::clone(&room.clock)),
        running.clone(),
        message_id,
        answer_id,
        grace,
    );
    Ok(relay.without_parking().into_response(seat))
}

/// The id of a stored message, where it is the user's.
pub(crate) fn user_message_id(body: &serde_json::Value) -> Option<MessageId> {
    let field = |name: &str| body.get(name).and_then(serde_json::Value::as_str);
    (field("role") == Some("user"))
        .then(|| MessageId::parse(field("id")?).ok())
        .flatten()
}
