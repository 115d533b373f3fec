//! Bad input over a broker: a typed answer or a counted drop, nothing changed, and the agent still there.

use std::time::{Duration, Instant};

use a2a::mqtt::{Properties, Publication};
use local::Signer;
use mqtt::Publisher as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::registered::registry;
use super::requester::{Requester, new_task};
use super::world::World;
use super::{message, state};

const AGENT: &str = "switchyard/platform/weather";

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_refused_or_dropped_and_the_agent_goes_on() {
    let world = World::start().await;
    let asker = Requester::new(&world, "asker").await;
    let send =
        |params: Value| json!({ "jsonrpc": "2.0", "id": "r", "method": "SendMessage", "params": params });
    let good = |payload: Value| Publication {
        topic: format!("$a2a/v1/request/{AGENT}"),
        payload: payload.to_string().into(),
        retain: false,
        properties: Properties {
            response_topic: Some(asker.reply().to_owned()),
            correlation: Some("c".into()),
            ..Properties::default()
        },
    };
    let question = || good(send(message(&new_task(), "Weather in Oslo?")));
    let changed = |change: &dyn Fn(&mut Publication)| {
        let mut publication = question();
        change(&mut publication);
        publication
    };
    // Nobody is told, and nobody else either: an answer to one of these would come among those below.
    let dropped = |topic: Option<&str>| {
        changed(&|it| {
            it.properties.correlation = Some("dropped".into());
            it.properties.response_topic = topic.map(str::to_owned);
        })
    };
    let wildcard = asker.reply().replace("/asker/", "/+/");
    for topic in [
        None,
        Some("$a2a/v1/reply/globex/lab/asker/s"),
        Some("$a2a/v1/reply/acme/lab/asker/#"),
        Some("alarm/siren"),
    ] {
        asker.raw(dropped(topic)).await;
    }
    // A client of ours publishes neither of these.
    let mut large = dropped(Some(asker.reply()));
    large.payload = vec![b'x'; 2 * 1024 * 1024].into();
    for (number, publication) in [(1, dropped(Some(&wildcard))), (2, large)] {
        published_as_it_is(&world, number, &publication).await;
    }
    for (refused, code) in [
        (changed(&|it| it.properties.correlation = None), -32005),
        (
            changed(&|it| it.properties.correlation = Some(vec![b'c'; 60_000].into())),
            -32005,
        ),
        (changed(&|it| it.payload = "{".into()), -32700),
        (changed(&|it| it.payload = vec![0xff, 0xfe].into()), -32700),
        (good(json!([send(message(&new_task(), "x"))])), -32600),
        (
            good(
                json!({ "jsonrpc": "2.0", "id": "r", "method": "message/send", "params": message(&new_task(), "x") }),
            ),
            -32601,
        ),
        (
            good(json!({ "jsonrpc": "2.0", "id": "r", "method": "Frobnicate", "params": {} })),
            -32601,
        ),
        (
            good(send(
                json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "x" }] } }),
            )),
            -32005,
        ),
        (good(send(message("t-1", "x"))), -32005),
        (
            good(send(
                json!({ "message": { "messageId": "m", "taskId": new_task(), "role": "ROLE_USER", "parts": [] } }),
            )),
            -32602,
        ),
        (
            changed(&|it| it.properties.user = vec![("a2a-authorization".into(), "Bearer a".into()); 2]),
            -32005,
        ),
    ] {
        let wanted = refused.properties.correlation.clone();
        asker.raw(refused).await;
        let answer = asker
            .next()
            .await
            .unwrap_or_else(|| panic!("no answer of {code}"));
        assert_eq!(answer.properties.correlation, wanted);
        let answer: Value = serde_json::from_slice(&answer.payload).expect("JSON");
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    asker
        .raw(changed(&|it| it.payload = vec![b'x'; 250_000].into()))
        .await;
    assert_eq!(asker.next().await.map(|it| it.payload.len() < 1_000), Some(true));
    let answer = asker
        .ask(
            AGENT,
            "SendMessage",
            message(&new_task(), "Weather in Oslo tomorrow?"),
        )
        .await;
    assert_eq!(state(&answer[0]), "TASK_STATE_COMPLETED");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cards_that_are_none_of_their_agents_are_not_listed_and_change_nothing() {
    let world = World::importing(&["acme/lab:echo"]).await;
    let broker = world.broker.running.url();
    let (session, _told) = world.broker.open("acme/lab/filler", Vec::new()).await;
    let card = |agent: &str| {
        json!({ "name": agent, "description": "Shouts a text into the mountains.", "version": "1",
            "supportedInterfaces": [{ "url": format!("{broker}/$a2a/v1/request/acme/lab/{agent}"),
                "protocolBinding": "MQTTv5+JSONRPCv2", "protocolVersion": "1.0" }],
            "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{ "id": "echo", "name": "Echo", "description": "What is the echo?", "tags": [] }] })
    };
    let changed = |agent: &str, field: &str, value: Value| {
        let mut changed = card(agent);
        changed[field] = value;
        changed
    };
    let publish = async |agent: &str, card: Value| {
        let publication = Publication {
            topic: format!("$a2a/v1/discovery/acme/lab/{agent}"),
            payload: card.to_string().into(),
            retain: true,
            properties: Properties {
                user: vec![("a2a-status".to_owned(), "online".to_owned())],
                ..Properties::default()
            },
        };
        let told = session.publish(publication).await;
        assert!(told.is_ok(), "{told:?}");
    };
    let large = json!("x".repeat(65 * 1024));
    publish("large", changed("large", "x-more", large.clone())).await;
    publish("bare", changed("bare", "skills", json!([]))).await;
    publish("other", card("good")).await;
    // What came before it was looked at before it.
    publish("good", card("good")).await;
    let listed = async || {
        let found = registry(&world.local, "GET", "/agents?tag=type:echo", None).await;
        let agents = found["agents"].as_array().expect("a list");
        agents
            .iter()
            .map(|agent| (agent["card"]["name"].clone(), agent["health"]["ok"].clone()))
            .collect::<Vec<_>>()
    };
    let good = [(json!("good"), json!(true))];
    let begun = Instant::now();
    while listed().await.is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the good one is registered"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(listed().await, good);
    // Nor does the bridge have them, and what it has is as it was when a bad one comes on the same topic.
    for (field, value) in [
        ("x-more", large),
        ("skills", json!([])),
        (
            "supportedInterfaces",
            card("other")["supportedInterfaces"].clone(),
        ),
    ] {
        let mut bad = changed("good", field, value);
        bad["name"] = json!("bad");
        publish("good", bad).await;
    }
    publish("last", card("last")).await;
    while listed().await.len() < 2 {
        assert!(
            begun.elapsed() < Duration::from_secs(40),
            "the last one is registered"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let bridge = world
        .local
        .endpoint("/mqtt/bridge")
        .trim_end_matches('/')
        .to_owned();
    let token = world
        .local
        .system
        .signed(
            Signer::Platform,
            "registry",
            &bridge,
            "mqtt:cards",
            Duration::ZERO,
        )
        .expect("a token");
    for (agent, wanted) in [
        ("large", 404),
        ("bare", 404),
        ("other", 404),
        ("good", 200),
        ("last", 200),
    ] {
        let asked = system_testing::user::http().get(format!("{bridge}/cards/acme/lab/{agent}"));
        let answer = asked.bearer_auth(&token).send().await.expect("an answer");
        assert_eq!(answer.status(), wanted, "{agent}");
        let told: Value = answer.json().await.expect("JSON");
        assert!(wanted == 404 || told["name"] == agent, "{told}");
    }
    world.stop().await;
}

/// Publishes by the bare protocol, and waits for what the broker says: it acknowledges, or ends the connection.
async fn published_as_it_is(world: &World, number: u8, publication: &Publication) {
    let long = |text: &[u8]| {
        let length = u16::try_from(text.len()).expect("short");
        [&length.to_be_bytes(), text].concat()
    };
    let packet = |kind: u8, body: &[u8]| {
        let (mut packet, mut length) = (vec![kind], body.len());
        loop {
            let more = if length < 128 { 0 } else { 0x80 };
            packet.push(u8::try_from(length % 128).expect("a byte") | more);
            length /= 128;
            if length == 0 {
                break;
            }
        }
        packet.extend_from_slice(body);
        packet
    };
    let mut line = TcpStream::connect(("127.0.0.1", world.broker.running.port()))
        .await
        .expect("a connection");
    // Version 5, clean start, 30 s, no properties.
    let connect = [
        &long(b"MQTT")[..],
        &[5, 2, 0, 30, 0],
        &long(&[b'r', b'0' + number]),
    ]
    .concat();
    line.write_all(&packet(0x10, &connect))
        .await
        .expect("it takes it");
    let mut read = [0; 64];
    assert!(line.read(&mut read).await.is_ok_and(|read| read > 0), "CONNACK");
    let properties = &publication.properties;
    let topic = properties.response_topic.as_deref().unwrap_or_default();
    let correlation = properties.correlation.as_deref().unwrap_or_default();
    let beside = [&[0x08], &long(topic.as_bytes())[..], &[0x09], &long(correlation)].concat();
    let length = u8::try_from(beside.len()).expect("few");
    let name = long(publication.topic.as_bytes());
    let body = [&name[..], &[0, number, length], &beside, &publication.payload].concat();
    // It may end the connection before it has read all of this.
    let _ = line.write_all(&packet(0x32, &body)).await;
    let answered = tokio::time::timeout(Duration::from_secs(10), line.read(&mut read)).await;
    assert!(answered.is_ok(), "the broker says something");
}
