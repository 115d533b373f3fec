//! From the JSON of A2A 0.3 to `domain`: lenient in form (the protobuf form of its REST binding is read as well), strict
//! in what comes out. What is read here was tidied before.

use domain::{ContextId, Message, MessageId, Metadata, Part, PartContent, Role, SecretString, TaskId, Terms};
use serde_json::Value;

use super::types;
use super::write::LONE_VALUE;
use crate::common::{file_at, push_target, read_length};
use crate::lenient::{Fault, filled, standard_base64};
use crate::{PushAuth, PushTarget, SendCall};

pub(crate) fn read_send_call(params: Value) -> Result<SendCall, Fault> {
    let (params, was_proto) = super::proto::from_proto(params);
    let read: types::SendParams = serde_json::from_value(params)?;
    let configuration = read.configuration;
    let task_id = filled(read.message.task_id.clone());
    let push = configuration.push_notification_config.map(push_config);
    Ok(SendCall {
        message: message(read.message)?,
        task_id,
        // Protobuf's JSON leaves `false` out, so that there absence means it; elsewhere a client that does not say waits.
        return_immediately: !configuration.blocking.unwrap_or(!was_proto),
        accepted_output_modes: configuration.accepted_output_modes,
        push: push.transpose()?,
        // 0.3 counts 0 as "all".
        history_length: read_length(configuration.history_length)?.filter(|length| *length > 0),
        tenant: None,
        metadata: read.metadata,
    })
}

/// Reads a push configuration: the parameters of JSON-RPC, or the protobuf form, where it lies one or two levels deeper
/// and may be named by its resource.
pub(crate) fn read_push(mut told: Value) -> Result<PushTarget, Fault> {
    let beside = told.get("configId").cloned();
    if let Some(inner) = told.get_mut("config").filter(|inner| inner.is_object()) {
        told = inner.take();
    }
    let name = told.get("name").and_then(Value::as_str);
    let named = name.and_then(|name| name.rsplit_once("/pushNotificationConfigs/"));
    let named = named.map(|(_, id)| id.to_owned());
    if let Some(inner) = told
        .get_mut("pushNotificationConfig")
        .filter(|inner| inner.is_object())
    {
        told = inner.take();
    }
    let mut read: types::PushConfig = serde_json::from_value(told)?;
    let beside = beside.and_then(|id| id.as_str().map(str::to_owned));
    read.id = filled(read.id).or(filled(beside)).or(filled(named));
    push_config(read)
}

fn push_config(told: types::PushConfig) -> Result<PushTarget, Fault> {
    let authentication = told.authentication.and_then(|auth| {
        let scheme = auth.schemes.into_iter().next()?;
        let credentials = filled(auth.credentials).map(SecretString::from);
        Some(PushAuth { scheme, credentials })
    });
    push_target(told.id, &told.url, told.token, authentication)
}

fn message(told: types::Message) -> Result<Message, Fault> {
    if !matches!(told.kind.as_str(), "" | "message") {
        return Err(Fault::new("a message's kind must be \"message\""));
    }
    let role = match told.role.as_str() {
        "user" => Role::User,
        "agent" => Role::Agent,
        _ => return Err(Fault::new("role must be \"user\" or \"agent\"")),
    };
    if told.parts.is_empty() {
        return Err(Fault::new("a message needs at least one part"));
    }
    Ok(Message {
        message_id: MessageId::parse(&told.message_id)?,
        role,
        parts: told.parts.into_iter().map(part).collect::<Result<_, _>>()?,
        context_id: filled(told.context_id)
            .map(|id| ContextId::parse(&id))
            .transpose()?,
        task_id: told.task_id.and_then(|id| TaskId::parse(&id).ok()),
        metadata: told.metadata,
        extensions: told.extensions,
        reference_task_ids: told.reference_task_ids,
        terms: Terms::default(),
    })
}

fn part(told: types::Part) -> Result<Part, Fault> {
    let types::Part {
        mut kind,
        kind_before,
        text,
        file,
        data,
        mut metadata,
    } = told;
    if let ("", Some(Value::String(before))) = (kind.as_str(), kind_before) {
        kind = before;
    }
    let mut part = match (kind.as_str(), text, file, data) {
        ("text", Some(text), ..) | ("", Some(text), None, None) => Part::text(text),
        ("file", _, Some(file), _) | ("", None, Some(file), None) => file_part(file)?,
        ("data", _, _, Some(data)) | ("", None, None, Some(data)) => Part::data(data),
        _ => {
            return Err(Fault::new(
                "each part must be a text, a file or data, as its kind says",
            ));
        }
    };
    if let PartContent::Data(data) = part.content {
        part.content = PartContent::Data(lone_value(data, &mut metadata));
    }
    part.metadata = metadata;
    Ok(part)
}

/// Data that is no object and was put into one, as 0.3 has objects alone.
pub(crate) fn lone_value(mut data: Value, metadata: &mut Metadata) -> Value {
    if metadata.get(LONE_VALUE) == Some(&Value::Bool(true))
        && let Some(value) = data.get_mut("value")
    {
        metadata.remove(LONE_VALUE);
        return value.take();
    }
    data
}

fn file_part(file: types::File) -> Result<Part, Fault> {
    let part = match (file.bytes, file.uri.or(file.url)) {
        (Some(bytes), None) => {
            let bytes = standard_base64(&bytes);
            Part::new(PartContent::Raw(
                bytes.ok_or_else(|| Fault::new("a file's bytes must be base64"))?,
            ))
        }
        (None, Some(uri)) => file_at(uri),
        _ => return Err(Fault::new("a file must have either bytes or a uri")),
    };
    Ok(Part {
        media_type: filled(file.mime_type).or_else(|| part.media_type.clone()),
        filename: filled(file.name),
        ..part
    })
}
