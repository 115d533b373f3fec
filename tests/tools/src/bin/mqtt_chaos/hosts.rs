//! The other way: hosts of tenants ask the agent over the broker, for users of theirs. The hosts and their webhooks are in this
//! process and are not killed; the bridge publishes their requests, and brings back what comes of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::wakes;
use agent::{Wake, WakeDoor};
use auth::{Grant, Sealer, SigningKey, TrustedIssuer, Verifier};
use axum::Json;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use domain::{AgentName, Clock as _, ExposeSecret as _, SystemClock, SystemEntropy, TaskId, Tenant};
use host_agent::{Directory, MqttBridge, Parts, Patience, PlanApproval, State};
use outbound::oauth::Providers;
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use store::Store;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use url::Url;

use crate::counter::{Counter, STEPS};
use crate::proxy::chosen;
use crate::requester::Manner;
use crate::{AGENT, Arguments};

/// What a card calls an interface that is there for its URL alone: the audience of tokens.
const AUDIENCE: &str = "urn:switchyard:a2a:audience:v1";
/// How many hosts have a webhook that answers at once.
const USUAL: u64 = 3;
/// What is asked by the host whose webhook never answers.
const SILENT: u64 = 2;
/// How often a user looks at a task.
const LOOK: Duration = Duration::from_millis(500);
/// How often what is due is woken.
const SWEEP: Duration = Duration::from_secs(1);

/// A host before it runs: where it will be, and its key.
pub(crate) struct Planned {
    tenant: Tenant,
    manner: Manner,
    key: Arc<SigningKey>,
    own: TcpListener,
    hook: TcpListener,
}

/// A running host, as a user of its tenant sees it.
pub(crate) struct Host {
    tenant: Tenant,
    url: Url,
    issuer: String,
    key: Arc<SigningKey>,
    http: reqwest::Client,
}

/// What a user got.
#[derive(Debug)]
pub(crate) struct Answered {
    /// Whose user asked.
    pub(crate) host: String,
    /// What was asked.
    pub(crate) text: String,
    pub(crate) state: String,
    /// The text of its results.
    pub(crate) result: String,
    pub(crate) took: Duration,
}

/// What hosts are built on.
pub(crate) struct Ground<'g> {
    pub(crate) store: &'g Store,
    pub(crate) bridge: &'g Url,
    /// The broker, as the agent's card has it.
    pub(crate) broker: Url,
    /// The agent over HTTP, the audience of tokens for it.
    pub(crate) agent: &'g Url,
    /// Where wakes of the agent go.
    pub(crate) agents_door: Arc<dyn WakeDoor>,
    /// Waits before hosts send again.
    pub(crate) retries: &'g [Duration],
}

impl Planned {
    pub(crate) async fn new(name: &str, manner: Manner) -> Self {
        let listen = async || TcpListener::bind("127.0.0.1:0").await.expect("a port");
        Self {
            tenant: Tenant::parse(name).expect("a tenant"),
            manner,
            key: Arc::new(SigningKey::generate().expect("a key").0),
            own: listen().await,
            hook: listen().await,
        }
    }

    fn url(&self) -> Url {
        at(&self.own, "")
    }

    fn webhook(&self) -> Url {
        at(&self.hook, "api/webhook/tasks")
    }

    /// Whose tokens it and everybody else take as its tenant's.
    pub(crate) fn issuer(&self) -> TrustedIssuer {
        TrustedIssuer {
            issuer: self.url().as_str().trim_end_matches('/').to_owned(),
            tenant: Some(self.tenant.clone()),
            keys: vec![self.key.public_jwk()],
        }
    }

    /// As the bridge has it.
    pub(crate) fn place(&self) -> Value {
        let address = format!("switchyard/{}/host", self.tenant.prefix());
        json!({ "address": address, "url": self.url(), "webhook": self.webhook() })
    }

    fn parts(&self, ground: &Ground<'_>, registry: Url, wake: Arc<dyn WakeDoor>) -> Parts {
        let entropy = Arc::new(SystemEntropy);
        let policy = Policy {
            allow_loopback: true,
            ..Policy::default()
        };
        let outbound = Outbound::new(policy, entropy.clone());
        let bridge = MqttBridge {
            url: ground.bridge.clone(),
            broker: ground.broker.clone(),
        };
        let keys = vec![("k1".to_owned(), Sealer::generate_key(&SystemEntropy))];
        Parts {
            tenant: self.tenant.clone(),
            url: self.url(),
            issuer: self.issuer().issuer,
            key: Arc::clone(&self.key),
            validator: Arc::new(
                Verifier::new(self.url().to_string(), vec![self.issuer()]).expect("a good key"),
            ),
            sign_in: None,
            mqtt: None,
            directory: Directory::registry(outbound.clone(), registry, Some(bridge.clone())),
            bridge: Some(bridge),
            webhook: self.webhook(),
            sealer: Arc::new(Sealer::new(keys).expect("a good key")),
            store: ground.store.clone(),
            wake,
            outbound,
            understanding: nlu::Slot::default(),
            model: llm::offline(nlu::Slot::default()),
            clock: Arc::new(SystemClock),
            entropy,
            patience: Patience {
                retries: ground.retries.to_vec(),
                ..Patience::default()
            },
            approval: PlanApproval::Never,
            enabled: true,
            providers: Providers::new(),
            settings: agent::Settings::default(),
        }
    }
}

fn at(listener: &TcpListener, path: &str) -> Url {
    let address = listener.local_addr().expect("an address");
    format!("http://{address}/{path}").parse().expect("a URL")
}

/// Starts them, with what wakes them and the agent.
pub(crate) async fn start(planned: Vec<Planned>, ground: &Ground<'_>) -> Vec<Host> {
    let registry = registry(ground).await;
    let (door, wakes) = wakes::queue();
    let mut hosts = Vec::new();
    let mut states = HashMap::new();
    for one in planned {
        let state = host_agent::host(one.parts(ground, registry.clone(), Arc::clone(&door))).expect("a host");
        states.insert(one.tenant.clone(), state.clone());
        let receiver = webhook_receiver::router(webhook_receiver::State {
            tenant: one.tenant.clone(),
            host: AgentName::parse(host_agent::AGENT).expect("a name"),
            store: ground.store.clone(),
            wake: Arc::clone(&door),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            token_ttl: webhook_receiver::TOKEN_TTL,
        });
        let (url, issuer) = (one.url(), one.issuer().issuer);
        serve(one.own, agent::router(state.agent).into_router());
        serve(one.hook, slowed(receiver, one.manner));
        hosts.push(Host {
            tenant: one.tenant,
            url,
            issuer,
            key: one.key,
            http: system_testing::user::http(),
        });
    }
    let agents_door = Arc::clone(&ground.agents_door);
    tokio::spawn(wakes::work(wakes, move |wake| {
        let host = host_of(&wake, &states).cloned();
        work(wake, host, Arc::clone(&agents_door))
    }));
    let store = ground.store.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(SWEEP).await;
            task_sweeper::sweep(&store, door.as_ref(), &SystemClock).await;
        }
    });
    hosts
}

fn serve(listener: TcpListener, router: axum::Router) {
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
}

/// The host that a wake is for; none where it is for the agent.
fn host_of<'s>(wake: &Wake, hosts: &'s HashMap<Tenant, State>) -> Option<&'s State> {
    let key = wake.key();
    hosts
        .get(&key.tenant)
        .filter(|_| key.agent.as_str() == host_agent::AGENT)
}

async fn work(wake: Wake, host: Option<State>, agents_door: Arc<dyn WakeDoor>) {
    match host {
        Some(host) => drop(host_agent::handle(&host, &wake).await),
        None => drop(agents_door.wake(&wake, Duration::ZERO).await),
    }
}

/// A webhook that takes half a second for each notification, one at a time, or never answers.
fn slowed(receiver: axum::Router, manner: Manner) -> axum::Router {
    match manner {
        Manner::Usual => receiver,
        Manner::Silent => receiver.layer(from_fn(async |_: Request, _: Next| {
            std::future::pending::<axum::response::Response>().await
        })),
        Manner::Slow => {
            let turn = Arc::new(Mutex::new(()));
            receiver.layer(from_fn(move |request: Request, next: Next| {
                let turn = Arc::clone(&turn);
                async move {
                    let _turn = turn.lock().await;
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    next.run(request).await
                }
            }))
        }
    }
}

/// A registry that knows the agent, on the broker alone.
async fn registry(ground: &Ground<'_>) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = at(&listener, "registry");
    let broker = ground.broker.as_str().trim_end_matches('/');
    let card = json!({
        "name": "Counter", "description": "Counts slowly", "version": "1",
        "supportedInterfaces": [
            { "url": format!("{broker}/$a2a/v1/request/{AGENT}"), "protocolBinding": "MQTTv5+JSONRPCv2", "protocolVersion": "1.0" },
            { "url": ground.agent, "protocolBinding": AUDIENCE, "protocolVersion": "1.0" },
        ],
        "capabilities": { "streaming": true, "pushNotifications": true },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "count", "name": "Count", "description": "Counts to five", "tags": ["type:count"], "examples": ["Count to five"] }],
    });
    let listing = json!({ "types": { "count": "global" }, "agents": [{
        "id": domain::AgentId::from_bytes([1; 16]).to_string(), "tenant": null, "cardUrl": format!("{url}/card"),
        "health": { "ok": true, "checkedAt": "2026-01-01T00:00:00.000Z" }, "card": card }] });
    let router = axum::Router::new().route("/registry/agents", get(async move || Json(listing)));
    serve(listener, router);
    url
}

/// The hosts of a run: some whose webhook answers at once, and after them one that is slow and one that never does.
pub(crate) async fn planned() -> Vec<Planned> {
    let mut planned = Vec::new();
    for n in 0..USUAL {
        planned.push(Planned::new(&format!("usual-{n}"), Manner::Usual).await);
    }
    planned.push(Planned::new("slow", Manner::Slow).await);
    planned.push(Planned::new("silent", Manner::Silent).await);
    planned
}

/// Has users of every host ask, those of the silent one twice; what each got.
pub(crate) fn ask(
    mut hosts: Vec<Host>,
    arguments: &Arguments,
) -> impl Future<Output = Vec<Result<Answered, String>>> + use<> {
    let limit = Duration::from_secs(arguments.limit);
    let silent = Arc::new(hosts.pop().expect("the silent one is the last"));
    let slow = Arc::new(hosts.pop().expect("and the slow one stands before it"));
    let hosts: Vec<_> = hosts.into_iter().map(Arc::new).collect();
    let mut asked = JoinSet::new();
    for n in 0..arguments.requests {
        let within = if arguments.short { 10_000 } else { 25_000 };
        let after = Duration::from_millis(chosen(arguments.seed, 1_000_000 + n) % within);
        // Its webhook takes two notifications a second, and a task tells of seven.
        let host = match n % 11 {
            10 => &slow,
            _ => &hosts[usize::try_from(n).expect("few requests") % hosts.len()],
        };
        let host = Arc::clone(host);
        asked.spawn(async move {
            tokio::time::sleep(after).await;
            host.ask(n, limit).await
        });
    }
    for n in arguments.requests..arguments.requests + SILENT {
        let silent = Arc::clone(&silent);
        asked.spawn(async move { silent.ask(n, limit).await });
    }
    asked.join_all()
}

/// What is wrong with what was done.
pub(crate) fn judged(
    answered: Vec<Result<Answered, String>>,
    (counter, repeated): (&Counter, u64),
    arguments: &Arguments,
    begun: Instant,
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut took = Vec::new();
    let mut by_host: BTreeMap<String, (u32, Duration)> = BTreeMap::new();
    let whole: String = (1..=STEPS).map(|step| format!("{step} ")).collect();
    let counts = counter.counts.lock().expect("no panic");
    let questions = counter.questions.lock().expect("no panic");
    for answered in answered {
        let Answered {
            host,
            text,
            state,
            result,
            took: time,
        } = match answered {
            Ok(answered) => answered,
            Err(lost) => {
                faults.push(format!("lost: {lost}"));
                continue;
            }
        };
        took.push(time);
        let last = by_host.entry(host).or_insert((0, Duration::ZERO));
        *last = (last.0 + 1, last.1.max(time));
        if state != "TASK_STATE_COMPLETED" || result.trim() != whole.trim() {
            faults.push(format!("{text}: ended as {state} with {result:?}"));
        }
        let tasks = questions.iter().filter(|(asked, _)| asked.ends_with(&text));
        let done: Vec<_> = tasks
            .flat_map(|(_, tasks)| tasks)
            .map(|task| (task, counts.get(task).copied().unwrap_or_default()))
            .collect();
        if !matches!(done.as_slice(), [(_, 1)]) {
            faults.push(format!("{text}: by these tasks, so often each: {done:?}"));
        }
    }
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).or(took.last()).copied();
    println!(
        "{} of {} have their final task after {:.1} s: {repeated} publications came twice; p50 {:.1?}, p99 {:.1?}",
        took.len(),
        arguments.requests + SILENT,
        begun.elapsed().as_secs_f64(),
        at(50).unwrap_or_default(),
        at(99).unwrap_or_default(),
    );
    for (host, (tasks, longest)) in by_host {
        println!("{host:8} {tasks:3} tasks, the longest took {longest:.1?}");
    }
    if repeated == 0 && arguments.repeated > 0 {
        faults.push("nothing came twice".to_owned());
    }
    faults
}

impl Host {
    /// Asks for one count, and looks until the task is over.
    pub(crate) async fn ask(&self, number: u64, limit: Duration) -> Result<Answered, String> {
        let (begun, text) = (Instant::now(), format!("Count to five for lot{number}"));
        let message = json!({ "messageId": TaskId::random(&SystemEntropy).to_string(), "role": "ROLE_USER",
            "parts": [{ "text": text }], "metadata": { domain::ASKED_AGENT: "count" } });
        let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
        let sent = self.call("SendMessage", params).await;
        let id = sent.pointer("/result/task/id").and_then(Value::as_str);
        let id = id
            .unwrap_or_else(|| panic!("its own host takes it: {sent}"))
            .to_owned();
        loop {
            let found = self.call("GetTask", json!({ "id": id })).await;
            let state = found.pointer("/result/status/state").and_then(Value::as_str);
            let state = state.unwrap_or_default().to_owned();
            if matches!(
                state.as_str(),
                "TASK_STATE_COMPLETED" | "TASK_STATE_FAILED" | "TASK_STATE_CANCELED" | "TASK_STATE_REJECTED"
            ) {
                let parts = found.pointer("/result/artifacts").and_then(Value::as_array);
                let parts = parts
                    .into_iter()
                    .flatten()
                    .flat_map(|artifact| artifact["parts"].as_array());
                let result = parts.flatten().filter_map(|part| part["text"].as_str()).collect();
                let took = begun.elapsed();
                return Ok(Answered {
                    host: self.tenant.name().to_owned(),
                    text,
                    state,
                    result,
                    took,
                });
            }
            if begun.elapsed() > limit {
                return Err(format!("{text}: {}", found["result"]["status"]));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        let grant = Grant {
            issuer: &self.issuer,
            subject: "user-1",
            tenant: Some(&self.tenant),
            audience: self.url.as_str(),
            scopes: &[agent::TASKS_SCOPE],
            lifetime: Duration::from_secs(300),
        };
        let token = self
            .key
            .sign(&grant, SystemClock.now(), &SystemEntropy)
            .expect("a token");
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = self.http.post(self.url.clone()).header("a2a-version", "1.0");
        let answer = request
            .bearer_auth(token.expose_secret())
            .json(&body)
            .send()
            .await;
        answer.expect("it answers").json().await.expect("JSON")
    }
}
