//! Bad input over a broker: a typed answer or a counted drop, nothing changed, and the agent still there.

use a2a::mqtt::{Properties, Publication};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

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
    let answered = tokio::time::timeout(std::time::Duration::from_secs(10), line.read(&mut read)).await;
    assert!(answered.is_ok(), "the broker says something");
}
