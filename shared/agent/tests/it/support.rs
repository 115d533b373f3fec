//! An agent with a scripted executor, and callers with tokens of its tenant.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use a2a::card::Card;
use agent::{Access, Agent, ExecuteError, Executor, Outcome, Run, Settings, Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use auth::{Grant, Sealer, SigningKey, TrustedIssuer, Verifier};
use axum::body::Body;
use domain::{
    AgentName, Artifact, Caller, Entropy as _, ExposeSecret, ManualClock, Part, SystemEntropy, Task, Tenant,
    Timestamp,
};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use store::Folder;
use tower::ServiceExt;

pub(crate) const URL: &str = "http://127.0.0.1:9/agent";
pub(crate) const ISSUER: &str = "http://127.0.0.1:9/t/acme";

#[derive(Default)]
pub(crate) struct Door(pub(crate) Mutex<VecDeque<Wake>>);

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, _delay: Duration) -> Result<(), WakeError> {
        self.0.lock().unwrap().push_back(wake.clone());
        Ok(())
    }
}

pub(crate) type Script = Box<dyn Fn(usize, &mut Run) -> Result<Outcome, ExecuteError> + Send + Sync>;

/// Runs `script` with the number of the run, after saying that it works.
pub(crate) struct Scripted {
    script: Script,
    pub(crate) runs: AtomicUsize,
    /// It answers with mere messages.
    pub(crate) direct: AtomicBool,
    /// It has an extended card.
    pub(crate) extended: AtomicBool,
}

#[async_trait]
impl Executor for Scripted {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let number = self.runs.fetch_add(1, Ordering::SeqCst);
        if !self.direct.load(Ordering::SeqCst) {
            run.working("at it").await?;
        }
        (self.script)(number, run)
    }

    fn answers_directly(&self, _task: &Task) -> bool {
        self.direct.load(Ordering::SeqCst)
    }

    async fn extended_card(&self, caller: &Caller, card: &Card) -> Result<Option<Card>, ExecuteError> {
        let card = Card {
            description: format!("More for {}", caller.owner),
            ..card.clone()
        };
        Ok(self.extended.load(Ordering::SeqCst).then_some(card))
    }
}

pub(crate) struct Bench {
    pub(crate) agent: Arc<Agent>,
    pub(crate) door: Arc<Door>,
    pub(crate) executor: Arc<Scripted>,
    pub(crate) clock: Arc<ManualClock>,
    /// Where large things lie.
    pub(crate) blobs: PathBuf,
    key: SigningKey,
    _database: store_testing::Database,
}

pub(crate) fn done() -> Outcome {
    Outcome::Completed {
        artifacts: vec![Artifact::new("a", vec![Part::text("42")])],
        say: None,
    }
}

pub(crate) async fn bench(access: Access, script: Script) -> Bench {
    let (store, database) = store_testing::start().await;
    let blobs = std::env::temp_dir().join(SystemEntropy.uuid().to_string());
    let store = store.with_blobs(Arc::new(Folder::new(&blobs)));
    let (key, _) = SigningKey::generate().unwrap();
    let issuer = TrustedIssuer {
        issuer: ISSUER.into(),
        tenant: Some(Tenant::parse("acme").unwrap()),
        keys: vec![key.public_jwk()],
    };
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_225_600_000)));
    let door = Arc::new(Door::default());
    let executor = Arc::new(Scripted {
        script,
        runs: AtomicUsize::new(0),
        direct: AtomicBool::new(false),
        extended: AtomicBool::new(false),
    });
    let entropy = Arc::new(SystemEntropy);
    let card = Card {
        name: "Test".into(),
        description: "A test".into(),
        version: "1".into(),
        url: URL.parse().unwrap(),
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: Vec::new(),
        default_input_modes: vec!["text/plain".into()],
        default_output_modes: vec!["text/plain".into()],
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: Vec::new(),
        secured: None,
    };
    let agent = Arc::new(Agent {
        name: AgentName::parse("test").unwrap(),
        card,
        own_tenant: None,
        access,
        store,
        wake: door.clone(),
        executor: executor.clone(),
        validator: Arc::new(Verifier::new(URL.into(), vec![issuer]).unwrap()),
        sealer: Arc::new(Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap()),
        outbound: Outbound::new(
            Policy {
                allow_loopback: true,
                ..Policy::default()
            },
            entropy.clone(),
        ),
        clock: clock.clone(),
        entropy,
        settings: Settings {
            cancel_check: Duration::from_millis(20),
            blocking_limit: Duration::from_secs(2),
            ..Settings::default()
        },
    });
    // How a tenant stands is read once in ten seconds, not for each call.
    let acme = Tenant::parse("acme").unwrap();
    let standing = agent.store.tenants().standing(&acme, agent.clock.now()).await;
    standing.unwrap();
    Bench {
        blobs,
        agent,
        door,
        executor,
        clock,
        key,
        _database: database,
    }
}

impl Bench {
    pub(crate) fn token(&self, owner: &str) -> String {
        let tenant = Tenant::parse("acme").unwrap();
        let grant = Grant {
            issuer: ISSUER,
            subject: owner,
            tenant: Some(&tenant),
            audience: URL,
            scopes: &["tasks"],
            lifetime: Duration::from_secs(300),
        };
        let signed = self
            .key
            .sign(&grant, domain::Clock::now(self.clock.as_ref()), &SystemEntropy)
            .unwrap();
        signed.expose_secret().to_owned()
    }

    pub(crate) async fn call(&self, token: Option<&str>, body: &Value) -> (StatusCode, Value) {
        let mut request = Request::post("/")
            .header("content-type", "application/json")
            .header("a2a-version", "1.0");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Body::from(body.to_string())).unwrap();
        let response = agent::router(Arc::clone(&self.agent))
            .into_router()
            .oneshot(request)
            .await
            .unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap())
    }

    pub(crate) async fn send(&self, owner: &str, message: Value, configuration: Value) -> Value {
        let params = json!({ "message": message, "configuration": configuration });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params });
        self.call(Some(&self.token(owner)), &body).await.1
    }

    pub(crate) async fn act(&self, owner: &str, method: &str, id: &str) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "id": id } });
        self.call(Some(&self.token(owner)), &body).await.1
    }

    /// Any request, with a token of that owner; the answer with its body as it comes.
    pub(crate) async fn ask(
        &self,
        owner: Option<&str>,
        request: http::request::Builder,
        body: &str,
    ) -> http::Response<Body> {
        let request = match owner {
            Some(owner) => request.header("authorization", format!("Bearer {}", self.token(owner))),
            None => request,
        };
        let request = request.body(Body::from(body.to_owned())).unwrap();
        agent::router(Arc::clone(&self.agent))
            .into_router()
            .oneshot(request)
            .await
            .unwrap()
    }

    /// The same, read to the end, as JSON.
    pub(crate) async fn json(
        &self,
        owner: Option<&str>,
        request: http::request::Builder,
        body: &str,
    ) -> (StatusCode, Value) {
        let response = self.ask(owner, request, body).await;
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// A JSON-RPC call of A2A 1.0: its result or its error.
    pub(crate) async fn rpc(&self, owner: &str, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.call(Some(&self.token(owner)), &body).await.1
    }

    pub(crate) fn key(&self, id: &str) -> store::TaskKey {
        store::TaskKey {
            tenant: Tenant::parse("acme").unwrap(),
            agent: self.agent.name.clone(),
            id: id.parse().unwrap(),
        }
    }

    /// Works off the queue until it is empty.
    pub(crate) async fn drain(&self) {
        loop {
            let wake = self.door.0.lock().unwrap().pop_front();
            let Some(wake) = wake else { return };
            agent::handle(&self.agent, &wake).await.unwrap();
        }
    }
}

pub(crate) fn message(id: &str, text: &str) -> Value {
    json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] })
}

pub(crate) fn now() -> Value {
    json!({ "returnImmediately": true })
}

pub(crate) fn id_of(answer: &Value) -> String {
    answer["result"]["task"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

pub(crate) fn state(answer: &Value) -> &str {
    let task = answer["result"].get("task").unwrap_or(&answer["result"]);
    task["status"]["state"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}
