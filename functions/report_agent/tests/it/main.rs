//! The report agent over a real store: its steps, restarts between them, cancels, the webhook, its sample events.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Agent, Settings, Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use auth::{Sealer, SigningKey, TrustedIssuer, Verifier};
use axum::body::Body;
use domain::{AgentName, Clock as _, ManualClock, SystemEntropy, Tenant, Timestamp};
use edge::agent_parts::AgentParts;
use http_body_util::BodyExt as _;
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use store::TaskKey;
use tower::ServiceExt as _;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

mod samples;
mod tokens;

const URL: &str = "http://127.0.0.1:9/a/report";
const ISSUER: &str = "https://switchyard.example/t/acme";
const STEP: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Door(Mutex<VecDeque<(Wake, Duration)>>);

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, delay: Duration) -> Result<(), WakeError> {
        self.0.lock().unwrap().push_back((wake.clone(), delay));
        Ok(())
    }
}

struct World {
    store: store::Store,
    door: Arc<Door>,
    clock: Arc<ManualClock>,
    sealer: Arc<Sealer>,
    /// Signs acme's tokens.
    key: SigningKey,
    _database: store_testing::Database,
}

impl World {
    async fn new() -> Self {
        let (store, database) = store_testing::start().await;
        let sealer = Sealer::new(vec![("k".into(), Sealer::generate_key(&SystemEntropy))]).unwrap();
        Self {
            store,
            door: Arc::default(),
            clock: Arc::new(ManualClock::new(Timestamp::from_millis(1_767_225_600_000))),
            sealer: Arc::new(sealer),
            key: SigningKey::generate().unwrap().0,
            _database: database,
        }
    }

    /// The agent as a process that has just started.
    fn agent(&self) -> Arc<Agent> {
        let policy = Policy {
            allow_loopback: true,
            ..Policy::default()
        };
        let entropy = Arc::new(SystemEntropy);
        let acme = TrustedIssuer {
            issuer: ISSUER.into(),
            tenant: Some(Tenant::parse("acme").unwrap()),
            keys: vec![self.key.public_jwk()],
        };
        let parts = AgentParts {
            mqtt: None,
            url: URL.parse().unwrap(),
            store: self.store.clone(),
            wake: self.door.clone(),
            validator: Arc::new(Verifier::new(URL.into(), vec![acme]).unwrap()),
            sealer: self.sealer.clone(),
            outbound: Outbound::new(policy, entropy.clone()),
            clock: self.clock.clone(),
            entropy,
            settings: Settings::default(),
        };
        report_agent::agent(parts, STEP).unwrap()
    }

    fn router(&self) -> axum::Router {
        edge::agent_parts::function(self.agent(), report_agent::NAME).router
    }

    async fn call(&self, operation: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": operation, "params": params});
        let request = http::Request::post("/")
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(Body::from(body.to_string()))
            .unwrap();
        let answer = self.router().oneshot(request).await.unwrap();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice(&bytes).unwrap()
    }

    async fn send(&self, message: Value, push: Option<String>) -> Value {
        let mut configuration = json!({"returnImmediately": true});
        if let Some(url) = push {
            configuration["taskPushNotificationConfig"] = json!({"url": url, "token": "t"});
        }
        let told = self
            .call(
                "SendMessage",
                json!({"message": message, "configuration": configuration}),
            )
            .await;
        told["result"]["task"].clone()
    }

    async fn get(&self, id: &str) -> Value {
        self.call("GetTask", json!({"id": id})).await["result"].clone()
    }

    /// Works off every wake, each in a process of its own; gives the longest delay that was asked for.
    async fn work(&self) -> Duration {
        let mut longest = Duration::ZERO;
        loop {
            let next = self.door.0.lock().unwrap().pop_front();
            let Some((wake, delay)) = next else { return longest };
            longest = longest.max(delay);
            if delay.is_zero() {
                agent::handle(&self.agent(), &wake).await.unwrap();
            }
        }
    }

    async fn wake(&self, id: &str) {
        let key = TaskKey {
            tenant: Tenant::public(),
            agent: AgentName::parse(report_agent::AGENT).unwrap(),
            id: id.parse().unwrap(),
        };
        agent::handle(&self.agent(), &Wake::task(&key)).await.unwrap();
    }
}

fn says(id: &str, text: &str) -> Value {
    json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]})
}

fn said(task: &Value) -> &str {
    task["status"]["message"]["parts"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

#[tokio::test]
async fn a_report_is_acknowledged_at_once_and_goes_on_step_by_step_over_restarts() {
    let world = World::new().await;
    let receiver = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(204))
        .mount(&receiver)
        .await;
    let message = says("m", "Write a report about electric cars in three steps");
    let task = world
        .send(message, Some(format!("{}/hook", receiver.uri())))
        .await;
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED", "{task}");
    let id = task["id"].as_str().unwrap();
    for step in 1..=3 {
        let delay = if step == 1 {
            world.work().await
        } else {
            world.wake(id).await;
            world.work().await
        };
        assert_eq!(delay, STEP, "woken again when the step is done");
        let task = world.get(id).await;
        assert!(said(&task).starts_with(&format!("Step {step} of 3: ")), "{task}");
        let sections = task["artifacts"][0]["parts"].as_array().map_or(0, Vec::len);
        assert_eq!(sections, step - 1);
        // Woken early nothing happens.
        world.wake(id).await;
        world.work().await;
        assert_eq!(said(&world.get(id).await), said(&task));
        world.clock.advance(STEP);
    }
    world.wake(id).await;
    world.work().await;
    let task = world.get(id).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    assert_eq!(said(&task), "The report on electric cars is done.");
    let parts = task["artifacts"][0]["parts"].as_array().unwrap();
    assert_eq!(
        parts.len(),
        4,
        "each section once, and the whole as data: {parts:?}"
    );
    let sections = parts[..3].iter().map(|part| part["text"].as_str().unwrap());
    assert_eq!(
        parts[3]["data"]["result"],
        sections.collect::<Vec<_>>().join("\n")
    );
    assert!(
        parts[0]["text"]
            .as_str()
            .unwrap()
            .starts_with("# Report on electric cars")
    );
    let pushed = receiver.received_requests().await.unwrap();
    let last = String::from_utf8(pushed.last().unwrap().body.clone()).unwrap();
    assert!(last.contains("TASK_STATE_COMPLETED"), "{last}");
    assert!(pushed.len() >= 4, "every step was told");
}

#[tokio::test]
async fn a_report_without_a_topic_is_asked_about() {
    let world = World::new().await;
    let task = world.send(says("m", "Write a report"), None).await;
    let id = task["id"].as_str().unwrap();
    world.work().await;
    let asked = world.get(id).await;
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(said(&asked), "What should the report be about?");
    // What a form is made of, for whoever shows one.
    let form = &asked["status"]["message"]["parts"][1];
    assert_eq!(form["mediaType"], agent::SCHEMA_MEDIA_TYPE);
    assert_eq!(form["data"]["properties"]["topic"]["type"], "string");
    let mut answer = says("m2", "It should be about tea in one step");
    answer["taskId"] = json!(id);
    world.send(answer, None).await;
    world.work().await;
    assert!(
        said(&world.get(id).await).contains("on tea"),
        "{}",
        world.get(id).await
    );
}

#[tokio::test]
async fn data_is_enough_and_counts_before_words() {
    let world = World::new().await;
    let asks = |id: &str, parts: Value| json!({"messageId": id, "role": "ROLE_USER", "parts": parts});
    let tea = json!({"data": {"topic": "tea", "steps": 2, "more": [7]}});
    for (id, parts, expected) in [
        ("a", json!([tea]), "Step 1 of 2: Gathering sources on tea …"),
        (
            "b",
            json!([{"text": "a report on owls in 3 steps"}, tea]),
            "Step 1 of 2: Gathering sources on tea …",
        ),
        (
            "c",
            json!([{"data": {"topic": 7}}]),
            "I cannot read your data: topic must be text.",
        ),
        (
            "d",
            json!([{"data": {"topic": null}}]),
            "What should the report be about?",
        ),
    ] {
        let task = world.send(asks(id, parts), None).await;
        world.work().await;
        assert_eq!(said(&world.get(task["id"].as_str().unwrap()).await), expected);
    }
}

/// The sentences are the text's own, and nobody waits for them.
#[tokio::test]
async fn a_text_is_summed_up_at_once_without_a_topic() {
    let world = World::new().await;
    let text = "Whales live in the sea. Lunch is at one. The blue whale is the largest of all whales that live in the sea, and \
                it breathes air. Many whales live in groups in the sea and speak to each other over many miles of water.";
    let task = world
        .send(says("m", &format!("Summarise this: {text}")), None)
        .await;
    let id = task["id"].as_str().unwrap();
    while world.get(id).await["status"]["state"] != "TASK_STATE_COMPLETED" {
        assert_eq!(world.work().await, Duration::ZERO, "{}", world.get(id).await);
        world.wake(id).await;
    }
    let task = world.get(id).await;
    let told = task["artifacts"][0]["parts"][0]["text"].as_str().unwrap();
    assert!(
        told.starts_with("# Report on your text\n\nSentences taken from what was given; no model was used.")
    );
    assert!(told.contains("Whales live in the sea."), "{told}");
    assert!(!told.contains("Lunch"), "a sum says less: {told}");
}

#[tokio::test]
async fn a_report_that_was_called_off_stops_between_two_steps() {
    let world = World::new().await;
    let task = world.send(says("m", "report on tea"), None).await;
    let id = task["id"].as_str().unwrap();
    world.work().await;
    let canceled = world.call("CancelTask", json!({"id": id})).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
    world.clock.advance(STEP);
    world.wake(id).await;
    let task = world.get(id).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_CANCELED");
    assert!(task.get("artifacts").is_none(), "{task}");
    assert!(world.clock.now() > Timestamp::from_millis(0));
}
