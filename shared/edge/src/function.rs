//! One Lambda entry for every kind of event: API Gateway (REST and HTTP API), SQS batches, EventBridge schedules.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use agent::Stop;
use async_trait::async_trait;
use axum::Router;
use domain::{Clock as _, SystemClock, Timestamp};
use lambda_http::request::LambdaRequest;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;
use tokio::sync::watch;
use tower::ServiceExt as _;

use crate::Error;
use crate::answer::{self, Answer};
use crate::batch;
use crate::config::{Answers, Http};
use crate::event::{self, Event, EventError, RestQuery};
use crate::front::{self, RequestId};
use crate::request;

/// What a function is made of. A part that is `None` refuses its events with [`EventError::NotServed`].
#[derive(Clone)]
pub struct Function {
    router: Router,
    queue: Option<Arc<dyn QueueHandler>>,
    schedule: Option<Arc<dyn ScheduleHandler>>,
    http: Http,
}

impl Function {
    /// A function of HTTP events alone; `router` is already behind [`crate::front()`].
    #[must_use]
    pub fn new(router: Router, http: Http) -> Self {
        Self {
            router,
            queue: None,
            schedule: None,
            http,
        }
    }

    /// The same, with its queue.
    #[must_use]
    pub fn with_queue(self, handler: impl QueueHandler + 'static) -> Self {
        let queue = Some(Arc::new(handler) as Arc<dyn QueueHandler>);
        Self { queue, ..self }
    }

    /// The same, with its schedule.
    #[must_use]
    pub fn with_schedule(self, handler: impl ScheduleHandler + 'static) -> Self {
        let schedule = Some(Arc::new(handler) as Arc<dyn ScheduleHandler>);
        Self { schedule, ..self }
    }
}

/// Handles the messages of a queue, at least once each, in any order.
#[async_trait]
pub trait QueueHandler: Send + Sync {
    /// Handles one message. It must be idempotent. What it records on the current span as `tenant.id`, `task.id` and
    /// `trace_id` is in the message's log line.
    ///
    /// # Errors
    /// [`QueueError`]: this message alone comes again, or goes to the dead-letter queue.
    async fn handle(&self, body: &str) -> Result<(), QueueError>;
}

/// Why a message was not handled.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The message is none that this function knows; it will not get better.
    #[error("the message cannot be read: {0}")]
    Unreadable(String),
    /// The work failed and is worth another try.
    #[error("the work failed")]
    Failed(#[source] Box<dyn StdError + Send + Sync>),
}

/// Runs on a schedule, at least once each time.
#[async_trait]
pub trait ScheduleHandler: Send + Sync {
    /// Does what is due. The report is the invocation's answer.
    ///
    /// # Errors
    /// [`ScheduleError`] fails the invocation, which the scheduler repeats.
    async fn run(&self) -> Result<Value, ScheduleError>;
}

/// Why a scheduled run failed.
#[derive(Debug, thiserror::Error)]
#[error("the scheduled run failed")]
pub struct ScheduleError(#[source] pub Box<dyn StdError + Send + Sync>);

/// Turns of the runtime that the build leaves to the Lambda runtime's client before it begins: to connect, to agree and to
/// send the request takes four.
const TURNS: u8 = 8;

/// Serves the function's events until the Lambda runtime ends the process. `build` makes the function.
///
/// A sandbox that starts on demand has an event waiting: it is asked for first, and comes while the function is built. One
/// that is kept ready (provisioned concurrency) may be frozen from the moment it asks, and is built before.
///
/// Meant for a runtime of one thread: a sandbox has one event at a time, and seldom more than one processor to itself, so
/// that a second thread only costs its start.
///
/// # Errors
/// What `build` says, or when the runtime API cannot be reached. The process should end then: Lambda starts another.
pub async fn serve(
    build: impl Future<Output = Result<Function, Error>> + Send + 'static,
) -> Result<(), Error> {
    let kept_ready = is_kept_ready();
    let (done, function) = watch::channel(None);
    let building = tokio::spawn(async move {
        if !kept_ready {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
        }
        done.send_replace(Some(Arc::new(build.await?)));
        Ok::<(), Error>(())
    });
    let serving = lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| {
        let mut function = function.clone();
        async move {
            let function = match function.wait_for(Option::is_some).await {
                Ok(built) => built.clone(),
                Err(_ended) => None,
            };
            match function {
                Some(function) => answer(&function, event).await,
                // It could not be built, and the process ends.
                None => std::future::pending().await,
            }
        }
    }));
    if kept_ready {
        building.await??;
        return serving.await;
    }
    tokio::pin!(serving);
    tokio::select! {
        biased;
        ended = &mut serving => return ended,
        built = building => built??,
    }
    serving.await
}

/// True where Lambda makes the sandbox before there is an event for it.
#[expect(
    clippy::disallowed_methods,
    reason = "no setting: how Lambda says what kind of start this is"
)]
fn is_kept_ready() -> bool {
    std::env::var("AWS_LAMBDA_INITIALIZATION_TYPE").is_ok_and(|kind| kind != "on-demand")
}

/// Answers one event. [`serve`] calls it for each; tests call it with `events/<function>/*.json`.
///
/// # Errors
/// [`EventError`] for an event that is none of the known kinds, or that this function does not serve.
pub async fn answer(function: &Function, event: LambdaEvent<Value>) -> Result<Answer, EventError> {
    let (payload, context) = event.into_parts();
    let done = before(context.deadline)
        .scope(served(function, payload, context.request_id))
        .await;
    done.inspect_err(|error| {
        tracing::error!(
            code = error.code(),
            error = error as &dyn StdError,
            "event not served"
        )
    })
}

/// Work ends in good order this long before Lambda would end it, or after three quarters of a shorter time.
const RESERVE: Duration = Duration::from_secs(6);

/// When the work of an invocation has to stop; `deadline` is Lambda's, in milliseconds since the Unix epoch.
fn before(deadline: u64) -> Stop {
    if deadline == 0 {
        return Stop::default();
    }
    let deadline = Timestamp::from_millis(i64::try_from(deadline).unwrap_or(i64::MAX));
    let left = deadline.since(SystemClock.now());
    Stop::after(left.saturating_sub(RESERVE.min(left / 4)))
}

async fn served(function: &Function, payload: Value, request_id: String) -> Result<Answer, EventError> {
    match event::recognise(payload) {
        Ok(Event::Http(request, query)) => http(function, *request, query, request_id).await,
        Ok(Event::Batch(batch)) => match &function.queue {
            Some(queue) => batch::handle(queue.as_ref(), batch)
                .await
                .map(Answer::BufferedResponse),
            None => Err(EventError::NotServed { kind: "SQS" }),
        },
        Ok(Event::Schedule) => match &function.schedule {
            Some(schedule) => Ok(Answer::BufferedResponse(schedule.run().await?)),
            None => Err(EventError::NotServed { kind: "schedule" }),
        },
        Err(error) => Err(error),
    }
}

async fn http(
    function: &Function,
    event: LambdaRequest,
    query: RestQuery,
    request_id: String,
) -> Result<Answer, EventError> {
    let (form, response) = match request::read(event, query, &function.http.base_path)? {
        (form, None) => (form, front::not_found()),
        (form, Some(mut request)) => {
            request.extensions_mut().insert(RequestId(request_id));
            // A router cannot fail; the error type has no value.
            let Ok(response) = function.router.clone().oneshot(request).await;
            (form, response)
        }
    };
    match function.http.answers {
        Answers::Buffered => answer::buffered(response, form).await,
        Answers::Streaming => Ok(answer::streaming(response)),
    }
}
