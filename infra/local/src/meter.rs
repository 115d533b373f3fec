//! Counts what a running system asks of its database, for those who measure it.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use http::header::CONTENT_TYPE;
use store::{Calls, measured};

/// Counts what a running system asks of its database. Every clone is the same meter.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Mutex<Metered>>);

/// What was asked of the database, by what asked it. The sweeper's looks are not in it: they come whether there are tasks
/// or not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metered {
    /// HTTP requests, until their answers began.
    pub requests: Calls,
    /// The work on wakes: executions and deliveries.
    pub wakes: Calls,
    /// Streams of events, for as long as somebody read them.
    pub streams: Calls,
}

impl Meter {
    /// What was counted so far.
    #[must_use]
    pub fn so_far(&self) -> Metered {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, calls: &Calls, part: fn(&mut Metered) -> &mut Calls) {
        let mut metered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = part(&mut metered);
        for (operation, count) in &calls.by_operation {
            *sum.by_operation.entry(operation.clone()).or_default() += count;
        }
        sum.capacity.read += calls.capacity.read;
        sum.capacity.write += calls.capacity.write;
    }

    /// Works on a wake, counted.
    pub(crate) async fn wake<F: Future>(&self, work: F) -> F::Output {
        let (done, calls) = measured(work).await;
        self.add(&calls, |metered| &mut metered.wakes);
        done
    }

    /// The router, with everything counted that goes through it.
    pub(crate) fn over(&self, router: Router) -> Router {
        router.layer(from_fn_with_state(self.clone(), pass))
    }
}

async fn pass(State(meter): State<Meter>, request: Request, next: Next) -> Response {
    let (response, calls) = measured(next.run(request)).await;
    meter.add(&calls, |metered| &mut metered.requests);
    let kind = response.headers().get(CONTENT_TYPE);
    let streams = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !streams {
        return response;
    }
    let (head, body) = response.into_parts();
    let frames = stream::unfold((body.into_data_stream(), meter), |(mut body, meter)| async move {
        let (frame, calls) = measured(body.next()).await;
        meter.add(&calls, |metered| &mut metered.streams);
        frame.map(|frame| (frame, (body, meter)))
    });
    Response::from_parts(head, Body::from_stream(frames))
}
