//! From `domain` to the JSON of A2A 0.3.

use domain::{Event, EventKind, ExposeSecret, PartContent, PushConfigId, Role, TaskState, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use super::types;
use crate::common::owned;
use crate::{PushTarget, SendCall, ShownPush};

/// Says of a data part that its value stood alone: 0.3 has room for objects only. The official SDKs use the same word.
pub(super) const LONE_VALUE: &str = "data_part_compat";

pub(crate) fn task(
    task: &domain::Task,
    history: &[domain::Message],
    artifacts: &[domain::Artifact],
) -> Value {
    let last = task.status.message.as_ref();
    // Clients of 0.3 show a task's last words and its results one after the other: what both say is said once.
    let last = last.filter(|last| {
        let text = last.text();
        task.status.state != TaskState::Completed
            || text.is_empty()
            || !artifacts.iter().any(|result| result.text() == text)
    });
    to_json(&types::Task {
        kind: "task".to_owned(),
        id: task.id.to_string(),
        context_id: task.context_id.to_string(),
        status: status(task.status.state, last, task.status.at),
        artifacts: artifacts.iter().map(artifact).collect(),
        history: history.iter().map(message_type).collect(),
    })
}

pub(crate) fn message(message: &domain::Message) -> Value {
    to_json(&message_type(message))
}

pub(crate) fn event(task: &domain::Task, event: &Event) -> Option<Value> {
    match &event.kind {
        EventKind::Status { state, message } => {
            let message = message.as_ref().map(|message| owned(message, task));
            Some(to_json(&types::StatusUpdate {
                kind: "status-update".to_owned(),
                task_id: task.id.to_string(),
                context_id: task.context_id.to_string(),
                status: status(*state, message.as_ref(), event.at),
                r#final: state.is_terminal() || state.is_interrupted(),
            }))
        }
        EventKind::Artifact {
            artifact: result,
            append,
            last_chunk,
        } => Some(to_json(&types::ArtifactUpdate {
            kind: "artifact-update".to_owned(),
            task_id: task.id.to_string(),
            context_id: task.context_id.to_string(),
            artifact: artifact(result),
            append: *append,
            last_chunk: *last_chunk,
        })),
        EventKind::Said { .. }
        | EventKind::Job { .. }
        | EventKind::JobChanged { .. }
        | EventKind::Work { .. }
        | EventKind::Unknown => None,
    }
}

pub(crate) fn send_call(call: &SendCall) -> Value {
    let message = types::Message {
        task_id: call.of_task(),
        ..message_type(&call.message)
    };
    to_json(&types::SendParams {
        message,
        configuration: types::Configuration {
            accepted_output_modes: call.accepted_output_modes.clone(),
            blocking: Some(!call.return_immediately),
            history_length: call.history(),
            push_notification_config: call.push.as_ref().map(push_config),
        },
        metadata: call.metadata.clone(),
    })
}

/// A push configuration, its secrets left out.
pub(crate) fn shown_push(task_id: &str, shown: &ShownPush) -> Value {
    let config = types::PushConfig {
        id: Some(shown.id.to_string()),
        url: shown.url.to_string(),
        token: None,
        authentication: shown.scheme.clone().map(|scheme| types::Authentication {
            schemes: vec![scheme],
            credentials: None,
        }),
    };
    json!({ "taskId": task_id, "pushNotificationConfig": to_json(&config) })
}

/// The same in the protobuf form, where it is named by its resource.
pub(crate) fn named_push(task_id: &str, id: &PushConfigId, mut written: Value) -> Value {
    let config = written.get_mut("pushNotificationConfig").map(Value::take);
    json!({ "name": format!("tasks/{task_id}/pushNotificationConfigs/{id}"), "pushNotificationConfig": config })
}

/// The request to keep a push configuration, as a client writes it.
pub(crate) fn create_push(task_id: &str, target: &PushTarget) -> Value {
    json!({ "taskId": task_id, "pushNotificationConfig": to_json(&push_config(target)) })
}

fn push_config(target: &PushTarget) -> types::PushConfig {
    types::PushConfig {
        id: target.id.as_ref().map(PushConfigId::to_string),
        url: target.url.to_string(),
        token: target
            .token
            .as_ref()
            .map(|token| token.expose_secret().to_owned()),
        authentication: target.authentication.as_ref().map(|auth| types::Authentication {
            schemes: vec![auth.scheme.clone()],
            credentials: auth
                .credentials
                .as_ref()
                .map(|secret| secret.expose_secret().to_owned()),
        }),
    }
}

fn status(state: TaskState, message: Option<&domain::Message>, at: Timestamp) -> types::Status {
    types::Status {
        state: state.as_str().to_owned(),
        message: message.map(message_type),
        timestamp: Some(at.to_string()),
    }
}

fn message_type(message: &domain::Message) -> types::Message {
    types::Message {
        kind: "message".to_owned(),
        message_id: message.message_id.to_string(),
        role: match message.role {
            Role::User => "user".to_owned(),
            Role::Agent => "agent".to_owned(),
        },
        parts: message.parts.iter().map(part).collect(),
        context_id: message.context_id.as_ref().map(ToString::to_string),
        task_id: message.task_id.map(|id| id.to_string()),
        metadata: message.metadata.clone(),
        extensions: message.extensions.clone(),
        reference_task_ids: message.reference_task_ids.clone(),
    }
}

fn artifact(artifact: &domain::Artifact) -> types::Artifact {
    types::Artifact {
        artifact_id: artifact.artifact_id.clone(),
        name: artifact.name.clone(),
        description: artifact.description.clone(),
        parts: artifact.parts.iter().map(part).collect(),
        metadata: artifact.metadata.clone(),
        extensions: artifact.extensions.clone(),
    }
}

fn part(part: &domain::Part) -> types::Part {
    let mut written = types::Part {
        metadata: part.metadata.clone(),
        ..types::Part::default()
    };
    let file = types::File {
        mime_type: part.media_type.clone(),
        name: part.filename.clone(),
        ..types::File::default()
    };
    match &part.content {
        PartContent::Text(text) => written.text = Some(text.clone()),
        PartContent::Raw(base64) => {
            written.file = Some(types::File {
                bytes: Some(base64.clone()),
                ..file
            });
        }
        PartContent::Url(uri) => {
            written.file = Some(types::File {
                uri: Some(uri.clone()),
                ..file
            });
        }
        PartContent::Data(data) if data.is_object() => written.data = Some(data.clone()),
        PartContent::Data(data) => {
            written.data = Some(json!({ "value": data }));
            written.metadata.insert(LONE_VALUE.to_owned(), Value::Bool(true));
        }
    }
    written.kind = match &written {
        types::Part { text: Some(_), .. } => "text",
        types::Part { file: Some(_), .. } => "file",
        _ => "data",
    }
    .to_owned();
    written
}

/// These types have text as the key of every map, so that writing them cannot fail.
fn to_json<T: Serialize>(written: &T) -> Value {
    serde_json::to_value(written).unwrap_or_default()
}
