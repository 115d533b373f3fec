//! What a send over MQTT takes beside the same send over HTTP, in one run; and what others notice of a requester that reads slowly.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use domain::{ExposeSecret as _, SystemEntropy, TaskId};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tools::figures::Times;

use crate::AGENT;
use crate::counter::Counter;
use crate::requester::{Manner, Requester};

/// How many sends are under way at a time.
const IN_FLIGHT: usize = 16;
/// How many sends are made one at a time.
const SINGLE: u64 = 30;
/// Streams of the requester that reads slowly.
const SLOW_STREAMS: usize = 20;
const LIMIT: Duration = Duration::from_secs(60);

/// What was measured.
#[derive(Default)]
struct Measured {
    /// A send over HTTP, until it is acknowledged.
    http: Times,
    /// A send over MQTT, until its first item.
    mqtt: Times,
    /// From a change of a task to its item.
    item: Times,
    lost: usize,
}

/// Measures, and says whether the bounds are kept.
pub(crate) async fn run(broker: SocketAddr, counter: &Arc<Counter>, sends: u64) -> bool {
    let open = |name: &str, manner| Requester::open(broker, name, (AGENT, counter.token()), manner);
    let requester = Arc::new(open("bench", Manner::Usual));
    requester.ready().await;
    // Connections are open and caches full before anything counts.
    measured(&requester, counter, IN_FLIGHT, 2 * IN_FLIGHT as u64).await;
    let single = measured(&requester, counter, 1, SINGLE).await;
    let alone = measured(&requester, counter, IN_FLIGHT, sends).await;

    let slow = Arc::new(open("bench-slow", Manner::Slow));
    slow.ready().await;
    let mut reading = JoinSet::new();
    for _ in 0..SLOW_STREAMS {
        let slow = Arc::clone(&slow);
        reading.spawn(async move { while slow.ask(true, LIMIT).await.is_ok() {} });
    }
    let beside = measured(&requester, counter, IN_FLIGHT, sends).await;
    reading.abort_all();

    let ratio = |part: Duration, whole: Duration| part.as_secs_f64() / whole.as_secs_f64().max(1e-9);
    let [p50, p99] = [0.5, 0.99].map(|share| ratio(alone.mqtt.within(share), alone.http.within(share)));
    let others = ratio(beside.mqtt.within(0.99), alone.mqtt.within(0.99));
    let item = alone.item.within(0.5);
    println!("{sends} sends over each, {IN_FLIGHT} under way at a time");
    for (what, times) in [
        ("HTTP, acknowledged", &alone.http),
        ("MQTT, first item", &alone.mqtt),
        ("change to its item", &alone.item),
        ("the same, one at a time", &single.item),
        ("MQTT, beside a slow reader", &beside.mqtt),
    ] {
        let [p50, p99] = [0.5, 0.99].map(|share| times.within(share));
        println!(
            "{what:27} p50 {p50:>9.1?}  p99 {p99:>9.1?}  ({} times)",
            times.count()
        );
    }
    let mut is_well = true;
    for (what, is_kept) in [
        (
            format!("first item to acknowledgement, p50 {p50:.2} of at most 2"),
            p50 <= 2.0,
        ),
        (
            format!("first item to acknowledgement, p99 {p99:.2} of at most 3"),
            p99 <= 3.0,
        ),
        (
            format!("change to its item, p50 {item:.1?} of at most 20 ms"),
            item <= Duration::from_millis(20),
        ),
        (
            format!("p99 beside a slow reader, {others:.2} of at most 2"),
            others <= 2.0,
        ),
        (
            format!("lost: {}", alone.lost + beside.lost),
            alone.lost + beside.lost == 0,
        ),
    ] {
        println!("{}  {what}", if is_kept { "kept    " } else { "NOT KEPT" });
        is_well &= is_kept;
    }
    is_well
}

/// Sends as many over HTTP as over MQTT, in turn, so that both meet the same machine.
async fn measured(
    requester: &Arc<Requester>,
    counter: &Arc<Counter>,
    at_once: usize,
    sends: u64,
) -> Measured {
    let next = Arc::new(AtomicU64::default());
    let client = system_testing::user::http();
    let mut lanes = JoinSet::new();
    for _ in 0..at_once {
        let (requester, counter) = (Arc::clone(requester), Arc::clone(counter));
        let (next, client) = (Arc::clone(&next), client.clone());
        lanes.spawn(async move {
            let mut told = Vec::new();
            while next.fetch_add(1, Ordering::Relaxed) < sends {
                let http = over_http(&client, &counter).await;
                let mqtt = tokio::time::timeout(LIMIT, requester.timed()).await.ok();
                told.push((http, mqtt));
            }
            told
        });
    }
    let mut measured = Measured::default();
    while let Some(told) = lanes.join_next().await {
        for (http, mqtt) in told.expect("it does not panic") {
            match (http, mqtt) {
                (Some(http), Some((first, items))) => {
                    measured.http.add(http);
                    measured.mqtt.add(first);
                    items.into_iter().for_each(|item| measured.item.add(item));
                }
                _ => measured.lost += 1,
            }
        }
    }
    measured
}

/// How long it took until a send that does not wait was acknowledged.
async fn over_http(client: &reqwest::Client, counter: &Counter) -> Option<Duration> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "message": { "messageId": TaskId::random(&SystemEntropy).to_string(), "role": "ROLE_USER", "parts": [{ "text": "count" }] },
        "configuration": { "returnImmediately": true } } });
    let begun = Instant::now();
    let answer = client
        .post(counter.url.clone())
        .header("a2a-version", "1.0")
        .bearer_auth(counter.token().expose_secret())
        .json(&body)
        .send()
        .await
        .ok()?;
    let told: Value = answer.json().await.ok()?;
    told.pointer("/result/task/id")?;
    Some(begun.elapsed())
}
