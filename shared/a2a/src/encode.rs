//! From `domain` to the wire.

use domain::{Event, Generation, Message, Task};
use serde_json::{Value, json};

use crate::common::{is_shown, recent};
use crate::{SendCall, v0_3, v1_0};

/// A task. `history_length`: `None` shows all messages, `Some(0)` none, `Some(n)` the last n.
#[must_use]
pub fn task(task: &Task, generation: Generation, history_length: Option<u32>) -> Value {
    let history = recent(task, history_length);
    match generation {
        Generation::V1_0 => v1_0::task(task, history),
        Generation::V0_3 => v0_3::task(task, history),
    }
}

/// A message.
#[must_use]
pub fn message(message: &Message, generation: Generation) -> Value {
    match generation {
        Generation::V1_0 => v1_0::message(message),
        Generation::V0_3 => v0_3::message(message),
    }
}

/// What a send is answered with: 1.0 `{"task": …}`, 0.3 the bare task.
#[must_use]
pub fn send_result(task: &Task, generation: Generation, history_length: Option<u32>) -> Value {
    let written = self::task(task, generation, history_length);
    match generation {
        Generation::V1_0 => json!({ "task": written }),
        Generation::V0_3 => written,
    }
}

/// One event of a task's log as a stream shows it; `None` where it is not for others' eyes.
#[must_use]
pub fn event(task: &Task, event: &Event, generation: Generation) -> Option<Value> {
    match generation {
        Generation::V1_0 => v1_0::event(task, event),
        Generation::V0_3 => v0_3::event(task, event),
    }
}

/// The body of a push notification: in 0.3 the task; in 1.0 the one event there is, or the task where there are several.
/// The task comes without its messages: who wants to be told has sent them.
#[must_use]
pub fn push(task: &Task, events: &[Event], generation: Generation) -> Value {
    let mut shown = events.iter().filter(|event| is_shown(event));
    match (generation, shown.next(), shown.next()) {
        (Generation::V1_0, Some(only), None) => v1_0::event(task, only).unwrap_or_default(),
        _ => send_result(task, generation, Some(0)),
    }
}

/// The parameters of a send, as a client writes them.
#[must_use]
pub fn send_call(call: &SendCall, generation: Generation) -> Value {
    match generation {
        Generation::V1_0 => v1_0::send_call(call),
        Generation::V0_3 => v0_3::send_call(call),
    }
}
