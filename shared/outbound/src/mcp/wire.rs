//! What the SDK sends and gets, over the guarded client. Each request is one exchange that ends: where the server answers
//! with a stream, the stream is read up to the answer, so that the SDK never holds a connection, nor opens one again.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use domain::foreign_json;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ContentBlock, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
    ServerNotification, Tool,
};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;
use url::Url;

use super::McpError;
use super::error::words;
use crate::client::{Ask, read, span};
use crate::events::{EventStream, is_event_stream};
use crate::{CallError, EventLimits, Outbound};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

type Answer = Result<StreamableHttpPostResponse, McpError>;
type Failure = StreamableHttpError<Infallible>;

/// One connection, as the SDK calls it: some exchanges that are over at the same moment at the latest.
#[derive(Clone)]
pub(super) struct Wire {
    pub(super) outbound: Outbound,
    pub(super) limits: EventLimits,
    pub(super) until: Instant,
    /// What went wrong first; the SDK passes on words alone.
    pub(super) fault: Arc<OnceLock<McpError>>,
    /// The server said that its tools have changed.
    pub(super) changed: Arc<AtomicBool>,
    /// Closed once no task of the SDK holds the wire any more.
    pub(super) _held: mpsc::Sender<Infallible>,
}

impl Wire {
    async fn post(
        &self,
        url: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answer {
        let url = address(url)?;
        self.outbound.check_url(&url)?;
        let started = Instant::now();
        let body = serde_json::to_value(message).map_err(|_| CallError::BadAnswer("no JSON".to_owned()))?;
        let mut ask = Ask::post(&url, &body);
        ask.headers.extend(headers);
        let both = HeaderValue::from_static("application/json, text/event-stream");
        ask.headers.insert(ACCEPT, both);
        add_session(&mut ask, session)?;
        ask.timeout = Some(self.until.saturating_duration_since(started));
        let span = span(&ask);
        let head = self.outbound.opened(ask).instrument(span);
        let first = self.until.min(started + self.limits.first_byte);
        let head = timeout_at(first, head).await;
        let response = head.map_err(|_| CallError::Timeout)??;
        let status = response.status();
        refused(status, session.is_some())?;
        let ClientJsonRpcMessage::Request(request) = message else {
            return match status.is_success() {
                true => Ok(StreamableHttpPostResponse::Accepted),
                false => Err(CallError::Status(status.as_u16()).into()),
            };
        };
        let header = |name| response.headers().get(name)?.to_str().ok();
        let session = header(SESSION).map(str::to_owned);
        let kind = header(CONTENT_TYPE).unwrap_or_default().to_owned();
        let answer = if status.is_success() && is_event_stream(&kind) {
            let events = EventStream::of(response, started, self.limits);
            let last = timeout_at(self.until, self.last_event(events)).await;
            last.map_err(|_| CallError::Timeout)??
        } else {
            let body = timeout_at(self.until, read(response, self.limits.bytes)).await;
            let body = body.map_err(|_| CallError::Timeout)??;
            match message_of(&body) {
                Ok(message) => message,
                Err(_) if status.is_success() => return Err(not_json()),
                // A server of before the newest revision may say in a status alone that it knows no such method.
                Err(_)
                    if matches!(request.request, ClientRequest::DiscoverRequest(_))
                        && status.is_client_error() =>
                {
                    let unknown = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, status.to_string(), None);
                    ServerJsonRpcMessage::error(unknown, Some(request.id.clone()))
                }
                Err(_) => return Err(CallError::Status(status.as_u16()).into()),
            }
        };
        let answer = addressed(answer, &request.id)?;
        Ok(StreamableHttpPostResponse::Json(answer, session))
    }

    /// Reads a stream up to the answer.
    async fn last_event(&self, mut events: EventStream) -> Result<ServerJsonRpcMessage, McpError> {
        while let Some(event) = events.next().await? {
            if event.data.trim().is_empty() {
                continue;
            }
            let message = message_of(event.data.as_bytes()).map_err(|_| not_json())?;
            match message {
                ServerJsonRpcMessage::Request(asked) => {
                    let method = serde_json::to_value(&asked.request).unwrap_or_default();
                    let method = method.get("method").and_then(|name| name.as_str());
                    return Err(McpError::Asks(words(method.unwrap_or("something"))));
                }
                ServerJsonRpcMessage::Notification(news) => {
                    if let ServerNotification::ToolListChangedNotification(_) = news.notification {
                        self.changed.store(true, Ordering::Relaxed);
                    }
                }
                answer => return Ok(answer),
            }
        }
        Err(McpError::Cut)
    }

    async fn delete(
        &self,
        url: &str,
        session: &str,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), McpError> {
        let url = address(url)?;
        let mut ask = Ask::get(&url);
        ask.method = Method::DELETE;
        ask.headers.extend(headers);
        add_session(&mut ask, Some(session))?;
        ask.timeout = Some(self.limits.first_byte);
        // Whether it was one of its sessions is of no interest: it ends either way.
        self.outbound.exchange(ask).await?;
        Ok(())
    }

    /// Keeps what went wrong first.
    fn failed(&self, error: McpError) -> Failure {
        let told = error.to_string();
        let _the_first_stays = self.fault.set(error);
        StreamableHttpError::UnexpectedServerResponse(Cow::Owned(told))
    }
}

/// An answer to this request; what came as the answer to it is one, whatever id an error names.
fn addressed(answer: ServerJsonRpcMessage, id: &RequestId) -> Result<ServerJsonRpcMessage, McpError> {
    match answer {
        ServerJsonRpcMessage::Response(ref response) if response.id == *id => Ok(answer),
        ServerJsonRpcMessage::Error(error) => Ok(ServerJsonRpcMessage::error(error.error, Some(id.clone()))),
        _ => Err(CallError::BadAnswer("it answers something else".to_owned()).into()),
    }
}

/// What a status says that ends the exchange, whatever its body says.
fn refused(status: StatusCode, in_session: bool) -> Result<(), McpError> {
    let challenge = None;
    match status.as_u16() {
        300..=399 => Err(McpError::Redirected),
        401 => Err(CallError::Unauthorized {
            expired: false,
            challenge,
        }
        .into()),
        403 => Err(CallError::Forbidden { challenge }.into()),
        404 if in_session => Err(McpError::SessionGone),
        429 | 500.. => Err(CallError::Status(status.as_u16()).into()),
        _ => Ok(()),
    }
}

fn add_session(ask: &mut Ask<'_>, session: Option<&str>) -> Result<(), McpError> {
    if let Some(session) = session {
        let bad = |_| CallError::BadAnswer("its session id cannot stand in a header".to_owned());
        let value = HeaderValue::from_str(session).map_err(bad)?;
        ask.headers.insert(SESSION, value);
    }
    Ok(())
}

fn address(url: &str) -> Result<Url, McpError> {
    let parsed = url.parse();
    parsed.map_err(|_| CallError::NotAllowed("it is no URL".to_owned()).into())
}

/// A message of the server's. Of a list of tools, and of what a tool answers, each entry stands for itself: one that is not of the
/// protocol's form is left out, and hides no other. What is pinned, and what is read as an answer, must be there all the same.
fn message_of(bytes: &[u8]) -> Result<ServerJsonRpcMessage, serde_json::Error> {
    let mut told: Value = foreign_json::read(bytes)?;
    if let Some(result) = told.get_mut("result") {
        keep_readable::<Tool>(result, "tools");
        keep_readable::<ContentBlock>(result, "content");
    }
    serde_json::from_value(told)
}

fn keep_readable<T: DeserializeOwned>(result: &mut Value, list: &str) {
    let Some(entries) = result.get_mut(list).and_then(Value::as_array_mut) else {
        return;
    };
    let before = entries.len();
    entries.retain(|entry| T::deserialize(entry).is_ok());
    let unread = before - entries.len();
    if unread > 0 {
        tracing::warn!(list, unread, "entries of an MCP server's answer cannot be read");
    }
}

fn not_json() -> McpError {
    CallError::BadAnswer("it is no message of the protocol".to_owned()).into()
}

impl StreamableHttpClient for Wire {
    type Error = Infallible;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let posted = self.post(&uri, &message, session_id.as_deref(), custom_headers);
        posted.await.map_err(|error| self.failed(error))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let deleted = self.delete(&uri, &session_id, custom_headers);
        deleted.await.map_err(|error| self.failed(error))
    }

    /// None is opened: nothing here waits for what a server may say by itself.
    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session_id: Option<Arc<str>>,
        _last_event_id: Option<String>,
        _auth_header: Option<String>,
        _custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxedSseResponse, Failure> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ServerResult;
    use serde_json::json;

    use super::*;

    fn names(tools: &Value) -> Option<Vec<String>> {
        let told = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}});
        match message_of(told.to_string().as_bytes()).ok()? {
            ServerJsonRpcMessage::Response(answer) => match answer.result {
                ServerResult::ListToolsResult(list) => {
                    Some(list.tools.iter().map(|tool| tool.name.to_string()).collect())
                }
                _ => None,
            },
            _ => None,
        }
    }

    #[test]
    fn an_odd_tool_hides_no_other() {
        let good = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
        for odd in [
            json!({"name": "odd", "description": "without a schema"}),
            json!({"name": "odd", "inputSchema": null}),
            json!({"name": "odd", "inputSchema": "none"}),
            json!({"name": 7, "inputSchema": {}}),
            json!("odd"),
            json!(null),
        ] {
            let listed = names(&json!([good("a"), odd, good("b")]));
            assert_eq!(listed, Some(vec!["a".to_owned(), "b".to_owned()]), "{odd}");
        }
        // A schema that says nothing, or no object, is its tool's own affair.
        for schema in [
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
            json!({"anyOf": [{"type": "object"}, {"type": "object", "required": ["a"]}]}),
            json!({"type": "string"}),
            json!({"type": "object"}),
            json!({}),
        ] {
            let odd =
                json!({"name": "odd", "inputSchema": schema, "outputSchema": null, "annotations": null});
            let listed = names(&json!([good("a"), odd]));
            assert_eq!(listed, Some(vec!["a".to_owned(), "odd".to_owned()]), "{odd}");
        }
        assert_eq!(names(&json!({})), None, "no list at all");
    }

    #[test]
    fn an_odd_block_hides_no_other() {
        for odd in [
            json!({"type": "hologram", "light": 1}),
            json!({"type": "text"}),
            json!(7),
        ] {
            let told = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [odd, {"type": "text", "text": "pong"}]}});
            let Ok(ServerJsonRpcMessage::Response(answer)) = message_of(told.to_string().as_bytes()) else {
                unreachable!("{odd}")
            };
            let ServerResult::CallToolResult(result) = answer.result else {
                unreachable!("{odd}")
            };
            assert_eq!(result.content.len(), 1, "{odd}");
        }
        // A text that was cut in the middle of a character, with a mark in front of it all.
        let cut = b"\xef\xbb\xbf{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {\"content\": [{\"type\": \"text\", \"text\": \"pong \\ud83d\"}]}}";
        let told = serde_json::to_string(&message_of(cut).unwrap()).unwrap();
        assert!(told.contains("pong \u{fffd}"), "{told}");
    }
}
