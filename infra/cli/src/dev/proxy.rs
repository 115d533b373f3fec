//! The proxy between the system and an agent. The card that it hands on names its own addresses, and so do the webhooks of the
//! requests, so that it sees both directions. It forwards to the agent's own host and to the system's gateway, nowhere else.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use domain::{Clock as _, SystemClock};
use futures_util::StreamExt as _;
use http::{HeaderMap, StatusCode, header};
use local::address::below;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::Url;

use super::redact;
use crate::agents::CARD;

/// Where everything of the proxy is, so that a registration that was left behind is known again.
pub(super) const BASE: &str = "/switchyard-dev";
/// Largest body that is handed on whole, and longest line of a stream that is looked at.
const BODY_MAX: usize = 8 * 1024 * 1024;
/// Longest text of a line.
const LINE_MAX: usize = 120;
/// Most webhooks that are known at a time.
const WEBHOOKS_MAX: usize = 1_000;
/// How long the agent may take to give its card.
const PATIENCE: Duration = Duration::from_secs(10);
/// What belongs to one connection alone, and what the next one says itself.
const NOT_FORWARDED: [header::HeaderName; 6] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::ACCEPT_ENCODING,
    header::UPGRADE,
];

pub(super) struct Proxy {
    http: reqwest::Client,
    /// Its own address.
    base: Url,
    /// The agent's card.
    card_url: Url,
    gateway: Url,
    known: Mutex<Known>,
}

/// Where what comes is to go.
#[derive(Default)]
struct Known {
    /// The agent's interfaces, as its card names them.
    interfaces: Vec<Url>,
    webhooks: Vec<Url>,
}

/// Who says something to whom.
#[derive(Clone, Copy)]
enum Way {
    ToAgent,
    ToHost,
    Push,
}

impl Way {
    fn ends(self) -> [&'static str; 2] {
        match self {
            Self::ToAgent => ["host", "agent"],
            Self::ToHost | Self::Push => ["agent", "host"],
        }
    }
}

/// Serves until it is aborted.
pub(super) fn serve(listener: TcpListener, proxy: Arc<Proxy>) -> JoinHandle<()> {
    let router = Router::new().fallback(forward).with_state(proxy);
    tokio::spawn(async move {
        let _until_aborted = axum::serve(listener, router).await;
    })
}

async fn forward(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    match proxy.forwarded(request).await {
        Ok(response) => response,
        Err(status) => status.into_response(),
    }
}

impl Proxy {
    pub(super) fn new(http: reqwest::Client, (base, card_url): (Url, Url), gateway: Url) -> Self {
        Self {
            http,
            base,
            card_url,
            gateway,
            known: Mutex::default(),
        }
    }

    /// The agent's card as it is.
    pub(super) async fn card(&self) -> Result<Value, String> {
        let fault = |fault: &dyn std::fmt::Display| format!("there is no card at {}: {fault}", self.card_url);
        let asked = self.http.get(self.card_url.clone()).timeout(PATIENCE).send();
        let answer = asked.await.and_then(reqwest::Response::error_for_status);
        let answer = answer.map_err(|error| fault(&error.without_url()))?;
        let bytes = whole(answer)
            .await
            .ok_or_else(|| fault(&"it does not come to its end"))?;
        serde_json::from_slice(&bytes).map_err(|error| fault(&error))
    }

    /// Says something that is no traffic.
    pub(super) fn say(&self, said: &str) {
        told!(json!({ "at": SystemClock.now(), "note": said }), "{said}");
        crate::out::flush();
    }

    async fn forwarded(&self, request: Request) -> Result<Response, StatusCode> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().strip_prefix(BASE).ok_or(StatusCode::NOT_FOUND)?;
        if path == CARD {
            let card = self.card().await.map_err(|_| StatusCode::BAD_GATEWAY)?;
            return Ok(axum::Json(self.shown(card)).into_response());
        }
        let (way, mut to) = self.target(path).ok_or(StatusCode::NOT_FOUND)?;
        to.set_query(head.uri.query());
        let bytes = to_bytes(body, BODY_MAX)
            .await
            .map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
        let mut said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let what = match (way, said.get("method").and_then(Value::as_str)) {
            (Way::Push, _) => "push".to_owned(),
            (_, Some(method)) => method.to_owned(),
            (_, None) => format!("{} {}", head.method, to.path()),
        };
        tell((way, &what), None, &said);
        let bytes = match self.catches(&mut said) {
            true => said.to_string().into(),
            false => bytes,
        };
        let began = Instant::now();
        let ask = |headers| {
            let asked = self.http.request(head.method.clone(), to.clone());
            asked.headers(headers).body(bytes.clone()).send()
        };
        let mut headers = kept(&head.headers);
        let mut asked = ask(headers.clone()).await;
        // The token is one for the proxy: an agent that looks at that is asked by nobody instead.
        if asked
            .as_ref()
            .is_ok_and(|answer| answer.status() == StatusCode::UNAUTHORIZED)
            && matches!(way, Way::ToAgent)
            && headers.remove(header::AUTHORIZATION).is_some()
        {
            asked = ask(headers).await;
        }
        let answer = match asked {
            Ok(answer) => answer,
            Err(fault) => {
                tell(
                    (answering(way), &format!("{what}: no answer")),
                    None,
                    &json!(fault.without_url().to_string()),
                );
                return Err(StatusCode::BAD_GATEWAY);
            }
        };
        let (status, headers) = (answer.status(), kept(answer.headers()));
        let took = (status, began.elapsed());
        let is_stream = headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let body = match is_stream {
            true => Self::streamed(answer, what),
            false => {
                let bytes = whole(answer).await.ok_or(StatusCode::BAD_GATEWAY)?;
                let told = serde_json::from_slice(&bytes).unwrap_or_default();
                tell((answering(way), &what), Some(took), &told);
                Body::from(bytes)
            }
        };
        let mut response = Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Ok(response)
    }

    /// Hands a stream on as it comes, and shows its events.
    fn streamed(answer: reqwest::Response, what: String) -> Body {
        let mut line = Vec::new();
        Body::from_stream(answer.bytes_stream().map(move |chunk| {
            for byte in chunk.as_ref().map_or(&[][..], |chunk| chunk) {
                match byte {
                    b'\n' => {
                        let data = line.strip_prefix(b"data:".as_slice());
                        if let Some(told) = data.and_then(|data| serde_json::from_slice(data).ok()) {
                            tell((Way::ToHost, &what), None, &told);
                        }
                        line.clear();
                    }
                    _ if line.len() < BODY_MAX => line.push(*byte),
                    _ => {}
                }
            }
            chunk
        }))
    }

    /// Where a path of the proxy leads.
    fn target(&self, path: &str) -> Option<(Way, Url)> {
        let (kind, rest) = path.strip_prefix('/')?.split_once('/')?;
        let (number, rest) = rest
            .split_once('/')
            .map_or((rest, None), |(number, rest)| (number, Some(rest)));
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (way, urls) = match kind {
            "agent" => (Way::ToAgent, &known.interfaces),
            "push" => (Way::Push, &known.webhooks),
            _ => return None,
        };
        let to = urls.get(number.parse::<usize>().ok()?)?;
        Some((
            way,
            rest.map_or_else(|| to.clone(), |rest| below(to, &format!("/{rest}"))),
        ))
    }

    /// The card with addresses of the proxy in place of those at the agent's own host.
    fn shown(&self, mut card: Value) -> Value {
        let mut interfaces = Vec::new();
        let mut rename = |place: &mut Value| {
            let url = place.as_str().and_then(|url| Url::parse(url).ok());
            if let Some(url) = url.filter(|url| url.host() == self.card_url.host()) {
                *place = below(&self.base, &format!("/agent/{}", interfaces.len()))
                    .as_str()
                    .into();
                interfaces.push(url);
            }
        };
        for list in ["supportedInterfaces", "additionalInterfaces"] {
            let listed = card.get_mut(list).and_then(Value::as_array_mut);
            listed
                .into_iter()
                .flatten()
                .filter_map(|one| one.get_mut("url"))
                .for_each(&mut rename);
        }
        card.get_mut("url").into_iter().for_each(&mut rename);
        if let Some(fields) = card.as_object_mut() {
            fields.remove("signatures");
        }
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .interfaces = interfaces;
        card
    }

    /// Has pushes come by here: whether a request names a webhook of the system, which it then does not any more.
    fn catches(&self, said: &mut Value) -> bool {
        match said {
            Value::Object(fields) => {
                let is_config = fields.contains_key("token") || fields.contains_key("authentication");
                let url = fields
                    .get("url")
                    .and_then(Value::as_str)
                    .and_then(|url| Url::parse(url).ok());
                if let Some(url) = url.filter(|url| is_config && url.origin() == self.gateway.origin()) {
                    let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                    let at = known
                        .webhooks
                        .iter()
                        .position(|known| *known == url)
                        .unwrap_or(known.webhooks.len());
                    if at == known.webhooks.len() {
                        if at >= WEBHOOKS_MAX {
                            return false;
                        }
                        known.webhooks.push(url);
                    }
                    fields.insert(
                        "url".to_owned(),
                        below(&self.base, &format!("/push/{at}")).as_str().into(),
                    );
                    return true;
                }
                self.catches_any(fields.values_mut())
            }
            Value::Array(items) => self.catches_any(items.iter_mut()),
            _ => false,
        }
    }

    /// The same of each of these.
    fn catches_any<'v>(&self, said: impl Iterator<Item = &'v mut Value>) -> bool {
        said.map(|one| self.catches(one)).filter(|caught| *caught).count() > 0
    }
}

/// Shows what was said, to whom, and where it is an answer its status and how long it took.
fn tell((way, what): (Way, &str), took: Option<(StatusCode, Duration)>, said: &Value) {
    let [from, to] = way.ends();
    let (at, said, what) = (SystemClock.now(), redact::value(said), redact::text(what));
    let status = took.map(|(status, _)| status.as_u16());
    let ms = took.and_then(|(_, took)| u64::try_from(took.as_millis()).ok());
    let answer = status.zip(ms).map(|(status, ms)| format!("{status} in {ms} ms "));
    let line = format!(
        "{from} → {to} {what} {}{}",
        answer.unwrap_or_default(),
        words(&said)
    );
    told!(
        json!({ "at": at, "from": from, "to": to, "what": what, "status": status, "ms": ms, "body": said }),
        "{}  {}",
        at.to_string().get(11..19).unwrap_or_default(),
        domain::clean(&line, LINE_MAX * 2)
    );
    crate::out::flush();
}

/// A message in a few words: the task's state, and the newest text.
fn words(said: &Value) -> String {
    let state = found(said, "state").into_iter().next();
    let state = state.map(|state| {
        state
            .trim_start_matches("TASK_STATE_")
            .to_lowercase()
            .replace('_', "-")
    });
    let text = found(said, "text").join(" / ");
    let text = Some(domain::clean(&text, LINE_MAX)).filter(|text| !text.is_empty());
    let error = said
        .pointer("/error/message")
        .or(Some(said))
        .and_then(Value::as_str)
        .map(str::to_owned);
    [state, text.map(|text| format!("“{text}”")), error]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("  ")
}

/// The texts of the fields of a name, in their order; not those of what was said before.
fn found<'v>(value: &'v Value, name: &str) -> Vec<&'v str> {
    match value {
        Value::Object(fields) => {
            let now = fields.iter().filter(|(key, _)| *key != "history");
            now.flat_map(|(key, field)| match field.as_str().filter(|_| key == name) {
                Some(text) => vec![text],
                None => found(field, name),
            })
            .collect()
        }
        Value::Array(items) => items.iter().flat_map(|item| found(item, name)).collect(),
        _ => Vec::new(),
    }
}

/// The way back.
fn answering(way: Way) -> Way {
    match way {
        Way::ToAgent => Way::ToHost,
        Way::ToHost | Way::Push => Way::ToAgent,
    }
}

fn kept(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for name in NOT_FORWARDED {
        kept.remove(name);
    }
    kept
}

/// A body to its end; nothing where it breaks off or is too large.
async fn whole(answer: reqwest::Response) -> Option<Vec<u8>> {
    let (mut chunks, mut body) = (answer.bytes_stream(), Vec::new());
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.ok()?;
        if body.len() + chunk.len() > BODY_MAX {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy() -> Proxy {
        let url = |url: &str| url.parse().unwrap();
        let at = (
            url("http://127.0.0.1:7/switchyard-dev"),
            url("http://127.0.0.1:9100/.well-known/agent-card.json"),
        );
        Proxy::new(crate::client::http().unwrap(), at, url("http://127.0.0.1:3000/"))
    }

    #[test]
    fn the_card_names_the_proxy_for_what_is_at_the_agents_own_host_alone() {
        let proxy = proxy();
        let card = json!({ "name": "A", "url": "http://127.0.0.1:9100/a", "signatures": [1],
            "supportedInterfaces": [{ "url": "http://127.0.0.1:9200/" }, { "url": "http://10.0.0.1/" }] });
        let shown = proxy.shown(card);
        assert_eq!(
            shown["supportedInterfaces"][0]["url"],
            "http://127.0.0.1:7/switchyard-dev/agent/0"
        );
        assert_eq!(shown["supportedInterfaces"][1]["url"], "http://10.0.0.1/");
        assert_eq!(
            (&shown["url"], shown.get("signatures")),
            (&json!("http://127.0.0.1:7/switchyard-dev/agent/1"), None)
        );
        for (path, to) in [
            ("/agent/0", Some("http://127.0.0.1:9200/")),
            (
                "/agent/1/v1/message:send",
                Some("http://127.0.0.1:9100/a/v1/message:send"),
            ),
            ("/agent/2", None),
            ("/push/0", None),
            ("/", None),
            ("", None),
        ] {
            let target = proxy.target(path).map(|(_, to)| to.to_string());
            assert_eq!(target.as_deref(), to, "{path}");
        }
    }

    #[test]
    fn webhooks_of_the_system_alone_come_by_here() {
        let proxy = proxy();
        let config =
            |url: &str| json!({ "params": { "taskPushNotificationConfig": { "url": url, "token": "t" } } });
        let mut own = config("http://127.0.0.1:3000/w");
        assert!(proxy.catches(&mut own) && proxy.catches(&mut config("http://127.0.0.1:3000/w")));
        assert_eq!(own, config("http://127.0.0.1:7/switchyard-dev/push/0"));
        assert_eq!(
            proxy.target("/push/0").unwrap().1.as_str(),
            "http://127.0.0.1:3000/w"
        );
        for other in [
            config("http://10.0.0.1/w"),
            json!({ "url": "http://127.0.0.1:3000/file" }),
            json!([1, null]),
        ] {
            let mut said = other.clone();
            assert!(!proxy.catches(&mut said));
            assert_eq!(said, other);
        }
    }

    #[test]
    fn a_message_is_told_in_a_few_words() {
        for (said, expect) in [
            (
                json!({ "result": { "task": { "status": { "state": "TASK_STATE_INPUT_REQUIRED",
                "message": { "parts": [{ "text": "Which\n\u{1b}[2Jtext?" }] } }, "history": [{ "parts": [{ "text": "old" }] }] } } }),
                "input-required  “Which [2Jtext?”",
            ),
            (json!({ "error": { "code": -1, "message": "no" } }), "no"),
            (json!(null), ""),
        ] {
            assert_eq!(words(&said), expect);
        }
    }
}
