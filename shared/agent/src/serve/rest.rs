//! The REST binding: 1.0 below the agent's URL, and once more below `/{tenant}`; 0.3 below `/v1`.
//!
//! The verb of an operation on a task is part of the last segment, `{id}:cancel`, so that several operations share a
//! route. 1.0 subscribes by POST in its text and by GET in its protobuf: both are served.

use std::sync::Arc;

use a2a::{A2aError, Call, Generation, rest};
use axum::body::Bytes;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use routes::Routes;
use serde::Deserialize;
use serde_json::Value;

use super::caller::{Called, Refused};
use super::failed::Failed;
use super::operation::{Ask, Done, perform};
use super::{find, headers, refresh, retry};
use crate::Agent;

/// The routes of a generation.
pub(crate) fn routes(generation: Generation) -> Routes<Arc<Agent>> {
    let card = match generation {
        Generation::V1_0 => "/extendedAgentCard",
        Generation::V0_3 => "/card",
    };
    let (pushes, push) = (
        "/tasks/{id}/pushNotificationConfigs",
        "/tasks/{id}/pushNotificationConfigs/{config}",
    );
    Routes::new()
        .post("/message:send", "sends a message", send)
        .post(
            "/message:stream",
            "sends a message, and streams what follows",
            stream,
        )
        .get("/tasks", "the caller's tasks", list)
        .get("/tasks/{id}", "a task; `{id}:subscribe` follows it", look)
        .get(
            "/tasks/{id}/files/{file}",
            "a file of a task's results that lies beside it",
            file,
        )
        .post(
            "/tasks/{id}",
            "`{id}:cancel`, `:subscribe`, `:refresh`, `:retry`",
            act,
        )
        .get(pushes, "a task's push configurations", list_push)
        .post(pushes, "adds a push configuration", create_push)
        .get(push, "a push configuration", get_push)
        .delete(push, "removes a push configuration", delete_push)
        .get(card, "the card for callers who show who they are", extended_card)
        .with_extension(Below(generation))
}

/// The generation whose routes these are.
#[derive(Clone, Copy)]
struct Below(Generation);

/// What the path names.
#[derive(Default, Deserialize)]
struct Names {
    #[serde(default)]
    tenant: Option<String>,
    #[serde(default)]
    id: String,
    #[serde(default)]
    config: String,
    #[serde(default)]
    file: String,
}

/// A call on its way to its operation: who calls is known, and nothing else is looked at yet.
struct Rest {
    agent: Arc<Agent>,
    called: Called,
    generation: Generation,
    names: Names,
    headers: HeaderMap,
    query: Option<String>,
}

impl FromRequestParts<Arc<Agent>> for Rest {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, agent: &Arc<Agent>) -> Result<Self, Response> {
        let called = Called::from_request_parts(parts, agent)
            .await
            .map_err(Refused::into_response)?;
        let generation = parts
            .extensions
            .get::<Below>()
            .map_or(Generation::V1_0, |below| below.0);
        let names = Path::<Names>::from_request_parts(parts, agent).await;
        Ok(Self {
            agent: Arc::clone(agent),
            called,
            generation,
            names: names.map(|Path(names)| names).unwrap_or_default(),
            headers: parts.headers.clone(),
            query: parts.uri.query().map(str::to_owned),
        })
    }
}

async fn send(rest: Rest, body: Bytes) -> Response {
    let call = rest.read(&body, |rest| {
        rest::parse_send(&body, rest.generation).map(Call::Send)
    });
    rest.answer(call).await
}

async fn stream(rest: Rest, body: Bytes) -> Response {
    let call = rest.read(&body, |rest| {
        rest::parse_send(&body, rest.generation).map(Call::Stream)
    });
    rest.answer(call).await
}

async fn list(rest: Rest) -> Response {
    let call = rest::parse_list(rest.query.as_deref(), rest.generation).map(Call::List);
    rest.answer(call).await
}

/// `GET /tasks/{id}`, and a subscription by GET.
async fn look(rest: Rest) -> Response {
    let query = rest.query.as_deref();
    let call = match rest.names.id.rsplit_once(':') {
        Some((id, "subscribe")) => rest::parse_subscribe(id.to_owned(), query),
        _ => rest::parse_get(rest.names.id.clone(), query, rest.generation),
    };
    rest.answer(call).await
}

/// `GET /tasks/{id}/files/{file}`: a part's address has it.
async fn file(rest: Rest) -> Response {
    let found = match rest.fits() {
        Ok(()) => {
            find::file(
                &rest.agent,
                &rest.called.caller,
                (&rest.names.id, &rest.names.file),
                &rest.headers,
            )
            .await
        }
        Err(error) => Err(error),
    };
    match found {
        Ok(file) => file.into_response(),
        Err(error) => refused(&error, rest.generation, headers::answer_type(&rest.headers)),
    }
}

/// `POST /tasks/{id}:verb`.
async fn act(rest: Rest, body: Bytes) -> Response {
    let query = rest.query.as_deref();
    let call = match rest.names.id.rsplit_once(':') {
        Some((id, "cancel")) => {
            let id = id.to_owned();
            rest.read(&body, |_| rest::parse_cancel(id, &body))
        }
        Some((id, "subscribe")) => rest::parse_subscribe(id.to_owned(), query).map_err(Failed::Error),
        Some((id, verb @ ("refresh" | "retry"))) => {
            let (id, again) = (id.to_owned(), verb == "retry");
            return rest.beside(&id, again).await;
        }
        _ => Err(Failed::Error(A2aError::UnsupportedOperation(
            "no such operation on a task".to_owned(),
        ))),
    };
    rest.answer(call).await
}

async fn create_push(rest: Rest, body: Bytes) -> Response {
    let call = rest.read(&body, |rest| {
        rest::parse_push(rest.names.id.clone(), &body, rest.generation)
    });
    rest.answer(call).await
}

async fn get_push(rest: Rest) -> Response {
    let (id, config) = (rest.names.id.clone(), rest.names.config.clone());
    let call = rest::parse_get_push(id, config, rest.query.as_deref());
    rest.answer(call).await
}

async fn list_push(rest: Rest) -> Response {
    let call = rest::parse_list_push(rest.names.id.clone(), rest.query.as_deref());
    rest.answer(call).await
}

async fn delete_push(rest: Rest) -> Response {
    let (id, config) = (rest.names.id.clone(), rest.names.config.clone());
    let call = rest::parse_delete_push(id, config, rest.query.as_deref());
    rest.answer(call).await
}

async fn extended_card(rest: Rest) -> Response {
    let call = rest::parse_extended_card(rest.query.as_deref());
    rest.answer(call).await
}

impl Rest {
    /// Reads a call with a body, if that is JSON.
    fn read(&self, body: &[u8], parse: impl FnOnce(&Self) -> Result<Call, A2aError>) -> Result<Call, Failed> {
        if !body.is_empty() && !headers::is_json(&self.headers) {
            return Err(Failed::NotJson);
        }
        Ok(parse(self)?)
    }

    async fn answer(self, call: Result<Call, impl Into<Failed>>) -> Response {
        let (generation, media) = (self.generation, headers::answer_type(&self.headers));
        let (done, extensions) = match self.call(call) {
            Ok((ask, call)) => (perform(&ask, call).await, ask.extensions),
            Err(failed) => (Err(failed), Vec::new()),
        };
        let mut response = match done {
            Ok(Done::Stream(live)) => live.into_response(move |item| rest::stream_item(item, generation)),
            Ok(done) => (
                [(header::CONTENT_TYPE, media)],
                written(done, generation).to_string(),
            )
                .into_response(),
            Err(Failed::Error(error)) => refused(&error, generation, media),
            Err(Failed::NotJson) => not_json(generation, media),
            Err(Failed::Refused(refused)) => refused.into_response(),
        };
        headers::tell_extensions(response.headers_mut(), &extensions, generation);
        response
    }

    /// The call with its surroundings, if there is nothing wrong with either.
    fn call(self, call: Result<Call, impl Into<Failed>>) -> Result<(Ask, Call), Failed> {
        self.fits()?;
        let call = call.map_err(Into::into)?;
        let ask = Ask::of(self.agent, self.called, self.generation, &self.headers, &call)?;
        Ok((ask, call))
    }

    /// A version that the client names must be the path's, and so must its tenant be the caller's.
    fn fits(&self) -> Result<(), A2aError> {
        let version = headers::version(&self.headers, self.query.as_deref());
        a2a::generation_of_path(self.generation, version.as_deref())?;
        find::same_tenant(&self.called.caller, self.names.tenant.as_deref())
    }

    /// The operations of ours beside A2A's: a look at the latest, or another try.
    async fn beside(self, id: &str, again: bool) -> Response {
        let (generation, media) = (self.generation, headers::answer_type(&self.headers));
        let (agent, caller) = (&self.agent, &self.called.caller);
        let done = match self.fits() {
            Ok(()) if again => retry::retry(agent, caller, id).await,
            Ok(()) => refresh::refresh(agent, caller, id).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(task) => (
                [(header::CONTENT_TYPE, media)],
                rest::task(&task, generation, None).to_string(),
            )
                .into_response(),
            Err(error) => refused(&error, generation, media),
        }
    }
}

fn written(done: Done, generation: Generation) -> Value {
    match done {
        Done::Sent(task, history_length) => rest::send_result(&task, generation, history_length),
        Done::Answered(message) => rest::send_message_result(&message, generation),
        Done::Task(task, history_length) => rest::task(&task, generation, history_length),
        Done::Page(page, call) => {
            rest::list(&page.tasks, page.next.as_deref(), page.total, &call, generation)
        }
        Done::Push(task_id, shown) => rest::push_config(&task_id, &shown, generation),
        Done::Pushes(task_id, shown, next) => {
            rest::push_configs(&task_id, &shown, next.as_deref(), generation)
        }
        Done::Deleted => Value::Object(serde_json::Map::new()),
        Done::Card(card) => card,
        // Streams have a response of their own.
        Done::Stream(_) => Value::Null,
    }
}

fn refused(error: &A2aError, generation: Generation, media: HeaderValue) -> Response {
    let (status, body) = rest::failure(error, generation);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let refused = (status, [(header::CONTENT_TYPE, media)], body.to_string()).into_response();
    headers::retry_after(refused, error)
}

/// It is the request's own media type that is refused, not that of a part: HTTP has a status for it.
fn not_json(generation: Generation, media: HeaderValue) -> Response {
    let (_, mut body) = rest::failure(&A2aError::ContentTypeNotSupported, generation);
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    if let Some(code) = body.pointer_mut("/error/code") {
        *code = status.as_u16().into();
    }
    (status, [(header::CONTENT_TYPE, media)], body.to_string()).into_response()
}
