//! An agent for the A2A project's conformance kits: `cargo run -p tools --bin conformance_agent -- --port 9999`.
//!
//! It is built on the room `agent` like any other, over the embedded database and a queue in this process; only its
//! executor does what the kit's scenarios ask for, by the beginning of the message's id. What stands in front of it is
//! because of what the kits are:
//!
//! - their callers have no tokens, so that they are signed in as one user; as one of a host, who may hold any number of streams open:
//!   the kits close none of theirs;
//! - they use one message id for many messages, which are made different (to us the same id is the same message);
//! - they read a card strictly and do not say of which version, which `--cards` says for them. Our card without a version
//!   is for clients of both, with fields of both.
//!
//! Some of their tests are for agents that lack something or want something: `--lacks`, `--requires` and `--modes` make
//! it one. The first line it prints is `{"url": …}`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use a2a::card::{Card, Extension, Skill};
use agent::wakes;
use agent::{Access, Agent, ExecuteError, Executor, Outcome, Run, Settings, Wake, WakeDoor};
use async_trait::async_trait;
use auth::{Grant, Sealer, SigningKey, TrustedIssuer, Verifier};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::serve::ListenerExt;
use clap::Parser;
use domain::{
    AgentName, Artifact, Caller, Clock, EventKind, ExposeSecret, MessageId, Part, PartContent, SystemClock,
    SystemEntropy, Task, Tenant,
};
use http::{HeaderValue, Uri, header};
use outbound::{Outbound, Policy};
use store::{Store, Tables};
use store_testing::Database;
use tower::ServiceExt;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Serves an agent that acts as the conformance kits want.
#[derive(Parser)]
struct Arguments {
    /// The port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 9999)]
    port: u16,
    /// The version of the card for clients that name none: 1.0, 0.3, or "both".
    #[arg(long, default_value = "1.0")]
    cards: String,
    /// A folder for the database's file; without it everything is in memory.
    #[arg(long)]
    data: Option<PathBuf>,
    /// A database that runs already, instead of one of its own.
    #[arg(long, conflicts_with = "data")]
    dynamodb: Option<url::Url>,
    /// What the agent does not have.
    #[arg(long, value_enum, value_delimiter = ',')]
    lacks: Vec<Lack>,
    /// An extension that every call has to declare.
    #[arg(long)]
    requires: Option<String>,
    /// The media types it reads; the kit for 0.3 looks for "file" and "data" among them.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "text/plain,application/json,*/*"
    )]
    modes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Lack {
    Streaming,
    Push,
    Extended,
}

const ISSUER: &str = "http://127.0.0.1/kit";
/// Where the agent is called. The card stands at the root as well.
const BASE: &str = "/a2a";
/// What the kits' message ids begin with.
const KIT_IDS: [&str; 2] = ["tck-", "test-"];
/// The one call that the kit for 0.3 makes in order to be refused.
const UNSIGNED: &str = "agent/getAuthenticatedExtendedCard";
/// How long the kits' token is good.
const TOKEN_LIFE: Duration = Duration::from_secs(300);
/// Most bytes of a request body.
const BODY_LIMIT: usize = 1_048_576;

#[tokio::main]
async fn main() {
    // As `RUST_LOG` says, or what failed.
    #[expect(
        clippy::disallowed_methods,
        reason = "what one who looks for a fault asks for"
    )]
    let wanted = std::env::var("RUST_LOG").unwrap_or_else(|_| "error".to_owned());
    let filter: Targets = wanted.parse().expect("RUST_LOG is a list such as agent=debug");
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .init();
    let arguments = Arguments::parse();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", arguments.port))
        .await
        .expect("the port is free");
    let address = listener.local_addr().expect("an address");
    let (store, _database) = store(&arguments).await;
    let (door, wakes) = wakes::queue();
    let (key, _) = SigningKey::generate().expect("a key");
    let url = format!("http://{address}{BASE}");
    let agent = Arc::new(kit_agent(card(&url, &arguments), store, door, &key));
    let worker = Arc::clone(&agent);
    tokio::spawn(wakes::work(wakes, move |wake| work(Arc::clone(&worker), wake)));
    let front = Arc::new(Front {
        agent: agent::router(agent).into_router(),
        key,
        url: url.clone(),
        cards: HeaderValue::from_str(&arguments.cards).expect("a version"),
        count: AtomicU64::new(0),
        token: Mutex::new(None),
    });
    let router = Router::new().fallback(pass).with_state(front);
    println!("{}", serde_json::json!({ "url": url }));
    let listener = listener.tap_io(|stream| {
        let _only_slower_without = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await.expect("the server runs");
}

/// The store, and its database where that is ours.
async fn store(arguments: &Arguments) -> (Store, Option<Database>) {
    if let Some(running) = &arguments.dynamodb {
        let aws = edge::aws::sdk_config(Some(running), None);
        let store = Store::new(&aws, Tables::prefixed("switchyard-"));
        store.create_tables().await.expect("tables");
        return (store, None);
    }
    let file = arguments.data.as_ref().map(|folder| {
        std::fs::create_dir_all(folder).expect("the folder can be made");
        folder.join("agent.sqlite")
    });
    let (store, database) = store_testing::start_apart(file.as_deref()).await;
    (store, Some(database))
}

fn kit_agent(card: Card, store: Store, door: Arc<dyn WakeDoor>, key: &SigningKey) -> Agent {
    let issuer = TrustedIssuer {
        issuer: ISSUER.into(),
        tenant: Some(tenant()),
        keys: vec![key.public_jwk()],
    };
    let entropy = Arc::new(SystemEntropy);
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    Agent {
        name: AgentName::parse("kit").expect("a name"),
        own_tenant: None,
        access: Access::Open,
        store,
        wake: door,
        executor: Arc::new(Scenarios),
        validator: Arc::new(Verifier::new(card.url.to_string(), vec![issuer]).expect("a good key")),
        card,
        sealer: Arc::new(
            Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).expect("a good key"),
        ),
        outbound: Outbound::new(policy, entropy.clone()),
        clock: Arc::new(SystemClock),
        entropy,
        settings: Settings::default(),
    }
}

fn tenant() -> Tenant {
    Tenant::parse("kit").expect("a tenant")
}

fn card(url: &str, arguments: &Arguments) -> Card {
    let has = |what| !arguments.lacks.contains(&what);
    let required = |uri: &String| Extension {
        uri: uri.clone(),
        description: "Wanted by the one who started this agent".into(),
        required: true,
        ..Extension::default()
    };
    Card {
        name: "Conformance".into(),
        description: "Acts as the scenarios of the A2A conformance kits want".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        url: url.parse().expect("a URL"),
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: vec![skill("scenarios", "Scenarios")],
        default_input_modes: arguments.modes.clone(),
        default_output_modes: vec!["text/plain".into(), "application/json".into()],
        streaming: has(Lack::Streaming),
        push_notifications: has(Lack::Push),
        extended: has(Lack::Extended),
        extensions: arguments.requires.iter().map(required).collect(),
        secured: None,
    }
}

fn skill(id: &str, name: &str) -> Skill {
    Skill {
        id: id.into(),
        name: name.into(),
        description: "What a message asks for by the beginning of its id".into(),
        tags: vec!["type:conformance".into()],
        ..Skill::default()
    }
}

/// Does what a scenario says.
struct Scenarios;

#[async_trait]
impl Executor for Scenarios {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let id = asked(run.task());
        let asks = |prefix: &str| id.starts_with(prefix);
        // Of two prefixes of which one begins with the other, the longer comes first.
        if asks("tck-artifact-text") {
            Ok(completed(vec![Part::text("Generated text content")]))
        } else if asks("tck-artifact-file-url") {
            let url = PartContent::Url("https://example.com/output.txt".into());
            Ok(completed(vec![file(url)]))
        } else if asks("tck-artifact-file") {
            Ok(completed(vec![file(output())]))
        } else if asks("tck-artifact-data") {
            let data = serde_json::json!({ "key": "value", "count": 42 });
            Ok(completed(vec![Part::data(data)]))
        } else if asks("tck-message-response") {
            let id = MessageId::derived(&format!("answer to {id}"));
            let message = domain::Message::agent_text(id, "Direct message response");
            Ok(Outcome::Message(message))
        } else if asks("tck-input-required") {
            Ok(Outcome::InputRequired("What else?".into()))
        } else if asks("tck-reject-task") {
            Ok(Outcome::Rejected("rejected".into()))
        } else if asks("tck-stream-002") {
            Ok(completed(Vec::new()))
        } else if asks("tck-stream-artifact-file") {
            stream(run, vec![file(output())]).await
        } else if asks("tck-stream-artifact-text") {
            stream(run, vec![Part::text("Streamed text content")]).await
        } else if asks("tck-stream-artifact-chunked") {
            chunks(run).await
        } else if asks("tck-stream-ordering-001") {
            stream(run, vec![Part::text("Ordered output")]).await
        } else if asks("tck-stream-003") {
            stream(run, vec![Part::text("Stream task lifecycle")]).await
        } else if asks("tck-stream") {
            stream(run, vec![Part::text("Stream hello from TCK")]).await
        } else if asks("test-resubscribe-message-id") {
            run.working("This takes a while").await?;
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok(completed(Vec::new()))
        } else if !asks("tck-") {
            // The kit for 0.3 says nothing of what it wants, goes on with what it began, and calls it off.
            Ok(Outcome::InputRequired("Hello! What else?".into()))
        } else {
            Ok(Outcome::Completed {
                artifacts: Vec::new(),
                say: Some("Hello from TCK".into()),
            })
        }
    }

    fn answers_directly(&self, task: &Task) -> bool {
        asked(task).starts_with("tck-message-response")
    }

    async fn extended_card(&self, _caller: &Caller, card: &Card) -> Result<Option<Card>, ExecuteError> {
        let mut card = card.clone();
        card.skills
            .push(skill("more", "For callers who show who they are"));
        Ok(Some(card))
    }
}

/// The id of the message that is to be answered.
fn asked(task: &Task) -> String {
    let last = task.last_user_message();
    last.map(|message| message.message_id.to_string())
        .unwrap_or_default()
}

fn completed(parts: Vec<Part>) -> Outcome {
    let artifacts = if parts.is_empty() {
        Vec::new()
    } else {
        vec![Artifact::new("result", parts).named("Result")]
    };
    Outcome::Completed { artifacts, say: None }
}

fn output() -> PartContent {
    // "Generated file content"
    PartContent::Raw("R2VuZXJhdGVkIGZpbGUgY29udGVudA==".into())
}

fn file(content: PartContent) -> Part {
    Part {
        filename: Some("output.txt".into()),
        media_type: Some("text/plain".into()),
        ..Part::new(content)
    }
}

async fn stream(run: &mut Run, parts: Vec<Part>) -> Result<Outcome, ExecuteError> {
    run.working("At it").await?;
    run.artifact(Artifact::new("result", parts).named("Result"))
        .await?;
    Ok(completed(Vec::new()))
}

async fn chunks(run: &mut Run) -> Result<Outcome, ExecuteError> {
    run.working("At it").await?;
    for (text, last) in [("chunk-1 ", false), ("chunk-2", true)] {
        let chunk = EventKind::Artifact {
            artifact: Artifact::new("result", vec![Part::text(text)]),
            append: last,
            last_chunk: last,
        };
        run.record(vec![chunk]).await?;
    }
    Ok(completed(Vec::new()))
}

async fn work(agent: Arc<Agent>, wake: Wake) {
    if let Err(error) = agent::handle(&agent, &wake).await {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "a wake was not worked on"
        );
    }
}

/// What stands in front of the agent.
struct Front {
    agent: Router,
    key: SigningKey,
    url: String,
    cards: HeaderValue,
    count: AtomicU64,
    /// The kits' token, and when it was made.
    token: Mutex<Option<(Instant, HeaderValue)>>,
}

async fn pass(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let path = path.strip_prefix(BASE).unwrap_or(path);
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    head.uri = Uri::try_from(path).expect("a path of a path");
    let is_card = head.uri.path().starts_with("/.well-known/agent");
    if is_card && front.cards != "both" && !head.headers.contains_key(a2a::VERSION_HEADER) {
        head.headers.insert("a2a-version", front.cards.clone());
    }
    let body = to_bytes(body, BODY_LIMIT).await.unwrap_or_default();
    let body = front.made_different(body);
    let is_signed = head.headers.contains_key(header::AUTHORIZATION);
    let unsigned = head.uri.path() == "/v1/card"
        || body
            .windows(UNSIGNED.len())
            .any(|window| window == UNSIGNED.as_bytes());
    if !is_card && !is_signed && !unsigned {
        head.headers.insert(header::AUTHORIZATION, front.token());
    }
    head.headers.remove(header::CONTENT_LENGTH);
    let request = Request::from_parts(head, Body::from(body));
    match front.agent.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

impl Front {
    fn token(&self) -> HeaderValue {
        let mut token = self.token.lock().expect("no panic under the lock");
        match &*token {
            Some((made, token)) if made.elapsed() < TOKEN_LIFE / 2 => token.clone(),
            _ => token.insert((Instant::now(), self.new_token())).1.clone(),
        }
    }

    fn new_token(&self) -> HeaderValue {
        let tenant = tenant();
        let grant = Grant {
            issuer: ISSUER,
            subject: "kit",
            tenant: Some(&tenant),
            audience: &self.url,
            scopes: &[agent::TASKS_SCOPE, auth::scope::DELEGATED],
            lifetime: TOKEN_LIFE,
        };
        let token = self
            .key
            .sign(&grant, SystemClock.now(), &SystemEntropy)
            .expect("a token");
        HeaderValue::from_str(&format!("Bearer {}", token.expose_secret())).expect("a header")
    }

    /// Gives each of the kit's messages an id of its own, with the same beginning.
    fn made_different(&self, body: Bytes) -> Bytes {
        let Ok(text) = std::str::from_utf8(&body) else {
            return body;
        };
        let Some((at, name)) = ["\"messageId\"", "\"message_id\""]
            .into_iter()
            .find_map(|name| Some((text.find(name)?, name)))
        else {
            return body;
        };
        let (before, after) = text.split_at(at + name.len());
        let mut quotes = after.match_indices('"').map(|(at, _)| at);
        match (quotes.next(), quotes.next()) {
            (Some(open), Some(close))
                if KIT_IDS.iter().any(|kit| after[open + 1..close].starts_with(kit)) =>
            {
                let number = self.count.fetch_add(1, Ordering::Relaxed);
                let (id, rest) = after.split_at(close);
                format!("{before}{id}-{number}{rest}").into()
            }
            _ => body,
        }
    }
}
