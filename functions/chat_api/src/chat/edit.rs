//! Another message in place of one that the user sent before: the AI SDK's `sendMessage({text, messageId})`.
//!
//! What the old one began is called off, and so is what came behind it, which goes. Each step can be repeated: a request that broke
//! off leaves the old message, or the new one with nothing behind it.

use std::collections::BTreeSet;

use domain::{ChatId, MessageId, Owner, Task};
use store::Conversation;

use crate::chat::change::call_off;
use crate::chat::resume::user_message_id;
use crate::chat::turn::Turn;
use crate::chat::ui_message::UserMessage;
use crate::error::RouteError;
use crate::files::sent::Files;
use crate::state::AppState;

/// Puts the message in place of the owner's one of the same id. Nothing is done where there is none, or where it is the very same.
///
/// # Errors
/// 409 where it is being changed from elsewhere at the same time, or is no message of a user; 410 where the chat is deleted.
pub(crate) async fn edit(
    room: &AppState,
    (owner, chat): (&Owner, &ChatId),
    message: &UserMessage,
) -> Result<(), RouteError> {
    let (sessions, now) = (room.store.sessions(), room.clock.now());
    let Some(chat) = sessions.find_chat(&room.tenant, owner, chat, now).await? else {
        return Ok(());
    };
    if chat.deleted_at.is_some() {
        return Err(RouteError::Deleted);
    }
    let Conversation {
        messages, answers, ..
    } = sessions.conversation(&room.tenant, chat.place(), now).await?;
    let Some(place) = messages.iter().position(|known| known.id == message.id) else {
        return Ok(());
    };
    let (before, from) = messages.split_at(place);
    let Some((known, behind)) = from.split_first().filter(|(known, _)| known.body != message.body) else {
        return Ok(());
    };
    if user_message_id(&known.body).is_none() {
        return Err(RouteError::message_changed());
    }
    let tasks = room.tasks_of(&chat).await?;
    let is_kept = |answer: &MessageId| answers.iter().any(|kept| kept.id == *answer);
    let turns = |messages: &[store::StoredMessage]| -> Vec<MessageId> {
        let begun = messages.iter().flat_map(|said| {
            let told = (&said.id, said.edits);
            let (first, more) = Turn::attempts(&chat.context_id, told, &tasks, is_kept);
            std::iter::once(first).chain(more).collect::<Vec<_>>()
        });
        begun.map(|turn| turn.message_id).collect()
    };
    let (next, _) = Turn::attempts(
        &chat.context_id,
        (&known.id, known.edits.saturating_add(1)),
        &[],
        |_| false,
    );
    let stay: BTreeSet<MessageId> = turns(before).into_iter().chain([next.message_id]).collect();
    // Whatever else began since then came of it, or of what was said behind it.
    let is_gone = |task: &Task| {
        let began = Turn::taken_by(task).map(|turn| turn.message_id);
        task.created_at >= known.at && began.is_none_or(|began| !stay.contains(&began))
    };
    call_off(room, &chat, is_gone).await?;
    let gone: Vec<MessageId> = behind.iter().map(|said| said.id.clone()).collect();
    let unsaid: Vec<MessageId> = turns(from)
        .into_iter()
        .map(|id| Turn::at(id, &[]).answer_id())
        .collect();
    sessions
        .remove_messages(&room.tenant, chat.place(), (&gone, &unsaid))
        .await?;
    let files = match &message.files {
        Files::Sent(files) => files.as_slice(),
        Files::Named => &[],
    };
    if !sessions
        .edit_message(&room.tenant, chat.place(), (known, &message.body, now), files)
        .await?
    {
        return Err(RouteError::message_changed());
    }
    // What the old one began while that was done, from another tab perhaps.
    call_off(room, &chat, is_gone).await
}
