//! The conformance agent beside two servers of others, in one run: non-blocking send, the same until the tasks are
//! done, get, and the first event of a stream.
//!
//! ```text
//! cargo build --release --manifest-path tests/peers/rust_sdk_agent/Cargo.toml
//! cargo build --release -p tools --bin conformance_agent
//! cargo run --release -p tools --bin bench_a2a
//! ```
//!
//! `-- stored` compares blocking sends with turul-a2a, which keeps its tasks in DynamoDB too; `tests/peers/turul_agent/build`
//! builds that one.
//!
//! Ours persists every task, event and idempotency record through the DynamoDB SDK into the embedded engine's SQLite
//! file; the Python SDK keeps its tasks in SQLite; the Rust SDK keeps them in memory. Each server is a process of its
//! own, the client shares the machine with it, and the servers take turns, so compare the columns, not the figures of
//! two runs. Where others work on the machine too, the processor time that a server itself took says more than its
//! requests per second.

mod database;
mod server;
mod stored;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tools::load::many;

use crate::server::Server;

/// Non-blocking send, get, and first event of a stream, of three servers in one run.
#[derive(Parser)]
struct Arguments {
    /// Requests per row and server in each round.
    #[arg(long, default_value_t = 500)]
    requests: usize,
    /// Requests under way at once.
    #[arg(long, default_value_t = 16)]
    at_once: usize,
    /// Rounds; the servers take turns in each.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The agent on the official Rust SDK, built from tests/peers/rust_sdk_agent.
    #[arg(long)]
    rust_sdk: Option<PathBuf>,
    /// Leaves the Python server out.
    #[arg(long)]
    no_python: bool,
    #[command(subcommand)]
    only: Option<Only>,
}

/// What is done instead.
#[derive(clap::Subcommand)]
enum Only {
    /// Ours beside turul-a2a, both over an embedded DynamoDB of their own, empty and with many tasks stored
    Stored(stored::Stored),
    /// A database of that kind; the bench starts these itself
    #[command(hide = true)]
    Database,
}

/// A server that is measured, and what came of it.
struct Measured {
    server: Server,
    rows: [Vec<Sample>; 4],
}

/// One row of one round.
struct Sample {
    per_second: f64,
    /// The processor time that the server took per request, in milliseconds.
    cpu: f64,
    times: Vec<Duration>,
}

const ROWS: [&str; 4] = [
    "non-blocking send, answered",
    "non-blocking send, task completed",
    "get",
    "stream, first event",
];

impl Measured {
    fn start(name: &'static str, command: Command) -> Self {
        Self {
            server: Server::start(name, command),
            rows: Default::default(),
        }
    }

    /// Sends one message that makes a task which works, has one artifact, and completes; gives the task's id.
    async fn send(&self) -> String {
        let params = json!({ "message": message(), "configuration": { "returnImmediately": true } });
        let answer: Value = self
            .server
            .call("SendMessage", params)
            .await
            .json()
            .await
            .expect("JSON");
        let id = answer.pointer("/result/task/id").and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("{}: no task in {answer}", self.server.name))
            .to_owned()
    }

    async fn get(&self, id: &str) -> Value {
        let answer: Value = self
            .server
            .call("GetTask", json!({ "id": id }))
            .await
            .json()
            .await
            .expect("JSON");
        assert!(
            answer.pointer("/result/id").is_some(),
            "{}: {answer}",
            self.server.name
        );
        answer
    }

    async fn completed(&self, id: &str) {
        loop {
            let task = self.get(id).await;
            match task.pointer("/result/status/state").and_then(Value::as_str) {
                Some("TASK_STATE_COMPLETED") => return,
                Some("TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING") => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                other => panic!("{}: {other:?} in {task}", self.server.name),
            }
        }
    }

    /// The time to the first event; the stream is then read to its end.
    async fn first_event(&self) -> Duration {
        let began = Instant::now();
        let answer = self
            .server
            .call("SendStreamingMessage", json!({ "message": message() }))
            .await;
        let mut chunks = answer.bytes_stream();
        let mut seen = Vec::new();
        let mut first = None;
        while let Some(chunk) = chunks.next().await {
            seen.extend_from_slice(&chunk.expect("the stream goes on"));
            // A comment or a retry hint is no event.
            if first.is_none() && String::from_utf8_lossy(&seen).contains("\"task\"") {
                first = Some(began.elapsed());
            }
        }
        let all = String::from_utf8_lossy(&seen);
        assert!(
            all.contains("TASK_STATE_COMPLETED"),
            "{}: {all}",
            self.server.name
        );
        first.expect("a task came")
    }

    async fn round(&mut self, requests: usize, at_once: usize) {
        let samples = self.measure(requests, at_once).await;
        for (row, sample) in self.rows.iter_mut().zip(samples) {
            row.push(sample);
        }
    }

    async fn measure(&self, requests: usize, at_once: usize) -> [Sample; 4] {
        let (began, cpu) = (Instant::now(), self.server.cpu());
        let sent: Vec<(String, Duration)> = many(requests, at_once, |_| async {
            let began = Instant::now();
            (self.send().await, began.elapsed())
        })
        .await;
        let (answered, cpu_answered) = (began.elapsed(), self.server.cpu());
        let (ids, times): (Vec<String>, Vec<Duration>) = sent.into_iter().unzip();
        many(requests, at_once, |number| self.completed(&ids[number])).await;
        let sample = |count: usize, whole: Duration, cpu: Duration, times| Sample {
            per_second: count as f64 / whole.as_secs_f64(),
            cpu: cpu.as_secs_f64() * 1000.0 / count as f64,
            times,
        };
        let send = sample(requests, answered, cpu_answered - cpu, times);
        let complete = sample(requests, began.elapsed(), self.server.cpu() - cpu, Vec::new());

        let (began, cpu) = (Instant::now(), self.server.cpu());
        let times = many(requests, at_once, |number| {
            let id = &ids[number];
            async move {
                let began = Instant::now();
                self.get(id).await;
                began.elapsed()
            }
        })
        .await;
        let get = sample(requests, began.elapsed(), self.server.cpu() - cpu, times);

        let (began, cpu) = (Instant::now(), self.server.cpu());
        let streams = requests / 4;
        let times = many(streams, at_once.min(4), |_| self.first_event()).await;
        let stream = sample(streams, began.elapsed(), self.server.cpu() - cpu, times);
        [send, complete, get, stream]
    }
}

fn message() -> Value {
    // The prefix tells the conformance agent what to do; to the others it is a name like any other.
    message_that("tck-stream-001")
}

/// A new message whose id begins so.
fn message_that(prefix: &str) -> Value {
    let id = domain::MessageId::random(&domain::SystemEntropy);
    json!({ "messageId": format!("{prefix}-{id}"), "role": "ROLE_USER", "parts": [{ "text": "hello" }] })
}

fn share(times: &[Duration], share: f64) -> Duration {
    times
        .get(((times.len().max(1) - 1) as f64 * share) as usize)
        .copied()
        .unwrap_or_default()
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    match arguments.only {
        Some(Only::Stored(stored)) => return stored.run(arguments.at_once).await,
        Some(Only::Database) => return database::run().await,
        None => {}
    }
    let folder = tempfile::tempdir().expect("a folder");
    let own = std::env::current_exe().expect("a path");
    let mut command = Command::new(own.with_file_name("conformance_agent"));
    command
        .args(["--port", "0", "--data"])
        .arg(folder.path().join("ours"));
    let mut servers = vec![Measured::start("switchyard, SQLite file", command)];
    let built = system_testing::folder().join("peers/rust_sdk_agent/target/release/rust_sdk_agent");
    let rust = arguments.rust_sdk.unwrap_or(built);
    servers.push(Measured::start("a2a-server-lf, memory", Command::new(rust)));
    if !arguments.no_python {
        let mut command = Command::new(system_testing::python());
        command
            .arg(system_testing::folder().join("python/bench_agent.py"))
            .arg(folder.path().join("python.sqlite"));
        servers.push(Measured::start("a2a-sdk (Python), SQLite file", command));
    }
    for round in 0..=arguments.rounds {
        for server in &mut servers {
            server.round(arguments.requests, arguments.at_once).await;
            if round == 0 {
                // The first round only warms up.
                server.rows = Default::default();
            }
        }
    }
    println!(
        "{} requests a round, {} rounds, {} at once (streams 4)\n",
        arguments.requests, arguments.rounds, arguments.at_once
    );
    println!("| | server | per second, median | server's CPU ms each | p50 ms | p99 ms |");
    println!("|---|---|---:|---:|---:|---:|");
    for (number, row) in ROWS.iter().enumerate() {
        for server in &mut servers {
            let samples = &mut server.rows[number];
            samples.sort_by(|one, other| one.per_second.total_cmp(&other.per_second));
            let middle = samples[samples.len() / 2].per_second;
            let cpu = samples.iter().map(|sample| sample.cpu).sum::<f64>() / samples.len() as f64;
            let mut times: Vec<Duration> = samples.iter().flat_map(|sample| sample.times.clone()).collect();
            times.sort();
            let time = |at: f64| match times.is_empty() {
                true => "–".to_owned(),
                false => format!("{:.1}", share(&times, at).as_secs_f64() * 1000.0),
            };
            println!(
                "| {row} | {} | {middle:.0} | {cpu:.2} | {} | {} |",
                server.server.name,
                time(0.5),
                time(0.99)
            );
        }
    }
}
