//! Chaos over MQTT: many requests through a broker and a bridge that are killed, and connections that are cut and repeat
//! themselves; and the proof that none is lost and none done twice.
//!
//! ```text
//! cargo build -p mqtt_bridge && cargo run -p tools --bin mqtt_chaos -- --seed 7 --requests 100
//! ```
//!
//! What goes wrong: the broker is killed (`SIGKILL`) twice, once with what it has kept and once without; the bridge is killed
//! twice; all connections are cut three times for five seconds; a fifth of all publications, both ways, come again with DUP; one
//! requester reads slowly, and one never acknowledges anything.
//!
//! With `--hosts` it is the other way: tenants' hosts ask the agent over the broker, through the same bridge both ways; one host's webhook is slow,
//! and one never answers.
//!
//! With `--bench 1000` nothing goes wrong: sends over MQTT are measured beside sends over HTTP.
//!
//! At the end each requester has the final task of its agent, by its stream or by `GetTask`, and each task was worked on once.

mod bench;
mod bridge;
mod counter;
mod hosts;
mod proxy;
mod requester;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::RetrySchedule;
use clap::Parser;
use sandbox::mosquitto::{self, Mosquitto, Wanted};
use serde_json::json;
use tokio::task::JoinSet;

use crate::bridge::Bridge;
use crate::counter::Counter;
use crate::hosts::{Ground, Planned};
use crate::proxy::{Proxy, chosen};
use crate::requester::{Done, Manner, Requester};

/// The agent's address.
const AGENT: &str = "switchyard/platform/counter";
/// The id of no task.
const NO_TASK: &str = "6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f";
/// How many requesters there are, beside the slow and the silent one.
const REQUESTERS: usize = 10;
/// How long a stream may be silent while only the bridge is killed.
const SILENCE: Duration = Duration::from_secs(10);
/// How long the first answer may take.
const START: Duration = Duration::from_secs(60);
/// How long a cut lasts.
const CUT: Duration = Duration::from_secs(5);

/// Many requests through a broker and a bridge that are killed, and the proof that none is lost and none done twice.
#[derive(Parser)]
#[command(name = "mqtt_chaos")]
struct Arguments {
    /// Where every choice comes from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many requests are made.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    requests: u64,
    /// After so many seconds a request that has no final task counts as lost.
    #[arg(long, default_value_t = 180)]
    limit: u64,
    /// Of a hundred publications, so many come twice.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=100))]
    repeated: u64,
    /// Nothing is killed or cut: what the run itself costs.
    #[arg(long, conflicts_with_all = ["bridge_alone", "only", "short"])]
    calm: bool,
    /// Only this goes wrong.
    #[arg(long, value_enum, conflicts_with = "bridge_alone")]
    only: Vec<Trouble>,
    /// Each thing goes wrong once, and the requests come sooner.
    #[arg(long)]
    short: bool,
    /// Only the bridge is killed, in the middle of streams: each of them goes on by itself, under the correlation that it began
    /// with and without a gap.
    #[arg(long)]
    bridge_alone: bool,
    /// The requests are hosts' of ours, for users of theirs.
    #[arg(long, conflicts_with_all = ["bridge_alone", "bench"])]
    hosts: bool,
    /// When hosts send again what had no answer (`A2A_RETRY_SCHEDULE`): where brokers go and come, the usual wait of two minutes after
    /// the fourth failure is long.
    #[arg(long, value_name = "SECONDS", default_value = "1,2,4,8,15,30,30,30,60,120,300,600,600", value_parser = str::parse::<RetrySchedule>)]
    retries: RetrySchedule,
    /// Nothing goes wrong: so many sends are measured, over MQTT and over HTTP, alone and beside a requester that reads slowly.
    #[arg(long, value_name = "SENDS", conflicts_with_all = ["calm", "bridge_alone", "only", "short", "requests"], value_parser = clap::value_parser!(u64).range(1..=100_000))]
    bench: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Trouble {
    /// The broker is killed, and has what it kept.
    BrokerKilled,
    /// The broker is killed, and has nothing.
    BrokerForgets,
    /// The bridge is killed.
    BridgeKilled,
    /// All connections are cut.
    Cut,
}

impl Arguments {
    /// What goes wrong, in this order.
    fn troubles(&self) -> Vec<Trouble> {
        let once = [
            Trouble::BrokerKilled,
            Trouble::BridgeKilled,
            Trouble::Cut,
            Trouble::BrokerForgets,
        ];
        let more = [Trouble::Cut, Trouble::BridgeKilled, Trouble::Cut];
        let mut troubles = once.to_vec();
        if !self.short {
            troubles.extend(more);
        }
        troubles.retain(|trouble| match self.bridge_alone {
            true => *trouble == Trouble::BridgeKilled,
            false => !self.calm && (self.only.is_empty() || self.only.contains(trouble)),
        });
        for n in (1..troubles.len()).rev() {
            let other = chosen(self.seed, 2_000_000 + n as u64) as usize % (n + 1);
            troubles.swap(n, other);
        }
        troubles
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let folder = tempfile::tempdir().expect("a folder");
    let wanted = Wanted {
        persistent: true,
        ..Wanted::default()
    };
    let mut broker = start(&folder, 0, &wanted);
    let (proxy, address) = Proxy::start(arguments.seed, arguments.repeated, broker.port()).await;
    let (step, address) = match arguments.bench {
        // The way to the broker is measured, and not the proxy.
        Some(_) => (
            Duration::from_millis(20),
            SocketAddr::from(([127, 0, 0, 1], broker.port())),
        ),
        None => (Duration::from_millis(900), address),
    };
    let planned = match arguments.hosts {
        true => hosts::planned().await,
        false => Vec::new(),
    };
    let issuers: Vec<_> = planned.iter().map(Planned::issuer).collect();
    let counter = Arc::new(Counter::start(step, issuers.clone()).await);
    let agent = json!({ "address": AGENT, "url": counter.url });
    let agents: Vec<_> = std::iter::once(agent)
        .chain(planned.iter().map(Planned::place))
        .collect();
    let mut bridge = Bridge::new(folder.path(), address, &agents, &issuers).await;
    bridge.start();
    let open = |name: &str, manner| Requester::open(address, name, (AGENT, counter.token()), manner);
    let mut requesters: Vec<_> = (0..REQUESTERS)
        .map(|n| open(&format!("asker-{n}"), Manner::Usual))
        .collect();
    requesters.push(open("slow", Manner::Slow));
    let requesters: Vec<_> = requesters.into_iter().map(Arc::new).collect();
    let silent = Arc::new(open("silent", Manner::Silent));
    for requester in &requesters {
        requester.ready().await;
    }
    // The agent is there once it answers.
    let asked = async { while requesters[0].look(NO_TASK).await.is_none() {} };
    if tokio::time::timeout(START, asked).await.is_err() {
        let gone = if bridge.is_gone() {
            "the bridge has ended"
        } else {
            "no answer"
        };
        println!("NOT STARTED: {gone}\n{}", bridge.said());
        return ExitCode::FAILURE;
    }
    if let Some(sends) = arguments.bench {
        return ExitCode::from(u8::from(!bench::run(address, &counter, sends).await));
    }
    println!("seed {}, {} requests", arguments.seed, arguments.requests);

    if arguments.hosts {
        let ground = Ground {
            store: &counter.store,
            bridge: &bridge.url,
            broker: format!("mqtt://{address}").parse().expect("a URL"),
            agent: &counter.url,
            agents_door: Arc::clone(&counter.door),
            retries: arguments.retries.waits(),
        };
        let hosts = hosts::start(planned, &ground).await;
        let begun = Instant::now();
        let asked = hosts::ask(hosts, &arguments);
        let mut place = Place {
            folder: &folder,
            wanted: &wanted,
            broker: &mut broker,
            proxy: &proxy,
            bridge: &mut bridge,
        };
        place.troubled(&arguments, begun).await;
        let faults = hosts::judged(asked.await, (&counter, proxy.repeated()), &arguments, begun);
        return ended(&faults, &bridge);
    }

    let begun = Instant::now();
    let limit = Duration::from_secs(arguments.limit);
    let mut asked = JoinSet::new();
    for n in 0..arguments.requests {
        // All of them are under way by the middle of the troubles.
        let within = if arguments.short { 10_000 } else { 25_000 };
        let after = Duration::from_millis(chosen(arguments.seed, 1_000_000 + n) % within);
        let index = usize::try_from(n).expect("few requests") % requesters.len();
        let requester = Arc::clone(&requesters[index]);
        asked.spawn(async move {
            tokio::time::sleep(after).await;
            requester.ask(n % 3 != 0, limit).await
        });
    }
    let mut unheard = JoinSet::new();
    for _ in 0..2 {
        let silent = Arc::clone(&silent);
        unheard.spawn(async move { silent.ask(true, limit).await });
    }

    let mut place = Place {
        folder: &folder,
        wanted: &wanted,
        broker: &mut broker,
        proxy: &proxy,
        bridge: &mut bridge,
    };
    place.troubled(&arguments, begun).await;
    let mut faults = Vec::new();
    let mut done: Vec<Done> = Vec::new();
    while let Some(asked) = asked.join_next().await {
        match asked.expect("it does not panic") {
            Ok(one) => done.push(one),
            Err(task) => faults.push(format!("{task}: lost")),
        }
    }
    while let Some(asked) = unheard.join_next().await {
        match asked.expect("it does not panic") {
            Ok(one) => done.push(one),
            Err(task) => faults.push(format!("{task}: lost by the one that never acknowledges")),
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    faults.extend(judged(&done, &counter));
    let by_stream = done.iter().filter(|one| one.by_stream).count();
    let whole = done.iter().filter(|one| is_whole(one)).count();
    let again: u32 = done.iter().map(|one| one.attempts.saturating_sub(1)).sum();
    let mut took: Vec<_> = done.iter().map(|one| one.took).collect();
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).or(took.last()).copied();
    println!(
        "{} of {} have their final task after {seconds:.1} s: {by_stream} by what was sent, {whole} with every event; \
         {again} requests were made again, {} publications came twice; p50 {:.1?}, p99 {:.1?}",
        done.len(),
        arguments.requests + 2,
        proxy.repeated(),
        at(50).unwrap_or_default(),
        at(99).unwrap_or_default(),
    );
    if arguments.bridge_alone {
        faults.extend(done.iter().filter(|one| one.is_stream).filter_map(|one| {
            let well = one.by_stream && one.attempts == 1 && is_whole(one) && one.silence <= SILENCE;
            (!well).then(|| format!("{}: its stream broke off: {one:?}", one.task))
        }));
        let longest = done
            .iter()
            .filter(|one| one.is_stream)
            .map(|one| one.silence)
            .max();
        println!("longest silence of a stream: {:.1?}", longest.unwrap_or_default());
    }
    if proxy.repeated() == 0 && arguments.repeated > 0 {
        faults.push("nothing came twice".to_owned());
    }
    ended(&faults, &bridge)
}

/// What the run says last.
fn ended(faults: &[String], bridge: &Bridge) -> ExitCode {
    for fault in faults {
        println!("FAULT {fault}");
    }
    if !faults.is_empty() {
        println!("{}", bridge.said());
    }
    println!(
        "{}",
        if faults.is_empty() {
            "0 lost, 0 done twice"
        } else {
            "NOT WELL"
        }
    );
    ExitCode::from(u8::from(!faults.is_empty()))
}

/// What goes wrong, goes wrong here.
struct Place<'p> {
    folder: &'p tempfile::TempDir,
    wanted: &'p Wanted,
    broker: &'p mut Mosquitto,
    proxy: &'p Proxy,
    bridge: &'p mut Bridge,
}

impl Place<'_> {
    async fn troubled(&mut self, arguments: &Arguments, begun: Instant) {
        for (n, trouble) in arguments.troubles().into_iter().enumerate() {
            tokio::time::sleep(Duration::from_secs(3) + rest(arguments.seed, n)).await;
            println!("{:6.1} s  {trouble:?}", begun.elapsed().as_secs_f64());
            match trouble {
                Trouble::BrokerKilled | Trouble::BrokerForgets => {
                    let port = self.broker.port();
                    self.broker.kill();
                    if matches!(trouble, Trouble::BrokerForgets) {
                        let _nothing_kept = std::fs::remove_file(self.folder.path().join("mosquitto.db"));
                    }
                    *self.broker = start(self.folder, port, self.wanted);
                }
                Trouble::BridgeKilled => {
                    self.bridge.kill();
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    self.bridge.start();
                }
                Trouble::Cut => {
                    self.proxy.cut();
                    tokio::time::sleep(CUT).await;
                    self.proxy.mend();
                }
            }
        }
    }
}

/// What is wrong with what was done.
fn judged(done: &[Done], counter: &Counter) -> Vec<String> {
    let counts = counter.counts.lock().expect("no panic");
    let mut faults = Vec::new();
    for one in done {
        if one.state != "TASK_STATE_COMPLETED" {
            faults.push(format!("{}: ended as {}", one.task, one.state));
        }
        match counts.get(&one.task) {
            Some(1) => {}
            Some(count) => faults.push(format!("{}: done {count} times", one.task)),
            None => faults.push(format!("{}: never done", one.task)),
        }
    }
    if counts.len() != done.len() && faults.is_empty() {
        faults.push(format!("{} tasks of {} requests", counts.len(), done.len()));
    }
    faults
}

/// Whether each event came: one for the beginning, one for each piece, one for the end.
fn is_whole(one: &Done) -> bool {
    let last = one.numbers.last().copied().unwrap_or_default();
    one.numbers.len() as u64 == last && last as usize >= counter::STEPS
}

fn rest(seed: u64, n: usize) -> Duration {
    Duration::from_millis(chosen(seed, 3_000_000 + n as u64) % 3_000)
}

fn start(folder: &tempfile::TempDir, port: u16, wanted: &Wanted) -> Mosquitto {
    let own = system_testing::folder().join(".tools/bin/mosquitto");
    let program: PathBuf = if own.exists() { own } else { mosquitto::program() };
    let started = Mosquitto::start(&program, folder.path(), port, wanted);
    started.unwrap_or_else(|error| panic!("no Mosquitto ({error}): `tests/run tools` installs it"))
}
