//! Deliveries of push notifications: those who do not answer, what is parked, and who may see and replay it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent::{
    Access, Agent, DELIVERIES_SCOPE, ExecuteError, Executor, Outcome, Run, Settings, Wake, WakeDoor,
    WakeError,
};
use async_trait::async_trait;
use auth::{Grant, Sealer, SigningKey, TrustedIssuer, Verifier};
use axum::body::Body;
use domain::{AgentName, Artifact, Clock, ExposeSecret, ManualClock, Part, SystemEntropy, Tenant, Timestamp};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tower::ServiceExt;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

const URL: &str = "http://127.0.0.1:9/agent";

/// A queue whose delayed wakes come at once or never.
struct Door {
    channel: mpsc::UnboundedSender<Wake>,
    delayed: Mutex<Vec<Duration>>,
}

#[async_trait]
impl WakeDoor for Door {
    async fn wake(&self, wake: &Wake, delay: Duration) -> Result<(), WakeError> {
        if delay.is_zero() {
            self.channel.send(wake.clone()).unwrap();
        } else {
            self.delayed.lock().unwrap().push(delay);
        }
        Ok(())
    }
}

struct Quick;

#[async_trait]
impl Executor for Quick {
    async fn execute(&self, _: &mut Run) -> Result<Outcome, ExecuteError> {
        Ok(Outcome::Completed {
            artifacts: vec![Artifact::new("a", vec![Part::text("42")])],
            say: None,
        })
    }
}

struct World {
    agent: Arc<Agent>,
    door: Arc<Door>,
    queue: mpsc::UnboundedReceiver<Wake>,
    clock: Arc<ManualClock>,
    key: SigningKey,
    _database: store_testing::Database,
}

async fn world(push_timeout: Duration) -> World {
    let (store, database) = store_testing::start().await;
    let (key, _) = SigningKey::generate().unwrap();
    let issuers = ["acme", "globex"].map(|tenant| TrustedIssuer {
        issuer: format!("http://127.0.0.1:9/t/{tenant}"),
        tenant: Some(Tenant::parse(tenant).unwrap()),
        keys: vec![key.public_jwk()],
    });
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_225_600_000)));
    let (channel, queue) = mpsc::unbounded_channel();
    let door = Arc::new(Door {
        channel,
        delayed: Mutex::default(),
    });
    let entropy = Arc::new(SystemEntropy);
    let policy = Policy {
        allow_loopback: true,
        push_timeout,
        ..Policy::default()
    };
    let agent = Arc::new(Agent {
        name: AgentName::parse("test").unwrap(),
        card: a2a::card::Card {
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
            streaming: false,
            push_notifications: true,
            extended: false,
            extensions: Vec::new(),
            secured: None,
        },
        own_tenant: None,
        access: Access::Open,
        store,
        wake: door.clone(),
        executor: Arc::new(Quick),
        validator: Arc::new(Verifier::new(URL.into(), issuers.to_vec()).unwrap()),
        sealer: Arc::new(Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap()),
        outbound: Outbound::new(policy, entropy.clone()),
        clock: clock.clone(),
        entropy,
        settings: Settings::default(),
    });
    World {
        agent,
        door,
        queue,
        clock,
        key,
        _database: database,
    }
}

impl World {
    fn token(&self, tenant: &str, scope: &str) -> String {
        let (issuer, tenant) = (
            format!("http://127.0.0.1:9/t/{tenant}"),
            Tenant::parse(tenant).unwrap(),
        );
        let grant = Grant {
            issuer: &issuer,
            subject: "ann",
            tenant: Some(&tenant),
            audience: URL,
            scopes: &[scope],
            lifetime: Duration::from_secs(300),
        };
        let signed = self.key.sign(&grant, self.clock.now(), &SystemEntropy).unwrap();
        signed.expose_secret().to_owned()
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: &Value,
    ) -> (StatusCode, Value) {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
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
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// A task of acme whose news go to this address.
    async fn send(&self, id: &str, hook: &str) -> String {
        let body = json!({
            "message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hi"}]},
            "configuration": {
                "returnImmediately": true,
                "taskPushNotificationConfig": {"url": hook, "token": "t"},
            },
        });
        let token = self.token("acme", "tasks");
        let (status, sent) = self
            .call(Method::POST, "/message:send", Some(&token), &body)
            .await;
        assert_eq!(status, StatusCode::OK, "{sent}");
        sent["task"]["id"].as_str().unwrap().to_owned()
    }

    /// Works off the queue until it is empty.
    async fn drain(&mut self) {
        while let Ok(wake) = self.queue.try_recv() {
            agent::handle(&self.agent, &wake).await.unwrap();
        }
    }

    /// Wakes what is due by now, as the sweeper does.
    async fn sweep(&mut self) {
        for shard in 0..store::DUE_SHARDS {
            let tasks = self.agent.store.tasks();
            let due = tasks.due(shard, self.clock.now(), 100, None).await.unwrap();
            for pointer in due.items {
                let wake = match pointer.what {
                    store::PointsAt::Push(config) => Wake::push(&pointer.key, config),
                    store::PointsAt::Task => Wake::task(&pointer.key),
                    // The host's.
                    store::PointsAt::Ledger => continue,
                };
                agent::handle(&self.agent, &wake).await.unwrap();
            }
        }
        self.drain().await;
    }

    async fn list(&self, query: &str) -> Vec<Value> {
        let token = self.token("acme", DELIVERIES_SCOPE);
        let (status, listed) = self
            .call(
                Method::GET,
                &format!("/deliveries{query}"),
                Some(&token),
                &Value::Null,
            )
            .await;
        assert_eq!(status, StatusCode::OK, "{listed}");
        listed["deliveries"].as_array().unwrap().clone()
    }
}

async fn answering(status: u16) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(status))
        .mount(&server)
        .await;
    server
}

async fn count(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

#[tokio::test]
async fn what_fails_to_the_end_is_parked_and_a_replay_brings_it() {
    let mut world = world(Duration::from_secs(5)).await;
    let server = answering(503).await;
    world.send("m1", &format!("{}/hook", server.uri())).await;
    world.drain().await;
    assert_eq!(world.list("").await[0]["state"], "owed");
    assert_eq!(world.list("?parked=true").await.len(), 0);
    for tried in 1..=7 {
        assert_eq!(count(&server).await, tried);
        world.clock.advance(Duration::from_secs(36_000));
        world.sweep().await;
    }
    assert_eq!(count(&server).await, 8, "once, and after each of seven waits");
    world.clock.advance(Duration::from_secs(100_000));
    world.sweep().await;
    assert_eq!(count(&server).await, 8, "parked");
    let parked = world.list("?parked=true").await;
    assert_eq!(parked.len(), 1);
    assert_eq!(
        (&parked[0]["state"], &parked[0]["attempts"]),
        (&json!("parked"), &json!(8))
    );
    assert!(
        parked[0]["lastError"].as_str().unwrap().contains("503"),
        "{parked:?}"
    );

    server.reset().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(204))
        .mount(&server)
        .await;
    let which = json!({"taskId": parked[0]["taskId"], "configId": parked[0]["configId"]});
    let token = world.token("acme", DELIVERIES_SCOPE);
    let again = world
        .call(Method::POST, "/deliveries/replay", Some(&token), &which)
        .await;
    assert_eq!(again.0, StatusCode::ACCEPTED);
    world.drain().await;
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests.len(), 1);
    assert!(String::from_utf8_lossy(&requests[0].body).contains("COMPLETED"));
    assert_eq!(world.list("?parked=true").await.len(), 0);
    assert_eq!(world.list("").await[0]["state"], "idle");
    let (status, answer) = world
        .call(Method::POST, "/deliveries/replay", Some(&token), &which)
        .await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::NOT_FOUND, &json!("nothing_owed"))
    );
}

#[tokio::test]
async fn beyond_the_tenants_pace_deliveries_leave_later_and_none_is_lost() {
    let mut world = world(Duration::from_secs(5)).await;
    let (tenants, acme) = (world.agent.store.tenants(), Tenant::parse("acme").unwrap());
    tenants.add(&acme).await.unwrap();
    let pace = domain::SettingChange::parse("deliveries_per_minute", Some("2")).unwrap();
    assert!(tenants.set_own(&acme, &[pace]).await.unwrap().is_some());
    let server = answering(200).await;
    for id in ["m1", "m2", "m3", "m4", "m5"] {
        world.send(id, &format!("{}/hook", server.uri())).await;
    }
    world.drain().await;
    for left in [2, 4, 5] {
        assert_eq!(count(&server).await, left);
        let owed = world.list("").await;
        let owed: Vec<_> = owed.iter().filter(|each| each["state"] == "owed").collect();
        assert_eq!(owed.len(), 5 - left);
        assert!(owed.iter().all(|each| each["attempts"] == 0), "{owed:?}");
        world.clock.advance(Duration::from_secs(60));
        world.sweep().await;
    }
    assert_eq!(world.list("?parked=true").await.len(), 0);
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_not_asked_again() {
    let mut world = world(Duration::from_secs(5)).await;
    let server = answering(410).await;
    world.send("m1", &format!("{}/hook", server.uri())).await;
    world.drain().await;
    assert_eq!(count(&server).await, 1);
    assert_eq!(world.list("?parked=true").await.len(), 1);
}

#[tokio::test]
async fn only_a_keeper_of_the_tenant_sees_deliveries_and_replays_them() {
    let mut world = world(Duration::from_secs(5)).await;
    let server = answering(410).await;
    world.send("m1", &format!("{}/hook", server.uri())).await;
    world.drain().await;
    let parked = world.list("?parked=true").await;
    let which = json!({"taskId": parked[0]["taskId"], "configId": parked[0]["configId"]});
    let (small, foreign) = (
        world.token("acme", "tasks"),
        world.token("globex", DELIVERIES_SCOPE),
    );
    for (method, path) in [(Method::GET, "/deliveries"), (Method::POST, "/deliveries/replay")] {
        for (token, expect) in [
            (None, StatusCode::UNAUTHORIZED),
            (Some("rubbish"), StatusCode::UNAUTHORIZED),
            (Some(small.as_str()), StatusCode::FORBIDDEN),
        ] {
            let (status, answer) = world.call(method.clone(), path, token, &which).await;
            assert_eq!(status, expect, "{method} {path} {token:?}: {answer}");
            assert!(
                expect == StatusCode::UNAUTHORIZED || answer["error"] == "insufficient_scope",
                "{answer}"
            );
        }
    }
    // Another tenant's keeper: what is not yours does not exist.
    let (status, listed) = world
        .call(Method::GET, "/deliveries", Some(&foreign), &Value::Null)
        .await;
    assert_eq!((status, &listed["deliveries"]), (StatusCode::OK, &json!([])));
    let (status, _) = world
        .call(Method::POST, "/deliveries/replay", Some(&foreign), &which)
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let own = world.token("acme", DELIVERIES_SCOPE);
    for rubbish in [json!(null), json!({}), json!({"taskId": "x", "configId": "y"})] {
        let (status, _) = world
            .call(Method::POST, "/deliveries/replay", Some(&own), &rubbish)
            .await;
        assert!(status.is_client_error(), "{rubbish}: {status}");
    }
    let (status, answer) = world
        .call(
            Method::GET,
            "/deliveries?cursor=rubbish",
            Some(&own),
            &Value::Null,
        )
        .await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("bad_cursor"))
    );
    assert_eq!(count(&server).await, 1, "nothing was sent again");
    assert_eq!(world.list("?parked=true").await.len(), 1);
}

/// As many workers as the local queue gives an agent.
const WORKERS: usize = 32;
const ENDPOINTS: usize = 100;
/// How long an attempt at a receiver that does not answer takes.
const HANGS: Duration = Duration::from_secs(30);

/// How long the other ninety-nine take to hear of their tasks beside one receiver that has more owed to it than there
/// are workers: half of them, and the last.
async fn others_beside(odd_one: &str) -> (Duration, Duration) {
    let World {
        agent,
        door,
        mut queue,
        clock,
        key,
        _database,
    } = world(HANGS).await;
    // One server stands for all that are well: what sets endpoints apart is their origin, and each has its own name.
    let well = answering(204).await;
    let port = well.address().port();
    let (_, unused) = mpsc::unbounded_channel();
    let world = World {
        agent: agent.clone(),
        door,
        queue: unused,
        clock,
        key,
        _database,
    };
    for number in 0..2 * WORKERS {
        world.send(&format!("odd-{number}"), odd_one).await;
    }
    for number in 1..ENDPOINTS {
        let hook = format!("http://r{number}.localhost:{port}/{number}");
        world.send(&format!("well-{number}"), &hook).await;
    }
    let started = Instant::now();
    let room = Arc::new(Semaphore::new(WORKERS));
    let working = tokio::spawn(async move {
        while let Some(wake) = queue.recv().await {
            let permit = room.clone().acquire_owned().await.unwrap();
            let agent = agent.clone();
            tokio::spawn(async move {
                // What is still on its way at the end finds no database any more.
                let _ended = agent::handle(&agent, &wake).await;
                drop(permit);
            });
        }
    });
    let mut told: HashMap<String, Duration> = HashMap::new();
    while told.len() < ENDPOINTS - 1 {
        assert!(
            started.elapsed() < 3 * HANGS,
            "only {} of them heard of their tasks",
            told.len()
        );
        for request in well.received_requests().await.unwrap() {
            told.entry(request.url.path().to_owned())
                .or_insert_with(|| started.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    working.abort();
    let mut told: Vec<Duration> = told.into_values().collect();
    told.sort_unstable();
    (told[told.len() / 2], told[told.len() - 1])
}

/// A receiver that takes connections and never answers: its address, and how many it held at most.
async fn dead() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hook = format!("http://{}/hook", listener.local_addr().unwrap());
    let (most, held) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = most.clone();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            most.fetch_max(held.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let held = held.clone();
            tokio::spawn(async move {
                // Reads until the other side gives up.
                while connection.readable().await.is_ok() {
                    match connection.try_read(&mut [0; 4096]) {
                        Ok(0) => break,
                        Ok(_) => {}
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                        Err(_) => break,
                    }
                }
                held.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    (hook, counted)
}

/// The others hear of their tasks as if the dead one answered like them: it never holds more workers than its share, so
/// that theirs are free. Where the machine is busy with something else just then, the comparison is made again.
#[tokio::test(flavor = "multi_thread")]
async fn one_dead_receiver_of_a_hundred_does_not_slow_the_others() {
    let alive = answering(204).await;
    let mut compared = Vec::new();
    loop {
        let usual = others_beside(&format!("{}/hook", alive.uri())).await;
        let (hanging, most) = dead().await;
        let beside_it = others_beside(&hanging).await;
        println!("of 99, half and the last: {usual:?}, and beside one that hangs {beside_it:?}");
        let most = most.load(Ordering::SeqCst);
        assert!(
            0 < most && most <= WORKERS / 2,
            "it held {most} of {WORKERS} workers"
        );
        let same = |with: Duration, without: Duration| with < without * 3 / 2 + Duration::from_millis(300);
        if same(beside_it.0, usual.0) && same(beside_it.1, usual.1) {
            break;
        }
        compared.push((usual, beside_it));
        assert!(
            compared.len() < 3,
            "slower beside the dead one, each time: {compared:?}"
        );
    }
}
