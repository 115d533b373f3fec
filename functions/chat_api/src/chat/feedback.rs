//! `PUT /api/chats/{id}/feedback/{task}`: what the user thinks of an answer: `{"verdict": "good"}`, `"bad"`, or null to take it back.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{RawPathParams, State};
use domain::TaskId;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use store::Verdict;

use crate::error::RouteError;
use crate::session::guard::MayChange;
use crate::session::owned::OwnedChat;
use crate::state::AppState;

#[derive(Deserialize)]
struct Thought {
    // Null is said, and not left out.
    verdict: Value,
}

/// A repeat changes nothing.
pub(crate) async fn feedback(
    State(room): State<Arc<AppState>>,
    params: RawPathParams,
    _: MayChange,
    OwnedChat(chat): OwnedChat,
    body: Bytes,
) -> Result<StatusCode, RouteError> {
    let named = params.iter().find(|(name, _)| *name == "task");
    let id = named.and_then(|(_, id)| TaskId::parse(id).ok());
    let id = id.ok_or(RouteError::NotFound)?;
    let verdict = verdict(&body)?;
    let task = room.find_task(&chat.owner, id).await?;
    let task = task.filter(|task| task.context_id == chat.context_id);
    let task = task.ok_or(RouteError::NotFound)?;
    if !task.status.state.is_terminal() {
        let reason = "the task is not over: there is no answer to think of yet";
        return Err(RouteError::conflict("not_over", reason));
    }
    let (sessions, now) = (room.store.sessions(), room.clock.now());
    sessions
        .keep_feedback(&room.tenant, chat.place(), (id, verdict), now)
        .await?;
    if sessions.tidy_deleted(&room.tenant, chat.place()).await? {
        return Err(RouteError::Deleted);
    }
    // Of which agents, and never what was said.
    let agents: Vec<&str> = task.jobs.iter().map(|job| job.agent_type.as_str()).collect();
    tracing::info!(task.id = %id, ?verdict, ?agents, "feedback");
    Ok(StatusCode::NO_CONTENT)
}

fn verdict(body: &[u8]) -> Result<Option<Verdict>, RouteError> {
    let wrong = || RouteError::invalid("invalid_verdict", "the body must be {verdict}: good, bad or null");
    let Thought { verdict } = serde_json::from_slice(body).map_err(|_| wrong())?;
    match verdict {
        Value::Null => Ok(None),
        Value::String(text) if text == "good" => Ok(Some(Verdict::Good)),
        Value::String(text) if text == "bad" => Ok(Some(Verdict::Bad)),
        _ => Err(wrong()),
    }
}

/// Puts what the user thinks into the metadata of the answers that it is about.
pub(crate) fn add_to(answers: &mut [Value], feedback: &HashMap<TaskId, Verdict>) {
    if feedback.is_empty() {
        return;
    }
    for answer in answers {
        let Some(verdict) = task_of(answer).and_then(|task| feedback.get(&task)) else {
            continue;
        };
        if let Some(fields) = answer.as_object_mut().filter(|_| *verdict != Verdict::Unknown) {
            let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("feedback".to_owned(), json!(verdict));
            }
        }
    }
}

/// The task whose card an answer has.
fn task_of(answer: &Value) -> Option<TaskId> {
    if answer.get("role").and_then(Value::as_str) != Some("assistant") {
        return None;
    }
    let parts = answer.get("parts")?.as_array()?;
    let card = |part: &&Value| part.get("type").and_then(Value::as_str) == Some("data-task");
    TaskId::parse(parts.iter().find(card)?.get("id")?.as_str()?).ok()
}
