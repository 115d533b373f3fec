//! The whole function: calls in, work on its wakes, an MCP server behind it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Agent, Settings, Wake, WakeDoor, WakeError};
use airbnb_agent::{Server, Tools};
use async_trait::async_trait;
use auth::{Sealer, Verifier};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request as Called, State};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use domain::{ManualClock, SystemEntropy, Timestamp};
use edge::agent_parts::AgentParts;
use outbound::mcp::{McpTool, Pins};
use outbound::{Outbound, Policy};
use sandbox::mcp::{LINK_HOST, Revisions, mcp, tools};
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) const URL: &str = "http://127.0.0.1:9/a/airbnb";
/// A Monday morning.
const NOW: &str = "2026-11-30T09:00:00Z";

/// What the server answers a call with, instead of what the sandbox's would say.
pub(crate) type Instead = fn(&Value) -> Option<Value>;

#[derive(Default)]
struct Door(Mutex<VecDeque<Wake>>);

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, _delay: Duration) -> Result<(), WakeError> {
        self.0.lock().unwrap().push_back(wake.clone());
        Ok(())
    }
}

#[derive(Clone)]
struct Behind {
    instead: Instead,
    asked: Arc<Mutex<Vec<Value>>>,
}

pub(crate) struct World {
    agent: Arc<Agent>,
    pub(crate) clock: Arc<ManualClock>,
    door: Arc<Door>,
    asked: Arc<Mutex<Vec<Value>>>,
    _database: store_testing::Database,
}

pub(crate) async fn world() -> World {
    world_where(|_| None).await
}

pub(crate) async fn world_where(instead: Instead) -> World {
    world_with(Verifier::new(URL.into(), Vec::new()).unwrap(), instead).await
}

pub(crate) async fn world_with(verifier: Verifier, instead: Instead) -> World {
    let (store, database) = store_testing::start().await;
    let clock = Arc::new(ManualClock::new(Timestamp::parse(NOW).unwrap()));
    let door = Arc::new(Door::default());
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let entropy = Arc::new(SystemEntropy);
    let parts = AgentParts {
        mqtt: None,
        url: URL.parse().unwrap(),
        store,
        wake: door.clone(),
        validator: Arc::new(verifier),
        sealer: Arc::new(Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap()),
        outbound: Outbound::new(policy, entropy.clone()),
        clock: clock.clone(),
        entropy,
        settings: Settings::default(),
    };
    let asked = Arc::<Mutex<Vec<Value>>>::default();
    let behind = Behind {
        instead,
        asked: asked.clone(),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(behind);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let pinned: Vec<McpTool> = tools().iter().cloned().map(McpTool::of).collect();
    let server = Server {
        url: url.parse().unwrap(),
        pins: Pins::of(&pinned),
        tools: Tools::default(),
        currency: Some("EUR".parse().unwrap()),
        link_hosts: vec![LINK_HOST.to_owned()],
    };
    World {
        agent: airbnb_agent::agent(parts, server).unwrap(),
        clock,
        door,
        asked,
        _database: database,
    }
}

async fn answer(State(behind): State<Behind>, request: Called) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    behind.asked.lock().unwrap().push(message.clone());
    if let Some(result) = (behind.instead)(&message) {
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        return axum::Json(answer).into_response();
    }
    let mut request = Called::from_parts(parts, Body::from(body));
    *request.uri_mut() = "/".parse().unwrap();
    mcp(Revisions::Both).oneshot(request).await.unwrap()
}

impl World {
    /// The calls that the server got since the last look: the tool and what it was given.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let posted = self.posted().into_iter();
        posted
            .filter(|message| message["method"] == "tools/call")
            .map(|message| message["params"].clone())
            .collect()
    }

    /// All that was posted to the server since the last look.
    pub(crate) fn posted(&self) -> Vec<Value> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    pub(crate) async fn answer(&self, request: Request<Body>) -> (StatusCode, HeaderMap, Value) {
        let response = edge::agent_parts::function(self.agent.clone(), airbnb_agent::NAME)
            .router
            .oneshot(request)
            .await
            .unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, headers, serde_json::from_slice(&body).unwrap())
    }

    async fn rpc(&self, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = Request::post("/")
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(Body::from(body.to_string()))
            .unwrap();
        let (status, _, answer) = self.answer(request).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Tells the agent something, in a task that goes on or a new one.
    pub(crate) async fn told(&self, id: &str, parts: Value, task: Option<&str>) -> Value {
        let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": parts });
        if let Some(task) = task {
            message["taskId"] = task.into();
        }
        self.say(message).await
    }

    /// Sends a message without waiting, works, and gives the task.
    pub(crate) async fn say(&self, message: Value) -> Value {
        let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
        let sent = self.rpc("SendMessage", params).await["task"].clone();
        self.work().await;
        self.rpc("GetTask", json!({ "id": sent["id"] })).await
    }

    pub(crate) async fn ask(&self, text: &str) -> Value {
        self.told("m-1", json!([{ "text": text }]), None).await
    }

    pub(crate) async fn work(&self) {
        loop {
            let Some(wake) = self.door.0.lock().unwrap().pop_front() else {
                return;
            };
            agent::handle(&self.agent, &wake).await.unwrap();
        }
    }
}
