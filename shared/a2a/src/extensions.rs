//! Our extensions of the protocol for whoever carries calls between agents and another transport.

use domain::{Event, EventKind, Generation, Task};
use serde_json::{Value, json};

use crate::card::Extension;
use crate::encode;

/// Whoever names it in [`EXTENSIONS_HEADER`](crate::EXTENSIONS_HEADER) of a send makes the task's id: where the caller has no
/// task of the id in its message, one is made under it. The same message again is the same task.
pub const CLIENT_TASK_ID: &str = "urn:switchyard:a2a:client-task-id:v1";

/// Whoever names it beside a push configuration is told every event by itself, in order and numbered from 1, up to the first
/// after which the task is over or waits for its user; then the configuration is gone. That last one comes as the whole
/// task. The number stands in the metadata of what is told, under this URI.
pub const EVERY_EVENT: &str = "urn:switchyard:a2a:every-event:v1";

/// Both, as a card names them.
#[must_use]
pub fn carrier_extensions() -> [Extension; 2] {
    let extension = |uri: &str, description: &str| Extension {
        uri: uri.to_owned(),
        description: description.to_owned(),
        ..Extension::default()
    };
    [
        extension(
            CLIENT_TASK_ID,
            "Whoever sends a message may choose the id of its task.",
        ),
        extension(
            EVERY_EVENT,
            "A push configuration may ask for every event by itself, numbered.",
        ),
    ]
}

/// Whether somebody is to be told every event of this task, as its user's newest message says.
#[must_use]
pub fn wants_every_event(task: &Task) -> bool {
    let newest = task.last_user_message().map(|message| &message.terms);
    newest.is_some_and(|terms| terms.extensions.iter().any(|uri| uri == EVERY_EVENT))
}

/// The body of a numbered notification of one event.
#[must_use]
pub fn numbered_push(task: &Task, event: &Event, number: u64) -> Value {
    let state = task.status.state;
    let is_settled = state.is_terminal() || state.is_interrupted();
    let mut told = match ends_task(event) && is_settled {
        true => encode::send_result(task, Generation::V1_0, Some(0)),
        false => encode::push(task, std::slice::from_ref(event), Generation::V1_0),
    };
    let inner = told.as_object_mut().and_then(|fields| fields.values_mut().next());
    if let Some(fields) = inner.and_then(Value::as_object_mut) {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert(EVERY_EVENT.to_owned(), json!({ "number": number }));
        }
    }
    told
}

/// The number of a notification, where it has one.
#[must_use]
pub fn event_number(told: &Value) -> Option<u64> {
    let inner = told.as_object()?.values().next()?;
    inner.get("metadata")?.get(EVERY_EVENT)?.get("number")?.as_u64()
}

/// Whether the task is over with this event, or waits for its user.
#[must_use]
pub fn ends_task(event: &Event) -> bool {
    matches!(&event.kind, EventKind::Status { state, .. } if state.is_terminal() || state.is_interrupted())
}
