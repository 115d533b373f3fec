//! One Lambda entry for every kind of event: API Gateway (REST and HTTP API), SQS batches, EventBridge schedules, rules of IoT Core.

use std::error::Error as StdError;
use std::future;
use std::sync::Arc;
use std::time::Duration;

use agent::Shutdown;
use domain::{Clock as _, SystemClock, Timestamp};
use edge::config::{Answers, Http, TenancyError};
use edge::{Error, Function, RequestId};
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;
use tokio::sync::mpsc;
use tower::ServiceExt as _;

use crate::answer::{self, LambdaResponse};
use crate::batch;
use crate::event::{self, Event, EventError};
use crate::request;

/// Serves the function's events until the Lambda runtime ends the process. `build` makes the function; `http` says how its
/// HTTP events are read and answered.
///
/// The function is built before the first event is asked for, however the sandbox starts. Until then Lambda gives the process
/// a whole processor; and from then on it may freeze the process, which must not happen between a request to Secrets Manager
/// and its answer.
///
/// Meant for a runtime of one thread: a sandbox has one event at a time, and seldom more than one processor to itself, so
/// that a second thread only costs its start.
///
/// # Errors
/// What `build` says, or when the runtime API cannot be reached. The process should end then: Lambda starts another.
pub async fn serve(
    http: Http,
    build: impl Future<Output = Result<Function, Error>> + Send,
) -> Result<(), Error> {
    let served = Arc::new(Served {
        function: build.await?,
        http,
    });
    events(async |told| match told {
        None => Ok(Arc::clone(&served)),
        Some(told) => Err(by_its_settings_alone(told)),
    })
    .await
}

/// A function, and how its HTTP events are read and answered.
pub(crate) struct Served {
    pub(crate) function: Function,
    pub(crate) http: Http,
}

/// Why a function serves no event with which Lambda named a tenant: its settings say whom it serves.
pub(crate) fn by_its_settings_alone(told: String) -> Error {
    let serves = "by its settings alone".to_owned();
    TenancyError::Another { told, serves }.into()
}

/// Serves events until the runtime ends the process, or until there is no function for one: that is not answered, so that Lambda sees
/// the process end, and no other is asked for.
pub(crate) async fn events(
    served_to: impl AsyncFn(Option<String>) -> Result<Arc<Served>, Error>,
) -> Result<(), Error> {
    let (end, mut ended) = mpsc::channel(1);
    let (end, served_to) = (&end, &served_to);
    let served = lambda_runtime::run(service_fn(async |event: LambdaEvent<Value>| {
        match served_to(event.context.tenant_id.clone()).await {
            Ok(served) => answer(&served.function, &served.http, event).await,
            Err(error) => {
                let _one_is_enough = end.try_send(error);
                future::pending().await
            }
        }
    }));
    tokio::select! {
        served = served => served,
        Some(error) = ended.recv() => Err(error),
    }
}

/// Answers one event. [`serve`] calls it for each; tests call it with `events/<function>/*.json`.
///
/// # Errors
/// [`EventError`] for an event that is none of the known kinds, or that this function does not serve.
pub async fn answer(
    function: &Function,
    http: &Http,
    event: LambdaEvent<Value>,
) -> Result<LambdaResponse, EventError> {
    let (payload, context) = event.into_parts();
    let done = before(context.deadline)
        .scope(served(function, http, payload, context.request_id))
        .await;
    // The spans of a stream leave at its end.
    if !matches!(done, Ok(LambdaResponse::StreamingResponse(_))) {
        edge::telemetry::flush().await;
    }
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
fn before(deadline: u64) -> Shutdown {
    if deadline == 0 {
        return Shutdown::default();
    }
    let deadline = Timestamp::from_millis(i64::try_from(deadline).unwrap_or(i64::MAX));
    let left = deadline.since(SystemClock.now());
    Shutdown::after(left.saturating_sub(RESERVE.min(left / 4)))
}

async fn served(
    function: &Function,
    http: &Http,
    payload: Value,
    request_id: String,
) -> Result<LambdaResponse, EventError> {
    match event::recognise(payload) {
        Ok(Event::Http(request, query)) => {
            let (form, request) = request::read(*request, query, &http.base_path)?;
            let response = match request {
                None => edge::not_found(),
                Some(mut request) => {
                    request.extensions_mut().insert(RequestId(request_id));
                    // A router cannot fail; the error type has no value.
                    let Ok(response) = function.router.clone().oneshot(request).await;
                    response
                }
            };
            match http.answers {
                Answers::Buffered => answer::buffered(response, form).await,
                Answers::Streaming => Ok(answer::streaming(response)),
            }
        }
        Ok(Event::Authorize(request)) => match &function.authorizer {
            Some(authorizer) => {
                let said = authorizer.authorize(request.tenant()).await;
                let said = said.map_err(EventError::Authorizer)?;
                let policy = answer::policy(&request.method_arn, said);
                Ok(LambdaResponse::BufferedResponse(policy))
            }
            None => Err(EventError::NotServed { kind: "authorizer" }),
        },
        Ok(Event::Batch(batch)) => match (&function.queue, &function.batches) {
            (Some(queue), _) => batch::handle(queue.as_ref(), batch)
                .await
                .map(LambdaResponse::BufferedResponse),
            (None, Some(batches)) => batch::handle_together(batches.as_ref(), batch)
                .await
                .map(LambdaResponse::BufferedResponse),
            (None, None) => Err(EventError::NotServed { kind: "SQS" }),
        },
        Ok(Event::Schedule) => match &function.schedule {
            Some(schedule) => Ok(LambdaResponse::BufferedResponse(schedule.run().await?)),
            None => Err(EventError::NotServed { kind: "schedule" }),
        },
        Ok(Event::Iot(message)) => match &function.iot {
            Some(iot) => {
                iot.handle(*message).await?;
                Ok(LambdaResponse::BufferedResponse(Value::Null))
            }
            None => Err(EventError::NotServed { kind: "IoT" }),
        },
        Err(error) => Err(error),
    }
}
