//! An exchange whose answer is a stream of server-sent events, as language models give it: bounded in its first byte, its
//! silences, its whole time and its size.

use std::time::Duration;

use bytes::Bytes;
use domain::SecretString;
use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, try_unfold};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde_json::Value;
use sse_stream::SseByteStream;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;
use url::Url;

use crate::client::{Ask, failed, read, span};
use crate::{CallError, Outbound};

/// Most bytes of a refusal that are read.
const REFUSAL_MAX: usize = 64 * 1024;

/// What bounds a stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// How long the first byte of the answer's body may take, from the sending on.
    pub first_byte: Duration,
    /// How long nothing may come after that.
    pub idle: Duration,
    /// How long all of it may take.
    pub whole: Duration,
    /// Most bytes of it.
    pub bytes: usize,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(20),
            idle: Duration::from_secs(15),
            whole: Duration::from_secs(75),
            bytes: 2 * 1024 * 1024,
        }
    }
}

/// What a server answers that was asked for a stream.
#[derive(Debug)]
pub enum Streamed {
    /// The stream.
    Events(EventStream),
    /// Something else: a refusal, or a success that is no stream.
    Refused(EventRefusal),
}

/// An answer that is no stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRefusal {
    /// Its status, which may be a success.
    pub status: u16,
    /// How long the server wants to be left alone, where it says so in seconds.
    pub retry_after: Option<Duration>,
    /// Its body where that is JSON. It is the server's, and may quote what it was sent: for decisions, not for logs.
    pub body: Value,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEvent {
    /// Its kind, where it has one.
    pub name: Option<String>,
    /// Its data; its lines are joined with line feeds.
    pub data: String,
}

/// Events as they come. Dropping it closes the connection.
pub struct EventStream(SseByteStream<BoxStream<'static, Result<Bytes, CallError>>>);

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EventStream")
    }
}

impl Outbound {
    /// Posts JSON to where the answer is a stream of events. What is no `text/event-stream` is a refusal, and so is a
    /// redirect.
    ///
    /// # Errors
    /// [`CallError`] where no answer came at all, or not in time.
    pub async fn post_for_events(
        &self,
        url: &Url,
        body: &Value,
        token: Option<&SecretString>,
        limits: EventLimits,
    ) -> Result<Streamed, CallError> {
        self.check_url(url)?;
        let started = Instant::now();
        let mut ask = Ask::post(url, body).bearer(token)?;
        ask.headers
            .insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        ask.timeout = Some(limits.whole);
        let span = span(&ask);
        let head = self.opened(ask).instrument(span);
        let head = timeout_at(started + limits.first_byte, head).await;
        let response = head.map_err(|_| CallError::Timeout)??;
        let header = |name| response.headers().get(name)?.to_str().ok();
        let is_stream = header(CONTENT_TYPE).is_some_and(is_event_stream);
        if response.status().is_success() && is_stream {
            return Ok(Streamed::Events(EventStream::of(response, started, limits)));
        }
        let status = response.status().as_u16();
        let retry_after = header(RETRY_AFTER)
            .and_then(|seconds| seconds.trim().parse().ok())
            .map(Duration::from_secs);
        let body = match timeout_at(started + limits.first_byte, read(response, REFUSAL_MAX)).await {
            Ok(Ok(body)) => serde_json::from_slice(&body).unwrap_or_default(),
            // The status says enough.
            Ok(Err(_)) | Err(_) => Value::Null,
        };
        Ok(Streamed::Refused(EventRefusal {
            status,
            retry_after,
            body,
        }))
    }
}

/// Some servers name no charset, some do; events are always UTF-8.
pub(crate) fn is_event_stream(kind: &str) -> bool {
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("text/event-stream")
}

/// How far the reading of an answer is.
struct Reading {
    response: reqwest::Response,
    /// When the next bytes must be here.
    until: Instant,
    left: usize,
}

impl EventStream {
    pub(crate) fn of(response: reqwest::Response, started: Instant, limits: EventLimits) -> Self {
        let reading = Reading {
            response,
            until: started + limits.first_byte,
            left: limits.bytes,
        };
        let bytes = try_unfold(reading, move |mut reading| async move {
            let chunk = timeout_at(reading.until, reading.response.chunk()).await;
            let Some(chunk) = chunk.map_err(|_| CallError::Timeout)?.map_err(failed)? else {
                return Ok(None);
            };
            let left = reading.left.checked_sub(chunk.len());
            reading.left = left.ok_or(CallError::TooLarge(limits.bytes))?;
            reading.until = Instant::now() + limits.idle;
            Ok(Some((chunk, reading)))
        });
        Self(SseByteStream::new(bytes.boxed()))
    }

    /// The next event; `None` where the stream is over. An event that lacks its end is none.
    ///
    /// # Errors
    /// [`CallError`] where the stream breaks, falls silent, grows too large, or is no UTF-8. It is over then.
    pub async fn next(&mut self) -> Result<Option<ServerEvent>, CallError> {
        loop {
            match self.0.next().await.transpose() {
                Ok(None) => return Ok(None),
                Ok(Some(event)) => {
                    if let Some(data) = event.data {
                        let name = event.event;
                        return Ok(Some(ServerEvent { name, data }));
                    }
                }
                Err(sse_stream::Error::Body(error)) => {
                    let other = |_| CallError::BadAnswer("it cannot be read".to_owned());
                    return Err(error.downcast::<CallError>().map_or_else(other, |error| *error));
                }
                Err(_) => return Err(CallError::BadAnswer("it is no UTF-8".to_owned())),
            }
        }
    }
}
