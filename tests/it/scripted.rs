//! A specialist that does nothing by itself: it acknowledges, and the test speaks for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tests::Local;

/// A specialist that the test speaks for.
#[derive(Clone)]
pub(crate) struct Scripted(Arc<Inner>);

struct Inner {
    http: reqwest::Client,
    sent: Mutex<Vec<Sent>>,
    /// What a look at a task is answered with; an error where there is nothing.
    known: Mutex<Option<Value>>,
    /// It answers nothing but errors.
    away: AtomicBool,
}

/// A message that the host sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    /// The text.
    pub(crate) text: String,
    /// All of its parts.
    pub(crate) parts: Value,
    /// The id that the specialist gave the task.
    pub(crate) remote: String,
    /// Where its news go, and the token for them.
    pub(crate) hook: String,
    token: String,
    /// The header `traceparent` of the call.
    pub(crate) traceparent: String,
}

impl Scripted {
    /// Starts it and registers it for every tenant, under this type, which is also what it is called.
    pub(crate) async fn start(local: &Local, kind: &str, example: &str) -> Self {
        Self::called(local, (kind, kind), example).await
    }

    /// Starts it and registers it for every tenant, under this type and name.
    pub(crate) async fn called(local: &Local, names: (&str, &str), example: &str) -> Self {
        let place = |name: &str| local.endpoint(name).to_owned();
        Self::registered(&(place("/registry"), place("/registry_token")), names, example).await
    }

    /// Starts it and registers it at this registry, with this token of its operator.
    pub(crate) async fn registered(
        (registry, token): &(String, String),
        (kind, name): (&str, &str),
        example: &str,
    ) -> Self {
        let agent = Self(Arc::new(Inner {
            http: tests::user::http(),
            sent: Mutex::default(),
            known: Mutex::default(),
            away: AtomicBool::new(false),
        }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let card = json!({
            "name": name, "description": format!("Everything about the {name}"), "version": "1",
            "supportedInterfaces": [{ "url": format!("{url}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
            "capabilities": { "pushNotifications": true },
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
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
                .json(&json!({ "cardUrl": url })),
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

    /// Whether it answers nothing but errors from now on.
    pub(crate) fn is_away(&self, away: bool) {
        self.0.away.store(away, Ordering::SeqCst);
    }

    /// Tells the host's webhook of a task's state with this result, where there is somebody; gives the status it answered with.
    pub(crate) async fn tries_to_report(&self, of: &Sent, state: &str, artifact: &str) -> Option<u16> {
        let artifacts = json!([{ "artifactId": "a", "parts": [{ "text": artifact }] }]);
        let task = json!({ "id": of.remote, "contextId": "c", "status": { "state": state }, "artifacts": artifacts });
        let call = self.0.http.post(&of.hook).bearer_auth(&of.token);
        let answer = call.json(&json!({ "task": task })).send().await;
        answer.ok().map(|answer| answer.status().as_u16())
    }

    /// Tells the host's webhook of a task's state.
    pub(crate) async fn reports(&self, of: &Sent, state: &str, text: Option<&str>, artifact: Option<&str>) {
        let mut task = json!({ "id": of.remote, "contextId": "c", "status": { "state": state } });
        if let Some(text) = text {
            task["status"]["message"] = json!({ "messageId": format!("{}-{state}", of.remote), "role": "ROLE_AGENT",
                "parts": [{ "text": text }] });
        }
        if let Some(text) = artifact {
            task["artifacts"] = json!([{ "artifactId": "a", "parts": [{ "text": text }] }]);
        }
        let call = self.0.http.post(&of.hook).bearer_auth(&of.token);
        let answer = call
            .json(&json!({ "task": task }))
            .send()
            .await
            .expect("an answer");
        assert_eq!(answer.status(), 204, "{state}");
    }
}

async fn answer(
    State(agent): State<Scripted>,
    headers: HeaderMap,
    Json(call): Json<Value>,
) -> Result<Json<Value>, StatusCode> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if agent.0.away.load(Ordering::SeqCst) {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    if call["method"] != "SendMessage" {
        let known = agent.0.known.lock().expect("no panic under the lock").clone();
        let known = known.ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
        return Ok(Json(
            json!({ "jsonrpc": "2.0", "id": call["id"], "result": known }),
        ));
    }
    let message = &call["params"]["message"];
    let push = &call["params"]["configuration"]["taskPushNotificationConfig"];
    let remote = match message["taskId"].as_str() {
        Some(task) => task.to_owned(),
        None => format!("remote-{}", text(&message["messageId"])),
    };
    let traceparent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    let sent = Sent {
        text: text(&message["parts"][0]["text"]),
        parts: message["parts"].clone(),
        remote: remote.clone(),
        hook: text(&push["url"]),
        token: text(&push["token"]),
        traceparent: traceparent.unwrap_or_default().to_owned(),
    };
    agent.0.sent.lock().expect("no panic under the lock").push(sent);
    let status = json!({ "state": "TASK_STATE_SUBMITTED" });
    let task = json!({ "id": remote, "contextId": message["contextId"], "status": status });
    Ok(Json(
        json!({ "jsonrpc": "2.0", "id": call["id"], "result": { "task": task } }),
    ))
}
