//! From `domain` to the wire.

use domain::{Event, Generation, Message, Task};
use serde_json::Value;

use crate::SendCall;

/// A task. `history_length`: `None` shows all messages, `Some(0)` none, `Some(n)` the last n.
#[must_use]
pub fn task(task: &Task, generation: Generation, history_length: Option<u32>) -> Value {
    let _ = (task, generation, history_length);
    todo!()
}

/// A message.
#[must_use]
pub fn message(message: &Message, generation: Generation) -> Value {
    let _ = (message, generation);
    todo!()
}

/// What a send is answered with: 1.0 `{"task": …}`, 0.3 the bare task.
#[must_use]
pub fn send_result(task: &Task, generation: Generation, history_length: Option<u32>) -> Value {
    let _ = (task, generation, history_length);
    todo!()
}

/// One event of a task's log as a stream shows it; `None` where it is not for others' eyes.
#[must_use]
pub fn event(task: &Task, event: &Event, generation: Generation) -> Option<Value> {
    let _ = (task, event, generation);
    todo!()
}

/// The body of a push notification: in 0.3 the task; in 1.0 the one event there is, or the task where there are several.
#[must_use]
pub fn push(task: &Task, events: &[Event], generation: Generation) -> Value {
    let _ = (task, events, generation);
    todo!()
}

/// The parameters of a send, as a client writes them.
#[must_use]
pub fn send_call(call: &SendCall, generation: Generation) -> Value {
    let _ = (call, generation);
    todo!()
}
