//! The same for the rooms behind the wire: what people say, tokens, schemas, weights, events of Lambda, and what servers of others
//! answer. These are played by cargo-fuzz alone.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use auth::{Sealer, SigningKey, TrustedIssuer, Verifier};
use domain::{Owner, SystemClock, SystemEntropy, Tag, Tenant, Timestamp, UserContext};
use llm::{Chain, ChainLimits, Link, Model as _, NoDraft, OpenAi, Prompt, Turn};
use nlu::{Asked, InputSchema, Takes};
use outbound::{EventLimits, Outbound, Policy};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use url::Url;

/// Most time that one reading may take in a build that is optimized.
const LONG: Duration = Duration::from_millis(500);

static TAKES: LazyLock<Takes> = LazyLock::new(|| {
    let date = json!({ "type": "string", "format": "date", "description": "the day" });
    let fields = json!({
        "place": { "type": "string", "description": "where" }, "from": date, "to": date,
        "guests": { "type": "integer", "description": "how many people" },
        "maxPrice": { "type": "number", "description": "at most" },
        "kind": { "type": "string", "enum": ["flat", "house"] },
    });
    Takes::new(
        &json!({ "type": "object", "properties": fields, "required": ["place"] }),
        &["A flat in {Oslo} for two"],
    )
});

fn asked<'a>(known: &'a Map<String, Value>, user: &'a UserContext) -> Asked<'a> {
    Asked {
        known,
        before: known,
        answers: None,
        now: Timestamp::from_millis(1_767_225_600_000),
        user,
    }
}

/// What people write: it is read in time, and every address in it lies where it was found.
pub fn said(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (known, user) = (Map::new(), UserContext::default());
    let began = Instant::now();
    let _ = nlu::extract(&text, &TAKES, asked(&known, &user));
    assert!(
        began.elapsed() < LONG,
        "{} bytes take {:?}",
        text.len(),
        began.elapsed()
    );
    for span in domain::links::spans(&text) {
        assert!(text.get(span).is_some_and(|address| !address.is_empty()));
    }
    let _ = (
        Tag::parse(&text),
        Tenant::parse(&text),
        Owner::parse(&text),
        auth::consent_code::read(&text),
    );
}

/// A schema of somebody's card, and words that are read by it.
pub fn schema(data: &[u8]) {
    let (schema, text) = data.split_at(data.len() - data.len() / 4);
    let Ok(schema) = serde_json::from_slice::<Value>(schema) else {
        return;
    };
    let (known, user) = (Map::new(), UserContext::default());
    let began = Instant::now();
    let takes = Takes::new(&schema, &[]);
    let read = nlu::extract(&String::from_utf8_lossy(text), &takes, asked(&known, &user));
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    if let Some(schema) = InputSchema::of(&schema) {
        let _ = (
            schema.misfit(&Value::Object(read.data)),
            schema.misfit(&json!([])),
            schema.requires(),
        );
    }
}

/// Tokens and what is sealed: nothing that this key did not make is taken.
pub fn token(data: &[u8]) {
    static VERIFIER: LazyLock<(Verifier, Sealer)> = LazyLock::new(|| {
        let (key, _) = SigningKey::generate().expect("a key");
        let issuer = TrustedIssuer {
            issuer: "https://idp.example".into(),
            tenant: None,
            keys: vec![key.public_jwk()],
        };
        let verifier = Verifier::new("https://agent.example".into(), vec![issuer]).expect("a verifier");
        let key = "A".repeat(43).into();
        (verifier, Sealer::new(vec![("k1".into(), key)]).expect("a sealer"))
    });
    let text = String::from_utf8_lossy(data);
    let now = Timestamp::from_millis(1_767_225_600_000);
    assert!(VERIFIER.0.verify(&text, now).is_err(), "{text}");
    let _ = (
        VERIFIER.1.open(&text, "x"),
        auth::bearer(Some(&text)),
        domain::TraceParent::parse(&text),
    );
}

/// A file of weights that is another.
pub fn weights(data: &[u8]) {
    let _ = nlu::e5::E5::read(data);
}

/// Events of Lambda: each is answered, or refused as one that is unknown.
pub fn event(data: &[u8]) {
    let Ok(payload) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let function = edge::Function::new(axum::Router::new());
    let http = edge::config::Http {
        base_path: edge::config::BasePath::default(),
        answers: edge::config::Answers::Buffered,
    };
    let event = lambda_runtime::LambdaEvent::new(payload, lambda_runtime::Context::default());
    let _ = RUNTIME.block_on(lambda::answer(&function, &http, event));
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
});

/// A server that says whatever the target was given.
struct Server {
    address: SocketAddr,
    says: Arc<Mutex<Vec<u8>>>,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let says = Arc::new(Mutex::new(Vec::new()));
    let server = Server {
        address: listener.local_addr().expect("a port"),
        says: Arc::clone(&says),
    };
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { continue };
            let _ = connection.set_read_timeout(Some(Duration::from_millis(50)));
            let _ = connection.read(&mut [0; 16 * 1024]);
            let _ = connection.write_all(&says.lock().expect("it is not poisoned"));
        }
    });
    server
});

/// What servers of others answer, head and body: authorization servers, MCP servers, agents, models, the weather. The first byte says
/// whom is asked; every answer is taken, or refused with a reason.
pub fn answer(data: &[u8]) {
    let Some((&first, said)) = data.split_first() else {
        return;
    };
    let kind = ["application/json", "text/event-stream"][usize::from(first >> 7)];
    let mut answer = match said.first() {
        // The head is theirs too.
        Some(b'!') => b"HTTP/1.1 ".to_vec(),
        _ => format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n").into_bytes(),
    };
    answer.extend_from_slice(said.strip_prefix(b"!").unwrap_or(said));
    *SERVER.says.lock().expect("it is not poisoned") = answer;
    let url: Url = format!("http://{}", SERVER.address).parse().expect("an address");
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let outbound = Outbound::new(policy, Arc::new(SystemEntropy));
    let limits = EventLimits {
        first_byte: LONG,
        idle: LONG,
        whole: LONG,
        ..EventLimits::default()
    };
    let asked = async {
        match first & 7 {
            0 => drop(outbound.server_metadata(url.as_str()).await),
            1 => drop(outbound.resource_metadata(&url).await),
            2 => drop(outbound.card(&url).await),
            3 => {
                let mcp = outbound::mcp::McpClient::new(outbound.clone(), url, Arc::new(SystemClock))
                    .within(limits);
                drop(mcp.tools().await);
            }
            4 => {
                let bases = outbound::open_meteo::Bases::both(url);
                drop(
                    outbound::open_meteo::OpenMeteo::new(outbound.clone(), bases)
                        .search("Oslo", 5)
                        .await,
                );
            }
            5 => {
                if let Ok(outbound::Streamed::Events(mut events)) =
                    outbound.post_for_events(&url, &json!({}), None, limits).await
                {
                    while let Ok(Some(_)) = events.next().await {}
                }
            }
            6 => drop(outbound.published_card(&url).await),
            _ => {
                let provider = Box::new(OpenAi::new(&outbound, (&url, "m"), None, (100, limits)));
                let once = ChainLimits {
                    attempts: 1,
                    ..ChainLimits::default()
                };
                let model = Chain::new(
                    vec![Link::Hosted {
                        provider,
                        tokens: 1000,
                    }],
                    once,
                    Arc::new(SystemEntropy),
                );
                let prompt = Prompt {
                    turns: vec![Turn::User("Oslo?".into())],
                    ..Prompt::default()
                };
                drop(model.step(&prompt, &mut NoDraft).await);
            }
        }
    };
    let _ = RUNTIME.block_on(async { tokio::time::timeout(Duration::from_secs(2), asked).await });
}
