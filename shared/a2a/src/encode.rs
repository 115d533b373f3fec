//! From `domain` to the wire.

use domain::{Artifact, Event, Generation, Message, Metadata, Task};
use serde_json::{Map, Value, json};

use crate::common::recent;
use crate::{Call, ListCall, SendCall, ShownPush, v0_3, v1_0};

/// A task. `history_length`: `None` shows all messages, `Some(0)` none, `Some(n)` the last n.
#[must_use]
pub fn task(task: &Task, generation: Generation, history_length: Option<u32>) -> Value {
    shown(task, generation, history_length, &task.artifacts)
}

fn shown(task: &Task, generation: Generation, history_length: Option<u32>, artifacts: &[Artifact]) -> Value {
    let history = recent(task, history_length);
    match generation {
        Generation::V1_0 => v1_0::task(task, history, artifacts),
        Generation::V0_3 => v0_3::task(task, history, artifacts),
    }
}

/// A page of tasks, as the call wants them shown. `next` is the token of the page behind it, `total` counts all tasks
/// that the call's filters let through.
#[must_use]
pub fn list(
    tasks: &[Task],
    next: Option<&str>,
    total: u64,
    call: &ListCall,
    generation: Generation,
) -> Value {
    let written = |task: &Task| {
        let artifacts = call.include_artifacts.then_some(task.artifacts.as_slice());
        shown(
            task,
            generation,
            call.history_length,
            artifacts.unwrap_or_default(),
        )
    };
    let tasks: Vec<Value> = tasks.iter().map(written).collect();
    json!({
        "tasks": tasks, "nextPageToken": next.unwrap_or_default(), "pageSize": call.page_size, "totalSize": total,
    })
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

/// What a send is answered with where the agent makes no task of it: 1.0 `{"message": …}`, 0.3 the bare message.
#[must_use]
pub fn send_message_result(message: &Message, generation: Generation) -> Value {
    let written = self::message(message, generation);
    match generation {
        Generation::V1_0 => json!({ "message": written }),
        Generation::V0_3 => written,
    }
}

/// What a stream begins with: the task as it is; 1.0 `{"task": …}`, 0.3 the bare task.
#[must_use]
pub fn stream_first(task: &Task, generation: Generation, history_length: Option<u32>) -> Value {
    send_result(task, generation, history_length)
}

/// One event of a task's log as a stream shows it; `None` where it is not for others' eyes.
#[must_use]
pub fn event(task: &Task, event: &Event, generation: Generation) -> Option<Value> {
    match generation {
        Generation::V1_0 => v1_0::event(task, event),
        Generation::V0_3 => v0_3::event(task, event),
    }
}

/// The same in several pieces where the event is an artifact of more than `max_bytes`: split between its parts, the
/// first piece as the event was, the others appended to it, and only the last one `lastChunk`. A part is never split.
/// Whoever numbers what a stream shows should number the last piece alone: a reader that loses its connection before
/// it then gets the whole event again, and the first piece replaces what it had.
#[must_use]
pub fn event_in_chunks(task: &Task, event: &Event, generation: Generation, max_bytes: usize) -> Vec<Value> {
    let pieces = crate::chunks::split(event, max_bytes);
    pieces
        .iter()
        .filter_map(|piece| self::event(task, piece, generation))
        .collect()
}

/// A task's push configuration, without its secrets.
#[must_use]
pub fn push_config(task_id: &str, shown: &ShownPush, generation: Generation) -> Value {
    match generation {
        Generation::V1_0 => v1_0::shown_push(task_id, shown),
        Generation::V0_3 => v0_3::shown_push(task_id, shown),
    }
}

/// A task's push configurations, without their secrets: 1.0 as a page, 0.3 as the bare list of all.
#[must_use]
pub fn push_configs(task_id: &str, shown: &[ShownPush], next: Option<&str>, generation: Generation) -> Value {
    let configs: Vec<Value> = shown
        .iter()
        .map(|shown| push_config(task_id, shown, generation))
        .collect();
    match generation {
        Generation::V1_0 => json!({ "configs": configs, "nextPageToken": next.unwrap_or_default() }),
        Generation::V0_3 => json!(configs),
    }
}

/// What the removal of a push configuration is answered with: 1.0 an empty object, 0.3 `null`.
#[must_use]
pub fn deleted(generation: Generation) -> Value {
    match generation {
        Generation::V1_0 => json!({}),
        Generation::V0_3 => Value::Null,
    }
}

/// The body of a push notification: in 0.3 the task; in 1.0 the one event there is, or the task where there are several.
/// The task comes without its messages: who wants to be told has sent them.
#[must_use]
pub fn push(task: &Task, events: &[Event], generation: Generation) -> Value {
    let mut shown = events.iter().filter(|event| event.kind.is_public());
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

/// The parameters of any operation, as a client writes them over JSON-RPC.
pub(crate) fn params(call: &Call, generation: Generation) -> Value {
    let old = generation == Generation::V0_3;
    let mut fields = Fields::default();
    match call {
        Call::Send(call) | Call::Stream(call) => return send_call(call, generation),
        Call::CreatePush {
            task_id,
            target,
            tenant,
        } => {
            return match generation {
                Generation::V1_0 => v1_0::create_push(task_id, target, tenant.as_deref()),
                Generation::V0_3 => v0_3::create_push(task_id, target),
            };
        }
        Call::Get {
            id, history_length, ..
        } => {
            fields.put("id", Some(id));
            fields.put("historyLength", *history_length);
        }
        Call::List(call) => return list_params(call, generation),
        Call::Cancel { id, metadata, .. } => {
            fields.put("id", Some(id));
            fields.put(
                "metadata",
                Some(metadata).filter(|free| !Metadata::is_empty(free)),
            );
        }
        Call::Subscribe { id, .. } => fields.put("id", Some(id)),
        Call::GetPush { task_id, id, .. } => fields.config(old, task_id, id.as_deref()),
        Call::DeletePush { task_id, id, .. } => fields.config(old, task_id, Some(id)),
        Call::ListPush {
            task_id,
            page_size,
            page_token,
            ..
        } => {
            fields.put(if old { "id" } else { "taskId" }, Some(task_id));
            fields.put("pageSize", *page_size);
            fields.put("pageToken", page_token.as_ref());
        }
        Call::ExtendedCard { .. } => {}
    }
    fields.put("tenant", call.tenant().filter(|_| !old));
    Value::Object(fields.0)
}

/// What a client asks a list with: the parameters over JSON-RPC, and name by name the query over REST.
#[must_use]
pub fn list_params(call: &ListCall, generation: Generation) -> Value {
    let mut fields = Fields::default();
    fields.put("contextId", call.context_id.as_ref());
    let state = call.state.map(|state| match generation {
        Generation::V1_0 => v1_0::state_name(state),
        Generation::V0_3 => json!(state.as_str()),
    });
    fields.put("status", state);
    fields.put("pageSize", Some(call.page_size));
    fields.put("pageToken", call.page_token.as_ref());
    fields.put("historyLength", call.history_length);
    fields.put(
        "statusTimestampAfter",
        call.changed_since.map(|at| at.to_string()),
    );
    fields.put("includeArtifacts", call.include_artifacts.then_some(true));
    let tenant = call.tenant.as_ref();
    fields.put("tenant", tenant.filter(|_| generation == Generation::V1_0));
    Value::Object(fields.0)
}

/// A JSON object of what is there.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, name: &str, value: Option<impl serde::Serialize>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), json!(value));
        }
    }

    /// The names that a push configuration goes by.
    fn config(&mut self, old: bool, task_id: &str, id: Option<&str>) {
        let (task, config) = if old {
            ("id", "pushNotificationConfigId")
        } else {
            ("taskId", "id")
        };
        self.put(task, Some(task_id));
        self.put(config, id);
    }
}
