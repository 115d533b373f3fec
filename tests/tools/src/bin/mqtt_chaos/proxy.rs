//! What stands between the broker and everybody else: cuts connections, and repeats publications with DUP.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use system_testing::packets::{PUBACK, PUBLISH, body, kind, number, publish_id, whole};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

const CONNECT: u8 = 1;

/// A number from the seed: the n-th of its kind.
pub(crate) fn chosen(seed: u64, n: u64) -> u64 {
    // SplitMix64.
    let mut z = seed
        .wrapping_mul(0xD6E8_FEB8_6659_FD93)
        .wrapping_add(n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The proxy; clones share it.
#[derive(Clone)]
pub(crate) struct Proxy(Arc<Inner>);

struct Inner {
    seed: u64,
    /// Of a hundred publications, so many come twice.
    percent: u64,
    broker: AtomicU16,
    is_cut: AtomicBool,
    cuts: watch::Sender<u64>,
    published: AtomicU64,
    repeated: AtomicU64,
}

impl Proxy {
    /// Starts before the broker at that port; of a hundred publications it repeats `percent`. Itself and its address.
    pub(crate) async fn start(seed: u64, percent: u64, broker: u16) -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let proxy = Self(Arc::new(Inner {
            seed,
            percent,
            broker: AtomicU16::new(broker),
            is_cut: AtomicBool::new(false),
            cuts: watch::Sender::new(0),
            published: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
        }));
        let serving = proxy.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if serving.0.is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                let proxy = serving.clone();
                tokio::spawn(async move { proxy.carry(client).await });
            }
        });
        (proxy, address)
    }

    /// Every connection breaks, and none is made until [`Proxy::mend`].
    pub(crate) fn cut(&self) {
        self.0.is_cut.store(true, Ordering::SeqCst);
        self.0.cuts.send_modify(|cuts| *cuts += 1);
    }

    pub(crate) fn mend(&self) {
        self.0.is_cut.store(false, Ordering::SeqCst);
    }

    /// How many publications came twice.
    pub(crate) fn repeated(&self) -> u64 {
        self.0.repeated.load(Ordering::SeqCst)
    }

    async fn carry(&self, client: TcpStream) {
        let mut cuts = self.0.cuts.subscribe();
        let port = self.0.broker.load(Ordering::SeqCst);
        let Ok(broker) = TcpStream::connect(("127.0.0.1", port)).await else {
            return;
        };
        for stream in [&client, &broker] {
            let _ = stream.set_nodelay(true);
        }
        let (from_client, to_client) = client.into_split();
        let (from_broker, to_broker) = broker.into_split();
        // A broker acknowledges each copy; our client acknowledges a packet once, and other clients may do either.
        let (up, down) = (Owed::new(true), Owed::new(false));
        // A broker takes some from everybody; how many a client takes, its first packet says.
        up.takes(20);
        tokio::select! {
            () = self.pump(from_client, to_broker, &up, &down) => {}
            () = self.pump(from_broker, to_client, &down, &up) => {}
            _ = cuts.changed() => {}
        }
    }

    /// Carries packets one way. `sent` knows what it repeats, and `answers` which acknowledgements of the other way are too many.
    async fn pump(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, sent: &Owed, answers: &Owed) {
        let mut buffer = Vec::new();
        loop {
            while let Some(length) = whole(&buffer) {
                let packet: Vec<u8> = buffer.drain(..length).collect();
                let kind = kind(&packet);
                if kind == CONNECT {
                    answers.takes(receive_maximum(&packet).unwrap_or(u16::MAX));
                }
                if kind == PUBACK
                    && let Some(id) = body(&packet).and_then(number)
                    && answers.is_too_much(id)
                {
                    continue;
                }
                if kind == PUBLISH
                    && let Some(id) = publish_id(&packet)
                {
                    sent.begins(id);
                }
                if to.write_all(&packet).await.is_err() {
                    return;
                }
                if kind == PUBLISH
                    && packet[0] & 0x06 == 0x02
                    && let Some(id) = publish_id(&packet)
                    && self.repeats()
                    && sent.twice(id)
                {
                    self.0.repeated.fetch_add(1, Ordering::SeqCst);
                    let mut again = packet;
                    again[0] |= 0x08;
                    if to.write_all(&again).await.is_err() {
                        return;
                    }
                }
            }
            match from.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    fn repeats(&self) -> bool {
        let n = self.0.published.fetch_add(1, Ordering::SeqCst);
        chosen(self.0.seed, n) % 100 < self.0.percent
    }
}

/// What was sent on one way and is not acknowledged yet, by its packet id. What was sent twice may be acknowledged twice, of which
/// only the proxy knows.
struct Owed {
    /// The receiver acknowledges every copy, in order.
    each: bool,
    sent: Mutex<Sent>,
}

#[derive(Default)]
struct Sent {
    /// Most that the receiver takes at once; it ends the connection of whoever sends more.
    takes: u16,
    under_way: HashMap<u16, Copies>,
    /// Ids whose second acknowledgement may still come.
    late: HashSet<u16>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Copies {
    One,
    Two,
}

impl Owed {
    fn new(each: bool) -> Self {
        Self {
            each,
            sent: Mutex::default(),
        }
    }

    fn takes(&self, most: u16) {
        self.sent.lock().expect("no panic").takes = most;
    }

    /// A publication goes out by that packet id, for the first time.
    fn begins(&self, id: u16) {
        let mut sent = self.sent.lock().expect("no panic");
        if !self.each {
            sent.late.remove(&id);
        }
        sent.under_way.insert(id, Copies::One);
    }

    /// Whether there is room for a second copy.
    fn twice(&self, id: u16) -> bool {
        let mut sent = self.sent.lock().expect("no panic");
        let twice = sent.under_way.values().filter(|copies| **copies == Copies::Two);
        let room = sent.under_way.len() + twice.count() < usize::from(sent.takes);
        // It may be acknowledged already.
        match sent.under_way.get_mut(&id) {
            Some(copies) if room => {
                *copies = Copies::Two;
                true
            }
            _ => false,
        }
    }

    /// Whether an acknowledgement is the second one.
    fn is_too_much(&self, id: u16) -> bool {
        let mut sent = self.sent.lock().expect("no panic");
        // It comes before that of the next packet of the same id.
        if self.each && sent.late.remove(&id) {
            return true;
        }
        match sent.under_way.remove(&id) {
            Some(Copies::Two) => {
                sent.late.insert(id);
                false
            }
            Some(Copies::One) => false,
            None => sent.late.remove(&id),
        }
    }
}

/// How many publications a client takes at once, as its CONNECT says.
fn receive_maximum(connect: &[u8]) -> Option<u16> {
    // Protocol name, version, flags, keep alive.
    let mut rest = body(connect)?.get(10..)?;
    let (size, length) = (1..=4).find_map(|size| {
        let bytes = rest.get(..size)?;
        let ends = bytes.last()? & 0x80 == 0;
        let value = bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f));
        ends.then_some((size, value))
    })?;
    rest = rest.get(size..size + length)?;
    while let Some((kind, value)) = rest.split_first() {
        let length = match kind {
            0x11 | 0x27 => 4,
            0x21 => return number(value),
            0x22 => 2,
            0x17 | 0x19 => 1,
            0x15 | 0x16 => 2 + usize::from(number(value)?),
            _ => return None,
        };
        rest = value.get(length..)?;
    }
    None
}
