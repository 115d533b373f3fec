//! An agent of the platform in a test's own process: it is called over HTTP as anybody would, and works on its wakes when the test
//! wants it to.

pub mod tokens;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Agent, Settings, Taken, Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use auth::{Sealer, Verifier};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use domain::{ManualClock, SystemEntropy, Timestamp, UserContext};
use edge::agent_parts::AgentParts;
use nlu::{Asked, Takes, extract};
use outbound::{Outbound, Policy};
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;

/// Longest body that is read.
const MAX_BODY: usize = 1 << 20;

/// A queue of wakes that nobody works on by himself.
#[derive(Default)]
pub struct Door(Mutex<VecDeque<Wake>>);

impl Door {
    /// The next wake, whatever delay was asked for.
    #[must_use]
    pub fn next(&self) -> Option<Wake> {
        self.0.lock().expect("no test panics here").pop_front()
    }
}

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, _delay: Duration) -> Result<(), WakeError> {
        self.0
            .lock()
            .expect("no test panics here")
            .push_back(wake.clone());
        Ok(())
    }
}

/// A client that reaches servers of the test itself.
#[must_use]
pub fn loopback() -> Outbound {
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    Outbound::new(policy, Arc::new(SystemEntropy))
}

/// An agent, and what it stands on.
pub struct World {
    agent: Arc<Agent>,
    name: &'static str,
    /// Its clock, which stands still unless moved.
    pub clock: Arc<ManualClock>,
    door: Arc<Door>,
    _database: store_testing::Database,
}

impl World {
    /// The agent that is built of these parts, under this function's name, at this address, with a database of its own.
    pub async fn new(
        name: &'static str,
        url: &str,
        clock: Arc<ManualClock>,
        verifier: Verifier,
        build: impl FnOnce(AgentParts) -> Arc<Agent>,
    ) -> Self {
        let (store, database) = store_testing::start().await;
        let door = Arc::new(Door::default());
        let sealer = Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]);
        let parts = AgentParts {
            mqtt: None,
            url: url.parse().expect("an address"),
            store,
            wake: door.clone(),
            validator: Arc::new(verifier),
            sealer: Arc::new(sealer.expect("a key")),
            outbound: loopback(),
            clock: clock.clone(),
            entropy: Arc::new(SystemEntropy),
            settings: Settings::default(),
        };
        Self {
            agent: build(parts),
            name,
            clock,
            door,
            _database: database,
        }
    }

    /// What the function answers: status, headers and JSON.
    pub async fn answer(&self, request: Request<Body>) -> (StatusCode, HeaderMap, Value) {
        let router = edge::agent_parts::function(self.agent.clone(), self.name).router;
        let response = router.oneshot(request).await.expect("routers answer");
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body(), MAX_BODY).await.expect("a body");
        (status, headers, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// What is answered to a GET.
    pub async fn get(&self, path: &str) -> (StatusCode, Value) {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let (status, _, body) = self.answer(request).await;
        (status, body)
    }

    /// One call of JSON-RPC, in the words of 1.0.
    pub async fn call(
        &self,
        authorization: Option<&str>,
        method: &str,
        params: Value,
    ) -> (StatusCode, HeaderMap, Value) {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = Request::post("/")
            .header("content-type", "application/json")
            .header("a2a-version", "1.0");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let request = request.body(Body::from(body.to_string()));
        self.answer(request.expect("a request")).await
    }

    /// The result of a call that succeeds, without a token.
    pub async fn rpc(&self, method: &str, params: Value) -> Value {
        let (status, _, answer) = self.call(None, method, params).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Sends a message without waiting; the task.
    pub async fn sent(&self, message: Value) -> Value {
        let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
        self.rpc("SendMessage", params).await["task"].clone()
    }

    /// Sends a message without waiting, works, and gives the task.
    pub async fn say(&self, message: Value) -> Value {
        let sent = self.sent(message).await;
        self.work().await;
        self.task(sent["id"].as_str().expect("an id")).await
    }

    /// Tells the agent something, in a task that goes on or a new one.
    pub async fn told(&self, id: &str, parts: Value, task: Option<&str>) -> Value {
        self.say(message(id, parts, task)).await
    }

    /// Asks in words.
    pub async fn ask(&self, text: &str) -> Value {
        self.told("m-1", json!([{ "text": text }]), None).await
    }

    /// A task as it is.
    pub async fn task(&self, id: &str) -> Value {
        self.rpc("GetTask", json!({ "id": id })).await
    }

    /// Works until nothing is to be done.
    pub async fn work(&self) {
        while let Some(wake) = self.door.next() {
            agent::handle(&self.agent, &wake).await.expect("work");
        }
    }
}

/// What somebody says in one message, as the data that an agent takes: data before words.
///
/// # Errors
/// The question, where it cannot be read.
pub fn taken(
    (known, said): (&Value, &str),
    takes: &Takes,
    (user, now): (&UserContext, Timestamp),
) -> Result<Taken, String> {
    let nothing = Map::new();
    let asked = Asked {
        known: known.as_object().unwrap_or(&nothing),
        before: &nothing,
        answers: None,
        now,
        user,
    };
    let read = extract(said, takes, asked);
    let misfit = takes.schema().misfit_of_fields(&read.data);
    match misfit.or(read.unclear.map(|(_, question)| question)) {
        Some(question) => Err(question),
        None => Ok(Taken {
            data: read.data,
            ..Taken::default()
        }),
    }
}

/// A message of a user.
#[must_use]
pub fn message(id: &str, parts: Value, task: Option<&str>) -> Value {
    let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": parts });
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    message
}
