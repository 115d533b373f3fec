//! A specialist that does nothing by itself: it acknowledges, and the test speaks for it, or says beforehand what it is to tell.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use system_testing::Local;

/// The host that its operator has named for links of its own.
const SIGNS_IN_AT: &str = "accounts.example";

/// A specialist that the test speaks for.
#[derive(Clone)]
pub(crate) struct Scripted(Arc<Inner>);

struct Inner {
    http: reqwest::Client,
    sent: Mutex<Vec<Sent>>,
    /// What a look at a task is answered with; an error where there is nothing.
    known: Mutex<Option<Value>>,
    /// The sizes of the files that a look at a task brings, which nobody holds.
    files: Mutex<Vec<usize>>,
    /// It answers nothing but errors.
    away: AtomicBool,
    /// It lists its tasks, and tells how they are.
    remembers: AtomicBool,
    kept: Mutex<Vec<Value>>,
    /// What it tells of each new task by itself.
    tells: Mutex<Vec<News>>,
}

/// What it tells of a task by itself.
#[derive(Debug, Clone)]
pub(crate) struct News {
    /// After so long.
    pub(crate) after: Duration,
    pub(crate) state: &'static str,
    pub(crate) text: Option<&'static str>,
    pub(crate) artifact: Option<&'static str>,
}

/// A message that the host sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    /// The message's id.
    pub(crate) id: String,
    /// The text.
    pub(crate) text: String,
    /// All of its parts.
    pub(crate) parts: Value,
    /// The id that the specialist gave the task.
    pub(crate) remote: String,
    /// Where its news go, and the token for them.
    pub(crate) hook: String,
    token: String,
    /// When it came.
    pub(crate) at: Instant,
    /// The header `traceparent` of the call.
    pub(crate) traceparent: String,
}

/// Takes the agent at this base URL out of the registry.
async fn take_out(local: &Local, base: &str) {
    let registry = local.endpoint("/registry").trim_end_matches('/');
    let (token, http) = (local.endpoint("/registry_token"), system_testing::user::http());
    let card = format!("{}/.well-known/agent-card.json", base.trim_end_matches('/'));
    let known = http
        .post(format!("{registry}/agents"))
        .bearer_auth(token)
        .json(&json!({ "cardUrl": card }));
    let known: Value = known
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("the agent");
    let id = known["id"].as_str().expect("an id");
    let gone = http.delete(format!("{registry}/agents/{id}")).bearer_auth(token);
    assert_eq!(
        gone.send().await.expect("an answer").status(),
        StatusCode::NO_CONTENT
    );
}

impl Scripted {
    /// Starts it and registers it for every tenant, under this type, which is also what it is called.
    pub(crate) async fn start(local: &Local, kind: &str, example: &str) -> Self {
        Self::called(local, (kind, kind), example).await
    }

    /// Starts it and registers it for every tenant, under this type and name. A built-in agent of this type is taken out
    /// first: of two that fit alike, either may be asked.
    pub(crate) async fn called(local: &Local, names: (&str, &str), example: &str) -> Self {
        let place = |name: &str| local.endpoint(name).to_owned();
        if let Some(base) = local.endpoints()["agents"][names.0].as_str() {
            take_out(local, base).await;
        }
        Self::registered(&(place("/registry"), place("/registry_token")), names, example).await
    }

    /// The same of one whose card takes JSON.
    pub(crate) async fn with_json(place: &(String, String), names: (&str, &str), example: &str) -> Self {
        Self::of_modes(place, names, (example, &["text/plain", "application/json"])).await
    }

    /// Starts it and registers it at this registry, with this token of its operator.
    pub(crate) async fn registered(place: &(String, String), names: (&str, &str), example: &str) -> Self {
        Self::of_modes(place, names, (example, &["text/plain"])).await
    }

    async fn of_modes(
        (registry, token): &(String, String),
        (kind, name): (&str, &str),
        (example, modes): (&str, &[&str]),
    ) -> Self {
        let agent = Self(Arc::new(Inner {
            http: system_testing::user::http(),
            sent: Mutex::default(),
            known: Mutex::default(),
            files: Mutex::default(),
            away: AtomicBool::new(false),
            remembers: AtomicBool::new(false),
            kept: Mutex::default(),
            tells: Mutex::default(),
        }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let card = json!({
            "name": name, "description": format!("Everything about the {name}"), "version": "1",
            "supportedInterfaces": [{ "url": format!("{url}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
            "capabilities": { "pushNotifications": true },
            "defaultInputModes": modes, "defaultOutputModes": ["text/plain"],
            "skills": [{ "id": kind, "name": kind, "description": example, "tags": [format!("type:{kind}")], "examples": [example] }],
        });
        let router = axum::Router::new()
            .route(
                "/.well-known/agent-card.json",
                get(|State(agent): State<Self>| async move {
                    match agent.0.away.load(Ordering::SeqCst) {
                        true => Err(StatusCode::SERVICE_UNAVAILABLE),
                        false => Ok(Json(card)),
                    }
                }),
            )
            .route("/", post(answer))
            .with_state(agent.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let registry = registry.trim_end_matches('/');
        let http = &agent.0.http;
        for request in [
            http.put(format!("{registry}/types/{kind}"))
                .json(&json!({ "scope": "global" })),
            http.post(format!("{registry}/agents"))
                .json(&json!({ "cardUrl": url, "linkHosts": [SIGNS_IN_AT] })),
        ] {
            let request = request.bearer_auth(token);
            let answer = request.send().await.expect("an answer");
            assert!(answer.status().is_success(), "{answer:?}");
        }
        agent
    }

    /// The messages that it was sent so far.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.0.sent.lock().expect("no panic under the lock").clone()
    }

    /// Waits until it was sent so many; gives the last.
    pub(crate) async fn nth(&self, count: usize) -> Sent {
        for _ in 0..600 {
            if let Some(sent) = self.sent().get(count - 1) {
                return sent.clone();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("it was sent {} messages, not {count}", self.sent().len())
    }

    /// What a look at any task finds from now on.
    pub(crate) fn knows(&self, task: Value) {
        *self.0.known.lock().expect("no panic under the lock") = Some(task);
    }

    /// A look at any task finds files of these sizes from now on, and a text beside them.
    pub(crate) fn has_files(&self, sizes: &[usize]) {
        *self.0.files.lock().expect("no panic under the lock") = sizes.to_vec();
    }

    /// From now on it lists its tasks, and tells how they are, as an agent that keeps them does; and it tells this of each new
    /// one by itself, until it is heard.
    pub(crate) fn works(&self, tells: Vec<News>) {
        self.0.remembers.store(true, Ordering::SeqCst);
        *self.0.tells.lock().expect("no panic under the lock") = tells;
    }

    /// Tells this of the task that it was given last, until it is heard.
    pub(crate) fn goes_on(&self, tells: Vec<News>) {
        let last = self.sent().pop().expect("it was sent something");
        tokio::spawn(self.clone().tell_all(last, tells));
    }

    /// Tells all of this of a task, each until somebody took it.
    async fn tell_all(self, of: Sent, tells: Vec<News>) {
        for news in tells {
            tokio::time::sleep(news.after).await;
            let task = told(&of, news.state, news.text, news.artifact);
            self.keep(&task);
            while self.tell(&of, &task).await.is_none_or(|status| status >= 500) {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }

    fn keep(&self, task: &Value) {
        let mut kept = self.0.kept.lock().expect("no panic under the lock");
        if let Some(known) = kept.iter_mut().find(|known| known["id"] == task["id"]) {
            for part in ["status", "artifacts"] {
                known[part] = task[part].clone();
            }
        }
    }

    /// What a look at its tasks finds.
    fn found(&self, call: &Value) -> Option<Value> {
        if let Some(known) = self.0.known.lock().expect("no panic under the lock").clone() {
            return Some(known);
        }
        if !self.0.remembers.load(Ordering::SeqCst) {
            return None;
        }
        let kept = self.0.kept.lock().expect("no panic under the lock");
        let of = |name: &str, value: &Value| -> Vec<Value> {
            kept.iter().filter(|task| task[name] == *value).cloned().collect()
        };
        let params = &call["params"];
        match call["method"].as_str() {
            Some("ListTasks") => Some(json!({ "tasks": of("contextId", &params["contextId"]) })),
            _ => of("id", &params["id"]).pop(),
        }
    }

    /// Whether it answers nothing but errors from now on.
    pub(crate) fn is_away(&self, away: bool) {
        self.0.away.store(away, Ordering::SeqCst);
    }

    /// Tells the host's webhook of a task's state with this result, where there is somebody; gives the status it answered with.
    pub(crate) async fn tries_to_report(&self, of: &Sent, state: &str, artifact: &str) -> Option<u16> {
        self.tell(of, &told(of, state, None, Some(artifact))).await
    }

    async fn tell(&self, of: &Sent, task: &Value) -> Option<u16> {
        let call = self.0.http.post(&of.hook).bearer_auth(&of.token);
        let answer = call.json(&json!({ "task": task })).send().await;
        answer.ok().map(|answer| answer.status().as_u16())
    }

    /// Tells the host's webhook of a task's state.
    pub(crate) async fn reports(&self, of: &Sent, state: &str, text: Option<&str>, artifact: Option<&str>) {
        let answer = self.tell(of, &told(of, state, text, artifact)).await;
        assert_eq!(answer, Some(204), "{state}");
    }
}

impl Scripted {
    /// Tells the host's webhook that a task is done, with one result of these parts.
    pub(crate) async fn brings(&self, of: &Sent, parts: Value) {
        let mut task = told(of, "TASK_STATE_COMPLETED", None, Some(""));
        task["artifacts"][0]["parts"] = parts;
        assert_eq!(self.tell(of, &task).await, Some(204));
    }
}

/// A task as a notification tells of it.
fn told(of: &Sent, state: &str, text: Option<&str>, artifact: Option<&str>) -> Value {
    let mut task = json!({ "id": of.remote, "contextId": "c", "status": { "state": state } });
    if let Some(text) = text {
        task["status"]["message"] = json!({ "messageId": format!("{}-{state}", of.remote), "role": "ROLE_AGENT",
            "parts": [{ "text": text }] });
    }
    if let Some(text) = artifact {
        task["artifacts"] = json!([{ "artifactId": "a", "parts": [{ "text": text }] }]);
    }
    task
}

/// The bytes of a file, again and again; base64 of them ends where they do.
pub(crate) fn pattern() -> Vec<u8> {
    (0..49_152_u32)
        .map(|at| at.wrapping_mul(31).to_le_bytes()[1])
        .collect()
}

/// A task that is done, with files of these sizes: written as it is read.
fn with_files(call: &Value, sizes: Vec<usize>) -> Body {
    let text = |text: String| Bytes::from(text);
    let pattern = pattern();
    let whole = text(STANDARD.encode(&pattern));
    let files = sizes.into_iter().enumerate().flat_map(move |(number, size)| {
        let rest = STANDARD.encode(&pattern[..size % pattern.len()]);
        let begin = text(format!(
            r#"{{"filename":"{number}.bin","mediaType":"application/octet-stream","raw":""#
        ));
        std::iter::once(begin)
            .chain(std::iter::repeat_n(whole.clone(), size / pattern.len()))
            .chain([text(format!(r#"{rest}"}},"#))])
    });
    let (id, task) = (&call["id"], &call["params"]["id"]);
    let begin = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"id":{task},"contextId":"c","status":{{"state":"TASK_STATE_COMPLETED"}},"artifacts":[{{"artifactId":"a","parts":["#
    );
    let all = std::iter::once(text(begin))
        .chain(files)
        .chain([text(r#"{"text":"That is all of it."}]}]}}"#.to_owned())]);
    Body::from_stream(futures_util::stream::iter(
        all.map(Ok::<_, std::convert::Infallible>),
    ))
}

async fn answer(
    State(agent): State<Scripted>,
    headers: HeaderMap,
    Json(call): Json<Value>,
) -> Result<Response, StatusCode> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if agent.0.away.load(Ordering::SeqCst) {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    if call["method"] != "SendMessage" {
        let files = agent.0.files.lock().expect("no panic under the lock").clone();
        if !files.is_empty() {
            return Ok(with_files(&call, files).into_response());
        }
        let known = agent.found(&call).ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
        return Ok(Json(json!({ "jsonrpc": "2.0", "id": call["id"], "result": known })).into_response());
    }
    let message = &call["params"]["message"];
    let push = &call["params"]["configuration"]["taskPushNotificationConfig"];
    let remote = match message["taskId"].as_str() {
        Some(task) => task.to_owned(),
        None => format!("remote-{}", text(&message["messageId"])),
    };
    let traceparent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    let sent = Sent {
        id: text(&message["messageId"]),
        text: text(&message["parts"][0]["text"]),
        parts: message["parts"].clone(),
        remote: remote.clone(),
        hook: text(&push["url"]),
        token: text(&push["token"]),
        at: Instant::now(),
        traceparent: traceparent.unwrap_or_default().to_owned(),
    };
    agent
        .0
        .sent
        .lock()
        .expect("no panic under the lock")
        .push(sent.clone());
    let status = json!({ "state": "TASK_STATE_SUBMITTED" });
    let task = json!({ "id": remote, "contextId": message["contextId"], "status": status });
    if agent.0.remembers.load(Ordering::SeqCst) {
        let mut kept = task.clone();
        kept["history"] = json!([message]);
        agent.0.kept.lock().expect("no panic under the lock").push(kept);
        let tells = agent.0.tells.lock().expect("no panic under the lock").clone();
        tokio::spawn(agent.clone().tell_all(sent, tells));
    }
    Ok(Json(json!({ "jsonrpc": "2.0", "id": call["id"], "result": { "task": task } })).into_response())
}
