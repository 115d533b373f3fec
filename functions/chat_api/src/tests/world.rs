//! A tenant with its tables, a host agent that does what the prompt says, and a browser.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use a2a::card::{Card, Extension, Skill};
use a2a::{Connection, Connections, Disconnected, OpenAgents};
use agent::{Access, Agent, ExecuteError, Executor, Outcome, Run, Wake, WakeDoor, WakeError};
use async_trait::async_trait;
use auth::web_push::WebPushKeys;
use auth::{Sealer, SigningKey, TrustedIssuer, Verifier};
use axum::Router;
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{
    AgentId, AgentName, AgentType, Artifact, Caller, EventKind, Job, ManualClock, NewJob, Owner, Part,
    PartContent, SystemEntropy, TaskId, TaskState, Tenant, Timestamp,
};
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, SET_COOKIE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use store::{BlobKey, BlobScope, Blobs, Incoming, ListedBlob, Store, StoreError};
use store_testing::Database;
use tower::ServiceExt;
use url::Url;

use crate::ChatSettings;
use crate::State;
use crate::router;

/// Everything that one test needs.
pub(super) struct World {
    /// Where the registry is; nowhere, unless a test says so.
    pub(super) registry: Mutex<Url>,
    /// Where the authorization server is; nowhere, unless a test says so.
    pub(super) idp: Mutex<Url>,
    pub(super) store: Store,
    pub(super) blobs: Arc<Watched>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) tenant: Tenant,
    pub(super) host: Arc<Agent>,
    pub(super) queue: Arc<Queue>,
    /// What the host says where its users are connected.
    pub(super) connections: Arc<Connected>,
    pub(super) key: Arc<SigningKey>,
    pub(super) base: Url,
    pub(super) database: Database,
}

/// How another function checks the tenant's own tokens.
#[derive(Clone)]
pub(super) struct Gate {
    verifier: Arc<Verifier>,
    tenant: Tenant,
    now: Timestamp,
    scope: &'static str,
}

impl Gate {
    /// The caller; panics where somebody else calls.
    pub(super) async fn admit(&self, headers: &HeaderMap) -> Caller {
        let token = auth::bearer(Some(headers[AUTHORIZATION].to_str().unwrap())).unwrap();
        let admitted = self
            .verifier
            .admit(token, self.now, Some(&self.tenant), self.scope);
        admitted.await.unwrap()
    }
}

/// A queue whose wakes wait until the test works on them.
#[derive(Default)]
pub(super) struct Queue(Mutex<VecDeque<Wake>>);

#[async_trait]
impl WakeDoor for Queue {
    async fn wake(&self, wake: &Wake, _: Duration) -> Result<(), WakeError> {
        self.0.lock().unwrap().push_back(wake.clone());
        Ok(())
    }
}

/// Where users of the host are connected, and what was asked to be ended.
#[derive(Default)]
pub(super) struct Connected {
    pub(super) of: Mutex<BTreeMap<Owner, Vec<Connection>>>,
    pub(super) ended: Mutex<Vec<String>>,
    /// The host cannot say now.
    pub(super) away: AtomicBool,
    /// Which of its agents the host says are open.
    pub(super) open: Mutex<OpenAgents>,
}

/// Large things in memory, and how often one was fetched.
#[derive(Default)]
pub(super) struct Watched {
    kept: Mutex<BTreeMap<BlobKey, Vec<u8>>>,
    pub(super) fetched: AtomicUsize,
}

#[async_trait]
impl Blobs for Watched {
    async fn put(&self, key: &BlobKey, bytes: &[u8]) -> Result<(), StoreError> {
        self.kept.lock().unwrap().insert(key.clone(), bytes.to_vec());
        Ok(())
    }

    async fn get(&self, key: &BlobKey, _: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.fetched.fetch_add(1, Ordering::Relaxed);
        Ok(self.kept.lock().unwrap().get(key).cloned())
    }

    async fn begin(&self, _: &BlobKey) -> Result<Box<dyn Incoming>, StoreError> {
        unimplemented!("nothing comes in parts here")
    }

    async fn piece(&self, key: &BlobKey, from: u64, most: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.fetched.fetch_add(1, Ordering::Relaxed);
        let kept = self.kept.lock().unwrap();
        let rest = kept
            .get(key)
            .map(|bytes| bytes.iter().skip(from.try_into().unwrap()));
        Ok(rest.map(|rest| rest.take(most).copied().collect()))
    }

    async fn delete(&self, key: &BlobKey) -> Result<(), StoreError> {
        self.kept.lock().unwrap().remove(key);
        Ok(())
    }

    async fn list(&self, scope: &BlobScope, _: Option<&BlobKey>) -> Result<Vec<ListedBlob>, StoreError> {
        let kept = self.kept.lock().unwrap();
        let keys = kept.keys().filter(|key| key.path().starts_with(&scope.prefix()));
        let put_at = Timestamp::from_millis(0);
        Ok(keys.cloned().map(|key| ListedBlob { key, put_at }).collect())
    }
}

/// Does what the newest message says: `files` brings five, `ask` asks back, `fail` fails, `park` waits, `lost` hears nothing, all else completes; what
/// begins with `by TYPE[,TYPE]` has jobs of these agents.
struct Script(Arc<Connected>);

#[async_trait]
impl Executor for Script {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let said = run
            .task()
            .last_user_message()
            .map(domain::Message::text)
            .unwrap_or_default();
        run.working(&format!("working on: {said}")).await?;
        let by = said.strip_prefix("by ").and_then(|rest| rest.split(' ').next());
        for (number, agent) in (0..).zip(by.into_iter().flat_map(|by| by.split(','))) {
            let job = Job::prepare(job_of(number, agent), run.now());
            run.record(vec![EventKind::Job { job: Box::new(job) }]).await?;
        }
        Ok(match said.as_str() {
            "ask" => Outcome::InputRequired("Which one?".into()),
            "consent" => {
                let mut asks = run.message("I need your consent.");
                asks.metadata
                    .insert("authUrl".into(), json!("http://127.0.0.1:3000/t/acme/connect/1"));
                asks.metadata.insert("authUrlBy".into(), json!("platform"));
                run.record(vec![EventKind::status(TaskState::AuthRequired, Some(asks))])
                    .await?;
                Outcome::Parked {
                    until: run.now().after(Duration::from_secs(60)),
                }
            }
            "lost" => Outcome::Unknown("Nothing was heard.".into()),
            "files" => Outcome::Completed {
                artifacts: vec![Artifact::new("files", (0..5).map(file).collect())],
                say: Some("Here they are.".into()),
            },
            // It lies where a test puts it.
            "large" => Outcome::Completed {
                artifacts: vec![Artifact::new("large", vec![detached(run.task().id)])],
                say: None,
            },
            "fail" => Outcome::Failed("It broke.".into()),
            "park" => Outcome::Parked {
                until: run.now().after(Duration::from_secs(60)),
            },
            said => Outcome::Completed {
                artifacts: vec![Artifact::new("echo", vec![Part::data(json!({"said": said}))])],
                say: Some(format!("You said: {said}")),
            },
        })
    }

    async fn extended_card(&self, _: &Caller, card: &Card) -> Result<Option<Card>, ExecuteError> {
        let skill = |tags: &[&str], takes: &[&str]| Skill {
            id: tags.join(" "),
            name: "Echo".into(),
            description: "Says it again".into(),
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            examples: vec!["hello".into()],
            input_modes: takes.iter().map(|&listed| listed.to_owned()).collect(),
            output_modes: Vec::new(),
        };
        let skills = vec![
            skill(&["type:host"], &[]),
            skill(&["type:echo", "agent:Echo"], &["text/plain", "image/png"]),
        ];
        Ok(Some(Card {
            skills,
            extensions: vec![self.0.open.lock().unwrap().extension()],
            ..card.clone()
        }))
    }

    fn connects(&self) -> bool {
        true
    }

    async fn connections(&self, caller: &Caller) -> Result<Connections, ExecuteError> {
        if self.0.away.load(Ordering::Relaxed) {
            return Err(ExecuteError::Retry("away".into()));
        }
        let found = self.0.of.lock().unwrap().get(&caller.owner).cloned();
        Ok(Connections {
            connections: found.unwrap_or_default(),
            unasked: vec!["Diary".into()],
        })
    }

    async fn disconnect(&self, caller: &Caller, id: &str) -> Result<Option<Disconnected>, ExecuteError> {
        self.0
            .ended
            .lock()
            .unwrap()
            .push(format!("{} {id}", caller.owner));
        let mut of = self.0.of.lock().unwrap();
        if id == a2a::EVERY_CONNECTION {
            if self.0.away.load(Ordering::Relaxed) {
                return Err(ExecuteError::Retry("away".into()));
            }
            of.remove(&caller.owner);
            return Ok(Some(Disconnected {
                provider: id.to_owned(),
                revoked: true,
            }));
        }
        let own = of.entry(caller.owner.clone()).or_default();
        let gone = own.iter().position(|one| one.id == id).map(|at| own.remove(at));
        Ok(gone.map(|gone| Disconnected {
            provider: gone.provider,
            revoked: true,
        }))
    }
}

/// A file of 9 MB that lies beside a task.
fn detached(task: TaskId) -> Part {
    let url = format!("http://127.0.0.1:3000/t/acme/api/tasks/{task}/files/{}", DETACHED);
    let mut part = file(0);
    part.media_type = Some("image/png".to_owned());
    part.detach_to(url, (LARGE_SIZE, ""));
    part
}

/// What that is called, and how large it is.
pub(super) const DETACHED: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
pub(super) const LARGE_SIZE: u64 = 9_000_000;

/// A file of 18 KB.
pub(super) fn file(number: u8) -> Part {
    Part {
        filename: Some(format!("{number}.bin")),
        ..Part::new(PartContent::Raw(STANDARD.encode([number; 18_000])))
    }
}

/// A job of the agent of a type.
fn job_of(number: u32, agent: &str) -> NewJob {
    NewJob {
        number,
        agent_type: AgentType::parse(agent).unwrap(),
        agent_id: AgentId::derived(agent),
        agent_name: format!("The {agent} agent"),
        ..domain::testing::new_job()
    }
}

impl World {
    pub(super) async fn new() -> Self {
        Self::of_host(card).await
    }

    /// One whose host shows words of its answers as they come.
    pub(super) async fn drafting() -> Self {
        let drafting = |url: &Url| Card {
            extensions: vec![Extension {
                uri: a2a::DRAFTS.to_owned(),
                ..Extension::default()
            }],
            ..card(url)
        };
        Self::of_host(drafting).await
    }

    /// One whose host tells of its tasks whoever asks for it.
    pub(super) async fn pushing() -> Self {
        let pushing = |url: &Url| Card {
            push_notifications: true,
            ..card(url)
        };
        Self::of_host(pushing).await
    }

    /// What stands before another function, which takes tokens for this address with this scope.
    pub(super) fn gate(&self, audience: &str, scope: &'static str) -> Gate {
        let issuer = TrustedIssuer {
            issuer: self.base.to_string(),
            tenant: Some(self.tenant.clone()),
            keys: vec![self.key.public_jwk()],
        };
        Gate {
            verifier: Arc::new(Verifier::new(audience.to_owned(), vec![issuer]).unwrap()),
            tenant: self.tenant.clone(),
            now: domain::Clock::now(self.clock.as_ref()),
            scope,
        }
    }

    async fn of_host(card: impl Fn(&Url) -> Card) -> Self {
        let (store, database) = store_testing::start().await;
        let blobs = Arc::new(Watched::default());
        let store = store.with_blobs(blobs.clone());
        let tenant = Tenant::parse("acme").unwrap();
        let base: Url = "http://127.0.0.1:3000/t/acme".parse().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_225_600_000)));
        let entropy = Arc::new(SystemEntropy);
        let (key, _) = SigningKey::generate().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Url = format!("http://{}/a/host", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let issuer = TrustedIssuer {
            issuer: base.to_string(),
            tenant: Some(tenant.clone()),
            keys: vec![key.public_jwk()],
        };
        let queue = Arc::new(Queue::default());
        let connections = Arc::new(Connected::default());
        let sealer = Sealer::new(vec![("k1".into(), Sealer::generate_key(entropy.as_ref()))]).unwrap();
        let sealer = Arc::new(sealer);
        let host = Arc::new(Agent {
            name: AgentName::parse("host").unwrap(),
            card: card(&url),
            own_tenant: Some(tenant.clone()),
            access: Access::Secured,
            store: store.clone(),
            wake: queue.clone(),
            executor: Arc::new(Script(connections.clone())),
            validator: Arc::new(Verifier::new(url.to_string(), vec![issuer]).unwrap()),
            sealer,
            outbound: way_out(),
            clock: clock.clone(),
            entropy,
            settings: agent::Settings::default(),
        });
        let front = edge::Front {
            clock: clock.clone(),
            entropy: Arc::new(SystemEntropy),
            function: "host_agent",
            body_limit: edge::FILES_BODY_LIMIT,
            tenant: None,
        };
        let served = Router::new().nest("/a/host", edge::front(agent::router(host.clone()), front));
        tokio::spawn(async move { axum::serve(listener, served).await });
        Self {
            registry: Mutex::new("http://127.0.0.1:9/registry".parse().unwrap()),
            idp: Mutex::new("http://127.0.0.1:9/idp".parse().unwrap()),
            store,
            blobs,
            clock,
            tenant,
            host,
            queue,
            connections,
            key: Arc::new(key),
            base,
            database,
        }
    }

    /// The function, with this much patience for an answer.
    pub(super) fn app(&self, grace: Duration) -> Router {
        self.app_at(grace, self.host.card.url.clone())
    }

    /// The function with another address for the host.
    pub(super) fn app_at(&self, grace: Duration, host_url: Url) -> Router {
        let settings = ChatSettings {
            grace,
            ..ChatSettings::default()
        };
        self.app_with(settings, host_url)
    }

    /// The function whose streams of events end after this long.
    pub(super) fn brief_app(&self, events_limit: Duration) -> Router {
        let settings = ChatSettings {
            grace: Duration::ZERO,
            events_limit,
            ..ChatSettings::default()
        };
        self.app_with(settings, self.host.card.url.clone())
    }

    /// The function whose streams look for their session all the time.
    pub(super) fn watchful_app(&self) -> Router {
        let settings = ChatSettings {
            grace: Duration::from_secs(30),
            session_look: Duration::from_millis(50),
            ..ChatSettings::default()
        };
        self.app_with(settings, self.host.card.url.clone())
    }

    /// The function whose sessions last longer than tasks are kept.
    pub(super) fn lasting_app(&self, grace: Duration) -> Router {
        let settings = ChatSettings {
            grace,
            session_lifetime: Duration::from_secs(100 * 24 * 3600),
            ..ChatSettings::default()
        };
        self.app_with(settings, self.host.card.url.clone())
    }

    /// The function that lets nobody in who has not signed in.
    pub(super) fn strict_app(&self) -> Router {
        let settings = ChatSettings {
            grace: Duration::ZERO,
            ..ChatSettings::default()
        };
        self.built(settings, self.host.card.url.clone(), true, None)
    }

    fn app_with(&self, settings: ChatSettings, host_url: Url) -> Router {
        self.built(settings, host_url, false, None)
    }

    /// The app with a page that was built elsewhere.
    pub(super) fn app_in(&self, page: &Path) -> Router {
        let host_url = self.host.card.url.clone();
        self.built(ChatSettings::default(), host_url, false, Some(page.to_owned()))
    }

    fn built(
        &self,
        settings: ChatSettings,
        host_url: Url,
        require_sign_in: bool,
        page: Option<PathBuf>,
    ) -> Router {
        router(State {
            tenant: self.tenant.clone(),
            base: self.base.clone(),
            host: self.host.name.clone(),
            host_url,
            registry: self.registry.lock().unwrap().clone(),
            idp: Some(self.idp.lock().unwrap().clone()),
            store: self.store.clone(),
            key: self.key.clone(),
            push: Arc::new(WebPushKeys::of(&self.key, &self.tenant).unwrap()),
            outbound: way_out(),
            clock: self.clock.clone(),
            entropy: Arc::new(SystemEntropy),
            require_sign_in,
            tokens_per_day: Some(200_000),
            push_services: "push.example,127.0.0.1".parse().unwrap(),
            page,
            settings,
        })
    }

    /// What the host was asked, by the card of the answer.
    pub(super) async fn first_message(&self, answered: &Answered) -> domain::Message {
        let card = last_card(&answered.chunks());
        let key = store::TaskKey {
            tenant: self.tenant.clone(),
            agent: self.host.name.clone(),
            id: domain::TaskId::parse(card["taskId"].as_str().unwrap()).unwrap(),
        };
        let found = self
            .store
            .tasks()
            .find(&key, domain::Clock::now(self.clock.as_ref()))
            .await
            .unwrap();
        found.unwrap().task.history.remove(0)
    }

    /// The task that waits first in the host's queue.
    pub(super) fn waiting(&self) -> store::TaskKey {
        self.queue.0.lock().unwrap().front().unwrap().key()
    }

    pub(super) fn queue_is_empty(&self) -> bool {
        self.queue.0.lock().unwrap().is_empty()
    }

    /// The host works on everything in its queue.
    pub(super) async fn work(&self) {
        loop {
            let next = self.queue.0.lock().unwrap().pop_front();
            let Some(wake) = next else { return };
            agent::handle(&self.host, &wake).await.unwrap();
        }
    }
}

fn way_out() -> Outbound {
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    Outbound::new(policy, Arc::new(SystemEntropy))
}

fn card(url: &Url) -> Card {
    Card {
        name: "Host".into(),
        description: "Does what it is told".into(),
        version: "1".into(),
        url: url.clone(),
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: Vec::new(),
        default_input_modes: vec!["text/plain".into(), "*/*".into()],
        default_output_modes: vec!["text/plain".into()],
        streaming: false,
        push_notifications: false,
        extended: true,
        extensions: Vec::new(),
        secured: None,
    }
}

/// A browser: keeps its cookie.
#[derive(Default, Clone)]
pub(super) struct Browser(pub(super) Arc<Mutex<Option<String>>>);

/// An answer that has been read to its end.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: StatusCode,
    pub(super) headers: http::HeaderMap,
    pub(super) text: String,
}

impl Answered {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// The chunks of a UI message stream, which must be whole.
    pub(super) fn chunks(&self) -> Vec<Value> {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        assert_eq!(self.headers["x-vercel-ai-ui-message-stream"], "v1");
        assert_eq!(self.headers[CONTENT_TYPE], "text/event-stream");
        let frames: Vec<_> = self
            .text
            .split("\n\n")
            .filter(|frame| frame.starts_with("data: "))
            .collect();
        let (last, chunks) = frames.split_last().unwrap();
        assert_eq!(*last, "data: [DONE]");
        chunks
            .iter()
            .map(|frame| serde_json::from_str(&frame["data: ".len()..]).unwrap())
            .collect()
    }
}

/// The types of chunks, in order.
pub(super) fn types(chunks: &[Value]) -> Vec<&str> {
    chunks
        .iter()
        .map(|chunk| chunk["type"].as_str().unwrap())
        .collect()
}

/// The last task card of a stream.
pub(super) fn last_card(chunks: &[Value]) -> Value {
    chunks
        .iter()
        .rev()
        .find(|chunk| chunk["type"] == "data-task")
        .unwrap()["data"]
        .clone()
}

/// The text of a stream.
pub(super) fn text(chunks: &[Value]) -> String {
    chunks
        .iter()
        .filter_map(|chunk| chunk["delta"].as_str())
        .collect()
}

/// What a page sends for a message.
pub(super) fn says(chat: &str, id: &str, text: &str) -> Value {
    let message = json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]});
    json!({"id": chat, "messages": [message], "trigger": "submit-message", "messageId": null})
}

impl Browser {
    pub(super) async fn get(&self, app: &Router, path: &str) -> Answered {
        self.send(app, self.request(Method::GET, path).body(Body::empty()).unwrap())
            .await
    }

    pub(super) async fn post(&self, app: &Router, path: &str, body: &Value) -> Answered {
        let request = self
            .request(Method::POST, path)
            .header(CONTENT_TYPE, "application/json");
        self.send(app, request.body(Body::from(body.to_string())).unwrap())
            .await
    }

    pub(super) fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let builder = Request::builder().method(method).uri(path);
        match self.0.lock().unwrap().as_ref() {
            Some(cookie) => builder.header(COOKIE, cookie),
            None => builder,
        }
    }

    pub(super) async fn send(&self, app: &Router, request: Request<Body>) -> Answered {
        read(self.open(app, request).await).await
    }

    /// Gets; once the answer has begun, `meanwhile` runs while the rest of it is read.
    pub(super) async fn get_while<T>(
        &self,
        app: &Router,
        path: &str,
        meanwhile: impl Future<Output = T>,
    ) -> (Answered, T) {
        let request = self.request(Method::GET, path).body(Body::empty()).unwrap();
        let begun = self.open(app, request).await;
        tokio::join!(read(begun), meanwhile)
    }

    /// As [`Browser::get_while`], for a post.
    pub(super) async fn post_while<T>(
        &self,
        app: &Router,
        path: &str,
        body: &Value,
        meanwhile: impl Future<Output = T>,
    ) -> (Answered, T) {
        let request = self
            .request(Method::POST, path)
            .header(CONTENT_TYPE, "application/json");
        let begun = self
            .open(app, request.body(Body::from(body.to_string())).unwrap())
            .await;
        tokio::join!(read(begun), meanwhile)
    }

    async fn open(&self, app: &Router, request: Request<Body>) -> Response<Body> {
        let response = app.clone().oneshot(request).await.unwrap();
        if let Some(set) = response.headers().get(SET_COOKIE) {
            let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
            *self.0.lock().unwrap() = Some(pair);
        }
        response
    }
}

async fn read(response: Response<Body>) -> Answered {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    Answered {
        status: parts.status,
        headers: parts.headers,
        text,
    }
}
