//! What stands before every function's router: the bound of request bodies, typed errors for whatever the framework
//! itself refuses, a constant answer to panics, the trace, the request id, and one log line a request.
//!
//! Handlers work within the request's trace ([`domain::trace`]) and find the request id in its `x-request-id` header. They may record `tenant.id`, `task.id` and `requester` on the current span
//! (`tracing::Span::current().record(..)`); the log line carries them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use domain::trace::within;
use domain::{Clock, Entropy, Tenant, TraceParent};
use futures_util::FutureExt as _;
use http::{HeaderValue, Method, StatusCode};
use routes::Routes;
use store::{Store, audit, counted};
use tracing::Instrument as _;

mod body;
mod headers;
mod pages;
mod refusal;
mod standing;

pub use body::{BODY_LIMIT, FILES_BODY_LIMIT};
pub use pages::{Reader, nothing_here};
pub use refusal::{bearer, later, not_found, refused};

const REQUEST_ID: &str = "x-request-id";

/// What the front needs to know.
#[derive(Clone)]
pub struct Front {
    /// Measures durations.
    pub clock: Arc<dyn Clock>,
    /// Makes request ids and trace ids.
    pub entropy: Arc<dyn Entropy>,
    /// The function's name in the log.
    pub function: &'static str,
    /// Most bytes of a request body.
    pub body_limit: usize,
    /// The one tenant that the function serves, where it has one: nobody is let in unless it is active.
    pub tenant: Option<(Store, Tenant)>,
}

impl Front {
    /// The front of a function that has this clock and RNG.
    #[must_use]
    pub fn new(function: &'static str, clock: &Arc<dyn Clock>, entropy: &Arc<dyn Entropy>) -> Self {
        Self {
            clock: Arc::clone(clock),
            entropy: Arc::clone(entropy),
            function,
            body_limit: BODY_LIMIT,
            tenant: None,
        }
    }

    /// The same for a function of one tenant.
    #[must_use]
    pub fn serving(self, store: &Store, tenant: &Tenant) -> Self {
        let tenant = Some((store.clone(), tenant.clone()));
        Self { tenant, ..self }
    }

    /// The same for a function that takes larger bodies.
    #[must_use]
    pub fn taking(self, body_limit: usize) -> Self {
        Self { body_limit, ..self }
    }
}

/// The request id that the Lambda runtime gave: an extension of the request. One that a client sent is not believed.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

/// Who called, as the gateway saw it: an extension of the request. No header says it, since a client writes those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source(pub std::net::IpAddr);

/// Puts the front before a function's routes. The result keeps its own 404 and 405 also where it is nested.
pub fn front(routes: Routes, front: Front) -> Router {
    let guarded = routes
        .into_router()
        // The bound is the front's own; the framework's would be a second one.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(front, pass));
    Router::new().fallback_service(guarded)
}

async fn pass(State(front): State<Front>, mut request: Request, next: Next) -> Response {
    let started = front.clock.now();
    let given = request
        .extensions_mut()
        .remove::<RequestId>()
        .filter(|id| !id.0.is_empty());
    let request_id = given.map_or_else(|| front.entropy.uuid().to_string(), |id| id.0);
    let id_header = HeaderValue::from_str(&request_id).unwrap_or(HeaderValue::from_static("-"));
    let https = headers::is_https(request.headers());
    let source = request.extensions().get::<Source>().map(|Source(ip)| *ip);
    let trace = request
        .headers()
        .get("traceparent")
        .and_then(|value| TraceParent::parse(value.to_str().ok()?))
        .unwrap_or_else(|| TraceParent::random(front.entropy.as_ref()));
    let trace_id = trace.trace_id();
    let method = request.method().clone();
    // The pattern, not the path: paths hold unguessable parts.
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map(|path| path.as_str().to_owned());
    request.headers_mut().insert(REQUEST_ID, id_header.clone());
    let answered = async {
        let span = tracing::info_span!(
            "edge.request.answer",
            tenant.id = tracing::field::Empty,
            task.id = tracing::field::Empty,
            requester = tracing::field::Empty,
            trace_id,
        );
        async {
            let (mut response, calls) = counted(audit::from(
                source,
                Box::pin(answer(&front, request, next, &request_id)),
            ))
            .await;
            headers::complete(response.headers_mut(), https);
            response.headers_mut().insert(REQUEST_ID, id_header);
            tracing::info!(
                function = front.function,
                method = method.as_str(),
                route = route.as_deref().unwrap_or("-"),
                status = response.status().as_u16(),
                duration_ms = u64::try_from(front.clock.now().since(started).as_millis()).unwrap_or(u64::MAX),
                dynamodb_calls = calls.total(),
                request_id,
                "request answered"
            );
            response
        }
        .instrument(span)
        .await
    };
    within(Some(trace), answered).await
}

async fn answer(front: &Front, request: Request, next: Next, request_id: &str) -> Response {
    let method = request.method().clone();
    let reader = Reader::of(request.method(), request.headers());
    if let Some((store, tenant)) = &front.tenant
        && let Some(refusal) = standing::refusal((store, tenant), reader, front.clock.now()).await
    {
        return refusal;
    }
    let request = match body::bounded(request, front.body_limit).await {
        Ok(request) => request,
        Err(status) => return refusal::of(status, None, request_id),
    };
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        // Which methods a path knows is no secret, and no permission for pages of other origins.
        Ok(mut response)
            if method == Method::OPTIONS && response.status() == StatusCode::METHOD_NOT_ALLOWED =>
        {
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        // Whoever typed a wrong address reads a page of it, as where no function is at all.
        Ok(response)
            if reader == Reader::Person
                && response.status() == StatusCode::NOT_FOUND
                && refusal::formless(response.headers()) =>
        {
            nothing_here(reader)
        }
        Ok(response) => refusal::typed(response, &method, request_id).await,
        Err(_panic) => {
            tracing::error!(request_id, "a handler panicked");
            refusal::of(StatusCode::INTERNAL_SERVER_ERROR, None, request_id)
        }
    }
}
