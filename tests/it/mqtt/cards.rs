//! Many cards on a broker, as the terminal lists them.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use a2a::mqtt::Publication;
use futures_util::StreamExt as _;
use mqtt::Publisher as _;
use sandbox::mosquitto::Wanted;

use super::world::Broker;

/// Puts so many cards of 2.8 KB into each of these units.
async fn fill(broker: &Broker, units: usize, each: usize) {
    let (session, _told) = broker.open("big/filler/x", Vec::new()).await;
    let card = format!(
        r#"{{"name": "Agent", "description": "{}", "skills": [{{}}]}}"#,
        "x".repeat(2_740)
    );
    let cards =
        (0..units).flat_map(|unit| (0..each).map(move |n| format!("$a2a/v1/discovery/big/u{unit}/a{n}")));
    futures_util::stream::iter(cards)
        .map(|topic| {
            let publication = Publication {
                topic,
                payload: card.clone().into(),
                retain: true,
                ..Publication::default()
            };
            session.publish(publication)
        })
        .buffer_unordered(64)
        .for_each(|told| async move { assert!(told.is_ok(), "{told:?}") })
        .await;
}

/// What listing them takes.
struct Listed {
    agents: usize,
    /// Without the time in which something on this machine waited for a processor.
    took: Duration,
    /// The processor's time that the command had.
    worked: Duration,
    /// The most memory that the command had, in KiB.
    peak: u64,
}

impl Listed {
    fn is_within(&self, limit: Duration) {
        let Self {
            agents,
            took,
            worked,
            peak,
        } = *self;
        println!("{took:?} without waiting, {worked:?} of the processor, {peak} KiB");
        assert_eq!(agents, 10_000);
        assert!(peak <= 150 * 1024, "{peak} KiB");
        assert!(took <= limit, "{took:?}");
        // On a machine that is never quiet this alone says something.
        assert!(worked <= Duration::from_secs(2), "{worked:?}");
    }
}

/// For how long something on this machine has waited for a processor; nothing where the kernel does not tell.
fn stalled() -> Duration {
    let told = std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
    let total = told.lines().next().and_then(|some| some.split("total=").nth(1));
    let total = total.and_then(|micros| micros.trim().parse().ok());
    Duration::from_micros(total.unwrap_or(0))
}

/// The processor's time that a process has had: hundredths of a second, in two of the fields behind its name.
fn worked(process: u32) -> Option<Duration> {
    let told = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = told.rsplit(')').next()?.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * ticks))
}

/// Lists them by the command.
fn listed(broker: &Broker, units: &[String]) -> Listed {
    let (begun, stalled_before) = (Instant::now(), stalled());
    let mut command = Command::new(system_testing::binary::path("switchyard"));
    command.args([
        "mqtt",
        "agents",
        "--json",
        "--broker",
        &broker.running.url(),
        "--org",
        "big",
    ]);
    for unit in units {
        command.args(["--unit", unit.as_str()]);
    }
    let mut process = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let output = process.stdout.take().expect("its output");
    let lines = std::thread::spawn(move || BufReader::new(output).lines().count());
    let status = format!("/proc/{}/status", process.id());
    let (mut peak, mut spent) = (0, Duration::ZERO);
    let ended = loop {
        if let Some(ended) = process.try_wait().expect("a process has a state") {
            break ended;
        }
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let most = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let most = most.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(most.unwrap_or(0));
        spent = spent.max(worked(process.id()).unwrap_or_default());
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(ended.success());
    Listed {
        agents: lines.join().expect("no panic"),
        took: begun.elapsed().saturating_sub(stalled() - stalled_before),
        worked: spent,
        peak,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_cards_are_all_listed() {
    let broker = Broker::start();
    fill(&broker, 1, 10_000).await;
    let listed = listed(&broker, &[]);
    listed.is_within(Duration::from_secs(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_mosquitto_gives_the_cards_of_ten_units_one_by_one() {
    // As it is without any configuration.
    let stock = ["max_queued_messages 1000", "max_inflight_messages 20"];
    let broker = Broker::start_as(&Wanted {
        lines: stock.map(str::to_owned).to_vec(),
        ..Wanted::default()
    });
    fill(&broker, 10, 1_000).await;
    let units: Vec<String> = (0..10).map(|unit| format!("u{unit}")).collect();
    let listed = listed(&broker, &units);
    listed.is_within(Duration::from_secs(6));
}
