//! The plainest form of news, for agents that speak no A2A: `{"taskId", "status", "result"}`.

use domain::{Artifact, Notification, Part, RemoteTaskId, RemoteUpdate, TaskState};
use serde_json::Value;

use crate::lenient::Fault;

/// What the one result is called.
const RESULT: &str = "result";

/// Whether a body has this form: neither generation writes a state as mere text beside a `taskId`.
pub(crate) fn is_plain(told: &Value) -> bool {
    let is_text = |name: &str| told.get(name).is_some_and(Value::is_string);
    is_text("taskId") && is_text("status") && told.get("kind").is_none()
}

/// Reads news of this form. A `result` that is text is a text, anything else is data; `message` or `statusMessage` is what the
/// agent says of its state.
pub(crate) fn read(told: &Value) -> Result<Notification, Fault> {
    let text = |name: &str| told.get(name).and_then(Value::as_str);
    let state = state(text("status").unwrap_or_default())?;
    let said = text("statusMessage").or_else(|| text("message"));
    let result = match told.get(RESULT) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(Part::text(text.as_str())),
        Some(data) => Some(Part::data(data.clone())),
    };
    let artifacts = result.map(|part| (Artifact::new(RESULT, vec![part]), false));
    Ok(Notification {
        remote_task_id: Some(RemoteTaskId::parse(text("taskId").unwrap_or_default())?),
        update: Some(RemoteUpdate {
            text: said.map(str::to_owned).filter(|said| !said.trim().is_empty()),
            ..RemoteUpdate::of(state)
        }),
        artifacts: artifacts.into_iter().collect(),
        snapshot: true,
        responder: None,
    })
}

/// A state by any of the names that it goes by.
pub(crate) fn state(name: &str) -> Result<TaskState, Fault> {
    let plain = name.trim().to_ascii_lowercase().replace('_', "-");
    let plain = plain.strip_prefix("task-state-").unwrap_or(&plain);
    let plain = match plain {
        "cancelled" => "canceled",
        "requires-auth" => "auth-required",
        other => other,
    };
    let known = TaskState::ALL.into_iter().find(|state| state.as_str() == plain);
    known.ok_or_else(|| Fault::new("the status is none of a task's"))
}
