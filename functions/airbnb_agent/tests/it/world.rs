//! The whole function: calls in, work on its wakes, an MCP server behind it.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use airbnb_agent::{Server, Tools};
use auth::Verifier;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request as Called, State};
use axum::response::{IntoResponse as _, Response};
use domain::{ManualClock, Timestamp};
use outbound::mcp::{McpTool, Pins};
use sandbox::mcp::{LINK_HOST, Revisions, mcp, tools};
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) const URL: &str = "http://127.0.0.1:9/a/airbnb";
/// A Monday morning.
const NOW: &str = "2026-11-30T09:00:00Z";

/// What the server answers a call with, instead of what the sandbox's would say.
pub(crate) type Instead = fn(&Value) -> Option<Value>;

#[derive(Clone)]
struct Behind {
    instead: Instead,
    asked: Arc<Mutex<Vec<Value>>>,
}

pub(crate) struct World {
    at: agent_testing::World,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Deref for World {
    type Target = agent_testing::World;

    fn deref(&self) -> &Self::Target {
        &self.at
    }
}

pub(crate) async fn world() -> World {
    world_where(|_| None).await
}

pub(crate) async fn world_where(instead: Instead) -> World {
    world_with(Verifier::new(URL.into(), Vec::new()).unwrap(), instead).await
}

pub(crate) async fn world_with(verifier: Verifier, instead: Instead) -> World {
    let clock = Arc::new(ManualClock::new(Timestamp::parse(NOW).unwrap()));
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
    let build = |parts| airbnb_agent::agent(parts, server).unwrap();
    World {
        at: agent_testing::World::new(airbnb_agent::NAME, URL, clock, verifier, build).await,
        asked,
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
}
