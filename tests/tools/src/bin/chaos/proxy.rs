//! The one address of the system: a network that loses, doubles and reorders.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use url::Url;

use crate::plan::{Call, Fate, Plan};
use crate::tally::{Tally, kinds};

/// Where notifications for the customer go; nobody but the customer stands behind it.
pub(crate) const CUSTOMER: &str = "/customer/";
/// Notifications of specialists for hosts.
const WEBHOOK: &str = "/api/webhook/tasks";
/// How long a worker may take for an answer; a frozen one never answers.
const PATIENCE: Duration = Duration::from_secs(15);

/// The workers that live, by the ports they listen on.
pub(crate) type Upstreams = Arc<Mutex<Vec<u16>>>;
/// The header in which a notification says its id.
const NOTICE_ID: &str = "webhook-id";
/// A notification for the customer: its path below [`CUSTOMER`], its id, and its body.
pub(crate) type Arrived = (String, Option<String>, Bytes);

/// The network.
pub(crate) struct Proxy {
    pub(crate) url: Url,
    pub(crate) upstreams: Upstreams,
    plan: Plan,
    healed: AtomicBool,
    /// How many calls of each kind there were since the losses began.
    calls: [AtomicU64; 3],
    turn: AtomicU64,
    http: reqwest::Client,
    tally: Arc<Tally>,
    customer: mpsc::UnboundedSender<Arrived>,
    notices: Mutex<Option<mpsc::UnboundedReceiver<Arrived>>>,
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
    pub(crate) async fn start(plan: Plan, tally: Arc<Tally>) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (customer, notices) = mpsc::unbounded_channel();
        let proxy = Arc::new(Self {
            url: Url::parse(&format!("http://{address}")).expect("a URL"),
            upstreams: Upstreams::default(),
            plan,
            healed: AtomicBool::new(true),
            calls: Default::default(),
            turn: AtomicU64::new(0),
            http: system_testing::user::http(),
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
    pub(crate) fn notices(&self) -> mpsc::UnboundedReceiver<Arrived> {
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

    /// What the next call of this kind meets.
    fn fate(&self, call: Call) -> Fate {
        if self.healed.load(Ordering::SeqCst) {
            return Fate::default();
        }
        let number = self.calls[call as usize].fetch_add(1, Ordering::SeqCst);
        self.plan.call(call, number)
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
        let call = if carry.path.ends_with(WEBHOOK) {
            Call::Webhook
        } else if carry.path.starts_with(CUSTOMER) {
            Call::Customer
        } else {
            Call::Other
        };
        let fate = self.fate(call);
        if let Some(held) = fate.held {
            self.tally.note(kinds::HELD);
            tokio::time::sleep(held).await;
        }
        if fate.lost_before {
            self.tally.note(kinds::LOST_BEFORE);
            if call != Call::Other {
                self.tally.note(kinds::NOTICES_LOST);
            }
            return Err(Lost);
        }
        if fate.doubled {
            self.tally.note(kinds::DOUBLED);
            let _first = self.carry(&carry).await;
        }
        let answer = self.carry(&carry).await;
        if fate.lost_after {
            self.tally.note(kinds::LOST_AFTER);
            return Err(Lost);
        }
        answer
    }

    async fn carry(&self, carry: &Carry) -> Result<Response<Full<Bytes>>, Lost> {
        if let Some(path) = carry.path.strip_prefix(CUSTOMER) {
            let id = carry.headers.get(NOTICE_ID).and_then(|id| id.to_str().ok());
            let arrived = (path.to_owned(), id.map(str::to_owned), carry.body.clone());
            let _ = self.customer.send(arrived);
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
            self.tally.note(kinds::MET_DEAD);
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
