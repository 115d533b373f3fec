//! A Lambda of our own: the runtime API that a `bootstrap` asks for events, one sandbox (one process) at a time as on AWS,
//! with what the emulators leave out: streamed answers chunk by chunk, the deadline, freezing, the time until the first
//! request for an event.
//!
//! The API: <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path as UrlPath, State};
use axum::response::{AppendHeaders, IntoResponse as _, Response};
use axum::routing::{get, post};
use domain::{Clock as _, SystemClock};
use futures_util::StreamExt as _;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Mutex as AsyncMutex, Semaphore, mpsc, oneshot, watch};

use crate::cloud::Mistakes;

/// What separates the head of a streamed answer from its body.
const PRELUDE_END: [u8; 8] = [0; 8];
/// Most sandboxes of a function that work at once.
const AT_ONCE: usize = 4;
/// Most that wait for an event, of all tenants where they are isolated.
const WAITING: usize = 8;
/// Most bytes of a tenant's id, as Lambda has it.
const TENANT_ID: usize = 256;

/// What a sandbox answered to an event.
#[derive(Debug)]
pub enum Reply {
    /// One document.
    Answer(Value),
    /// A head, and the body as it comes.
    Stream(Streamed),
    /// The invocation failed: the runtime's own words.
    Failed(Value),
    /// The process ended before it answered.
    Ended,
    /// The deadline passed; the process was killed.
    TimedOut,
}

impl Reply {
    /// The status of an HTTP answer, whichever form it has.
    #[must_use]
    pub fn status(&self) -> Option<u64> {
        match self {
            Self::Answer(answer) => answer["statusCode"].as_u64(),
            Self::Stream(stream) => stream.prelude["statusCode"].as_u64(),
            _ => None,
        }
    }
}

/// A streamed answer.
#[derive(Debug)]
pub struct Streamed {
    /// `statusCode`, `headers`, `cookies`.
    pub prelude: Value,
    /// The body's chunks with when each came, until the stream ends.
    pub chunks: mpsc::UnboundedReceiver<(Instant, Bytes)>,
}

impl Streamed {
    /// The whole body.
    pub async fn text(mut self) -> String {
        let mut all = Vec::new();
        while let Some((_, chunk)) = self.chunks.recv().await {
            all.extend_from_slice(&chunk);
        }
        String::from_utf8_lossy(&all).into_owned()
    }
}

/// What sandboxes of a function are started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The function's name.
    pub name: String,
    /// The program.
    pub binary: PathBuf,
    /// The function's own environment.
    pub environment: BTreeMap<String, String>,
    /// Its time limit.
    pub timeout: Duration,
    /// Its memory, in MB.
    pub memory: u64,
    /// Whether each sandbox is one tenant's (`TenantIsolationMode: PER_TENANT`).
    pub isolated: bool,
}

/// An event on its way to a sandbox.
struct Invocation {
    id: String,
    event: Value,
    limit: Duration,
    /// Whom Lambda isolates, where it does.
    tenant: Option<String>,
    /// What led to it.
    trace: Option<String>,
}

struct Desk {
    invocations: AsyncMutex<mpsc::Receiver<Invocation>>,
    /// How often the sandbox has asked for an event.
    asked: watch::Sender<u64>,
    /// Who waits for the answer to which invocation.
    waiting: Mutex<Option<(String, oneshot::Sender<Reply>)>>,
    arn: String,
}

/// A process, frozen or not, that takes one event after the other.
pub struct Sandbox {
    process: Mutex<Child>,
    invocations: mpsc::Sender<Invocation>,
    asked: watch::Receiver<u64>,
    desk: Arc<Desk>,
    server: tokio::task::JoinHandle<()>,
    timeout: Duration,
    started: Instant,
    log: PathBuf,
}

impl Sandbox {
    /// Starts the process. Its output goes to a file in `logs`.
    pub async fn start(spec: &Spec, logs: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (invocations, receiver) = mpsc::channel(1);
        let (asked, polls) = watch::channel(0);
        let desk = Arc::new(Desk {
            invocations: AsyncMutex::new(receiver),
            asked,
            waiting: Mutex::new(None),
            arn: format!("arn:aws:lambda:eu-north-1:123456789012:function:{}", spec.name),
        });
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
            .route(
                "/2018-06-01/runtime/init/error",
                post(|| async { StatusCode::ACCEPTED }),
            )
            .with_state(desk.clone());
        let server = tokio::spawn(async move {
            let _until_aborted = axum::serve(listener, router).await;
        });
        let log = logs.join(format!("{}-{}.log", spec.name.replace('/', "-"), address.port()));
        let file = std::fs::File::create(&log).expect("a log file");
        let started = Instant::now();
        let process = Command::new(&spec.binary)
            .env_clear()
            .envs(&spec.environment)
            .env("AWS_LAMBDA_RUNTIME_API", address.to_string())
            .env("AWS_LAMBDA_FUNCTION_NAME", &spec.name)
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", spec.memory.to_string())
            .env("AWS_LAMBDA_LOG_GROUP_NAME", "/switchyard/test")
            .env("AWS_LAMBDA_LOG_STREAM_NAME", "1")
            .env("AWS_REGION", "eu-north-1")
            .env("TZ", ":UTC")
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a log file"))
            .stderr(file)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", spec.binary.display()));
        Self {
            process: Mutex::new(process),
            invocations,
            asked: polls,
            desk,
            server,
            timeout: spec.timeout,
            started,
            log,
        }
    }

    /// Waits until it asks for its first event; how long that took.
    ///
    /// # Panics
    /// Where it ends instead.
    pub async fn ready(&self) -> Duration {
        assert!(self.comes_up().await, "the sandbox ended:\n{}", self.log());
        self.started.elapsed()
    }

    /// Waits until it asks for its first event; false where it ends instead.
    pub async fn comes_up(&self) -> bool {
        let mut asked = self.asked.clone();
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let seen =
                tokio::time::timeout(Duration::from_millis(50), asked.wait_for(|seen| *seen >= 1)).await;
            if seen.is_ok() {
                return true;
            }
            if !self.lives() {
                return false;
            }
            assert!(
                Instant::now() < deadline,
                "no request for an event:\n{}",
                self.log()
            );
        }
    }

    /// Hands it an event, within the function's time limit.
    pub async fn invoke(&self, event: Value) -> Reply {
        self.invoke_within(event, self.timeout).await
    }

    /// Hands it an event with a time limit of its own.
    pub async fn invoke_within(&self, event: Value, limit: Duration) -> Reply {
        self.invoked((event, None), limit, None).await
    }

    /// Hands it an event of a tenant, as Lambda does where it isolates tenants.
    pub async fn invoke_for(&self, tenant: &str, event: Value) -> Reply {
        self.invoked((event, None), self.timeout, Some(tenant.to_owned()))
            .await
    }

    async fn invoked(
        &self,
        (event, trace): (Value, Option<String>),
        limit: Duration,
        tenant: Option<String>,
    ) -> Reply {
        let id = domain::MessageId::random(&domain::SystemEntropy).to_string();
        let (reply, mut answered) = oneshot::channel();
        *self.desk.waiting.lock().expect("no panic under the lock") = Some((id.clone(), reply));
        self.invocations
            .send(Invocation {
                id,
                event,
                limit,
                tenant,
                trace,
            })
            .await
            .expect("the sandbox's desk is there");
        let deadline = Instant::now() + limit;
        loop {
            let pause = Duration::from_millis(50).min(deadline.saturating_duration_since(Instant::now()));
            match tokio::time::timeout(pause, &mut answered).await {
                Ok(Ok(reply)) => return reply,
                Ok(Err(_)) => return Reply::Ended,
                Err(_) if Instant::now() >= deadline => {
                    self.kill();
                    return Reply::TimedOut;
                }
                Err(_) if !self.lives() => return Reply::Ended,
                Err(_) => {}
            }
        }
    }

    /// Waits until it is done with the last event; false where it ended instead.
    pub async fn free(&self) -> bool {
        let seen = *self.asked.borrow();
        let mut asked = self.asked.clone();
        // The request for the next event may have been seen already.
        if self
            .desk
            .waiting
            .lock()
            .expect("no panic under the lock")
            .is_none()
            && self.idle()
        {
            return self.lives();
        }
        loop {
            if tokio::time::timeout(Duration::from_millis(5), asked.wait_for(|now| *now > seen))
                .await
                .is_ok()
            {
                return self.lives();
            }
            if !self.lives() {
                return false;
            }
            if self.idle() {
                return true;
            }
        }
    }

    /// Whether it waits for an event.
    fn idle(&self) -> bool {
        // Whoever waits for an event holds the receiver.
        self.desk.invocations.try_lock().is_err()
    }

    /// Whether the process runs.
    #[must_use]
    pub fn lives(&self) -> bool {
        let mut process = self.process.lock().expect("no panic under the lock");
        process.try_wait().expect("a process has a state").is_none()
    }

    /// Sends it a signal by name, such as `STOP`.
    pub fn signal(&self, name: &str) {
        let id = self
            .process
            .lock()
            .expect("no panic under the lock")
            .id()
            .to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Puts the process into a control group, which limits it from now on: `group` is the group's folder.
    ///
    /// # Panics
    /// Where the group cannot be written.
    pub fn limit(&self, group: &Path) {
        let id = self.process.lock().expect("no panic under the lock").id();
        let procs = group.join("cgroup.procs");
        std::fs::write(&procs, id.to_string()).unwrap_or_else(|error| panic!("{}: {error}", procs.display()));
    }

    /// SIGKILL.
    pub fn kill(&self) {
        let mut process = self.process.lock().expect("no panic under the lock");
        let _may_be_gone = process.kill();
        let _reaped = process.wait();
    }

    /// The most memory that it has had, in KiB.
    #[must_use]
    pub fn peak_kib(&self) -> u64 {
        let id = self.process.lock().expect("no panic under the lock").id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.split_whitespace().next())
            .and_then(|kib| kib.parse().ok())
            .unwrap_or_default()
    }

    /// What it has written so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.kill();
        self.server.abort();
    }
}

async fn next(State(desk): State<Arc<Desk>>) -> Response {
    let mut invocations = desk.invocations.lock().await;
    desk.asked.send_modify(|asked| *asked += 1);
    let Some(Invocation {
        id,
        event,
        limit,
        tenant,
        trace,
    }) = invocations.recv().await
    else {
        return StatusCode::GONE.into_response();
    };
    let deadline = SystemClock.now().after(limit).millis().to_string();
    let of_message = event["Records"][0]["attributes"]["AWSTraceHeader"].as_str();
    let trace = trace.or_else(|| of_message.map(str::to_owned));
    let trace = trace.unwrap_or_else(|| crate::cloud::trace(0));
    let tenant = tenant.map(|tenant| [("lambda-runtime-aws-tenant-id", tenant)]);
    (
        [
            ("content-type", "application/json"),
            ("lambda-runtime-aws-request-id", id.as_str()),
            ("lambda-runtime-deadline-ms", deadline.as_str()),
            ("lambda-runtime-invoked-function-arn", desk.arn.as_str()),
            ("lambda-runtime-trace-id", trace.as_str()),
        ],
        AppendHeaders(tenant.into_iter().flatten()),
        event.to_string(),
    )
        .into_response()
}

impl Desk {
    fn taker(&self, id: &str) -> Option<oneshot::Sender<Reply>> {
        let mut waiting = self.waiting.lock().expect("no panic under the lock");
        match waiting.take() {
            Some((known, reply)) if known == id => Some(reply),
            other => {
                *waiting = other;
                None
            }
        }
    }
}

async fn response(
    State(desk): State<Arc<Desk>>,
    UrlPath(id): UrlPath<String>,
    headers: HeaderMap,
    body: Body,
) -> StatusCode {
    let Some(reply) = desk.taker(&id) else {
        return StatusCode::BAD_REQUEST;
    };
    let streams = headers
        .get("lambda-runtime-function-response-mode")
        .is_some_and(|mode| mode == "streaming");
    if streams {
        stream(reply, body).await;
    } else {
        let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
        let _nobody_waits = reply.send(match serde_json::from_slice(&bytes) {
            Ok(answer) => Reply::Answer(answer),
            Err(fault) => Reply::Failed(json!({ "errorType": "NoJson", "errorMessage": fault.to_string() })),
        });
    }
    StatusCode::ACCEPTED
}

async fn stream(reply: oneshot::Sender<Reply>, body: Body) {
    let mut body = body.into_data_stream();
    let mut head = Vec::new();
    let end = loop {
        if let Some(end) = head.windows(8).position(|window| window == PRELUDE_END) {
            break end;
        }
        match body.next().await {
            Some(Ok(chunk)) => head.extend_from_slice(&chunk),
            _ => {
                let _nobody_waits = reply.send(Reply::Failed(json!({ "errorType": "NoPrelude" })));
                return;
            }
        }
    };
    let prelude = serde_json::from_slice(&head[..end]).unwrap_or_default();
    let (sender, chunks) = mpsc::unbounded_channel();
    let rest = Bytes::copy_from_slice(&head[end + 8..]);
    if !rest.is_empty() {
        let _open = sender.send((Instant::now(), rest));
    }
    let _nobody_waits = reply.send(Reply::Stream(Streamed { prelude, chunks }));
    while let Some(Ok(chunk)) = body.next().await {
        // Lambda reads on when the client has gone.
        let _gone = sender.send((Instant::now(), chunk));
    }
}

async fn error(State(desk): State<Arc<Desk>>, UrlPath(id): UrlPath<String>, body: Bytes) -> StatusCode {
    if let Some(reply) = desk.taker(&id) {
        let _nobody_waits = reply.send(Reply::Failed(serde_json::from_slice(&body).unwrap_or_default()));
    }
    StatusCode::ACCEPTED
}

/// A function: as many sandboxes as there are events at once, up to a bound, each used again when it is free. Where it is isolated, each
/// is used for the tenant of its first event alone.
pub struct Function {
    spec: Spec,
    logs: PathBuf,
    /// With whose each is, the longest unused first.
    idle: Mutex<Vec<(Option<String>, Sandbox)>>,
    /// Of whom each sandbox was that was ever begun.
    begun: Mutex<Vec<Option<String>>>,
    room: Arc<Semaphore>,
    billed: Mutex<Billed>,
    /// What goes wrong on purpose.
    pub(crate) mistakes: OnceLock<Arc<Mistakes>>,
}

/// What Lambda would charge for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Billed {
    /// Invocations.
    pub invocations: u64,
    /// How long they took together, streams to their end, starts not included.
    pub time: Duration,
}

impl Function {
    /// A function without a sandbox yet.
    #[must_use]
    pub fn new(spec: Spec, logs: &Path) -> Arc<Self> {
        Arc::new(Self {
            spec,
            logs: logs.to_owned(),
            idle: Mutex::default(),
            begun: Mutex::default(),
            room: Arc::new(Semaphore::new(AT_ONCE)),
            billed: Mutex::default(),
            mistakes: OnceLock::new(),
        })
    }

    /// Why Lambda takes no event with this tenant's id, or with none.
    #[must_use]
    pub fn refuses(&self, tenant: Option<&str>) -> Option<&'static str> {
        let is_id = |id: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || "._:/=+-@ ".contains(c);
            (1..=TENANT_ID).contains(&id.len()) && id.chars().all(known)
        };
        match (self.spec.isolated, tenant) {
            (true, None) => Some(
                "The invoked function is enabled with tenancy configuration. Add a valid tenant ID in your request and try again.",
            ),
            (false, Some(_)) => Some(
                "The invoked function is not enabled with tenancy configuration. Remove the tenant ID from your request and try again.",
            ),
            (true, Some(id)) if !is_id(id) => Some("The tenant ID is not of the form that Lambda takes."),
            _ => None,
        }
    }

    /// Hands an event to a free sandbox, or to a new one.
    pub async fn invoke(self: &Arc<Self>, event: Value) -> Reply {
        self.invoke_for(None, event).await
    }

    /// The same for a tenant, where Lambda isolates them.
    pub async fn invoke_for(self: &Arc<Self>, tenant: Option<&str>, event: Value) -> Reply {
        self.invoke_after(None, tenant, event).await
    }

    /// The same with what led to it.
    pub async fn invoke_after(
        self: &Arc<Self>,
        trace: Option<String>,
        tenant: Option<&str>,
        event: Value,
    ) -> Reply {
        if let Some(why) = self.refuses(tenant) {
            let told = json!({ "errorType": "InvalidParameterValueException", "errorMessage": why });
            return Reply::Failed(told);
        }
        let tenant = tenant.map(str::to_owned);
        let permit = self.room.clone().acquire_owned().await.expect("never closed");
        let mistakes = self.mistakes.get();
        let wrong = mistakes.and_then(|mistakes| mistakes.sandbox(tenant.as_deref()?));
        let free = {
            let mut idle = self.idle.lock().expect("no panic under the lock");
            let of = wrong.or_else(|| tenant.clone());
            let last = idle.iter().rposition(|(whose, _)| *whose == of);
            last.map(|at| idle.remove(at).1)
        };
        let sandbox = match free.filter(Sandbox::lives) {
            Some(sandbox) => sandbox,
            None => {
                self.begun
                    .lock()
                    .expect("no panic under the lock")
                    .push(tenant.clone());
                let sandbox = Sandbox::start(&self.spec, &self.logs).await;
                // One that cannot be built; the next event starts another.
                if !sandbox.comes_up().await {
                    return Reply::Ended;
                }
                sandbox
            }
        };
        let begun = Instant::now();
        let reply = sandbox
            .invoked((event, trace), self.spec.timeout, tenant.clone())
            .await;
        let function = self.clone();
        tokio::spawn(async move {
            let lives = sandbox.free().await;
            {
                let mut billed = function.billed.lock().expect("no panic under the lock");
                billed.invocations += 1;
                billed.time += begun.elapsed();
            }
            if lives {
                let mut idle = function.idle.lock().expect("no panic under the lock");
                idle.push((tenant, sandbox));
                if idle.len() > WAITING {
                    let _oldest = idle.remove(0);
                }
            }
            drop(permit);
        });
        reply
    }

    /// Whether it was made from this.
    #[must_use]
    pub fn is_of(&self, spec: &Spec) -> bool {
        self.spec == *spec
    }

    /// Of whom each sandbox was that was ever begun, the first one first.
    #[must_use]
    pub fn begun(&self) -> Vec<Option<String>> {
        self.begun.lock().expect("no panic under the lock").clone()
    }

    /// What it has cost so far.
    #[must_use]
    pub fn billed(&self) -> Billed {
        *self.billed.lock().expect("no panic under the lock")
    }

    /// Its memory, in MB.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.spec.memory
    }

    /// Whether none of its sandboxes works on anything.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.room.available_permits() == AT_ONCE
    }

    /// Kills every sandbox that waits: whatever they had in memory is gone.
    pub fn forget(&self) {
        self.idle.lock().expect("no panic under the lock").clear();
    }
}

/// Where the functions' programs are: `SWITCHYARD_FUNCTIONS`, as `cargo lambda build` lays them out, or this build's own.
///
/// # Panics
/// Where the program is missing.
#[must_use]
pub fn program(package: &str) -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "a test may look at its environment")]
    let given = std::env::var_os("SWITCHYARD_FUNCTIONS").map(PathBuf::from);
    let path = match given {
        Some(folder) => folder.join(package).join("bootstrap"),
        None => return crate::binary::path(package),
    };
    assert!(
        path.exists(),
        "{} is missing: `tests/run lambda` makes it",
        path.display()
    );
    path
}
