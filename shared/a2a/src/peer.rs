//! What other agents say, of either generation: read by what it is, as agents often do not answer as their cards have it. An id
//! and a state are all that a task needs. What cannot be read beside them is left out, and a result tells how much of it that was
//! ([`UNREAD`]); what an agent has done is not lost for something odd beside it.
//!
//! What users and hosts ask *us* is read elsewhere, to the letter.

use domain::{
    Artifact, ContextId, FORM_MAX, Generation, Message, MessageId, Metadata, Notification, Part, PartContent,
    RemoteTaskId, RemoteUpdate, Role, TaskId, TaskState, Terms, Timestamp, UNREAD,
};
use serde_json::{Map, Value};

use crate::common::file_at;
use crate::consent::named_consent;
use crate::lenient::{Fault, enum_name, standard_base64, tidy_below};
use crate::{RemoteTask, SendResponse, plain, v0_3};

/// What a result says of which nothing could be read.
const NOTHING_READ: &str = "(This part of the result cannot be read.)";
/// Most wrappers that are taken off an answer.
const WRAPPERS: usize = 4;
/// Names of objects that hold nothing but what is meant: 1.0 wraps a task and a message, 0.3's protobuf calls the latter `msg`, and
/// models of Python that were written out as they are say `root`.
const WRAPPER_NAMES: [&str; 4] = ["task", "message", "msg", "root"];

type Fields = Map<String, Value>;

/// What an agent answered a send with: a task, or a message.
pub(crate) fn answer(told: &Value, claimed: Generation) -> Result<SendResponse, Fault> {
    let told = unwrapped(told)?;
    if is_message(told) {
        return message(told, claimed).map(SendResponse::Message);
    }
    if !is_task(told) {
        return Err(Fault::new("the answer holds neither a task nor a message"));
    }
    match task_of(told, claimed) {
        Ok(task) => Ok(SendResponse::Task(task)),
        // A task that cannot be asked for again, and need not be: what it brought is the answer.
        Err(fault) if state_of(told) == Some(TaskState::Completed) => {
            let artifacts = artifacts(told, generation(told, claimed));
            let parts: Vec<Part> = artifacts.into_iter().flat_map(|result| result.parts).collect();
            if parts.is_empty() {
                return Err(fault);
            }
            let id = MessageId::derived(&Value::Object(told.clone()).to_string());
            Ok(SendResponse::Message(Message::new(id, Role::Agent, parts)))
        }
        Err(fault) => Err(fault),
    }
}

/// A task that an agent answered with.
pub(crate) fn task(told: &Value, claimed: Generation) -> Result<RemoteTask, Fault> {
    task_of(unwrapped(told)?, claimed)
}

/// News of a task: the task, a message, or one change of it. Unlike an answer it must tell its state so that it can be read: it
/// will come once more, and a look at the task brings it too.
pub(crate) fn news(told: &Value, claimed: Generation) -> Result<Notification, Fault> {
    let none = || Fault::new("neither a task nor an event");
    let fields = told.as_object().ok_or_else(none)?;
    // Some push what they would answer over JSON-RPC.
    let fields = match member(fields, "result").and_then(Value::as_object) {
        Some(result) if fields.contains_key("jsonrpc") => result,
        _ => fields,
    };
    let kind = text(fields, "kind");
    let wrapped = |name: &str| member(fields, name).and_then(Value::as_object);
    let is = |name: &str, holds: &str| {
        kind.as_deref() == Some(name)
            || (kind.is_none() && id(fields, "id").is_none() && member(fields, "taskId").is_some())
                && member(fields, holds).is_some_and(Value::is_object)
    };
    let status_update = wrapped("statusUpdate").or_else(|| is("status-update", "status").then_some(fields));
    if let Some(update) = status_update {
        return Ok(Notification {
            remote_task_id: Some(id(update, "taskId").ok_or_else(no_id)?),
            update: Some(status(update, claimed).ok_or_else(no_state)?),
            artifacts: Vec::new(),
            snapshot: false,
            responder: None,
        });
    }
    let artifact_update =
        wrapped("artifactUpdate").or_else(|| is("artifact-update", "artifact").then_some(fields));
    if let Some(update) = artifact_update {
        let told = member(update, "artifact").and_then(Value::as_object);
        let told = told.ok_or_else(|| Fault::new("the update has no artifact"))?;
        let append = member(update, "append").and_then(Value::as_bool).unwrap_or(false);
        return Ok(Notification {
            remote_task_id: Some(id(update, "taskId").ok_or_else(no_id)?),
            update: None,
            artifacts: vec![(artifact(told, 0, generation(update, claimed)), append)],
            snapshot: false,
            responder: None,
        });
    }
    let told = unwrap(fields);
    if is_message(told) {
        return message(told, claimed).map(|message| SendResponse::Message(message).into_notification());
    }
    // A status of mere text is that of the plain form, which is read to the letter.
    if !is_task(told) || member(told, "status").is_some_and(|status| !status.is_object()) {
        return Err(none());
    }
    state_of(told).ok_or_else(no_state)?;
    task_of(told, claimed).map(RemoteTask::into_notification)
}

fn no_id() -> Fault {
    Fault::new("the task's id cannot be read")
}

fn no_state() -> Fault {
    Fault::new("the task's state is none of A2A's")
}

fn unwrapped(told: &Value) -> Result<&Fields, Fault> {
    let fields = told.as_object();
    fields
        .map(unwrap)
        .ok_or_else(|| Fault::new("the answer holds neither a task nor a message"))
}

fn unwrap(mut fields: &Fields) -> &Fields {
    for _ in 0..WRAPPERS {
        if is_message(fields) || is_task(fields) {
            break;
        }
        let inner = WRAPPER_NAMES
            .iter()
            .find_map(|name| fields.get(*name)?.as_object());
        let Some(inner) = inner else { break };
        fields = inner;
    }
    fields
}

fn is_task(fields: &Fields) -> bool {
    let has = |name: &str| member(fields, name).is_some();
    has("status") || has("artifacts") || text(fields, "kind").as_deref() == Some("task")
}

fn is_message(fields: &Fields) -> bool {
    let is_list = |name: &str| member(fields, name).is_some_and(Value::is_array);
    !is_task(fields) && (is_list("parts") || is_list("content"))
}

/// The generation that the words of a task or message are of; where they could be of either, the one that was claimed.
fn generation(fields: &Fields, claimed: Generation) -> Generation {
    let state = member(fields, "status")
        .and_then(Value::as_object)
        .and_then(|status| text(status, "state"));
    match state {
        _ if fields.contains_key("kind") => Generation::V0_3,
        Some(state) if !state.starts_with("TASK_STATE_") => Generation::V0_3,
        _ => claimed,
    }
}

fn task_of(told: &Fields, claimed: Generation) -> Result<RemoteTask, Fault> {
    // An update in place of the task has the id under the other name.
    let id = id(told, "id").or_else(|| id(told, "taskId")).ok_or_else(no_id)?;
    Ok(RemoteTask {
        id,
        context_id: text(told, "contextId").and_then(|id| ContextId::parse(&id).ok()),
        // The agent has the task, whatever it says of it: it is asked once more.
        status: status(told, claimed).unwrap_or(RemoteUpdate::of(TaskState::Unknown)),
        artifacts: artifacts(told, generation(told, claimed)),
        responder: None,
    })
}

/// `None` where the state cannot be read.
fn status(told: &Fields, claimed: Generation) -> Option<RemoteUpdate> {
    let state = state_of(told)?;
    let status = member(told, "status").and_then(Value::as_object);
    let told_of = |name: &str| status.and_then(|status| member(status, name));
    let said = told_of("message");
    let fields = said.and_then(Value::as_object);
    let read = fields.and_then(|fields| message(fields, claimed).ok());
    let words = match (said, &read) {
        (Some(Value::String(words)), _) => Some(words.clone()),
        (_, read) => read.as_ref().map(Message::text),
    };
    let form = read.as_ref().and_then(Message::form);
    let metadata = fields.map(|fields| free(fields, "metadata")).unwrap_or_default();
    Some(RemoteUpdate {
        state,
        text: words.filter(|words| !words.is_empty()),
        at: told_of("timestamp")
            .and_then(Value::as_str)
            .and_then(Timestamp::parse),
        consent: named_consent(&metadata),
        form: form
            .filter(|schema| state == TaskState::InputRequired && schema.to_string().len() <= FORM_MAX)
            .cloned(),
    })
}

/// The state, by its name in either generation or its number in protobuf's; also where it stands for the whole status.
fn state_of(told: &Fields) -> Option<TaskState> {
    let told = match member(told, "status")? {
        Value::Object(status) => member(status, "state")?,
        other => other,
    };
    let by_number = told.as_u64().and_then(|number| enum_name("state", number));
    match by_number.or_else(|| told.as_str())? {
        "TASK_STATE_UNSPECIFIED" => Some(TaskState::Unknown),
        name => plain::state(name).ok(),
    }
}

fn message(told: &Fields, claimed: Generation) -> Result<Message, Fault> {
    let generation = generation(told, claimed);
    let list = member(told, "parts").or_else(|| member(told, "content"));
    let (parts, _) = parts(list, generation);
    if parts.is_empty() {
        return Err(Fault::new("the message has no part that can be read"));
    }
    // Who says it is the agent that was asked; an id is needed here alone.
    let is_user = matches!(text(told, "role").as_deref(), Some("user" | "ROLE_USER"))
        || told.get("role").and_then(Value::as_u64) == Some(1);
    let id = text(told, "messageId").and_then(|id| MessageId::parse(&id).ok());
    Ok(Message {
        message_id: id.unwrap_or_else(|| MessageId::derived(&Value::Object(told.clone()).to_string())),
        role: if is_user { Role::User } else { Role::Agent },
        parts,
        context_id: text(told, "contextId").and_then(|id| ContextId::parse(&id).ok()),
        task_id: text(told, "taskId").and_then(|id| TaskId::parse(&id).ok()),
        metadata: free(told, "metadata"),
        extensions: texts(told, "extensions"),
        reference_task_ids: texts(told, "referenceTaskIds"),
        terms: Terms::default(),
    })
}

fn artifacts(told: &Fields, generation: Generation) -> Vec<Artifact> {
    let list = member(told, "artifacts");
    let items: &[Value] = match list {
        Some(Value::Array(items)) => items,
        // One alone, where a list is meant.
        Some(one @ Value::Object(_)) => std::slice::from_ref(one),
        _ => &[],
    };
    let objects = items.iter().filter_map(Value::as_object).enumerate();
    objects
        .map(|(index, told)| artifact(told, index, generation))
        .collect()
}

fn artifact(told: &Fields, index: usize, generation: Generation) -> Artifact {
    let (mut parts, unread) = parts(member(told, "parts"), generation);
    let mut metadata = free(told, "metadata");
    if unread > 0 {
        if parts.is_empty() {
            parts.push(Part::text(NOTHING_READ));
        }
        metadata.insert(UNREAD.to_owned(), Value::from(unread));
    }
    Artifact {
        artifact_id: text(told, "artifactId").unwrap_or_else(|| format!("result-{index}")),
        name: text(told, "name"),
        description: text(told, "description"),
        parts,
        metadata,
        extensions: texts(told, "extensions"),
    }
}

/// The parts that can be read, and how many cannot.
fn parts(list: Option<&Value>, generation: Generation) -> (Vec<Part>, usize) {
    let items: &[Value] = match list {
        None => &[],
        Some(Value::Array(items)) => items,
        Some(one) => std::slice::from_ref(one),
    };
    let read: Vec<Part> = items.iter().filter_map(|item| part(item, generation)).collect();
    let unread = items.len().saturating_sub(read.len());
    (read, unread)
}

/// A part by what it holds; what it says that it is decides only where it holds several things.
fn part(told: &Value, generation: Generation) -> Option<Part> {
    if let Value::String(text) = told {
        return Some(Part::text(text.as_str()));
    }
    let told = match told.get("root") {
        Some(root @ Value::Object(inner)) if !inner.is_empty() => root,
        _ => told,
    };
    let mut told = tidy_below(told).ok()?;
    let is_old = generation == Generation::V0_3 || told.get("kind").is_some();
    if is_old {
        told = v0_3::from_proto(told).0;
    }
    let told = told.as_object()?;
    let kind = told
        .get("kind")
        .or_else(|| told.get("type"))
        .and_then(Value::as_str);
    let mut metadata = free(told, "metadata");
    let read = |name: &str| match (name, told.get(name)?) {
        ("text", Value::String(text)) => Some(Part::text(text.as_str())),
        ("text", number @ (Value::Number(_) | Value::Bool(_))) => Some(Part::text(number.to_string())),
        ("raw", Value::String(bytes)) => {
            standard_base64(bytes).map(|bytes| Part::new(PartContent::Raw(bytes)))
        }
        ("url", Value::String(url)) => Some(file_at(url.clone())),
        ("file", Value::Object(file)) => file_part(file),
        ("data", data) => Some(match is_old {
            true => Part::data(data.clone()),
            false => Part::new(PartContent::Data(data.clone())),
        }),
        _ => None,
    };
    let by_kind = kind
        .filter(|kind| matches!(*kind, "text" | "file" | "data"))
        .and_then(read);
    let part = by_kind.or_else(|| ["text", "raw", "url", "file", "data"].into_iter().find_map(read))?;
    let content = match part.content {
        PartContent::Data(data) if is_old => PartContent::Data(v0_3::lone_value(data, &mut metadata)),
        content => content,
    };
    Some(Part {
        content,
        media_type: text(told, "mediaType")
            .or_else(|| text(told, "mimeType"))
            .or(part.media_type),
        filename: text(told, "filename").or(part.filename),
        metadata,
    })
}

/// A file as 0.3 has it.
fn file_part(file: &Fields) -> Option<Part> {
    let bytes = file
        .get("bytes")
        .and_then(Value::as_str)
        .and_then(standard_base64);
    let part = match bytes {
        Some(bytes) => Part::new(PartContent::Raw(bytes)),
        None => file_at(text(file, "uri").or_else(|| text(file, "url"))?),
    };
    Some(Part {
        media_type: text(file, "mimeType")
            .or_else(|| text(file, "mediaType"))
            .or(part.media_type),
        filename: text(file, "name").or_else(|| text(file, "filename")),
        ..part
    })
}

/// A member by its name, or by the same in `snake_case`; none where it is `null`.
fn member<'a>(fields: &'a Fields, name: &str) -> Option<&'a Value> {
    let told = fields.get(name).or_else(|| fields.get(&snake(name)));
    told.filter(|told| !told.is_null())
}

fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// A text that is not empty; a number is one too, as ids often are.
fn text(fields: &Fields, name: &str) -> Option<String> {
    match member(fields, name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn texts(fields: &Fields, name: &str) -> Vec<String> {
    let list = member(fields, name).and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

fn id(fields: &Fields, name: &str) -> Option<RemoteTaskId> {
    text(fields, name).and_then(|id| RemoteTaskId::parse(&id).ok())
}

/// Free data as it is, where it is not nested too deeply.
fn free(fields: &Fields, name: &str) -> Metadata {
    let told = member(fields, name).filter(|told| tidy_below(told).is_ok());
    told.and_then(Value::as_object).cloned().unwrap_or_default()
}
