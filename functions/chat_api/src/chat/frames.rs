//! The frames of the AI SDK's UI message stream, version 1: server-sent events of one JSON chunk each. Only chunks and
//! fields that its versions 5, 6 and 7 all know, so that any of them reads it.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use domain::{MessageId, Task, TaskId};
use futures_util::{Stream, StreamExt};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::tasks::view;

const PROTOCOL: HeaderName = HeaderName::from_static("x-vercel-ai-ui-message-stream");
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A comment that keeps the connection open.
pub(crate) const HEARTBEAT: &str = ": still here\n\n";
/// What a stream ends with.
const DONE: &str = "data: [DONE]\n\n";

/// Frames that leave together.
#[derive(Debug, Default)]
pub(crate) struct Frames(String);

impl Frames {
    /// Begins the answer with this id, which this task gives; not every answer has a card.
    pub(crate) fn start(mut self, answer: &MessageId, task: Option<TaskId>) -> Self {
        let chunk = match task {
            Some(task) => json!({"type": "start", "messageId": answer, "messageMetadata": {"taskId": task}}),
            None => json!({"type": "start", "messageId": answer}),
        };
        self.chunk(&chunk);
        self
    }

    /// Shows the task as it is now, in place of how it was shown before.
    pub(crate) fn task(&mut self, task: &Task) {
        self.chunk(&json!({"type": "data-task", "id": task.id, "data": view::card(task)}));
    }

    /// Says how it goes, without leaving a trace in the message.
    pub(crate) fn progress(&mut self, task: &Task, text: &str) {
        let data = json!({"taskId": task.id, "state": task.status.state, "text": text});
        self.chunk(&json!({"type": "data-progress", "data": data, "transient": true}));
    }

    /// A whole text.
    pub(crate) fn text(&mut self, id: &str, text: &str) {
        self.text_begins(id);
        self.text_goes_on(id, text);
        self.text_ends(id, text);
    }

    /// A text begins that comes in pieces.
    pub(crate) fn text_begins(&mut self, id: &str) {
        self.chunk(&json!({"type": "text-start", "id": id}));
    }

    /// A piece of it.
    pub(crate) fn text_goes_on(&mut self, id: &str, more: &str) {
        self.chunk(&json!({"type": "text-delta", "id": id, "delta": more}));
    }

    /// It is whole, with the addresses that a page may link; or nothing more comes of it, and it is empty.
    pub(crate) fn text_ends(&mut self, id: &str, whole: &str) {
        let mut chunk = json!({"type": "text-end", "id": id});
        links_of(&mut chunk, whole);
        self.chunk(&chunk);
    }

    /// Something broke while the answer was under way.
    pub(crate) fn error(&mut self, text: &str) {
        self.chunk(&json!({"type": "error", "errorText": text}));
    }

    /// Ends the answer and the stream.
    pub(crate) fn finish(mut self) -> Self {
        self.chunk(&json!({"type": "finish"}));
        self.0.push_str(DONE);
        self
    }

    /// Keeps the connection open.
    pub(crate) fn heartbeat() -> Self {
        Self(HEARTBEAT.to_owned())
    }

    fn chunk(&mut self, chunk: &Value) {
        self.0.push_str("data: ");
        self.0.push_str(&chunk.to_string());
        self.0.push_str("\n\n");
    }
}

/// Adds to a part of a message, or to the chunk that ends it, which addresses of its text a page may link.
pub(crate) fn links_of(part: &mut Value, text: &str) {
    let links = domain::links::listed([text]);
    if let Some(fields) = part.as_object_mut().filter(|_| !links.is_empty()) {
        fields.insert(
            "providerMetadata".to_owned(),
            json!({"switchyard": {"links": links}}),
        );
    }
}

impl From<Frames> for Bytes {
    fn from(frames: Frames) -> Self {
        frames.0.into()
    }
}

/// The response that carries a UI message stream.
pub(crate) fn ui_stream(frames: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let mut response = event_stream(frames);
    response
        .headers_mut()
        .insert(PROTOCOL, HeaderValue::from_static("v1"));
    response
}

/// A response of server-sent events that nothing on its way should hold back.
pub(crate) fn event_stream(frames: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(frames.map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_line_breaks_stays_one_frame() {
        let mut frames = Frames::default();
        frames.text("t", "one\ntwo\r\ndata: three");
        let bytes: Bytes = frames.into();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let lines: Vec<_> = text.split("\n\n").filter(|frame| !frame.is_empty()).collect();
        assert_eq!(lines.len(), 3);
        let delta: Value = serde_json::from_str(lines[1].strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(delta["delta"], "one\ntwo\r\ndata: three");
    }
}
