//! The conformance agent beside two servers of others, in one run: non-blocking send, the same until the tasks are
//! done, get, and the first event of a stream.
//!
//! ```text
//! cargo build --release --manifest-path tests/peers/rust_sdk_agent/Cargo.toml
//! cargo build --release -p tools --bin conformance_agent
//! cargo run --release -p tools --bin bench_a2a
//! ```
//!
//! Ours persists every task, event and idempotency record through the DynamoDB SDK into the embedded engine's SQLite
//! file; the Python SDK keeps its tasks in SQLite; the Rust SDK keeps them in memory. Each server is a process of its
//! own, the client shares the machine with it, and the servers take turns, so compare the columns, not the figures of
//! two runs. Where others work on the machine too, the processor time that a server itself took says more than its
//! requests per second.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::StreamExt;
use serde_json::{Value, json};

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
}

/// A server as a process, which ends with this value.
struct Server {
    name: &'static str,
    process: Child,
    url: String,
    http: reqwest::Client,
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

impl Server {
    fn start(name: &'static str, mut command: Command) -> Self {
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut line = String::new();
        let stdout = process.stdout.take().expect("its output is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("it says where it listens");
        let said: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("{name} said {line:?}, not its URL"));
        Self {
            name,
            process,
            url: said["url"].as_str().expect("a URL").to_owned(),
            http: tests::user::http(),
            rows: Default::default(),
        }
    }

    async fn call(&self, method: &str, params: Value) -> reqwest::Response {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.http
            .post(&self.url)
            .header("A2A-Version", "1.0")
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Sends one message that makes a task which works, has one artifact, and completes; gives the task's id.
    async fn send(&self) -> String {
        let params = json!({ "message": message(), "configuration": { "returnImmediately": true } });
        let answer: Value = self.call("SendMessage", params).await.json().await.expect("JSON");
        let id = answer.pointer("/result/task/id").and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("{}: no task in {answer}", self.name))
            .to_owned()
    }

    async fn get(&self, id: &str) -> Value {
        let answer: Value = self
            .call("GetTask", json!({ "id": id }))
            .await
            .json()
            .await
            .expect("JSON");
        assert!(answer.pointer("/result/id").is_some(), "{}: {answer}", self.name);
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
                other => panic!("{}: {other:?} in {task}", self.name),
            }
        }
    }

    /// The time to the first event; the stream is then read to its end.
    async fn first_event(&self) -> Duration {
        let began = Instant::now();
        let answer = self
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
        assert!(all.contains("TASK_STATE_COMPLETED"), "{}: {all}", self.name);
        first.expect("a task came")
    }

    /// The processor time that the process has taken so far.
    fn cpu(&self) -> Duration {
        let path = format!("/proc/{}/stat", self.process.id());
        let stat = std::fs::read_to_string(path).unwrap_or_default();
        // User and system time, the 14th and 15th field, in hundredths of a second; the second may hold blanks.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u64 = fields
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<u64>().ok())
            .sum();
        Duration::from_millis(ticks * 10)
    }

    async fn round(&mut self, requests: usize, at_once: usize) {
        let samples = self.measure(requests, at_once).await;
        for (row, sample) in self.rows.iter_mut().zip(samples) {
            row.push(sample);
        }
    }

    async fn measure(&self, requests: usize, at_once: usize) -> [Sample; 4] {
        let (began, cpu) = (Instant::now(), self.cpu());
        let sent: Vec<(String, Duration)> = many(requests, at_once, |_| async {
            let began = Instant::now();
            (self.send().await, began.elapsed())
        })
        .await;
        let (answered, cpu_answered) = (began.elapsed(), self.cpu());
        let (ids, times): (Vec<String>, Vec<Duration>) = sent.into_iter().unzip();
        many(requests, at_once, |number| self.completed(&ids[number])).await;
        let sample = |count: usize, whole: Duration, cpu: Duration, times| Sample {
            per_second: count as f64 / whole.as_secs_f64(),
            cpu: cpu.as_secs_f64() * 1000.0 / count as f64,
            times,
        };
        let send = sample(requests, answered, cpu_answered - cpu, times);
        let complete = sample(requests, began.elapsed(), self.cpu() - cpu, Vec::new());

        let (began, cpu) = (Instant::now(), self.cpu());
        let times = many(requests, at_once, |number| {
            let id = &ids[number];
            async move {
                let began = Instant::now();
                self.get(id).await;
                began.elapsed()
            }
        })
        .await;
        let get = sample(requests, began.elapsed(), self.cpu() - cpu, times);

        let (began, cpu) = (Instant::now(), self.cpu());
        let streams = requests / 4;
        let times = many(streams, at_once.min(4), |_| self.first_event()).await;
        let stream = sample(streams, began.elapsed(), self.cpu() - cpu, times);
        [send, complete, get, stream]
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn message() -> Value {
    // The prefix tells the conformance agent what to do; to the others it is a name like any other.
    let id = format!(
        "tck-stream-001-{}",
        domain::MessageId::random(&domain::SystemEntropy)
    );
    json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": "hello" }] })
}

async fn many<T, F: Future<Output = T>>(count: usize, at_once: usize, one: impl Fn(usize) -> F) -> Vec<T> {
    futures_util::stream::iter((0..count).map(one))
        .buffer_unordered(at_once)
        .collect()
        .await
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
    let folder = tempfile::tempdir().expect("a folder");
    let own = std::env::current_exe().expect("a path");
    let mut command = Command::new(own.with_file_name("conformance_agent"));
    command
        .args(["--port", "0", "--data"])
        .arg(folder.path().join("ours"));
    let mut servers = vec![Server::start("switchyard, SQLite file", command)];
    let built = tests::folder().join("peers/rust_sdk_agent/target/release/rust_sdk_agent");
    let rust = arguments.rust_sdk.unwrap_or(built);
    servers.push(Server::start("a2a-server-lf, memory", Command::new(rust)));
    if !arguments.no_python {
        let mut command = Command::new(tests::python());
        command
            .arg(tests::folder().join("python/bench_agent.py"))
            .arg(folder.path().join("python.sqlite"));
        servers.push(Server::start("a2a-sdk (Python), SQLite file", command));
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
                server.name,
                time(0.5),
                time(0.99)
            );
        }
    }
}
