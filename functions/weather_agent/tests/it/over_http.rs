//! The whole function: calls in, work on its wakes, the sandbox behind it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Agent, Settings, Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use auth::{Sealer, Verifier};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use domain::{ManualClock, SystemEntropy};
use edge::agent_parts::AgentParts;
use outbound::open_meteo::Bases;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::bench::{Bench, outbound};

pub(crate) const URL: &str = "http://127.0.0.1:9/a/weather";

#[derive(Default)]
struct Door(Mutex<VecDeque<Wake>>);

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, _delay: Duration) -> Result<(), WakeError> {
        self.0.lock().unwrap().push_back(wake.clone());
        Ok(())
    }
}

pub(crate) struct World {
    agent: Arc<Agent>,
    pub(crate) clock: Arc<ManualClock>,
    door: Arc<Door>,
    _database: store_testing::Database,
}

async fn world() -> World {
    world_with(Verifier::new(URL.into(), Vec::new()).unwrap()).await
}

pub(crate) async fn world_with(verifier: Verifier) -> World {
    let bench = Bench::new().await;
    let (store, database) = store_testing::start().await;
    let door = Arc::new(Door::default());
    let entropy = Arc::new(SystemEntropy);
    let parts = AgentParts {
        mqtt: None,
        url: URL.parse().unwrap(),
        store,
        wake: door.clone(),
        validator: Arc::new(verifier),
        sealer: Arc::new(Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap()),
        outbound: outbound(),
        clock: bench.clock.clone(),
        entropy,
        settings: Settings::default(),
    };
    let agent = weather_agent::agent(parts, Bases::both(bench.base)).unwrap();
    World {
        agent,
        clock: bench.clock,
        door,
        _database: database,
    }
}

impl World {
    async fn call(&self, request: Request<Body>) -> (StatusCode, Value) {
        let (status, _, body) = self.answer(request).await;
        (status, body)
    }

    pub(crate) async fn answer(&self, request: Request<Body>) -> (StatusCode, HeaderMap, Value) {
        let response = edge::agent_parts::function(self.agent.clone(), weather_agent::NAME)
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
        let (status, answer) = self.call(request).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Sends without waiting; the task.
    async fn send(&self, id: &str, text: &str, task: Option<&str>) -> Value {
        let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] });
        if let Some(task) = task {
            message["taskId"] = task.into();
        }
        let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
        self.rpc("SendMessage", params).await["task"].clone()
    }

    async fn work(&self) {
        loop {
            let Some(wake) = self.door.0.lock().unwrap().pop_front() else {
                return;
            };
            agent::handle(&self.agent, &wake).await.unwrap();
        }
    }

    async fn task(&self, id: &str) -> Value {
        self.rpc("GetTask", json!({ "id": id })).await
    }
}

#[tokio::test]
async fn the_card_can_be_registered() {
    let (status, card) = world()
        .await
        .call(
            Request::get("/.well-known/agent-card.json")
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!(status, StatusCode::OK);
    let parsed = a2a::card::parse(&card).unwrap();
    assert!(!parsed.secured && parsed.push_notifications);
    assert_eq!(parsed.skills.len(), 3);
    for skill in &parsed.skills {
        assert!(skill.tags.iter().any(|tag| tag.to_string() == "type:weather"));
        assert!(skill.plain_tags.is_empty());
    }
    assert!(
        parsed
            .endpoints
            .iter()
            .all(|endpoint| endpoint.url.as_str().starts_with(URL))
    );
}

#[tokio::test]
async fn anybody_may_ask_and_read_the_answer_later() {
    let world = world().await;
    let task = world.send("m-1", "Will it rain in Oslo tomorrow?", None).await;
    assert!(task["artifacts"].as_array().is_none_or(Vec::is_empty), "{task}");
    let id = task["id"].as_str().unwrap();
    world.work().await;
    let task = world.task(id).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    let parts = task["artifacts"][0]["parts"].as_array().unwrap();
    assert!(
        parts[0]["text"]
            .as_str()
            .unwrap()
            .contains("in Oslo tomorrow (Sunday 22 November)"),
        "{task}"
    );
    assert_eq!(parts[1]["data"]["places"][0]["days"][0]["date"], "2026-11-22");
    let said: Vec<String> = task["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["parts"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        said,
        [
            "Will it rain in Oslo tomorrow?",
            "Looking up the weather in Oslo …"
        ]
    );
}

#[tokio::test]
async fn a_question_back_is_answered_on_the_same_task() {
    let world = world().await;
    let task = world
        .send("m-1", "Will it rain in Springfield tomorrow?", None)
        .await;
    let id = task["id"].as_str().unwrap();
    world.work().await;
    let task = world.task(id).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{task}");
    let question = task["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(
        question.contains("3. Springfield, Illinois, United States"),
        "{question}"
    );
    world.send("m-2", "the one in Illinois", Some(id)).await;
    world.work().await;
    let task = world.task(id).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    assert_eq!(
        task["artifacts"][0]["parts"][1]["data"]["places"][0]["admin1"],
        "Illinois"
    );
}
