//! An agent's presence on a broker that acknowledges what it is told to.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use a2a::mqtt::Publication;

use crate::drops::counting::Dropped;
use crate::{Connection, keep};

use super::{REPLY, TASK, World, request, result, world};

const SOON: Duration = Duration::from_secs(10);

/// A broker that is played by the test.
struct Played {
    listener: TcpListener,
}

/// What it says to whoever connects: that all is well.
const WELL: &[u8] = &[0x20, 3, 0, 0, 0];
/// That it takes no will that is to be retained (0x9A).
const NO_SUCH_WILL: &[u8] = &[0x20, 3, 0, 0x9a, 0];
/// That it retains nothing, and keeps no session: Retain Available 0, Session Expiry Interval 0.
const KEEPS_NOTHING: &[u8] = &[0x20, 10, 0, 0, 7, 0x25, 0, 0x11, 0, 0, 0, 0];

/// One connection to it.
struct Line {
    stream: TcpStream,
    /// What it answers to CONNECT.
    connack: &'static [u8],
    /// Whether the client brought a will.
    has_will: bool,
}

/// What a client says.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// A card, with this status, under this packet id.
    Card(&'static str, [u8; 2]),
    /// A reply, under this packet id.
    Reply([u8; 2]),
    /// The acknowledgement of what came under this packet id.
    Taken([u8; 2]),
    Disconnect,
    /// The connection is gone.
    Gone,
}

impl Played {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener }
    }

    fn connection(&self) -> Connection {
        let port = self.listener.local_addr().unwrap().port();
        Connection {
            broker: format!("mqtt://127.0.0.1:{port}").parse().unwrap(),
            password: None,
        }
    }

    async fn line(&self) -> Line {
        self.line_that(WELL).await
    }

    /// A connection that is answered like this.
    async fn line_that(&self, connack: &'static [u8]) -> Line {
        let (stream, _) = timeout(SOON, self.listener.accept()).await.unwrap().unwrap();
        Line {
            stream,
            connack,
            has_will: false,
        }
    }
}

impl Line {
    /// The next of what is worth telling; connecting and subscribing are answered on the way.
    async fn said(&mut self) -> Said {
        loop {
            let Some((kind, body)) = timeout(SOON, self.packet()).await.unwrap() else {
                return Said::Gone;
            };
            match kind >> 4 {
                1 | 8 | 12 => self.greet(kind, &body).await,
                3 => {
                    let topic = usize::from(u16::from_be_bytes([body[0], body[1]]));
                    let has = |word: &str| body.windows(word.len()).any(|part| part == word.as_bytes());
                    let status = if has("offline") { "offline" } else { "online" };
                    let packet = [body[topic + 2], body[topic + 3]];
                    return match body[2..].starts_with(REPLY.as_bytes()) {
                        true => Said::Reply(packet),
                        false => Said::Card(status, packet),
                    };
                }
                4 => return Said::Taken([body[0], body[1]]),
                14 => return Said::Disconnect,
                other => panic!("a packet of kind {other}"),
            }
        }
    }

    /// Answers CONNECT, SUBSCRIBE and PINGREQ.
    async fn greet(&mut self, kind: u8, body: &[u8]) {
        match kind >> 4 {
            1 => {
                // Behind the protocol's name and version.
                self.has_will = body[7] & 0x04 != 0;
                self.answer(self.connack).await;
            }
            8 => self.answer(&[0x90, 4, body[0], body[1], 0, 1]).await,
            _ => self.answer(&[0xd0, 0]).await,
        }
    }

    /// Waits until the client has connected and subscribed.
    async fn subscribed(&mut self) {
        loop {
            let (kind, body) = timeout(SOON, self.packet()).await.unwrap().unwrap();
            self.greet(kind, &body).await;
            if kind >> 4 == 8 {
                return;
            }
        }
    }

    async fn packet(&mut self) -> Option<(u8, Vec<u8>)> {
        let kind = self.stream.read_u8().await.ok()?;
        let (mut length, mut shift) = (0, 0);
        loop {
            let byte = usize::from(self.stream.read_u8().await.ok()?);
            length |= (byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.ok()?;
        Some((kind, body))
    }

    async fn answer(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Answers a card with this reason.
    async fn acknowledge(&mut self, packet: [u8; 2], reason: u8) {
        self.answer(&[0x40, 3, packet[0], packet[1], reason]).await;
    }

    /// Sends a request under this packet id, with a Response Topic and a correlation.
    async fn request(&mut self, packet: [u8; 2]) {
        self.send(packet, request("GetTask", json!({ "id": TASK }))).await;
    }

    /// Sends this under this packet id, with what it has of a Response Topic and a correlation.
    async fn send(&mut self, packet: [u8; 2], publication: Publication) {
        let long = |text: &[u8]| [&u16::try_from(text.len()).unwrap().to_be_bytes(), text].concat();
        let Publication {
            topic,
            payload,
            properties,
            ..
        } = publication;
        let property = |kind: u8, text: &[u8]| [&[kind], &long(text)[..]].concat();
        let reply = properties.response_topic.iter();
        let reply = reply.flat_map(|topic| property(0x08, topic.as_bytes()));
        let correlation = properties.correlation.iter();
        let correlation = correlation.flat_map(|it| property(0x09, it));
        let beside: Vec<u8> = reply.chain(correlation).collect();
        let length = u8::try_from(beside.len()).unwrap();
        let body = [&long(topic.as_bytes())[..], &packet, &[length], &beside, &payload].concat();
        let (low, high) = (body.len() % 128, body.len() / 128);
        let header = [
            0x32,
            u8::try_from(low).unwrap() | 0x80,
            u8::try_from(high).unwrap(),
        ];
        self.answer(&[&header, &body[..]].concat()).await;
    }

    /// The next card, which has this status.
    async fn card(&mut self, status: &str) -> [u8; 2] {
        match self.said().await {
            Said::Card(said, packet) if said == status => packet,
            other => panic!("{other:?} instead of a card that says {status}"),
        }
    }
}

/// An agent that is kept on that broker until the sender says otherwise.
fn kept(world: &World, broker: &Played) -> (watch::Sender<bool>, tokio::task::JoinHandle<()>) {
    let (stop, stopped) = watch::channel(false);
    let place = world.bridge.agent(&world.address).unwrap().clone();
    let kept = keep(Arc::clone(&world.bridge), place, broker.connection(), stopped);
    (stop, tokio::spawn(kept))
}

#[tokio::test]
async fn a_card_is_published_until_the_broker_has_it_and_again_with_each_connection() {
    let (world, broker) = (
        world(200, json!({ "name": "weather" })).await,
        Played::start().await,
    );
    let (stop, kept) = kept(&world, &broker);
    let mut line = broker.line().await;
    // The broker has enough to do.
    let first = line.card("online").await;
    line.acknowledge(first, 0x97).await;
    line.card("online").await;
    // And is gone before it has answered the second.
    drop(line);
    let mut line = broker.line().await;
    let third = line.card("online").await;
    line.acknowledge(third, 0).await;
    stop.send_replace(true);
    // What it had no answer to may come once more before that.
    let last = loop {
        match line.said().await {
            Said::Card("online", packet) => line.acknowledge(packet, 0).await,
            Said::Card(_, packet) => break packet,
            other => panic!("{other:?}"),
        }
    };
    line.acknowledge(last, 0x10).await;
    assert_eq!(line.said().await, Said::Disconnect, "its will is not wanted");
    timeout(SOON, kept).await.unwrap().unwrap();
    assert!(world.bridge.publisher(&world.address).is_none());
}

#[tokio::test]
async fn who_cannot_say_that_it_leaves_leaves_it_to_its_will() {
    let (world, broker) = (
        world(200, json!({ "name": "weather" })).await,
        Played::start().await,
    );
    let (stop, kept) = kept(&world, &broker);
    let mut line = broker.line().await;
    let card = line.card("online").await;
    line.acknowledge(card, 0).await;
    stop.send_replace(true);
    line.card("offline").await;
    assert_eq!(
        line.said().await,
        Said::Gone,
        "with a DISCONNECT there would be no will"
    );
    timeout(SOON, kept).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_card_that_the_broker_does_not_take() {
    let (world, broker) = (
        world(200, json!({ "name": "weather" })).await,
        Played::start().await,
    );
    let (stop, kept) = kept(&world, &broker);
    let mut line = broker.line().await;
    line.card("online").await;
    stop.send_replace(true);
    line.card("offline").await;
    assert_eq!(line.said().await, Said::Gone);
    timeout(SOON, kept).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_broker_that_takes_no_will_and_keeps_nothing_has_an_agent_without_a_card() {
    // Its card, and its answer to whatever is asked.
    let world = world(200, result(json!({ "id": TASK }))).await;
    let broker = Played::start().await;
    let (stop, kept) = kept(&world, &broker);
    let mut line = broker.line_that(NO_SUCH_WILL).await;
    assert_eq!(line.said().await, Said::Gone);
    assert!(line.has_will);
    for again in [true, false] {
        let mut line = broker.line_that(KEEPS_NOTHING).await;
        // No card, as the broker would end the connection over it.
        line.subscribed().await;
        line.request([0, 7]).await;
        match line.said().await {
            Said::Reply(packet) => line.acknowledge(packet, 0).await,
            other => panic!("{other:?}"),
        }
        assert_eq!(line.said().await, Said::Taken([0, 7]));
        assert!(!line.has_will);
        if again {
            continue;
        }
        stop.send_replace(true);
        assert_eq!(line.said().await, Said::Disconnect);
    }
    timeout(SOON, kept).await.unwrap().unwrap();
}

#[tokio::test]
async fn requests_that_cannot_be_answered_are_dropped_counted_and_acknowledged() {
    let world = world(200, result(json!({ "id": TASK }))).await;
    let broker = Played::start().await;
    // What keeps the agent runs in this thread too.
    let (dropped, _guard) = Dropped::begin();
    let (stop, kept) = kept(&world, &broker);
    let mut line = broker.line().await;
    let card = line.card("online").await;
    line.acknowledge(card, 0).await;
    let asked = async || world.agent.received_requests().await.unwrap().len();
    let before = asked().await;
    let to = |topic: Option<&str>| {
        let mut bad = request("GetTask", json!({ "id": TASK }));
        bad.properties.response_topic = topic.map(str::to_owned);
        bad
    };
    let mut elsewhere = request("GetTask", json!({ "id": TASK }));
    elsewhere.topic = "$a2a/v1/request/acme/platform/report".to_owned();
    let mut no_request = request("GetTask", json!({ "id": TASK }));
    no_request.topic = "$a2a/v1/event/acme/platform/weather".to_owned();
    let bad = [
        to(None),
        to(Some("$a2a/v1/reply/globex/lab/asker/s1")),
        to(Some("alarm/siren")),
        elsewhere,
        no_request,
    ];
    for (bad, number) in bad.into_iter().zip(1..) {
        line.send([0, number], bad).await;
        assert_eq!(line.said().await, Said::Taken([0, number]), "and nothing else");
        assert_eq!(dropped.count(), usize::from(number));
    }
    assert_eq!(asked().await, before, "the agent was not asked");
    // Its connection is as good as before.
    line.request([0, 9]).await;
    match line.said().await {
        Said::Reply(packet) => line.acknowledge(packet, 0).await,
        other => panic!("{other:?}"),
    }
    assert_eq!(line.said().await, Said::Taken([0, 9]));
    assert_eq!((dropped.count(), asked().await), (5, before + 1));
    stop.send_replace(true);
    let last = line.card("offline").await;
    line.acknowledge(last, 0).await;
    assert_eq!(line.said().await, Said::Disconnect);
    timeout(SOON, kept).await.unwrap().unwrap();
}
