//! The one address of the system: a network that loses, doubles and reorders.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use url::Url;

use crate::tally::Tally;

/// Where notifications for the customer go; nobody but the customer stands behind it.
pub(crate) const CUSTOMER: &str = "/customer/";
/// Notifications of specialists for hosts.
const WEBHOOK: &str = "/api/webhook/tasks";
/// How long a held-back notification waits at most.
const HELD: Duration = Duration::from_millis(2_500);
/// How long a worker may take for an answer; a frozen one never answers.
const PATIENCE: Duration = Duration::from_secs(15);

/// Of a hundred calls, how many meet what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Losses {
    before: u32,
    after: u32,
    /// Of notifications for hosts alone.
    doubled: u32,
    held: u32,
}

impl Losses {
    pub(crate) fn of(calm: bool, lost: u32) -> Self {
        match calm {
            true => Self {
                before: 0,
                after: 0,
                doubled: 0,
                held: 0,
            },
            false => Self {
                before: lost / 2,
                after: lost - lost / 2,
                doubled: 10,
                held: 20,
            },
        }
    }
}

/// The workers that live, by the ports they listen on.
pub(crate) type Upstreams = Arc<Mutex<Vec<u16>>>;
/// A notification for the customer: its path below [`CUSTOMER`], and its body.
pub(crate) type Notice = (String, Bytes);

/// The network.
pub(crate) struct Proxy {
    pub(crate) url: Url,
    pub(crate) upstreams: Upstreams,
    losses: Losses,
    healed: AtomicBool,
    chance: Mutex<ChaCha8Rng>,
    turn: AtomicU64,
    http: reqwest::Client,
    tally: Arc<Tally>,
    customer: mpsc::UnboundedSender<Notice>,
    notices: Mutex<Option<mpsc::UnboundedReceiver<Notice>>>,
}

/// The connection ends without an answer.
#[derive(Debug)]
struct Lost;

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("lost on purpose")
    }
}

impl std::error::Error for Lost {}

impl Proxy {
    pub(crate) async fn start(seed: u64, losses: Losses, tally: Arc<Tally>) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (customer, notices) = mpsc::unbounded_channel();
        let proxy = Arc::new(Self {
            url: Url::parse(&format!("http://{address}")).expect("a URL"),
            upstreams: Upstreams::default(),
            losses,
            healed: AtomicBool::new(true),
            chance: Mutex::new(ChaCha8Rng::seed_from_u64(seed)),
            turn: AtomicU64::new(0),
            http: tests::user::http(),
            tally,
            customer,
            notices: Mutex::new(Some(notices)),
        });
        tokio::spawn(proxy.clone().serve(listener));
        proxy
    }

    /// From now on calls are lost.
    pub(crate) fn rage(&self) {
        self.healed.store(false, Ordering::SeqCst);
    }

    /// From now on everything arrives.
    pub(crate) fn heal(&self) {
        self.healed.store(true, Ordering::SeqCst);
    }

    /// What comes for the customer; can be taken once.
    pub(crate) fn notices(&self) -> mpsc::UnboundedReceiver<Notice> {
        let taken = self.notices.lock().expect("no panic under the lock").take();
        taken.expect("there is one customer")
    }

    async fn serve(self: Arc<Self>, listener: TcpListener) {
        while let Ok((connection, _)) = listener.accept().await {
            let _ = connection.set_nodelay(true);
            let proxy = self.clone();
            tokio::spawn(async move {
                let answer = hyper::service::service_fn(move |request| {
                    let proxy = proxy.clone();
                    async move { proxy.pass(request).await }
                });
                // An error is a lost answer: hyper closes the connection.
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(connection), answer)
                    .await;
            });
        }
    }

    fn draw(&self, of: u32) -> u32 {
        self.chance.lock().expect("no panic under the lock").next_u32() % of.max(1)
    }

    /// True in so many of a hundred cases.
    fn strikes(&self, share: u32) -> bool {
        !self.healed.load(Ordering::SeqCst) && self.draw(100) < share
    }

    async fn pass(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Lost> {
        let (head, body) = request.into_parts();
        let path = head
            .uri
            .path_and_query()
            .map_or("/", |path| path.as_str())
            .to_owned();
        let body = body.collect().await.map_err(|_| Lost)?.to_bytes();
        let carry = Carry {
            method: head.method,
            path,
            headers: head.headers,
            body,
        };
        let to_host = carry.path.ends_with(WEBHOOK);
        if to_host && self.strikes(self.losses.held) {
            self.tally.note("notifications held back");
            let held = u64::from(self.draw(u32::try_from(HELD.as_millis()).unwrap_or(u32::MAX)));
            tokio::time::sleep(Duration::from_millis(held)).await;
        }
        if self.strikes(self.losses.before) {
            self.tally.note("HTTP calls lost before their effect");
            return Err(Lost);
        }
        if to_host && self.strikes(self.losses.doubled) {
            self.tally.note("notifications doubled");
            let _first = self.carry(&carry).await;
        }
        let answer = self.carry(&carry).await;
        if self.strikes(self.losses.after) {
            self.tally.note("HTTP calls whose answer was lost");
            return Err(Lost);
        }
        answer
    }

    async fn carry(&self, carry: &Carry) -> Result<Response<Full<Bytes>>, Lost> {
        if let Some(path) = carry.path.strip_prefix(CUSTOMER) {
            let _ = self.customer.send((path.to_owned(), carry.body.clone()));
            let mut taken = Response::new(Full::default());
            *taken.status_mut() = StatusCode::NO_CONTENT;
            return Ok(taken);
        }
        let port = {
            let upstreams = self.upstreams.lock().expect("no panic under the lock");
            let turn = usize::try_from(self.turn.fetch_add(1, Ordering::Relaxed)).unwrap_or(0);
            upstreams
                .get(turn % upstreams.len().max(1))
                .copied()
                .ok_or(Lost)?
        };
        let url = format!("http://127.0.0.1:{port}{}", carry.path);
        let call = self
            .http
            .request(carry.method.clone(), url)
            .headers(carry.headers.clone())
            .body(carry.body.clone())
            .timeout(PATIENCE);
        let answer = call.send().await.map_err(|_| {
            self.tally.note("HTTP calls that met a dead or frozen worker");
            Lost
        })?;
        let mut response = Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            if name != http::header::TRANSFER_ENCODING {
                response = response.header(name, value);
            }
        }
        let body = answer.bytes().await.map_err(|_| Lost)?;
        response.body(Full::new(body)).map_err(|_| Lost)
    }
}

/// A request, kept so that it can be carried twice.
struct Carry {
    method: Method,
    path: String,
    headers: http::HeaderMap,
    body: Bytes,
}
