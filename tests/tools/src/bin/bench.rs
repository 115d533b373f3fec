//! The first figures: non-blocking send and get through the host, webhook, with DynamoDB calls counted.
//!
//! `cargo run -p tools --release --bin bench [-- --requests N --at-once N]` prints one table; `-- tokens` another, of what
//! it costs to check a token; `-- sends` shows that a send costs the same however much is stored; `-- models` what a slow language model costs its users; `-- flood` what one tenant far over its plan costs the others; `-- streams` the same of one guest's streams; `-- tenants` what it costs that there are 10,000 tenants. Times are of this machine in this run; compare ratios within one run. Everything is real but the network: the same routers over
//! loopback HTTP, signed tokens, the SDK's client against the embedded engine with its SQLite file.

#[path = "bench/flood.rs"]
mod flood;
#[path = "bench/hostile.rs"]
mod hostile;
#[path = "bench/models.rs"]
mod models;
#[path = "bench/sends.rs"]
mod sends;
#[path = "bench/tenants.rs"]
mod tenants;
#[path = "bench/tokens.rs"]
mod tokens;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Body;
use clap::Parser;
use futures_util::StreamExt;
use http::Request;
use local::Data;
use serde_json::{Value, json};
use store::Calls;
use system_testing::Local;
use tower::ServiceExt;

/// Requests per second, p50 and p99 of send, get and webhook, and DynamoDB calls per operation.
#[derive(Parser)]
struct Arguments {
    /// Requests per row.
    #[arg(long, default_value_t = 3_000)]
    requests: usize,
    /// Requests under way at once.
    #[arg(long, default_value_t = 16)]
    at_once: usize,
    #[command(subcommand)]
    only: Option<Only>,
}

/// What is measured instead.
#[derive(clap::Subcommand)]
enum Only {
    /// What checking a token costs, by algorithm
    Tokens,
    /// Whether a send costs more the more is stored
    Sends(sends::Sends),
    /// What a slow language model costs its users, and whether all ends where half of its calls are refused
    Models(models::SlowModels),
    /// How much longer ordinary tenants wait beside one that sends a hundred times what its plan allows
    Flood(flood::Flood),
    /// How much longer a tenant waits beside one that sends every shape of text, and whose agent answers with 20,000 artifacts
    Hostile(hostile::Hostile),
    /// What many tenants cost: to add one more, to start, to keep them, to be one of them
    Tenants(tenants::Tenants),
    /// What one guest who asks for 500 streams and 960 of a task costs another tenant
    Streams(flood::Streams),
}

struct Row {
    name: &'static str,
    per_second: f64,
    p50: Duration,
    p99: Duration,
    calls: Option<Calls>,
    bound: Option<u64>,
}

async fn run<F, Fut>(name: &'static str, inputs: Vec<F>, at_once: usize) -> Row
where
    F: FnOnce() -> Fut,
    Fut: Future<Output = ()>,
{
    let count = inputs.len();
    let began = Instant::now();
    let mut times: Vec<Duration> = futures_util::stream::iter(inputs)
        .map(|call| async move {
            let began = Instant::now();
            call().await;
            began.elapsed()
        })
        .buffer_unordered(at_once)
        .collect()
        .await;
    let whole = began.elapsed();
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    Row {
        name,
        per_second: count as f64 / whole.as_secs_f64(),
        p50: at(0.5),
        p99: at(0.99),
        calls: None,
        bound: None,
    }
}

fn send_body(number: usize, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "message": { "messageId": format!("bench-{}-{number}", text.replace(' ', "-")), "role": "ROLE_USER", "parts": [{ "text": text }] },
        "configuration": { "returnImmediately": true } } })
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    match arguments.only {
        Some(Only::Tokens) => return tokens::run(arguments.requests).await,
        Some(Only::Sends(sends)) => return sends.run(arguments.at_once).await,
        Some(Only::Models(models)) => return models.run(arguments.at_once).await,
        Some(Only::Flood(flood)) => return flood.run().await,
        Some(Only::Tenants(tenants)) => return tenants.run().await,
        Some(Only::Streams(streams)) => return streams.run().await,
        Some(Only::Hostile(hostile)) => return hostile.run().await,
        None => {}
    }
    let folder = tempfile::tempdir().expect("a folder");
    let local = Local::start_with(Data::Folder(folder.path().to_owned())).await;
    let host = local
        .endpoint("/tenants/acme/host_agent")
        .trim_end_matches('/')
        .to_owned();
    let base = local
        .endpoint("/tenants/acme/base")
        .trim_end_matches('/')
        .to_owned();
    let gateway = local.endpoint("/gateway").trim_end_matches('/').to_owned();
    let token = local.system.token("acme", "bench", &host).expect("a token");
    let http = system_testing::user::http();

    // One operation at a time in this task, so that exactly its own calls are counted.
    let router = local.system.router();
    let counted = async |method: &str, url: &str, bearer: &str, body: Option<Value>| {
        let path = url.strip_prefix(&gateway).expect("of the gateway");
        let path = if path.is_empty() { "/" } else { path };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {bearer}"))
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())))
            .expect("a request");
        let (response, calls) = store::counted(router.clone().oneshot(request)).await;
        let response = response.expect("infallible");
        assert!(
            response.status().is_success(),
            "{method} {path}: {}",
            response.status()
        );
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
            .await
            .expect("a body");
        (serde_json::from_slice::<Value>(&bytes).unwrap_or_default(), calls)
    };

    let mut rows = Vec::new();
    let sends = |text: &'static str| {
        (0..arguments.requests)
            .map(|number| {
                let (http, host, token) = (http.clone(), host.clone(), token.clone());
                move || async move {
                    let answer = http
                        .post(host)
                        .bearer_auth(token)
                        .header("a2a-version", "1.0")
                        .json(&send_body(number, text))
                        .send();
                    let answer: Value = answer.await.expect("an answer").json().await.expect("JSON");
                    assert!(answer["result"]["task"]["id"].is_string(), "{answer}");
                }
            })
            .collect::<Vec<_>>()
    };

    // Acknowledgement alone: the queue loses its wakes, so that no worker shares the two cores.
    local.system.lose_wakes(true);
    let (sent, send_calls) = counted("POST", &host, &token, Some(send_body(0, "count"))).await;
    let id = sent["result"]["task"]["id"].as_str().expect("an id").to_owned();
    let (_, get_calls) = counted("GET", &format!("{host}/tasks/{id}"), &token, None).await;
    rows.push(Row {
        calls: Some(send_calls),
        bound: Some(3),
        ..run("send, acknowledged", sends("hello"), arguments.at_once).await
    });
    let gets = (0..arguments.requests)
        .map(|_| {
            let (http, url, token) = (http.clone(), format!("{host}/tasks/{id}"), token.clone());
            move || async move {
                let answer = http.get(url).bearer_auth(token).send().await.expect("an answer");
                assert!(answer.status().is_success());
                answer.bytes().await.expect("a body");
            }
        })
        .collect();
    rows.push(Row {
        calls: Some(get_calls),
        bound: Some(1),
        ..run("get", gets, arguments.at_once).await
    });
    local.system.lose_wakes(false);

    // Webhooks: real tasks of the host, delegated to an agent that waits for us.
    let told: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let tells = Arc::clone(&told);
    tools::echo::start(local.system.endpoints(), &http, move |remote, token| {
        tells.lock().expect("no panic").push((remote, token));
    })
    .await;
    let delegations = arguments.requests.min(500);
    let began = Instant::now();
    let mut all = sends("echo this");
    all.truncate(delegations);
    rows.push(run("send, workers delegating", all, arguments.at_once).await);
    while told.lock().expect("no panic").len() < delegations {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "delegations take too long"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!(
        "{delegations} prompts routed and handed over in {:.1} s",
        began.elapsed().as_secs_f64()
    );
    tokio::time::sleep(Duration::from_millis(500)).await;

    let mut told: Vec<(String, String)> = std::mem::take(&mut *told.lock().expect("no panic"));
    let news = |id: &str| {
        json!({ "task": { "id": id, "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" },
            "artifacts": [{ "artifactId": "a", "parts": [{ "text": "echo" }] }] } })
    };
    let (id, webhook_token) = told.pop().expect("one");
    let webhook = format!("{base}/api/webhook/tasks");
    let (_, webhook_calls) = counted("POST", &webhook, &webhook_token, Some(news(&id))).await;
    let hooks = told
        .into_iter()
        .map(|(id, token)| {
            let (http, url, body) = (http.clone(), webhook.clone(), news(&id));
            move || async move {
                let answer = http
                    .post(url)
                    .bearer_auth(token)
                    .json(&body)
                    .send()
                    .await
                    .expect("an answer");
                assert_eq!(answer.status(), 204);
            }
        })
        .collect();
    rows.push(Row {
        calls: Some(webhook_calls),
        bound: Some(2),
        ..run("webhook, workers completing", hooks, arguments.at_once).await
    });

    println!("\n| operation | requests/s | p50 ms | p99 ms | DynamoDB calls | bound |");
    println!("|---|---:|---:|---:|---|---:|");
    let mut broken = false;
    for row in &rows {
        let millis = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1000.0);
        let calls = row.calls.as_ref().map_or("–".to_owned(), |calls| {
            let names: Vec<String> = calls
                .by_operation
                .iter()
                .map(|(name, count)| format!("{count} {name}"))
                .collect();
            names.join(", ")
        });
        let bound = row.bound.map_or("–".to_owned(), |bound| format!("≤ {bound}"));
        println!(
            "| {} | {:.0} | {} | {} | {calls} | {bound} |",
            row.name,
            row.per_second,
            millis(row.p50),
            millis(row.p99)
        );
        broken |= matches!((&row.calls, row.bound), (Some(calls), Some(bound)) if calls.total() > bound);
    }
    println!(
        "\n{} requests a row, {} at once; loopback, two tenants, embedded engine on a file.",
        arguments.requests, arguments.at_once
    );
    local.system.stop().await;
    assert!(!broken, "an operation makes more DynamoDB calls than its bound");
}
