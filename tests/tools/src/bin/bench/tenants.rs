//! What it costs that there are many tenants: to add one more, to start, to keep them, and to be one of a thousand who ask.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use domain::{SystemEntropy, Tenant};
use futures_util::StreamExt as _;
use local::{Data, Options, Signer, System};
use serde_json::{Value, json};
use tokio::time::Instant;
use tools::figures::{Times, millis};

/// What everybody says: it is done at once.
const PROMPT: &str = "hello";
/// How many adds, next to each other, are looked at together.
const WINDOW: usize = 50;
/// Which share of them is quicker than what is compared: other work on the machine only adds to a time.
const QUIET: f64 = 0.25;
/// How often each start is tried; the shortest counts.
const STARTS: usize = 3;
/// Which share of the prompts may take longer than what is compared.
const P99: f64 = 0.99;

/// Adds, starts, memory and prompts with many tenants beside the same with two.
#[derive(Args)]
pub(crate) struct Tenants {
    /// How many are added.
    #[arg(long, default_value_t = 10_000)]
    count: usize,
    /// How many of them ask.
    #[arg(long, default_value_t = 1_000)]
    asking: usize,
    /// How many prompts there are in each phase.
    #[arg(long, default_value_t = 2_000)]
    prompts: usize,
    /// How many of them are under way at once.
    #[arg(long, default_value_t = 4)]
    at_once: usize,
}

async fn start((folder, port): (&Path, u16)) -> (System, Duration) {
    let began = Instant::now();
    let options = Options {
        data: Data::Folder(folder.to_owned()),
        port,
        entropy: Arc::new(SystemEntropy),
        sweep_every: None,
        ..Options::default()
    };
    let system = System::start(options).await.expect("the system starts");
    (system, began.elapsed())
}

/// The shortest of some starts, each of which is stopped.
async fn starts(at: (&Path, u16)) -> Duration {
    let mut shortest = Duration::MAX;
    for _ in 0..STARTS {
        let (system, took) = start(at).await;
        system.stop().await;
        shortest = shortest.min(took);
    }
    shortest
}

async fn add(system: &System, name: &str) -> Duration {
    let endpoints = system.endpoints();
    let began = Instant::now();
    let answer = system_testing::user::http()
        .post(format!("{}admin/tenants", endpoints.gateway))
        .bearer_auth(&endpoints.admin_token)
        .json(&json!({ "name": name }))
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status().as_u16(), 201, "{name}");
    began.elapsed()
}

/// The times of prompts, each of the next of these tenants, until they are acknowledged.
async fn prompts(system: &System, names: &[String], (count, at_once): (usize, usize), phase: &str) -> Times {
    let endpoints = system.endpoints_now();
    let one = async |number: usize| {
        let name = &names[number % names.len()];
        let tenant = Tenant::parse(name).expect("a name");
        let host = &endpoints.named(&tenant).expect("the tenant").1.host_agent;
        let host = host.as_str().trim_end_matches('/').to_owned();
        let token = system.signed(Signer::Session(name), "user-x", &host, "tasks", Duration::ZERO);
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
            "message": { "messageId": format!("{phase}-{number}"), "role": "ROLE_USER", "parts": [{ "text": PROMPT }] },
            "configuration": { "returnImmediately": true } } });
        let began = Instant::now();
        let answer = system_testing::user::http()
            .post(&host)
            .bearer_auth(token.expect("a token"))
            .header("a2a-version", "1.0")
            .json(&body)
            .send()
            .await
            .expect("an answer");
        let answer: Value = answer.json().await.expect("JSON");
        assert!(answer.pointer("/result/task/id").is_some(), "{name}: {answer}");
        began.elapsed()
    };
    let times = futures_util::stream::iter(0..count).map(one);
    let times: Vec<Duration> = times.buffer_unordered(at_once).collect().await;
    times.into_iter().collect()
}

/// What this process keeps in memory, in megabytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1024
}

impl Tenants {
    /// Prints the figures.
    ///
    /// # Panics
    /// Where the last adds take more than 1.5 times those around the hundredth, a start with all of them more than 1.5 times one with two,
    /// the memory is more than 400 MB, or the p99 of many who ask is more than 1.3 times that of two.
    pub(crate) async fn run(self) {
        let place = tempfile::tempdir().expect("a folder");
        let (first, _) = start((place.path(), 0)).await;
        // Who starts a system again does so where everybody knows it.
        let at = (place.path(), first.port());
        first.stop().await;
        let with_two = starts(at).await;
        let (system, _) = start(at).await;
        let names: Vec<String> = (0..self.count).map(|number| format!("bench-{number}")).collect();
        let began = Instant::now();
        let mut added = Vec::new();
        for name in &names {
            added.push(add(&system, name).await);
        }
        let whole = began.elapsed();
        let window = |from: usize| -> Duration {
            let times: Times = added.iter().skip(from).take(WINDOW).copied().collect();
            times.within(QUIET)
        };
        let hundredth = window(100_usize.saturating_sub(WINDOW / 2));
        let last = window(self.count.saturating_sub(WINDOW));
        println!(
            "{} adds took {} s: {} ms around the hundredth, {} ms at the end (a quarter of {WINDOW} took less).",
            self.count,
            whole.as_secs(),
            millis(hundredth),
            millis(last)
        );
        system.stop().await;
        let with_all = starts(at).await;
        println!(
            "A start takes {} ms with two tenants, {} ms with {} more.",
            millis(with_two),
            millis(with_all),
            self.count
        );
        let (system, _) = start(at).await;
        let two = ["acme".to_owned(), "globex".to_owned()];
        let many = names.get(..self.asking.min(self.count)).unwrap_or(&names);
        let load = (self.prompts, self.at_once);
        prompts(&system, &two, (100, self.at_once), "warm").await;
        let few = prompts(&system, &two, load, "few").await;
        let all = prompts(&system, many, load, "many").await;
        let memory = resident();
        for (who, times) in [("2 tenants", &few), ("many", &all)] {
            println!(
                "{} prompts of {who}: p50 {} ms, p99 {} ms.",
                self.prompts,
                millis(times.within(0.5)),
                millis(times.within(P99))
            );
        }
        println!("{memory} MB are in memory.");
        system.stop().await;
        let beyond = |what: Duration, base: Duration, most: f64| what > base.mul_f64(most);
        assert!(
            !beyond(last, hundredth, 1.5),
            "an add costs more the more tenants there are"
        );
        assert!(
            !beyond(with_all, with_two, 1.5),
            "a start takes longer the more tenants there are"
        );
        assert!(memory <= 400, "many tenants take much memory");
        let (few, all) = (few.within(P99), all.within(P99));
        assert!(!beyond(all, few, 1.3), "to be one of many costs a prompt time");
    }
}
