//! An agent's presence on a broker that acknowledges what it is told to.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::{Connection, keep};

use super::{World, world};

const SOON: Duration = Duration::from_secs(10);

/// A broker that is played by the test.
struct Played {
    listener: TcpListener,
}

/// One connection to it.
struct Line(TcpStream);

/// What a client says.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// A card, with this status, under this packet id.
    Card(&'static str, [u8; 2]),
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
        Line(timeout(SOON, self.listener.accept()).await.unwrap().unwrap().0)
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
                1 => self.answer(&[0x20, 3, 0, 0, 0]).await,
                8 => self.answer(&[0x90, 4, body[0], body[1], 0, 1]).await,
                3 => {
                    let topic = usize::from(u16::from_be_bytes([body[0], body[1]]));
                    let has = |word: &str| body.windows(word.len()).any(|part| part == word.as_bytes());
                    let status = if has("offline") { "offline" } else { "online" };
                    return Said::Card(status, [body[topic + 2], body[topic + 3]]);
                }
                12 => self.answer(&[0xd0, 0]).await,
                14 => return Said::Disconnect,
                other => panic!("a packet of kind {other}"),
            }
        }
    }

    async fn packet(&mut self) -> Option<(u8, Vec<u8>)> {
        let kind = self.0.read_u8().await.ok()?;
        let (mut length, mut shift) = (0, 0);
        loop {
            let byte = usize::from(self.0.read_u8().await.ok()?);
            length |= (byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.ok()?;
        Some((kind, body))
    }

    async fn answer(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// Answers a card with this reason.
    async fn acknowledge(&mut self, packet: [u8; 2], reason: u8) {
        self.answer(&[0x40, 3, packet[0], packet[1], reason]).await;
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
