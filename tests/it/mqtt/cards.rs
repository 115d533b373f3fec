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
    took: Duration,
    /// The most memory that the command had, in KiB.
    peak: u64,
}

/// Lists them by the command.
fn listed(broker: &Broker, units: &[String]) -> Listed {
    let begun = Instant::now();
    let mut command = Command::new(tests::binary::path("switchyard"));
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
    let mut peak = 0;
    let ended = loop {
        if let Some(ended) = process.try_wait().expect("a process has a state") {
            break ended;
        }
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let most = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let most = most.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(most.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(ended.success());
    Listed {
        agents: lines.join().expect("no panic"),
        took: begun.elapsed(),
        peak,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_cards_are_all_listed() {
    let broker = Broker::start();
    fill(&broker, 1, 10_000).await;
    let listed = listed(&broker, &[]);
    println!("10,000 cards: {:?}, {} KiB", listed.took, listed.peak);
    assert_eq!(listed.agents, 10_000);
    assert!(listed.peak <= 150 * 1024, "{} KiB", listed.peak);
    // A quiet machine takes a small part of this.
    assert!(listed.took < Duration::from_secs(15), "{:?}", listed.took);
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
    println!("ten units of a stock Mosquitto: {:?}", listed.took);
    assert_eq!(listed.agents, 10_000);
}
