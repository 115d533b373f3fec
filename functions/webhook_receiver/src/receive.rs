//! `POST /api/webhook/tasks`: a push notification of an agent that works on one of our jobs.
//!
//! One read and one transaction. The sender is known by the token alone: it names the task, and its hash the job. An
//! agent may send the same again, late, or before its own acknowledgement.

use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::property::RESPONDER;
use agent::{Wake, measure, wake_deliveries, wake_or_log};
use auth::webhook::{self, ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER};
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use domain::trace::within;
use domain::{ExposeSecret, Notification, RemoteTaskId, Task, Timestamp};
use edge::Source;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use store::{Revised, Standing, TaskKey};

use crate::decide::{Decision, Delivery, decide, look_at};
use crate::error::RouteError;
use crate::token;
use crate::{Receiver, Shared};

pub(crate) async fn receive(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    match take(&shared, request).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(Refused::Here(error)) => error.into_response(),
        Err(Refused::Body(response)) => response,
    }
}

enum Refused {
    Here(RouteError),
    /// The body could not be read, or is too large: what the front made of that.
    Body(Response),
}

impl<E: Into<RouteError>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Here(error.into())
    }
}

async fn take(shared: &Arc<Shared>, request: Request) -> Result<(), Refused> {
    let receiver = &shared.receiver;
    let (mut parts, body) = request.into_parts();
    let source = parts.extensions.get::<Source>().map(|Source(ip)| *ip);
    if let Some(source) = source {
        let admitted = shared.sources.admit(source, receiver.clock.now());
        admitted.map_err(RouteError::TooMany)?;
    }
    // The token first: what is not from an agent of ours is not even read.
    let addressed = Addressed::from_request_parts(&mut parts, receiver).await;
    // A guess costs more than a notification: who tries tokens is stopped, who works hard is not.
    if let (Err(RouteError::Unauthorized), Some(source)) = (&addressed, source) {
        shared.sources.guessed(source, receiver.clock.now());
    }
    let Addressed { task, number } = addressed?;
    if let Some(own) = &task.trace {
        // The job's trace, also where its agent sends none or another.
        tracing::Span::current().record("trace_id", own.trace_id());
    }
    let headers = parts.headers.clone();
    let body = Bytes::from_request(Request::from_parts(parts, body), &())
        .await
        .map_err(|rejection| Refused::Body(rejection.into_response()))?;
    signed(&headers, &body, &task, number, receiver.clock.now())?;
    let delivery = headers
        .get(ID_HEADER)
        .map(|id| auth::token::hash(&String::from_utf8_lossy(id.as_bytes())));
    let mut news = match a2a::decode::notification(&body) {
        Ok(news) => news,
        Err(rubbish) => {
            let (trace, key) = (task.trace.clone(), TaskKey::from(&task));
            tracing::warn!(tenant.id = key.tenant.name(), task.id = %key.id, job = number, reason = %rubbish, "notification cannot be read");
            within(trace, look(receiver, task, number)).await?;
            return Err(RouteError::Rubbish(rubbish.to_string()).into());
        }
    };
    // Who speaks no A2A may know the task by our own id alone.
    news.remote_task_id
        .take_if(|told| told.as_str() == task.id.to_string());
    let responder = headers.get(RESPONDER).and_then(|agent| agent.to_str().ok());
    let told = serde_json::from_slice(&body).unwrap_or_default();
    let delivery = Delivery {
        id: delivery.as_deref(),
        responder,
        is_numbered: a2a::event_number(&told).is_some(),
    };
    let noted = note(receiver, task.clone(), number, (&news, delivery));
    within(task.trace, noted).await?;
    Ok(())
}

/// Has the host ask the job's agent how it goes: it has said something, and nobody can read what.
async fn look(receiver: &Receiver, task: Task, number: u32) -> Result<(), RouteError> {
    let now = receiver.clock.now();
    let revised = receiver.store.tasks().revise(task, now, |task| {
        if task.needs_newer_release() {
            return store::Decision::Leave(());
        }
        match look_at(&task, number, now) {
            Some(revision) => store::Decision::Write {
                revision: Box::new(revision),
                due: store::Due::At(now),
            },
            None => store::Decision::Leave(()),
        }
    });
    if let Revised::Written(revision) = revised.await? {
        receiver.wakes(revision.task()).await;
    }
    Ok(())
}

impl Receiver {
    /// Has the host look at a task at once.
    async fn wakes(&self, task: &Task) {
        wake_or_log(self.wake.as_ref(), &Wake::for_task(task), Duration::ZERO).await;
    }
}

/// Takes the news into the task, as it is by then.
async fn note(
    receiver: &Receiver,
    task: Task,
    number: u32,
    (news, delivery): (&Notification, Delivery<'_>),
) -> Result<(), RouteError> {
    let (key, now) = (TaskKey::from(&task), receiver.clock.now());
    let told = news.update.as_ref().map(|update| update.state.as_str());
    let mut wakes = false;
    let revised = receiver.store.tasks().revise(task, now, |task| {
        if task.needs_newer_release() {
            return store::Decision::Leave((task, None));
        }
        match decide(&task, number, news.clone(), delivery, now) {
            Decision::Write { revision, due, wake } => {
                wakes = wake;
                store::Decision::Write { revision, due }
            }
            stays => store::Decision::Leave((task, Some(stays))),
        }
    });
    let revision = match revised.await? {
        Revised::Written(revision) => revision,
        // Told like a wrong token: who guesses must not learn which tasks there are.
        Revised::Missing => return Err(RouteError::Unauthorized),
        Revised::Left((task, None)) => {
            // Its sender keeps the news and repeats them; a newer release knows what they mean here.
            measure::record(measure::NEEDS_NEWER, 1, "Count", &task.agent);
            return Err(RouteError::NeedsNewer);
        }
        Revised::Left((_, Some(Decision::Foreign))) => return Err(RouteError::Foreign),
        Revised::Left((_, Some(Decision::TooMany(wait)))) => {
            tracing::warn!(tenant.id = key.tenant.name(), task.id = %key.id, job = number, "too many notifications of one job");
            return Err(RouteError::TooMany(wait));
        }
        Revised::Left((task, Some(Decision::CallOff(id)))) => {
            return orphaned(receiver, &task, number, &id).await;
        }
        Revised::Left((_, Some(Decision::Nothing | Decision::Write { .. }))) => {
            tracing::info!(tenant.id = key.tenant.name(), task.id = %key.id, job = number, told, "notification changes nothing");
            return Ok(());
        }
    };
    tracing::info!(tenant.id = key.tenant.name(), task.id = %key.id, job = number, told, "notification taken");
    measure::moved(&revision);
    wake_deliveries(receiver.wake.as_ref(), &revision).await;
    if wakes {
        receiver.wakes(revision.task()).await;
    }
    Ok(())
}

/// Has the host call a remote task off that became known only after the job's own task was over. Where the host works on
/// the task just now, the news are to come again.
async fn orphaned(
    receiver: &Receiver,
    task: &Task,
    number: u32,
    id: &RemoteTaskId,
) -> Result<(), RouteError> {
    let (key, now) = (TaskKey::from(task), receiver.clock.now());
    let until = now.after(receiver.token_ttl);
    let tasks = receiver.store.tasks();
    if !tasks.report_stray(&key, number, id, until, now).await? {
        return Err(RouteError::Contended);
    }
    tracing::info!(tenant.id = task.tenant.name(), task.id = %task.id, job = number, task.remote_id = id.as_str(), "heard of only after the task was over; to be called off");
    receiver.wakes(task).await;
    Ok(())
}

/// The task and the job that a notification's token belongs to.
struct Addressed {
    task: Task,
    number: u32,
}

/// Where the job knows the keys of its agent, the notification must be signed with one of them.
fn signed(
    headers: &HeaderMap,
    body: &[u8],
    task: &Task,
    number: u32,
    now: Timestamp,
) -> Result<(), RouteError> {
    let job = task.jobs.iter().find(|job| job.number == number);
    let Some(job) = job.filter(|job| !job.sender_keys.is_empty()) else {
        return Ok(());
    };
    if job.keys_owed() {
        // News of what is over change no result, so that nobody asks for the keys any more: the agent may stop repeating them.
        if job.is_settled() || task.status.state.is_terminal() {
            return Ok(());
        }
        // The agent repeats it, and its host asks for the keys meanwhile.
        return Err(RouteError::KeysOwed);
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let told = [ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER].map(text);
    webhook::verify(told, body, &job.sender_keys, now).map_err(|reason| {
        tracing::warn!(tenant.id = task.tenant.name(), task.id = %task.id, job = number, %reason, "notification's signature is not good");
        RouteError::Unauthorized
    })
}

impl FromRequestParts<Receiver> for Addressed {
    type Rejection = RouteError;
    async fn from_request_parts(parts: &mut Parts, receiver: &Receiver) -> Result<Self, RouteError> {
        let offered = token::offered(&parts.headers);
        let named = offered
            .iter()
            .find_map(|token| Some((token, auth::token::webhook_task(token.expose_secret())?)));
        let (token, id) = named.ok_or(RouteError::Unauthorized)?;
        let key = TaskKey::new(&receiver.tenant, &receiver.host, id);
        let span = tracing::Span::current();
        span.record("tenant.id", key.tenant.name());
        span.record("task.id", tracing::field::display(&key.id));
        let now = receiver.clock.now();
        match receiver.store.tenants().standing(&key.tenant, now).await? {
            Standing::Active => {}
            // Its sender keeps the news and repeats them: what runs is parked, not lost.
            Standing::Suspended => return Err(RouteError::Suspended),
            Standing::Gone => return Err(RouteError::Unauthorized),
        }
        let stored = receiver
            .store
            .tasks()
            .find(&key, now)
            .await?
            .ok_or(RouteError::Unauthorized)?;
        let number = token::job_of(&stored.task, token).ok_or(RouteError::Unauthorized)?;
        // A user may take weeks to consent; the agent's time begins then.
        let begun = stored.task.jobs.iter().find(|job| job.number == number);
        let begun = begun.map_or(stored.task.created_at, domain::Job::begun_at);
        if begun.max(stored.task.created_at).after(receiver.token_ttl) <= now {
            tracing::info!(tenant.id = key.tenant.name(), task.id = %key.id, "notification's token is too old");
            return Err(RouteError::Unauthorized);
        }
        Ok(Self {
            task: stored.task,
            number,
        })
    }
}
