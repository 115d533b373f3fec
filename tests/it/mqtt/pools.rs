//! Pools of agents: one topic, and each request goes to one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{AgentAddress, PoolAddress, Properties, Publication, Recipient, TopicPrefix};
use auth::{Sealer, Verifier};
use domain::{SystemClock, SystemEntropy};
use mqtt::{Published, Publisher as _};
use mqtt_bridge::{ATTEMPT, AgentPlace, Bridge, BridgeParts, Connection, PATIENCE};
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use system_testing::Local;
use tokio::sync::watch;
use url::Url;

use super::message;
use super::requester::new_task;
use super::world::Broker;

const REQUESTS: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn three_members_of_a_pool_answer_everything_and_none_is_idle() {
    // Mosquitto shares nothing below `$`.
    let prefix: TopicPrefix = "a2a/v1".parse().expect("a prefix");
    let broker = Broker::start();
    let local = Local::start().await;
    let weather: Url = local.endpoint("/agents/weather").parse().expect("a URL");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let pool = PoolAddress::new("switchyard", "platform", "forecasters").expect("an address");
    let members: Vec<AgentAddress> = ["w1", "w2", "w3"]
        .iter()
        .map(|name| AgentAddress::new("switchyard", "platform", name).expect("an address"))
        .collect();
    let agents = members.iter().map(|address| AgentPlace {
        address: address.clone(),
        url: weather.clone(),
        pools: vec![pool.clone()],
        webhook: None,
    });
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let key = Sealer::generate_key(&SystemEntropy);
    let bridge = Bridge::new(BridgeParts {
        url: url.parse().expect("a URL"),
        broker: broker.running.url().parse().expect("an address"),
        verifier: Verifier::new(url.clone(), Vec::new()).expect("a verifier"),
        replies_for: Duration::from_secs(3_600),
        prefix: prefix.clone(),
        orgs: BTreeSet::from(["acme".to_owned()]),
        agents: agents.collect(),
        sealer: Arc::new(Sealer::new(vec![("k1".to_owned(), key)]).expect("a key")),
        outbound: Outbound::new(policy, Arc::new(SystemEntropy)),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        patience: PATIENCE,
        attempt: ATTEMPT,
        stays: true,
    });
    let bridge = Arc::new(bridge.expect("keys"));
    let router = mqtt_bridge::router(Arc::clone(&bridge));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let (_stop, stopped) = watch::channel(false);
    for address in &members {
        let place = AgentPlace {
            address: address.clone(),
            url: weather.clone(),
            pools: vec![pool.clone()],
            webhook: None,
        };
        let connection = Connection {
            broker: broker.running.url().parse().expect("an address"),
            password: None,
        };
        tokio::spawn(mqtt_bridge::keep(
            Arc::clone(&bridge),
            place,
            connection,
            stopped.clone(),
        ));
    }
    let reply = "a2a/v1/reply/acme/lab/asker/s";
    let (asker, mut told) = broker.open("acme/lab/asker", vec![reply.to_owned()]).await;
    let request = |n: usize| {
        // Some are work; most only look, so that this does not take long.
        let (method, params) = match n % 10 {
            0 => ("SendMessage", message(&new_task(), "Weather in Oslo tomorrow?")),
            _ => ("GetTask", json!({ "id": new_task() })),
        };
        let body = json!({ "jsonrpc": "2.0", "id": n, "method": method, "params": params });
        Publication {
            topic: prefix.request(&Recipient::Pool(pool.clone())),
            payload: body.to_string().into(),
            retain: false,
            properties: Properties {
                response_topic: Some(reply.to_owned()),
                correlation: Some(n.to_string().into()),
                ..Properties::default()
            },
        }
    };
    // All members are there once somebody answers; each has had the time to be by the last.
    let there = async {
        while asker.publish(request(REQUESTS + 1)).await != Ok(Published::Taken) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), there)
        .await
        .expect("the pool is there");
    tokio::time::sleep(Duration::from_secs(1)).await;
    for n in 0..REQUESTS {
        assert_eq!(asker.publish(request(n)).await, Ok(Published::Taken));
    }
    let mut answered = BTreeSet::new();
    let mut by: BTreeMap<String, usize> = BTreeMap::new();
    while answered.len() < REQUESTS {
        let next = tokio::time::timeout(Duration::from_secs(30), told.recv()).await;
        let next = next.expect("an answer to each").expect("a session").publication;
        let item: Value = serde_json::from_slice(&next.payload).expect("JSON");
        let Some(n) = item["id"]
            .as_u64()
            .and_then(|n| usize::try_from(n).ok())
            .filter(|n| *n < REQUESTS)
        else {
            continue;
        };
        let responder = next.properties.one("a2a-responder-agent-id").expect("one");
        let responder = responder.expect("each names who answers");
        if answered.insert(n) {
            *by.entry(responder.to_owned()).or_default() += 1;
        }
    }
    assert_eq!(by.len(), 3, "{by:?}");
    assert!(by.values().all(|count| *count >= REQUESTS / 10), "{by:?}");
    local.system.stop().await;
}
