//! Answers that are kept: a chat outlives the tasks in it, so that a final answer is stored as a UI message once it is shown.

use domain::{ChatId, MessageId, Task, Tenant, Timestamp};
use serde_json::{Value, json};
use store::{Store, StoredMessage};

use crate::chat::turn;
use crate::chat::ui_message::assistant;
use crate::tasks::view;

/// The answer of a task to a message, as a UI message.
pub(crate) fn answered(answer_id: &MessageId, message_id: &MessageId, task: &Task) -> Value {
    let mut parts = Vec::new();
    if turn::has_card(task) || !task.status.state.is_terminal() {
        parts.push(json!({"type": "data-task", "id": task.id, "data": view::card(task)}));
    }
    if let Some(text) = turn::answer(task, message_id) {
        parts.push(json!({"type": "text", "text": text, "state": "done"}));
    }
    assistant(answer_id, parts)
}

/// Keeps the answer of a task to a message, where nothing changes it any more. That it was shown does not hang on that: the next
/// look at the chat keeps it.
pub(crate) async fn keep(
    store: &Store,
    chat: &ChatId,
    (answer_id, message_id): (&MessageId, &MessageId),
    task: &Task,
    now: Timestamp,
) {
    if !task.status.state.is_terminal() {
        return;
    }
    let answer = StoredMessage {
        id: answer_id.clone(),
        at: task.status.at,
        body: answered(answer_id, message_id, task),
        edits: 0,
    };
    if let Err(error) = store
        .sessions()
        .keep_answer(&task.tenant, chat, &answer, now)
        .await
    {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(task.id = %task.id, error, "an answer that was shown is not kept yet");
    }
}

/// To be called once answers were kept: what was kept in a chat that was deleted meanwhile goes as well.
pub(crate) async fn tidy(store: &Store, tenant: &Tenant, chat: &ChatId) {
    if let Err(error) = store.sessions().tidy_deleted(tenant, chat).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "whether a chat was deleted meanwhile is not known");
    }
}
