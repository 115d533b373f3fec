//! `GET /api/chats/{id}/messages`: the chat as the AI SDK's `UIMessage[]`, with every answer in its state of now. With `?limit=` or
//! `?cursor=` only some of them, the newest first page by page, each page oldest first.
//!
//! A chat outlives the tasks in it. An answer that is final is kept as a message once it was shown; what nobody looked at as long as
//! its task was kept is gone, and the chat says so.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use domain::{Lasting, MessageId};
use futures_util::future::join_all;
use serde_json::{Value, json};
use store::{Conversation, PageRequest, StoreError, StoredMessage};

use crate::chat::feedback::add_to;
use crate::chat::frames::links_of;
use crate::chat::kept::{answered, keep, tidy};
use crate::chat::list::{page_request, parameter};
use crate::chat::resume::user_message_id;
use crate::chat::turn::Turn;
use crate::chat::ui_message::assistant;
use crate::error::RouteError;
use crate::files::kept as kept_files;
use crate::session::owned::OwnedChat;
use crate::state::AppState;

/// Most answers that one look at a chat keeps; the next keeps more.
const KEPT_AT_ONCE: usize = 25;

/// What is said in place of an answer that nobody looked at in time.
const GONE: &str = "The answer to this is no longer kept.";

pub(crate) async fn messages(
    State(room): State<Arc<AppState>>,
    OwnedChat(chat): OwnedChat,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, RouteError> {
    let (query, now) = (query.as_deref(), room.clock.now());
    let request = page_request(query)?;
    let is_paged = ["limit", "cursor"]
        .iter()
        .any(|name| parameter(query, name).is_some());
    let Conversation {
        mut messages,
        answers,
        feedback,
    } = room
        .store
        .sessions()
        .conversation(&room.tenant, chat.place(), now)
        .await?;
    let next = match is_paged {
        true => cut(&mut messages, &request)?,
        false => None,
    };
    let tasks = room.tasks_of(&chat).await?;
    let kept: HashMap<MessageId, Value> = answers
        .into_iter()
        .map(|answer| (answer.id, answer.body))
        .collect();
    let retention = room.store.tenants().retention(&room.tenant);
    let kept_for = retention.of(Lasting::Tasks);
    let (mut shown, mut new) = (Vec::with_capacity(messages.len() * 2), Vec::new());
    for StoredMessage {
        id,
        mut body,
        at,
        edits,
    } in messages
    {
        let ui_id = user_message_id(&body);
        kept_files::link(&mut body, &room.base, (&chat.id, &id));
        shown.push(body);
        let Some(ui_id) = ui_id else { continue };
        let turn = Turn::kept(&chat.context_id, (&ui_id, edits), &tasks, |answer| {
            kept.contains_key(answer)
        });
        let answer_id = turn.answer_id();
        let gone = at.after(kept_for) <= now;
        match (turn.task, kept.get(&answer_id)) {
            (_, Some(answer)) => shown.push(linked(answer.clone())),
            (Some(task), None) => {
                shown.push(linked(answered(&answer_id, &turn.message_id, task)));
                new.push((answer_id, turn.message_id, task));
            }
            (None, None) if gone => {
                let part = json!({"type": "text", "text": GONE, "state": "done"});
                shown.push(assistant(&answer_id, vec![part]));
            }
            (None, None) => {}
        }
    }
    add_to(&mut shown, &feedback.into_iter().collect());
    new.retain(|(_, _, task)| task.status.state.is_terminal());
    new.truncate(KEPT_AT_ONCE);
    let kept = new
        .iter()
        .map(|(answer, message, task)| keep(&room.store, chat.place(), (answer, message), task, now));
    join_all(kept).await;
    if !new.is_empty() {
        tidy(&room.store, &room.tenant, chat.place()).await;
    }
    Ok(Json(match is_paged {
        true => json!({"messages": shown, "next": next}),
        false => Value::Array(shown),
    }))
}

/// An answer with the addresses that a page may link: found as it is shown, whichever release kept it.
fn linked(mut answer: Value) -> Value {
    let parts = answer.get_mut("parts").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten() {
        if let Some(text) = part.get("text").and_then(Value::as_str).map(str::to_owned) {
            links_of(part, &text);
        }
    }
    answer
}

/// Leaves the page that is asked for, and says where the one before it in the chat ends: at its first message, which stays where it
/// is whatever else is said.
fn cut(messages: &mut Vec<StoredMessage>, request: &PageRequest) -> Result<Option<MessageId>, RouteError> {
    let end = match &request.cursor {
        None => messages.len(),
        Some(cursor) => {
            let place = messages.iter().position(|message| message.id.as_str() == cursor);
            place.ok_or(StoreError::BadCursor)?
        }
    };
    let begin = end.saturating_sub(request.limit as usize);
    messages.truncate(end);
    messages.drain(..begin);
    let first = messages.first().map(|message| message.id.clone());
    Ok(first.filter(|_| begin > 0))
}
