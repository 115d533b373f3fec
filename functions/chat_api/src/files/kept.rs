//! Files that are kept: they come back into a message that only names them, and go to their owner as attachments alone.

use std::sync::Arc;

use agent::{ALONE, DetachedFile};
use axum::extract::{RawPathParams, State};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{ChatId, MessageId, Owner, Part, PartContent, Task};
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use outbound::below;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use url::Url;

use crate::chat::ui_message::UserMessage;
use crate::error::RouteError;
use crate::files::sent::{Files, contradicts, invalid, size_of};
use crate::session::owned::{OwnedChat, OwnedTask};
use crate::state::AppState;

/// Brings the bytes back of files that a message only names. The chat must have the message as it is; one that is edited, with these
/// files.
///
/// # Errors
/// 400 where they are not kept, 409 where the message is another one.
pub(crate) async fn bring_back(
    room: &AppState,
    (owner, chat): (&Owner, &ChatId),
    message: &mut UserMessage,
    is_edited: bool,
) -> Result<(), RouteError> {
    if message.files != Files::Named {
        return Ok(());
    }
    let unknown = || invalid("a file part names a file that is not kept here: send its bytes as base64 data");
    let sessions = room.store.sessions();
    let chat = sessions
        .find_chat(&room.tenant, owner, chat, room.clock.now())
        .await?
        .ok_or_else(unknown)?;
    if chat.deleted_at.is_some() {
        return Err(RouteError::Deleted);
    }
    let (place, id) = (chat.place(), &message.id);
    let known = sessions
        .find_message(&room.tenant, place, id)
        .await?
        .ok_or_else(unknown)?;
    let same = match is_edited {
        true => files_of(&known.body).eq(files_of(&message.body)),
        false => known.body == message.body,
    };
    if !same {
        return Err(RouteError::message_changed());
    }
    let is_kept = |part: &&mut Part| matches!(part.content, PartContent::Raw(_));
    let kept = message.parts.iter_mut().filter(is_kept).zip(kept(&known.body));
    for (number, (part, file)) in kept.enumerate() {
        let bytes = sessions
            .file(&room.tenant, place, id, (number, file.size))
            .await?;
        part.content = PartContent::Raw(STANDARD.encode(bytes.ok_or_else(unknown)?));
    }
    Ok(())
}

/// A file that is kept with a message.
struct Kept<'m> {
    media: &'m str,
    name: Option<&'m str>,
    size: usize,
}

/// The parts of a message whose files are kept with it.
fn files_of(message: &Value) -> impl Iterator<Item = &Value> {
    let parts = message.get("parts").and_then(Value::as_array);
    let parts = parts.into_iter().flatten();
    parts.filter(|part| size_of(part).is_some())
}

/// The files that are kept with a message, in their order.
fn kept(message: &Value) -> impl Iterator<Item = Kept<'_>> {
    files_of(message).filter_map(|part| {
        Some(Kept {
            size: size_of(part)?,
            media: part.get("mediaType")?.as_str()?,
            name: part.get("filename").and_then(Value::as_str),
        })
    })
}

/// Says in a message where each of its files can be had.
pub(crate) fn link(message: &mut Value, base: &Url, (chat, id): (&ChatId, &MessageId)) {
    let segment = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let place = format!(
        "api/chats/{}/messages/{}/files",
        segment(chat.as_str()),
        segment(id.as_str())
    );
    let parts = message.get_mut("parts").and_then(Value::as_array_mut);
    let kept = parts.into_iter().flatten().filter(|part| size_of(part).is_some());
    for (number, part) in kept.enumerate() {
        if let Some(fields) = part.as_object_mut() {
            fields.insert("url".to_owned(), json!(below(base, &format!("{place}/{number}"))));
        }
    }
}

/// `GET /api/chats/{id}/messages/{message}/files/{number}`: a file that came with a message, as it was.
pub(crate) async fn of_message(
    State(room): State<Arc<AppState>>,
    OwnedChat(chat): OwnedChat,
    params: RawPathParams,
) -> Result<Response, RouteError> {
    let param = |wanted: &str| {
        params
            .iter()
            .find(|(name, _)| *name == wanted)
            .map(|(_, value)| value)
    };
    let message = param("message").and_then(|id| MessageId::parse(id).ok());
    let number = param("number").and_then(|number| number.parse::<usize>().ok());
    let (message, number) = message.zip(number).ok_or(RouteError::NotFound)?;
    let (sessions, place) = (room.store.sessions(), chat.place());
    let stored = sessions
        .find_message(&room.tenant, place, &message)
        .await?
        .ok_or(RouteError::NotFound)?;
    let file = kept(&stored.body).nth(number).ok_or(RouteError::NotFound)?;
    let bytes = sessions
        .file(&room.tenant, place, &message, (number, file.size))
        .await?;
    Ok(attachment(
        (Some(file.media), file.name),
        bytes.ok_or(RouteError::NotFound)?,
    ))
}

/// `GET /api/tasks/{id}/files/{place}`: a file among a task's results, as its agent sent it, which alone is read. The place is
/// `artifact.part` of the task's own results, `job.artifact.part` of a job's.
pub(crate) async fn of_task(
    State(room): State<Arc<AppState>>,
    OwnedTask { task, .. }: OwnedTask,
    params: RawPathParams,
    headers: HeaderMap,
) -> Result<Response, RouteError> {
    let place = params
        .iter()
        .find(|(name, _)| *name == "place")
        .map(|(_, place)| place);
    let part = place.and_then(|place| at(&task, place));
    let part = part.ok_or(RouteError::NotFound)?;
    let (media, name) = (part.media_type.as_deref(), part.filename.as_deref());
    if let Some(file) = DetachedFile::open(&room.store, &task, part, &headers).await? {
        let is_it = |media: &&str| file.beginning().is_none_or(|bytes| !contradicts(media, bytes));
        let media = media.filter(is_it);
        let mut response = file.into_response();
        as_attachment(&mut response, (media, name));
        return Ok(response);
    }
    let PartContent::Raw(base64) = &part.content else {
        return Err(RouteError::NotFound);
    };
    let base64 = room.tasks().file(&task, base64).await?;
    let bytes = STANDARD.decode(&*base64).map_err(|_| RouteError::NotFound)?;
    Ok(attachment((media, name), bytes))
}

/// The part of a task's results at a place.
fn at<'t>(task: &'t Task, place: &str) -> Option<&'t Part> {
    let place: Option<Vec<usize>> = place.split('.').map(|number| number.parse().ok()).collect();
    let (artifacts, artifact, part) = match place.as_deref()? {
        [artifact, part] => (&task.artifacts, *artifact, *part),
        [job, artifact, part] => {
            let mut jobs = task.jobs.iter();
            let job = jobs.find(|one| usize::try_from(one.number) == Ok(*job))?;
            (&job.artifacts, *artifact, *part)
        }
        _ => return None,
    };
    artifacts.get(artifact)?.parts.get(part)
}

/// A file as an answer: a browser saves it under its name, and opens nothing of it here.
fn attachment(about: (Option<&str>, Option<&str>), bytes: Vec<u8>) -> Response {
    let mut response = bytes.into_response();
    as_attachment(&mut response, about);
    response
}

/// Makes an answer an attachment of this media type and name.
fn as_attachment(response: &mut Response, (media, name): (Option<&str>, Option<&str>)) {
    let media = media.and_then(|media| HeaderValue::from_str(media).ok());
    let name = utf8_percent_encode(name.unwrap_or("file"), NON_ALPHANUMERIC);
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        media.unwrap_or(HeaderValue::from_static("application/octet-stream")),
    );
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(ALONE));
    let disposition = HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{name}"));
    headers.insert(
        CONTENT_DISPOSITION,
        disposition.unwrap_or(HeaderValue::from_static("attachment")),
    );
}
