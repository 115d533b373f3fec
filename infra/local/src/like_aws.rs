//! What AWS is less kind in than one process is: `up --like-aws`. Each unkindness stands where the kindness does, and nothing else changes:
//!
//! - A wake may come twice, and overtake another. What fails, or dies with its worker, comes again when the queue's visibility
//!   timeout has passed, as often as the templates say, and is then left to the sweeper. (`queue`)
//! - The sweeper leaves as long between two looks as AWS does at most. (`system`)
//! - The gateway takes 10 MB of a body, Lambda an event of 6 MB; a head that takes longer than 29 s is not waited for; more than a
//!   thousand invocations at once are refused. (here, for `gateway`)
//! - A client that leaves is not noticed: its invocation goes on to the end, that of a stream too. (here)
//!
//! Not here: what our templates turn off (the stop of functions that wake themselves); cold and frozen sandboxes, which the tests' Lambda
//! has; throttles of a method.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use axum::{Error, Router};
use edge::refused;
use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use tower::ServiceExt as _;

/// Most bytes of a body that API Gateway takes.
const BODY: usize = 10 << 20;
/// Most bytes of an event that Lambda takes.
const EVENT: usize = 6 << 20;
/// How long API Gateway waits for the head of an answer.
const PATIENCE: Duration = Duration::from_secs(29);
/// Most invocations at once in an account that has asked for no more.
const AT_ONCE: usize = 1_000;
/// Every so many wakes come twice.
const TWICE: u64 = 4;

/// The times of AWS's queues and sweeps, as the templates have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LikeAws {
    /// `VisibilityTimeout`: how long after a failure a message comes again.
    pub visibility: Duration,
    /// `maxReceiveCount`: how often a message comes.
    pub receives: usize,
    /// The longest time between two looks of the sweeper: a minute without what its looks of every five seconds take.
    pub sweep_every: Duration,
}

impl Default for LikeAws {
    fn default() -> Self {
        Self {
            visibility: Duration::from_secs(720),
            receives: 5,
            sweep_every: Duration::from_secs(15),
        }
    }
}

impl LikeAws {
    /// The same in a world whose clock is so many times as fast.
    #[must_use]
    pub fn hurried(self, times: u32) -> Self {
        Self {
            visibility: self.visibility / times,
            sweep_every: self.sweep_every / times,
            ..self
        }
    }

    /// How late each copy of the n-th wake comes: up to a fifth of a second, so that they overtake each other.
    pub(crate) fn copies(number: u64) -> impl Iterator<Item = Duration> {
        let late = |number: u64| Duration::from_millis(number * 7 % 10 * 20);
        let second = number.is_multiple_of(TWICE).then(|| late(number + 5));
        [Some(late(number)), second].into_iter().flatten()
    }
}

/// The invocations of every function behind the gateway.
#[derive(Clone)]
pub(crate) struct Invocations {
    places: Arc<Semaphore>,
    patience: Duration,
}

impl Invocations {
    pub(crate) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_ONCE)),
            patience: PATIENCE,
        }
    }

    /// Has a function answer a request, as API Gateway and Lambda do.
    pub(crate) async fn answer(&self, function: Router, request: Request) -> Response {
        let answered = timeout(self.patience, self.answered(function, request)).await;
        answered.unwrap_or_else(|_| {
            let message = "the function did not answer in time";
            refused(StatusCode::GATEWAY_TIMEOUT, "timeout", message)
        })
    }

    async fn answered(&self, function: Router, request: Request) -> Response {
        let (head, body) = request.into_parts();
        let body = match to_bytes(body, BODY).await {
            Ok(body) if event_bytes(&body) <= EVENT => body,
            _ => {
                return refused(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "too_large",
                    "the request is too large",
                );
            }
        };
        let Ok(invocation) = self.places.clone().try_acquire_owned() else {
            return refused(StatusCode::TOO_MANY_REQUESTS, "throttled", "too many requests");
        };
        let (answer, answered) = oneshot::channel();
        tokio::spawn(async move {
            let _until_its_end = invocation;
            let Ok(response) = function
                .oneshot(Request::from_parts(head, Body::from(body)))
                .await;
            let (head, body) = response.into_parts();
            let (chunks, mut received) = mpsc::channel::<Result<Bytes, Error>>(1);
            let received = stream::poll_fn(move |context| received.poll_recv(context));
            let _left = answer.send(Response::from_parts(head, Body::from_stream(received)));
            let mut body = body.into_data_stream();
            while let Some(chunk) = body.next().await {
                // Lambda reads on when the client has gone.
                let _left = chunks.send(chunk).await;
            }
        });
        let failed = |_| refused(StatusCode::BAD_GATEWAY, "internal", "the function failed");
        answered.await.unwrap_or_else(failed)
    }
}

/// How many bytes a body has within an event: text with its escapes, anything else in base64.
fn event_bytes(body: &[u8]) -> usize {
    match std::str::from_utf8(body) {
        Ok(text) => serde_json::to_vec(text).map_or(usize::MAX, |text| text.len()),
        Err(_) => body.len().div_ceil(3) * 4,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use axum::routing::{get, post};

    use super::*;

    async fn status(invocations: &Invocations, function: Router, body: impl Into<Body>) -> u16 {
        let request = Request::post("/").body(body.into()).unwrap();
        invocations.answer(function, request).await.status().as_u16()
    }

    #[tokio::test]
    async fn an_event_is_as_large_as_its_escapes_make_it() {
        let all = Invocations::new();
        let takes = || Router::new().route("/", post(async |body: Bytes| body.len().to_string()));
        let takes = || takes().layer(axum::extract::DefaultBodyLimit::disable());
        let millions = |byte: u8, count: usize| vec![byte; count << 20];
        assert_eq!(status(&all, takes(), millions(b'a', 5)).await, 200);
        assert_eq!(status(&all, takes(), millions(b'a', 7)).await, 413);
        // Each of these is two bytes within the event, and of bytes that are no text three are four.
        assert_eq!(status(&all, takes(), millions(b'"', 2)).await, 200);
        assert_eq!(status(&all, takes(), millions(b'"', 4)).await, 413);
        assert_eq!(status(&all, takes(), millions(0xff, 4)).await, 200);
        assert_eq!(status(&all, takes(), millions(0xff, 5)).await, 413);
    }

    #[tokio::test]
    async fn who_does_not_answer_in_time_or_at_all_is_not_waited_for() {
        let all = Invocations {
            patience: Duration::from_millis(500),
            ..Invocations::new()
        };
        let slow = |millis| {
            let wait = Duration::from_millis(millis);
            Router::new().route("/", post(async move || tokio::time::sleep(wait).await))
        };
        assert_eq!(status(&all, slow(5), "").await, 200);
        assert_eq!(status(&all, slow(5_000), "").await, 504);
        let fails = Router::new().route("/", post(async || -> () { panic!("as it was asked to") }));
        assert_eq!(status(&all, fails, "").await, 502);
    }

    #[tokio::test]
    async fn an_invocation_whose_client_left_goes_on_to_its_end_and_has_its_place_so_long() {
        let all = Invocations::new();
        let made = Arc::new(AtomicU64::new(0));
        let counts = made.clone();
        let chunks = async move || {
            Body::from_stream(stream::unfold(counts, async |counts| {
                tokio::time::sleep(Duration::from_millis(5)).await;
                let chunk = counts.fetch_add(1, Ordering::SeqCst);
                (chunk < 20).then(|| (Ok::<_, Error>("chunk"), counts))
            }))
        };
        let function = Router::new().route("/", get(chunks));
        let answer = all.answer(function.clone(), Request::new(Body::empty())).await;
        drop(answer);
        assert_eq!(all.places.available_permits(), AT_ONCE - 1);
        let mut places = all.places.acquire_many(AT_ONCE as u32).await.unwrap();
        assert_eq!(
            made.load(Ordering::SeqCst),
            21,
            "nobody read it, and all of it was made"
        );
        // One more at once is refused.
        assert_eq!(status(&all, function.clone(), "").await, 429);
        drop(places.split(1));
        made.store(0, Ordering::SeqCst);
        let read = all.answer(function, Request::new(Body::empty())).await;
        let read = to_bytes(read.into_body(), BODY).await.unwrap();
        assert_eq!(read.len(), 20 * "chunk".len(), "who stays reads it all");
    }

    #[test]
    fn wakes_come_twice_and_overtake_each_other() {
        let all: Vec<Vec<Duration>> = (0..40).map(|number| LikeAws::copies(number).collect()).collect();
        assert_eq!(all.iter().filter(|copies| copies.len() == 2).count(), 10);
        assert!(all.windows(2).any(|two| two[1][0] < two[0][0]));
        assert!(all.concat().iter().all(|late| *late < Duration::from_millis(200)));
    }
}
