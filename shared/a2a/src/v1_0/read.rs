//! From the official types to `domain`. What is read here was tidied before.

use std::collections::HashMap;

use a2a_types as wire;
use domain::{ContextId, Message, MessageId, Metadata, Part, PartContent, Role, SecretString, TaskId, Terms};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::common::{file_at, push_target, read_length};
use crate::lenient::{Fault, encode_base64, filled};
use crate::{PushAuth, PushTarget, SendCall};

pub(crate) fn read_send_call(params: Value) -> Result<SendCall, Fault> {
    one_content_each(params.pointer("/message/parts"))?;
    let read: wire::SendMessageRequest = from(params)?;
    let configuration = read.configuration.unwrap_or(wire::SendMessageConfiguration {
        accepted_output_modes: None,
        task_push_notification_config: None,
        history_length: None,
        return_immediately: None,
    });
    let task_id = filled(read.message.task_id.clone());
    Ok(SendCall {
        message: read_message_type(read.message)?,
        task_id,
        return_immediately: configuration.return_immediately.unwrap_or(false),
        accepted_output_modes: configuration.accepted_output_modes.unwrap_or_default(),
        push: configuration
            .task_push_notification_config
            .map(read_push_config)
            .transpose()?,
        history_length: read_length(configuration.history_length)?,
        tenant: filled(read.tenant),
        metadata: free_in(read.metadata),
    })
}

/// Reads a push configuration; its `taskId` is the caller's business.
pub(crate) fn read_push(told: Value) -> Result<PushTarget, Fault> {
    read_push_config(from(told)?)
}

fn read_message_type(told: wire::Message) -> Result<Message, Fault> {
    let role = match told.role {
        wire::Role::User => Role::User,
        wire::Role::Agent => Role::Agent,
        wire::Role::Unspecified => return Err(Fault::new("role must be ROLE_USER or ROLE_AGENT")),
    };
    if told.parts.is_empty() {
        return Err(Fault::new("a message needs at least one part"));
    }
    Ok(Message {
        message_id: MessageId::parse(&told.message_id)?,
        role,
        parts: told.parts.into_iter().map(read_part).collect(),
        context_id: filled(told.context_id)
            .map(|id| ContextId::parse(&id))
            .transpose()?,
        task_id: told.task_id.and_then(|id| TaskId::parse(&id).ok()),
        metadata: free_in(told.metadata),
        extensions: told.extensions.unwrap_or_default(),
        reference_task_ids: told.reference_task_ids.unwrap_or_default(),
        terms: Terms::default(),
    })
}

fn read_part(told: wire::Part) -> Part {
    let part = match told.content {
        wire::PartContent::Text(text) => Part::new(PartContent::Text(text)),
        wire::PartContent::Raw(bytes) => Part::new(PartContent::Raw(encode_base64(&bytes))),
        wire::PartContent::Url(url) => file_at(url),
        wire::PartContent::Data(data) => Part::new(PartContent::Data(data)),
    };
    Part {
        media_type: filled(told.media_type).or(part.media_type),
        filename: filled(told.filename),
        metadata: free_in(told.metadata),
        content: part.content,
    }
}

fn read_push_config(told: wire::TaskPushNotificationConfig) -> Result<PushTarget, Fault> {
    let authentication = told.authentication.map(|auth| PushAuth {
        scheme: auth.scheme,
        credentials: filled(auth.credentials).map(SecretString::from),
    });
    push_target(told.id, &told.url, told.token, authentication)
}

/// The official types take the first content they find; two of them in one part is a mistake to tell.
fn one_content_each(parts: Option<&Value>) -> Result<(), Fault> {
    let contents = ["text", "raw", "url", "data"];
    let fits = |part: &Value| {
        let told = || contents.iter().filter_map(|name| part.get(name));
        match told().filter(|content| !content.is_null()).count() {
            0 => told().count() == 1, // `"data": null`
            count => count == 1,
        }
    };
    match parts.and_then(Value::as_array) {
        Some(parts) if !parts.iter().all(fits) => Err(Fault::new(
            "each part must have exactly one of text, raw, url, data",
        )),
        _ => Ok(()),
    }
}

fn free_in(metadata: Option<HashMap<String, Value>>) -> Metadata {
    metadata.unwrap_or_default().into_iter().collect()
}

fn from<T: DeserializeOwned>(told: Value) -> Result<T, Fault> {
    Ok(serde_json::from_value(told)?)
}
