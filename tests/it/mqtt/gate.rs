//! What stands between a system and its broker, and holds a packet back, so that a wait lasts until the test has seen it.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use system_testing::packets::{PUBACK, PUBLISH, body, kind, number, publish_id, topic, whole};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Which way a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    ToBroker,
    FromBroker,
}

/// A publication that is held back, or its acknowledgement: one that goes this way, whose topic has these words, and which has these
/// words anywhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) way: Way,
    pub(super) topic: &'static str,
    pub(super) words: &'static str,
    pub(super) acknowledgement: bool,
}

impl Held {
    fn is(&self, way: Way, packet: &[u8]) -> bool {
        let words = self.words.as_bytes();
        let says = words.is_empty() || packet.windows(words.len()).any(|part| part == words);
        way == self.way && says && topic(packet).is_some_and(|topic| topic.contains(self.topic))
    }
}

/// The gate; clones share it.
#[derive(Clone)]
pub(super) struct Gate(Arc<Inner>);

struct Inner {
    broker: u16,
    address: SocketAddr,
    holds: watch::Sender<Option<Held>>,
    /// How many packets were held.
    held: watch::Sender<u64>,
}

/// The packet ids of one connection whose acknowledgements are to be held back.
type Owed = Mutex<HashSet<u16>>;

impl Gate {
    /// Opens it before the broker at that port.
    pub(super) async fn open(broker: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let gate = Self(Arc::new(Inner {
            broker,
            address: listener.local_addr().expect("an address"),
            holds: watch::Sender::new(None),
            held: watch::Sender::new(0),
        }));
        let carrying = gate.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let gate = carrying.clone();
                tokio::spawn(async move { gate.carry(client).await });
            }
        });
        gate
    }

    pub(super) fn url(&self) -> String {
        format!("mqtt://{}", self.0.address)
    }

    /// Holds the next such packet, and what comes after it on its connection.
    pub(super) fn hold(&self, held: Held) {
        self.0.held.send_replace(0);
        self.0.holds.send_replace(Some(held));
    }

    /// Waits until it holds one.
    pub(super) async fn has_held(&self) {
        let mut held = self.0.held.subscribe();
        let wait = held.wait_for(|held| *held > 0);
        let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
        assert!(
            waited.is_ok(),
            "no such packet came: {:?}",
            *self.0.holds.borrow()
        );
    }

    /// Holds nothing any more; what was held is lost, with its connection.
    pub(super) fn free(&self) {
        self.0.holds.send_replace(None);
    }

    async fn carry(&self, client: TcpStream) {
        let Ok(broker) = TcpStream::connect(("127.0.0.1", self.0.broker)).await else {
            return;
        };
        for stream in [&client, &broker] {
            let _ = stream.set_nodelay(true);
        }
        let (from_client, to_client) = client.into_split();
        let (from_broker, to_broker) = broker.into_split();
        let owed = Owed::default();
        tokio::select! {
            () = self.pump(Way::ToBroker, (from_client, to_broker), &owed) => {}
            () = self.pump(Way::FromBroker, (from_broker, to_client), &owed) => {}
        }
    }

    async fn pump(&self, way: Way, (mut from, mut to): (OwnedReadHalf, OwnedWriteHalf), owed: &Owed) {
        let mut buffer = Vec::new();
        loop {
            while let Some(length) = whole(&buffer) {
                let packet: Vec<u8> = buffer.drain(..length).collect();
                if self.is_held(way, &packet, owed) {
                    self.0.held.send_modify(|held| *held += 1);
                    let _ = self.0.holds.subscribe().wait_for(Option::is_none).await;
                    return;
                }
                if to.write_all(&packet).await.is_err() {
                    return;
                }
            }
            if !matches!(from.read_buf(&mut buffer).await, Ok(1..)) {
                return;
            }
        }
    }

    fn is_held(&self, way: Way, packet: &[u8], owed: &Owed) -> bool {
        let Some(held) = *self.0.holds.borrow() else {
            return false;
        };
        match kind(packet) {
            PUBLISH if held.is(way, packet) => {
                if let Some(id) = publish_id(packet).filter(|_| held.acknowledgement) {
                    owed.lock().expect("no panic").insert(id);
                }
                !held.acknowledgement
            }
            PUBACK if way != held.way => {
                let id = body(packet).and_then(number).unwrap_or_default();
                owed.lock().expect("no panic").contains(&id)
            }
            _ => false,
        }
    }
}
