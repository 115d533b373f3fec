//! From `domain` to the official types.

use std::collections::HashMap;

use a2a_types as wire;
use chrono::DateTime;
use domain::{
    Artifact, ContextId, Event, EventKind, ExposeSecret, Message, Metadata, Part, PartContent, PushConfigId,
    Role, Task, TaskState, Timestamp,
};
use serde::Serialize;
use serde_json::Value;

use crate::common::owned;
use crate::lenient::decode_base64;
use crate::{PushTarget, SendCall, ShownPush};

pub(crate) fn task(task: &Task, history: &[Message], artifacts: &[Artifact]) -> Value {
    let written = wire::Task {
        id: task.id.to_string(),
        context_id: task.context_id.to_string(),
        status: status(&task.status.state, task.status.message.as_ref()),
        artifacts: (!artifacts.is_empty()).then(|| artifacts.iter().map(artifact).collect()),
        history: (!history.is_empty()).then(|| history.iter().map(message_type).collect()),
        metadata: None,
    };
    dated(json(&written), task.status.at)
}

pub(crate) fn message(message: &Message) -> Value {
    json(&message_type(message))
}

pub(crate) fn event(task: &Task, event: &Event) -> Option<Value> {
    match &event.kind {
        EventKind::Status { state, message } => {
            let message = message.as_ref().map(|message| owned(message, task));
            let update = wire::TaskStatusUpdateEvent {
                task_id: task.id.to_string(),
                context_id: task.context_id.to_string(),
                status: status(state, message.as_ref()),
                metadata: None,
            };
            Some(serde_json::json!({ "statusUpdate": dated(json(&update), event.at) }))
        }
        EventKind::Artifact {
            artifact: result,
            append,
            last_chunk,
        } => Some(json(&wire::StreamResponse::ArtifactUpdate(
            wire::TaskArtifactUpdateEvent {
                task_id: task.id.to_string(),
                context_id: task.context_id.to_string(),
                artifact: artifact(result),
                append: Some(*append),
                last_chunk: Some(*last_chunk),
                metadata: None,
            },
        ))),
        EventKind::Said { .. }
        | EventKind::Job { .. }
        | EventKind::JobChanged { .. }
        | EventKind::Work { .. }
        | EventKind::Unknown => None,
    }
}

pub(crate) fn send_call(call: &SendCall) -> Value {
    let message = wire::Message {
        task_id: call.of_task(),
        ..message_type(&call.message)
    };
    let configuration = wire::SendMessageConfiguration {
        accepted_output_modes: (!call.accepted_output_modes.is_empty())
            .then(|| call.accepted_output_modes.clone()),
        task_push_notification_config: call.push.as_ref().map(push_config),
        history_length: call.history(),
        return_immediately: Some(call.return_immediately),
    };
    json(&wire::SendMessageRequest {
        message,
        configuration: Some(configuration),
        metadata: free_out(&call.metadata),
        tenant: call.tenant.clone(),
    })
}

fn push_config(target: &PushTarget) -> wire::TaskPushNotificationConfig {
    wire::TaskPushNotificationConfig {
        url: target.url.to_string(),
        id: target.id.as_ref().map(PushConfigId::to_string),
        task_id: String::new(),
        token: target
            .token
            .as_ref()
            .map(|token| token.expose_secret().to_owned()),
        authentication: target
            .authentication
            .as_ref()
            .map(|auth| wire::AuthenticationInfo {
                scheme: auth.scheme.clone(),
                credentials: auth
                    .credentials
                    .as_ref()
                    .map(|secret| secret.expose_secret().to_owned()),
            }),
        tenant: None,
    }
}

/// A push configuration, its secrets left out.
pub(crate) fn shown_push(task_id: &str, shown: &ShownPush) -> Value {
    json(&wire::TaskPushNotificationConfig {
        url: shown.url.to_string(),
        id: Some(shown.id.to_string()),
        task_id: task_id.to_owned(),
        token: None,
        authentication: shown.scheme.clone().map(|scheme| wire::AuthenticationInfo {
            scheme,
            credentials: None,
        }),
        tenant: None,
    })
}

/// The request to keep a push configuration, as a client writes it.
pub(crate) fn create_push(task_id: &str, target: &PushTarget, tenant: Option<&str>) -> Value {
    json(&wire::TaskPushNotificationConfig {
        task_id: task_id.to_owned(),
        tenant: tenant.map(str::to_owned),
        ..push_config(target)
    })
}

fn status(state: &TaskState, message: Option<&Message>) -> wire::TaskStatus {
    wire::TaskStatus {
        state: state_out(*state),
        message: message.map(message_type),
        timestamp: DateTime::from_timestamp_millis(0),
    }
}

/// Puts the status' time in as our own text: always with milliseconds, as the specification recommends.
fn dated(mut written: Value, at: Timestamp) -> Value {
    if let Some(timestamp) = written.pointer_mut("/status/timestamp") {
        *timestamp = Value::String(at.to_string());
    }
    written
}

fn message_type(message: &Message) -> wire::Message {
    let list = |texts: &[String]| (!texts.is_empty()).then(|| texts.to_vec());
    wire::Message {
        message_id: message.message_id.to_string(),
        context_id: message.context_id.as_ref().map(ContextId::to_string),
        task_id: message.task_id.map(|id| id.to_string()),
        role: match message.role {
            Role::User => wire::Role::User,
            Role::Agent => wire::Role::Agent,
        },
        parts: message.parts.iter().map(part).collect(),
        metadata: free_out(&message.metadata),
        extensions: list(&message.extensions),
        reference_task_ids: list(&message.reference_task_ids),
    }
}

fn artifact(artifact: &Artifact) -> wire::Artifact {
    wire::Artifact {
        artifact_id: artifact.artifact_id.clone(),
        name: artifact.name.clone(),
        description: artifact.description.clone(),
        parts: artifact.parts.iter().map(part).collect(),
        metadata: free_out(&artifact.metadata),
        extensions: (!artifact.extensions.is_empty()).then(|| artifact.extensions.clone()),
    }
}

fn part(part: &Part) -> wire::Part {
    wire::Part {
        content: match &part.content {
            PartContent::Text(text) => wire::PartContent::Text(text.clone()),
            PartContent::Raw(base64) => wire::PartContent::Raw(decode_base64(base64).unwrap_or_default()),
            PartContent::Url(url) => wire::PartContent::Url(url.clone()),
            PartContent::Data(data) => wire::PartContent::Data(data.clone()),
        },
        filename: part.filename.clone(),
        media_type: part.media_type.clone(),
        metadata: free_out(&part.metadata),
    }
}

fn state_out(state: TaskState) -> wire::TaskState {
    match state {
        TaskState::Submitted => wire::TaskState::Submitted,
        TaskState::Working => wire::TaskState::Working,
        TaskState::InputRequired => wire::TaskState::InputRequired,
        TaskState::AuthRequired => wire::TaskState::AuthRequired,
        TaskState::Completed => wire::TaskState::Completed,
        TaskState::Canceled => wire::TaskState::Canceled,
        TaskState::Failed => wire::TaskState::Failed,
        TaskState::Rejected => wire::TaskState::Rejected,
        // 1.0 has no `unknown`; the official SDKs translate it so.
        TaskState::Unknown => wire::TaskState::Unspecified,
    }
}

/// The state's name on the wire.
pub(crate) fn state_name(state: TaskState) -> Value {
    json(&state_out(state))
}

fn free_out(metadata: &Metadata) -> Option<HashMap<String, Value>> {
    (!metadata.is_empty()).then(|| metadata.clone().into_iter().collect())
}

/// The official types have text as the key of every map, so that writing them cannot fail.
fn json<T: Serialize>(written: &T) -> Value {
    serde_json::to_value(written).unwrap_or_default()
}
