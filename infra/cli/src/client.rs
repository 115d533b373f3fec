//! The commands' HTTP client. It talks to the local gateway alone, whose address it reads from `endpoints.json`;
//! what the functions call goes out through `outbound`.

use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use http::{HeaderMap, Method, StatusCode, header};
use serde::Serialize;
use serde_json::Value;
use url::Url;

/// How long the gateway may take to begin its answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest line of a stream, and longest body that is looked at.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// Why a request to the gateway brought nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("nobody answers at {0}; start the system with `switchyard up`")]
    NotRunning(Url),
    #[error("{0} did not answer to the end")]
    BrokeOff(Url),
    #[error("{}", refusal(*.status, .body))]
    Refused { status: StatusCode, body: Value },
}

fn refusal(status: StatusCode, body: &Value) -> String {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let reasons = body.get("reasons").and_then(Value::as_array);
    let reasons: Vec<&str> = reasons.into_iter().flatten().filter_map(Value::as_str).collect();
    match text("message").or_else(|| text("error")) {
        // A sentence for whoever asked: what is used up, until when, and who can raise it.
        Some(said) if text("error") == Some("over_quota") => said.to_owned(),
        Some(said) if reasons.is_empty() => format!("refused ({}): {said}", status.as_u16()),
        Some(said) => format!("{said}: {}", reasons.join("; ")),
        None => format!("refused with status {}", status.as_u16()),
    }
}

/// A client of the gateway.
#[derive(Clone)]
pub(crate) struct Client(reqwest::Client);

/// One request.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) body: Option<Value>,
    /// `Authorization: Bearer …`
    pub(crate) token: Option<&'a str>,
    /// `Cookie: …`
    pub(crate) cookie: Option<&'a str>,
    /// `Last-Event-ID: …`
    pub(crate) last_event: Option<u64>,
}

impl Call<'_> {
    pub(crate) fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            body: None,
            token: None,
            cookie: None,
            last_event: None,
        }
    }

    pub(crate) fn with_body(method: Method, url: Url, body: &impl Serialize) -> Self {
        let body = serde_json::to_value(body).ok();
        Self {
            method,
            body,
            ..Self::get(url)
        }
    }
}

/// The beginning of an answer.
pub(crate) struct Begun {
    url: Url,
    response: reqwest::Response,
}

/// What connections are made with: to the gateway, and to the agent that a person names to `agent dev`.
pub(crate) fn http() -> Result<reqwest::Client, reqwest::Error> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the terminal's client of its own machine; it never takes an address from outside"
    )]
    let builder = reqwest::Client::builder();
    let builder = builder
        .no_proxy()
        .tcp_nodelay(true)
        .redirect(reqwest::redirect::Policy::none());
    builder.build()
}

impl Client {
    pub(crate) fn new() -> Result<Self, reqwest::Error> {
        http().map(Self)
    }

    /// Sends a request; the answer is one that succeeded.
    pub(crate) async fn send(&self, call: Call<'_>) -> Result<Begun, ClientError> {
        let url = call.url.clone();
        let response = self.begin(call).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(Begun { url, response });
        }
        let body = response.json().await.unwrap_or_default();
        Err(ClientError::Refused { status, body })
    }

    /// Sends a request; whatever is answered, to its end.
    pub(crate) async fn look(&self, call: Call<'_>) -> Result<(StatusCode, HeaderMap, Vec<u8>), ClientError> {
        let url = call.url.clone();
        let response = self.begin(call).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let (mut bytes, mut body) = (response.bytes_stream(), Vec::new());
        let read = async {
            while let Some(chunk) = bytes.next().await {
                let chunk = chunk.ok()?;
                if body.len() + chunk.len() > MAX_LINE {
                    return None;
                }
                body.extend_from_slice(&chunk);
            }
            Some(body)
        };
        match tokio::time::timeout(PATIENCE, read).await {
            Ok(Some(body)) => Ok((status, headers, body)),
            Ok(None) | Err(_) => Err(ClientError::BrokeOff(url)),
        }
    }

    async fn begin(&self, call: Call<'_>) -> Result<reqwest::Response, ClientError> {
        let url = call.url.clone();
        let mut request = self.0.request(call.method, call.url);
        if let Some(token) = call.token {
            request = request.bearer_auth(token);
        }
        if let Some(cookie) = call.cookie {
            request = request.header(header::COOKIE, cookie);
        }
        if let Some(seq) = call.last_event {
            request = request.header("last-event-id", seq);
        }
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        match tokio::time::timeout(PATIENCE, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(fault)) if fault.is_connect() => Err(ClientError::NotRunning(url)),
            Ok(Err(_)) | Err(_) => Err(ClientError::BrokeOff(url)),
        }
    }

    /// Sends a request and reads the JSON of its answer; `null` where the answer has no body.
    pub(crate) async fn json(&self, call: Call<'_>) -> Result<Value, ClientError> {
        self.send(call).await?.json().await
    }

    /// Everything that a listing has below `field`, page by page.
    pub(crate) async fn pages(&self, token: &str, url: Url, field: &str) -> Result<Vec<Value>, ClientError> {
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut url = url.clone();
            url.query_pairs_mut()
                .extend_pairs(cursor.iter().map(|cursor| ("cursor", cursor)));
            let call = Call {
                token: Some(token),
                ..Call::get(url)
            };
            let mut page = self.json(call).await?;
            cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            if let Some(Value::Array(items)) = page.get_mut(field).map(Value::take) {
                found.extend(items);
            }
            if cursor.is_none() {
                return Ok(found);
            }
        }
    }
}

impl Begun {
    /// The first cookie that the answer sets, as `name=value`.
    pub(crate) fn cookie(&self) -> Option<String> {
        let set = self.response.headers().get(header::SET_COOKIE)?.to_str().ok()?;
        set.split(';').next().map(|pair| pair.trim().to_owned())
    }

    /// The next piece of the body; none behind its end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        let piece = self.response.chunk().await;
        let piece = piece.map_err(|_| ClientError::BrokeOff(self.url.clone()))?;
        Ok(piece.map(Vec::from))
    }

    pub(crate) async fn json(self) -> Result<Value, ClientError> {
        let bytes = self
            .response
            .bytes()
            .await
            .map_err(|_| ClientError::BrokeOff(self.url.clone()))?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|_| ClientError::BrokeOff(self.url))
    }

    /// The JSON of each server-sent event; ends with the stream, or where a line is no longer one.
    pub(crate) fn events(self) -> impl Stream<Item = Value> + Unpin {
        let bytes = Box::pin(self.response.bytes_stream());
        let lines = stream::unfold((bytes, Vec::new()), |(mut bytes, mut buffer)| async move {
            loop {
                if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = buffer.drain(..=end).collect();
                    return Some((line, (bytes, buffer)));
                }
                let chunk = bytes.next().await?.ok()?;
                if buffer.len() + chunk.len() > MAX_LINE {
                    return None;
                }
                buffer.extend_from_slice(&chunk);
            }
        });
        Box::pin(lines.filter_map(async |line| {
            let data = line.strip_prefix(b"data:")?;
            serde_json::from_slice(data).ok()
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn refusals_read_as_a_sentence() {
        let check = |body, expect| assert_eq!(refusal(StatusCode::UNPROCESSABLE_ENTITY, &body), expect);
        check(
            json!({"error": "card_refused", "message": "the card is refused", "reasons": ["a", "b"]}),
            "the card is refused: a; b",
        );
        check(json!({"error": "x", "message": "no"}), "refused (422): no");
        check(json!(null), "refused with status 422");
        let over = json!({"error": "over_quota", "message": "You have used today's 50 tasks"});
        check(over, "You have used today's 50 tasks");
    }
}
