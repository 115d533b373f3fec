//! `POST /api/chat`: a message of the user.
//!
//! The message is stored, then sent to the host, then answered; a repeat of the request finds what the first left,
//! at whatever point that broke off.

use std::sync::Arc;

use auth::consent_code;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::{
    ASKED_AGENT, ASKED_FROM, AgentType, Message, Owner, RemoteTaskId, Role, Task, TaskId, TaskState,
    UserContext,
};
use edge::Source;
use http::HeaderMap;
use http::header::{ACCEPT_LANGUAGE, SET_COOKIE};
use outbound::{CallError, SendResponse};
use serde_json::json;
use store::{Added, Chat, Opened, StoredMessage};

use crate::chat::edit;
use crate::chat::relay::Relay;
use crate::chat::turn::Turn;
use crate::chat::ui_message::{ChatRequest, UserMessage};
use crate::error::RouteError;
use crate::files::kept as kept_files;
use crate::files::sent::{self as files, Files};
use crate::host::Sender;
use crate::session::guard::MayChange;
use crate::session::place;
use crate::session::seat::Seat;
use crate::session::visitor::{Seen, Visitor, welcome_guest};
use crate::state::AppState;

pub(crate) async fn chat(
    State(room): State<Arc<AppState>>,
    _: MayChange,
    seen: Seen,
    source: Option<Extension<Source>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, RouteError> {
    let Visitor(visitor) = Visitor::of(&seen, &room)?;
    let mut request = ChatRequest::parse(&body)?;
    let is_theirs = |mark: &String| room.may_say(mark, &seen);
    if !request.owner.as_ref().is_none_or(is_theirs) {
        let reason = "somebody else wrote this here: whoever is here now is not asked for it";
        return Err(RouteError::conflict("another_owner", reason));
    }
    let context = &mut request.message.context;
    context.locale = context.locale.take().or_else(|| preferred_locale(&headers));
    if context.locale.is_none() || context.time_zone.is_none() {
        let usual = room.own.context().await;
        context.locale = context.locale.take().or(usual.locale);
        context.time_zone = context.time_zone.take().or(usual.time_zone);
    }
    if let Some(agent) = &request.agent {
        let known = room.models().await?;
        let Some(named) = known.iter().find(|model| model.id == agent.as_str()) else {
            return Err(RouteError::agent_gone());
        };
        // What is for the host goes to whoever takes it, and the answer names who does not.
        files::taken_by(named, &request.message.parts)?;
    }
    let place = place::of(&headers, source.map(|Extension(Source(ip))| ip));
    let (owner, cookie) = match visitor {
        Some(owner) => (owner, None),
        None => {
            let (owner, cookie) = welcome_guest(&room).await?;
            (owner, Some(cookie))
        }
    };
    let who = Sender {
        pushes: seen.pushes(),
        owner: owner.clone(),
    };
    // A guest gets the cookie also where the host is out of reach: the repeat must be the same guest's.
    let seat = match &cookie {
        None => Seat::of(&room, &headers, &owner),
        Some(_) => Seat::new_guests(&room, &owner),
    };
    let mut response = match answer(&room, seat, &who, request, place).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    };
    if let Some(cookie) = cookie {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

async fn answer(
    room: &AppState,
    seat: Seat,
    who: &Sender,
    request: ChatRequest,
    place: String,
) -> Result<Response, RouteError> {
    let ChatRequest {
        chat,
        mut message,
        trigger,
        edits: is_edit,
        task: named,
        agent,
        owner: _,
    } = request;
    let owner = &who.owner;
    kept_files::bring_back(room, (owner, &chat), &mut message, is_edit).await?;
    let named = match named {
        Some(id) => Some(replied_to(room, owner, &chat, id).await?),
        None => None,
    };
    if is_edit {
        edit::edit(room, (owner, &chat), &message).await?;
    }
    let (chat, is_new, edits) = open(room, owner, &chat, &message).await?;
    let tasks = match is_new {
        true => Vec::new(),
        false => room.tasks_of(&chat).await?,
    };
    let turn = Turn::of(&chat.context_id, (&message.id, edits), &tasks).asked(&trigger, &tasks);
    let answer_id = turn.answer_id();
    let message_id = turn.message_id.clone();
    let task = match turn.task {
        Some(task) => task.clone(),
        None => {
            let meant = Meant {
                pushes: who.pushes,
                task: named.as_ref(),
                agent,
                place,
            };
            send(room, (&chat, &tasks), &turn, meant, message).await?
        }
    };
    tracing::Span::current().record("task.id", tracing::field::display(&task.id));
    let grace = room.settings.grace;
    let parts = (room.store.clone(), chat.place().clone(), Arc::clone(&room.clock));
    let relay = Relay::new(parts, task, message_id, answer_id, grace);
    Ok(relay.after_others().into_response(seat))
}

/// The language that a browser names first.
fn preferred_locale(headers: &HeaderMap) -> Option<String> {
    let named = headers.get(ACCEPT_LANGUAGE)?.to_str().ok()?;
    let first = named.split([',', ';']).next()?.trim().to_owned();
    UserContext::parse(Some(first), None).ok()?.locale
}

/// The task whose card is replied to. One that is not the user's own, or of another chat, is not there.
async fn replied_to(
    room: &AppState,
    owner: &Owner,
    chat: &domain::ChatId,
    id: TaskId,
) -> Result<Task, RouteError> {
    let task = room.find_task(owner, id).await?.ok_or(RouteError::NotFound)?;
    let chat = room
        .store
        .sessions()
        .find_chat(&room.tenant, owner, chat, room.clock.now())
        .await?;
    let own = chat.is_some_and(|chat| chat.context_id == task.context_id);
    own.then_some(task).ok_or(RouteError::NotFound)
}

/// Opens the chat with the message in it. True where the chat is new; and how often the message was edited.
async fn open(
    room: &AppState,
    owner: &Owner,
    id: &domain::ChatId,
    message: &UserMessage,
) -> Result<(Chat, bool, u32), RouteError> {
    let (sessions, now) = (room.store.sessions(), room.clock.now());
    let (chat, is_new) = match sessions
        .open_chat(&room.tenant, owner, id, &message.title(), now)
        .await?
    {
        Opened::New(chat) => (chat, true),
        Opened::Known(chat) if chat.deleted_at.is_some() => return Err(RouteError::Deleted),
        Opened::Known(chat) => (chat, false),
    };
    let stored = StoredMessage {
        id: message.id.clone(),
        at: now,
        body: message.body.clone(),
        edits: 0,
    };
    let (tenant, place) = (&room.tenant, chat.place());
    let added = match &message.files {
        Files::Sent(files) if !files.is_empty() => {
            sessions
                .add_with_files(tenant, place, (&stored, is_new), files)
                .await?
        }
        _ if is_new => sessions.add_first(tenant, place, &stored).await?,
        _ => sessions.add_message(tenant, place, &stored).await?,
    };
    match added {
        Added::New => Ok((chat, is_new, 0)),
        Added::Same => {
            let known = sessions.find_message(tenant, place, &message.id).await?;
            Ok((chat, is_new, known.map_or(0, |known| known.edits)))
        }
        // It was there just now.
        Added::NoChat => Err(RouteError::Deleted),
        Added::Conflict => Err(RouteError::message_changed()),
    }
}

/// What a message is about, as its user says by more than words.
struct Meant<'m> {
    /// Whether browsers of its user are told of what becomes of it.
    pushes: bool,
    /// The task whose card it is a reply to.
    task: Option<&'m Task>,
    /// The agent that it is for.
    agent: Option<AgentType>,
    /// Where it came from.
    place: String,
}

async fn send(
    room: &AppState,
    (chat, tasks): (&Chat, &[Task]),
    turn: &Turn<'_>,
    Meant {
        pushes,
        task: named,
        agent,
        place,
    }: Meant<'_>,
    message: UserMessage,
) -> Result<Task, RouteError> {
    let UserMessage { parts, context, .. } = message;
    let mut message = Message::new(turn.message_id.clone(), Role::User, parts);
    message.context_id = Some(chat.context_id.clone());
    context.write(&mut message.metadata);
    if let Some(agent) = agent {
        message.metadata.insert(ASKED_AGENT.to_owned(), json!(agent));
    }
    message.metadata.insert(ASKED_FROM.to_owned(), json!(place));
    // Only a card that was replied to is named here: what else a message means is the host's to say.
    message.task_id = named
        .filter(|task| !task.status.state.is_terminal())
        .map(|task| task.id);
    let waiting = tasks
        .iter()
        .filter(|task| named.is_none_or(|named| named.id == task.id));
    let jobs = waiting
        .filter(|task| !task.status.state.is_terminal())
        .flat_map(|task| &task.jobs);
    // Of a consent of ours, or of an agent that asks itself, which knows it by its task.
    let consents = jobs.filter_map(|job| match job.awaited_consent() {
        Some(consent) => Some(consent.id.as_str()),
        None => job
            .remote_task_id()
            .filter(|_| {
                job.remote()
                    .is_some_and(|remote| remote.state == TaskState::AuthRequired)
            })
            .map(RemoteTaskId::as_str),
    });
    let mut message = consent_code::taken_out(message, consents);
    let who = Sender {
        owner: chat.owner.clone(),
        pushes,
    };
    let mut answer = room.host.send(&who, message.clone()).await;
    // The task may have ended meanwhile: then this is a new request.
    if message.task_id.is_some() && matches!(&answer, Err(RouteError::NotFound | RouteError::Refused(_))) {
        message.task_id = None;
        answer = room.host.send(&who, message).await;
    }
    let task = match answer? {
        // A host of ours keeps a task for it all the same, which the answer is shown from.
        SendResponse::Message(_) => {
            let tasks = room.tasks_of(chat).await?;
            Turn::at(turn.message_id.clone(), &tasks).task.cloned()
        }
        SendResponse::Task(remote) => room.find_task(&chat.owner, local_id(&remote.id)?).await?,
    };
    task.ok_or_else(|| foreign("its task is not in the tenant's table"))
}

/// The host's id of a task is also ours.
pub(crate) fn local_id(id: &RemoteTaskId) -> Result<TaskId, RouteError> {
    TaskId::parse(id.as_str()).map_err(|_| foreign("its task has no id of ours"))
}

fn foreign(reason: &str) -> RouteError {
    RouteError::Host(CallError::BadAnswer(reason.to_owned()))
}
