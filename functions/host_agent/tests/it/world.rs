//! A host with a store, a registry and agents that answer as scripted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use auth::{Grant, Sealer, SigningKey, TrustedIssuer, Verifier};
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{
    AgentName, Clock as _, EventKind, ExposeSecret, ManualClock, Revision, SystemEntropy, Task, TaskId,
    TaskState, Tenant, Timestamp,
};
use host_agent::{Directory, Parts, Patience, State};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use outbound::oauth::Providers;
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use store::{Due, LeaseAfter, Store, TaskKey};
use tower::ServiceExt as _;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, Respond, ResponseTemplate};

pub(crate) const URL: &str = "http://127.0.0.1:9/a/host";
pub(crate) const ISSUER: &str = "http://127.0.0.1:9/t/acme";
pub(crate) const WEBHOOK: &str = "http://127.0.0.1:9/t/acme/api/webhook/tasks";

/// What an agent answers.
#[derive(Clone)]
pub(crate) enum Reply {
    Result(Value),
    /// The result, after this many milliseconds.
    Slow(u64, Value),
    Error(i64, &'static str),
    /// The same, after this many milliseconds.
    SlowError(u64, i64, &'static str),
    Status(u16),
    /// A status with a challenge in `WWW-Authenticate`.
    Challenge(u16, &'static str),
}

/// A scripted agent: what it was asked, and what it answers next.
#[derive(Clone, Default)]
pub(crate) struct Peer {
    pub(crate) asked: Arc<Mutex<Vec<Value>>>,
    tokens: Arc<Mutex<Vec<String>>>,
    script: Arc<Mutex<BTreeMap<String, VecDeque<Reply>>>>,
}

impl Peer {
    pub(crate) fn then(&self, method: &str, reply: Reply) -> &Self {
        self.script
            .lock()
            .unwrap()
            .entry(method.to_owned())
            .or_default()
            .push_back(reply);
        self
    }

    /// What it was to answer to this is answered as usual from now on.
    pub(crate) fn forget(&self, method: &str) {
        self.script.lock().unwrap().remove(method);
    }

    pub(crate) fn calls(&self, method: &str) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .filter(|call| call["method"] == method)
            .cloned()
            .collect()
    }

    pub(crate) fn tokens(&self) -> Vec<String> {
        self.tokens.lock().unwrap().clone()
    }

    /// Whom the tokens of its calls speak for.
    pub(crate) fn subjects(&self) -> Vec<String> {
        let subject = |token: String| {
            let claims = token.split('.').nth(1).unwrap();
            let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
            claims["sub"].as_str().unwrap().to_owned()
        };
        self.tokens().into_iter().map(subject).collect()
    }
}

impl Respond for Peer {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        if request.method == http::Method::GET {
            // It publishes no keys.
            return ResponseTemplate::new(404);
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let method = body["method"].as_str().unwrap().to_owned();
        self.asked.lock().unwrap().push(body.clone());
        let token = request
            .headers
            .get("authorization")
            .map(|value| value.to_str().unwrap().to_owned());
        self.tokens.lock().unwrap().extend(token);
        let next = self
            .script
            .lock()
            .unwrap()
            .get_mut(&method)
            .and_then(VecDeque::pop_front);
        let reply = next.unwrap_or_else(|| match method.as_str() {
            "SendMessage" => Reply::Result(json!({ "task": remote("r-1", "SUBMITTED", None, &[]) })),
            "CancelTask" => Reply::Result(remote("r-1", "CANCELED", None, &[])),
            _ => Reply::Result(remote("r-1", "WORKING", None, &[])),
        });
        let answer = match reply {
            Reply::Status(status) => return ResponseTemplate::new(status),
            Reply::Challenge(status, challenge) => {
                return ResponseTemplate::new(status).insert_header("www-authenticate", challenge);
            }
            Reply::Result(result) => json!({"jsonrpc": "2.0", "id": body["id"], "result": result}),
            Reply::Slow(millis, result) => {
                let answer = json!({"jsonrpc": "2.0", "id": body["id"], "result": result});
                return ResponseTemplate::new(200)
                    .set_body_json(answer)
                    .set_delay(Duration::from_millis(millis));
            }
            Reply::Error(code, message) => failure(&body, code, message),
            Reply::SlowError(millis, code, message) => {
                return ResponseTemplate::new(200)
                    .set_body_json(failure(&body, code, message))
                    .set_delay(Duration::from_millis(millis));
            }
        };
        ResponseTemplate::new(200).set_body_json(answer)
    }
}

fn failure(body: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": body["id"], "error": {"code": code, "message": message}})
}

/// A task as an agent answers it in A2A 1.0.
pub(crate) fn remote(id: &str, state: &str, says: Option<&str>, artifacts: &[&str]) -> Value {
    let mut status = json!({"state": format!("TASK_STATE_{state}")});
    if let Some(says) = says {
        status["message"] = json!({"messageId": domain::MessageId::derived(says).as_str(), "role": "ROLE_AGENT", "parts": [{"text": says}]});
    }
    let artifact =
        |text: &&str| json!({"artifactId": "forecast", "name": "Forecast", "parts": [{"text": text}]});
    let artifacts: Vec<Value> = artifacts.iter().map(artifact).collect();
    json!({"id": id, "contextId": "c-1", "status": status, "artifacts": artifacts})
}

#[derive(Default)]
pub(crate) struct Door(pub(crate) Mutex<VecDeque<(Wake, Duration)>>);

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, delay: Duration) -> Result<(), WakeError> {
        self.0.lock().unwrap().push_back((wake.clone(), delay));
        Ok(())
    }
}

pub(crate) struct World {
    pub(crate) host: State,
    /// The host once more, with nothing in common but what is stored.
    pub(crate) restarted: State,
    pub(crate) store: Store,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) door: Arc<Door>,
    pub(crate) server: MockServer,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) agents: Arc<Mutex<Value>>,
    key: Arc<SigningKey>,
    _database: store_testing::Database,
}

struct Listing(Arc<Mutex<Value>>);

impl Respond for Listing {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        if !request.headers.contains_key("authorization") {
            return ResponseTemplate::new(401);
        }
        match self.0.lock().unwrap().clone() {
            Value::Null => ResponseTemplate::new(503),
            listing => ResponseTemplate::new(200).set_body_json(listing),
        }
    }
}

/// A world with a change to what its host is built of.
pub(crate) async fn world_with(change: impl Fn(&mut Parts, &MockServer)) -> World {
    let (store, database) = store_testing::start().await;
    let server = MockServer::start().await;
    let agents = Arc::new(Mutex::new(json!({"agents": [], "types": {}})));
    Mock::given(path("/registry/agents"))
        .respond_with(Listing(Arc::clone(&agents)))
        .mount(&server)
        .await;
    let key = Arc::new(SigningKey::generate().unwrap().0);
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_225_600_000)));
    let door = Arc::new(Door::default());
    let entropy = Arc::new(SystemEntropy);
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let outbound = Outbound::new(policy, entropy.clone());
    let sealer = Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap();
    let sealer = Arc::new(sealer);
    let build = || {
        let registry = format!("{}/registry", server.uri()).parse().unwrap();
        let acme = TrustedIssuer {
            issuer: ISSUER.to_owned(),
            tenant: Some(Tenant::parse("acme").unwrap()),
            keys: vec![key.public_jwk()],
        };
        let mut parts = Parts {
            tenant: Tenant::parse("acme").unwrap(),
            url: URL.parse().unwrap(),
            issuer: ISSUER.to_owned(),
            key: Arc::clone(&key),
            validator: Arc::new(Verifier::new(URL.to_owned(), vec![acme]).unwrap()),
            sign_in: None,
            mqtt: None,
            bridge: None,
            directory: Directory::registry(outbound.clone(), registry, None),
            webhook: WEBHOOK.parse().unwrap(),
            sealer: Arc::clone(&sealer),
            store: store.clone(),
            wake: door.clone(),
            outbound: outbound.clone(),
            understanding: nlu::Slot::default(),
            model: llm::offline(nlu::Slot::default()),
            clock: clock.clone(),
            entropy: entropy.clone(),
            patience: Patience::default(),
            approval: host_agent::PlanApproval::Never,
            enabled: true,
            providers: Providers::new(),
            settings: agent::Settings::default(),
        };
        change(&mut parts, &server);
        host_agent::host(parts).unwrap()
    };
    let (host, restarted) = (build(), build());
    World {
        host,
        restarted,
        store,
        clock,
        door,
        server,
        sealer,
        agents,
        key,
        _database: database,
    }
}

/// A host that knows one global weather agent.
pub(crate) async fn world() -> (World, Peer) {
    let world = world_with(|_, _| {}).await;
    let weather = world.peer("weather").await;
    world.registered(json!([world.weather()]), json!({"weather": "global"}));
    (world, weather)
}

impl World {
    /// An agent that answers at `/{name}`.
    pub(crate) async fn peer(&self, name: &str) -> Peer {
        let peer = Peer::default();
        Mock::given(path(format!("/{name}")))
            .respond_with(peer.clone())
            .mount(&self.server)
            .await;
        peer
    }

    pub(crate) fn registered(&self, agents: Value, types: Value) {
        *self.agents.lock().unwrap() = json!({"agents": agents, "types": types});
    }

    pub(crate) fn registry_is_down(&self) {
        *self.agents.lock().unwrap() = Value::Null;
    }

    pub(crate) fn weather(&self) -> Value {
        let example = "Will it rain in Oslo tomorrow?";
        self.card(1, "weather", "Weather Agent", &["type:weather"], example)
    }

    pub(crate) fn flats(&self) -> Value {
        self.card(
            2,
            "flats",
            "Flat Finder",
            &["type:flats"],
            "Find a flat in Oslo for two",
        )
    }

    /// A registered agent as the registry shows it.
    pub(crate) fn card(&self, id: u8, at: &str, name: &str, tags: &[&str], example: &str) -> Value {
        let url = format!("{}/{at}", self.server.uri());
        json!({
            "id": domain::AgentId::from_bytes([id; 16]).to_string(),
            "tenant": null,
            "cardUrl": format!("{url}/card"),
            "health": {"ok": true, "checkedAt": "2026-01-01T00:00:00.000Z"},
            "card": {
                "name": name, "description": name, "version": "1",
                "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
                "capabilities": {"pushNotifications": true},
                "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
                "skills": [{"id": "s", "name": name, "description": example, "tags": tags, "examples": [example]}]
            }
        })
    }

    fn token(&self, owner: &str) -> String {
        let acme = Tenant::parse("acme").unwrap();
        let grant = Grant {
            issuer: ISSUER,
            subject: owner,
            tenant: Some(&acme),
            audience: URL,
            scopes: &["tasks"],
            lifetime: Duration::from_secs(300),
        };
        let token = self.key.sign(&grant, self.clock.now(), &SystemEntropy).unwrap();
        token.expose_secret().to_owned()
    }

    /// A call of the host, in somebody's name.
    pub(crate) async fn post(&self, owner: &str, at: &str, body: &Value) -> (StatusCode, Value) {
        self.call(owner, Request::post(at), body).await
    }

    async fn call(&self, owner: &str, request: http::request::Builder, body: &Value) -> (StatusCode, Value) {
        let request = request
            .header("authorization", format!("Bearer {}", self.token(owner)))
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(Body::from(body.to_string()))
            .unwrap();
        let response = edge::agent_parts::function(self.host.agent.clone(), host_agent::NAME)
            .router
            .oneshot(request)
            .await
            .unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    /// A call of the host that is none of A2A's, in somebody's name.
    pub(crate) async fn plain(&self, owner: &str, method: http::Method, at: &str) -> (StatusCode, Value) {
        let request = Request::builder().method(method).uri(at);
        self.call(owner, request, &Value::Null).await
    }

    /// Sends a message, without working on it.
    pub(crate) async fn say(&self, owner: &str, id: &str, text: &str, task: Option<TaskId>) -> TaskId {
        let mut message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
        match task {
            Some(task) => message["taskId"] = json!(task.to_string()),
            None => message["contextId"] = json!(format!("trip-of-{owner}")),
        }
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let (status, answer) = self.post(owner, "/jsonrpc", &body).await;
        assert_eq!(status, StatusCode::OK);
        let id = answer["result"]["task"]["id"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        TaskId::parse(id).unwrap()
    }

    /// Sends a message of user-1 for the agent of this type, without working on it.
    pub(crate) async fn say_to(&self, agent: &Value, id: &str, text: &str) -> TaskId {
        let message = json!({
            "messageId": id, "role": "ROLE_USER", "contextId": "trip", "parts": [{"text": text}],
            "metadata": {"switchyard/agent": agent},
        });
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let (_, answer) = self.post("user-1", "/jsonrpc", &body).await;
        TaskId::parse(answer["result"]["task"]["id"].as_str().unwrap()).unwrap()
    }

    /// Sends a message of user-1 with this extension in use, without working on it.
    pub(crate) async fn say_naming(&self, extension: &str, id: &str, text: &str) -> TaskId {
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let request = Request::post("/jsonrpc").header("a2a-extensions", extension);
        let (_, answer) = self.call("user-1", request, &body).await;
        let id = answer["result"]["task"]["id"].as_str();
        TaskId::parse(id.unwrap_or_else(|| panic!("{answer}"))).unwrap()
    }

    /// Asks something new and works on it until it waits.
    pub(crate) async fn ask(&self, text: &str) -> Task {
        let id = self
            .say("user-1", domain::MessageId::derived(text).as_str(), text, None)
            .await;
        self.wake(id).await
    }

    pub(crate) async fn wake(&self, id: TaskId) -> Task {
        host_agent::handle(&self.host, &Wake::task(&self.key(id)))
            .await
            .unwrap();
        self.task(id).await
    }

    pub(crate) async fn task(&self, id: TaskId) -> Task {
        self.store
            .tasks()
            .find(&self.key(id), self.clock.now())
            .await
            .unwrap()
            .unwrap()
            .task
    }

    pub(crate) async fn due_at(&self, id: TaskId) -> Option<Timestamp> {
        self.store
            .tasks()
            .find(&self.key(id), self.clock.now())
            .await
            .unwrap()
            .unwrap()
            .due_at
    }

    pub(crate) fn key(&self, id: TaskId) -> TaskKey {
        TaskKey {
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse("host").unwrap(),
            id,
        }
    }

    /// What the webhook receiver does with a notification for a job.
    pub(crate) async fn notified(&self, id: TaskId, number: u32, remote: Value) {
        let body = json!({"task": remote}).to_string();
        let news = a2a::decode::notification(body.as_bytes()).unwrap();
        let task = self.task(id).await;
        let now = self.clock.now();
        let mut job = task.jobs.iter().find(|job| job.number == number).unwrap().clone();
        job.note(news, now);
        let mut revision = Revision::of(task);
        revision
            .record(EventKind::Job { job: Box::new(job) }, now)
            .unwrap();
        self.store
            .tasks()
            .commit(&revision, Due::At(now), LeaseAfter::Keep)
            .await
            .unwrap();
    }
}

/// State and status text.
pub(crate) fn status(task: &Task) -> (TaskState, String) {
    (
        task.status.state,
        task.status
            .message
            .as_ref()
            .map(domain::Message::text)
            .unwrap_or_default(),
    )
}
