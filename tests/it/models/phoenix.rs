//! A system that is killed at a word, and started again: a worker of the chaos run, whose database stands in this process, behind
//! a proxy that counts writes and kills before or after the one that it is told.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use store_testing::Database;
use system_testing::binary::{free_port, path};
use url::Url;

/// The operations that change something.
const WRITES: [&str; 5] = [
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "TransactWriteItems",
    "BatchWriteItem",
];

/// How long a start may take on a machine that is busy with others.
const COMES_UP: Duration = Duration::from_secs(180);

/// When a process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strike {
    /// As this write is about to reach the database.
    Before(usize),
    /// When it is done, and its answer has not come back.
    After(usize),
}

/// The process.
pub(crate) struct Phoenix {
    shared: Arc<Shared>,
    /// What `endpoints.json` holds.
    pub(crate) endpoints: Value,
    _folder: tempfile::TempDir,
    _database: Database,
}

struct Shared {
    database: Url,
    http: reqwest::Client,
    process: Mutex<Option<Child>>,
    command: Mutex<Vec<String>>,
    bedrock: Option<Url>,
    struck: Mutex<Struck>,
}

/// What was counted and done so far.
#[derive(Default)]
struct Struck {
    /// Nothing is counted before.
    armed: bool,
    writes: usize,
    strikes: BTreeSet<Strike>,
    kills: usize,
}

impl Phoenix {
    /// Starts it: with a language model that is named as `switchyard up` takes it, where there is one.
    pub(crate) async fn start(model: Option<&str>, bedrock: Option<Url>) -> Self {
        let (_store, database) = store_testing::start_apart(None).await;
        let folder = tempfile::tempdir().expect("a folder");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let proxy = format!("http://{}", listener.local_addr().expect("an address"));
        let file = folder.path().join("endpoints.json");
        let port = free_port().to_string();
        let text = |path: &PathBuf| path.to_str().expect("a path").to_owned();
        let (gateway, secrets) = (
            format!("http://127.0.0.1:{port}"),
            folder.path().join("secrets.json"),
        );
        let mut command = [
            "worker",
            "--skew",
            "0",
            "--faults",
            "",
            "--plan-approval",
            "always",
        ]
        .map(str::to_owned)
        .to_vec();
        command.extend(["--port".to_owned(), port, "--gateway".to_owned(), gateway]);
        command.extend([
            "--dynamodb".to_owned(),
            proxy,
            "--secrets".to_owned(),
            text(&secrets),
        ]);
        command.extend(["--endpoints".to_owned(), text(&file)]);
        command.extend(
            model
                .iter()
                .flat_map(|model| ["--model".to_owned(), (*model).to_owned()]),
        );
        let shared = Arc::new(Shared {
            database: database.url().clone(),
            http: system_testing::user::http(),
            process: Mutex::default(),
            command: Mutex::new(command),
            bedrock,
            struck: Mutex::default(),
        });
        let proxy = axum::Router::new().fallback(pass).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, proxy).await });
        assert!(shared.rise(true).await, "it did not come up");
        let endpoints = serde_json::from_slice(&std::fs::read(&file).expect("readable")).expect("JSON");
        Self {
            shared,
            endpoints,
            _folder: folder,
            _database: database,
        }
    }

    /// From now on writes are counted, and at these it is killed and started again.
    pub(crate) fn arm(&self, strikes: impl IntoIterator<Item = Strike>) {
        let mut struck = self.shared.struck.lock().expect("no panic under the lock");
        struck.armed = true;
        struck.strikes = strikes.into_iter().collect();
    }

    /// Killed and started again, now.
    pub(crate) async fn strike(&self) {
        self.shared.struck.lock().expect("no panic under the lock").kills += 1;
        self.shared.kill();
        assert!(self.shared.rise(false).await, "it did not come up again");
    }

    /// How many writes there were, and how many kills.
    pub(crate) fn counted(&self) -> (usize, usize) {
        let struck = self.shared.struck.lock().expect("no panic under the lock");
        (struck.writes, struck.kills)
    }
}

impl Drop for Phoenix {
    fn drop(&mut self) {
        self.shared.kill();
    }
}

impl Shared {
    /// SIGKILL.
    fn kill(&self) {
        if let Some(mut process) = self.process.lock().expect("no panic under the lock").take() {
            process.kill().expect("it can be killed");
            process.wait().expect("it ends");
        }
    }

    /// Starts it, and waits until it answers; false where it was killed before.
    async fn rise(&self, founds: bool) -> bool {
        let mut command = Command::new(path("chaos"));
        command.args(self.command.lock().expect("no panic under the lock").iter());
        command.args(founds.then_some("--founds"));
        command.envs(
            self.bedrock
                .iter()
                .map(|url| ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url.as_str())),
        );
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("it starts");
        let lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        *self.process.lock().expect("no panic under the lock") = Some(process);
        std::thread::spawn(move || {
            let mut ready = Some(ready);
            for line in lines.map_while(Result::ok) {
                let told = ready.take_if(|_| line.contains("Ready"));
                let _nobody_waits = told.map(|ready| ready.send(()));
            }
        });
        let waited = tokio::time::timeout(COMES_UP, is_ready).await;
        matches!(waited, Ok(Ok(())))
    }

    /// Whether it is killed now, before or after this write.
    fn strikes(&self, strike: Strike) -> bool {
        let mut struck = self.struck.lock().expect("no panic under the lock");
        let strikes = struck.strikes.remove(&strike);
        struck.kills += usize::from(strikes);
        strikes
    }

    fn counted(&self, write: bool) -> Option<usize> {
        let mut struck = self.struck.lock().expect("no panic under the lock");
        let counts = write && struck.armed;
        struck.writes += usize::from(counts);
        counts.then_some(struck.writes)
    }
}

/// A request for the database, or the last one of this process.
async fn pass(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok());
    let operation = target
        .and_then(|target| target.split('.').next_back())
        .unwrap_or_default();
    let write = shared.counted(WRITES.contains(&operation));
    let gone = StatusCode::SERVICE_UNAVAILABLE.into_response();
    if write.is_some_and(|write| shared.strikes(Strike::Before(write))) {
        shared.kill();
        tokio::spawn(async move { shared.rise(false).await });
        return gone;
    }
    let mut carried = headers;
    carried.remove("host");
    let call = shared
        .http
        .post(shared.database.clone())
        .headers(carried)
        .body(body);
    let answer = match call.send().await {
        Ok(answer) => answer,
        Err(_) => return gone,
    };
    let mut told = Response::builder().status(answer.status());
    for (name, value) in answer
        .headers()
        .iter()
        .filter(|(name, _)| *name != "transfer-encoding")
    {
        told = told.header(name, value);
    }
    let body = answer.bytes().await.unwrap_or_default();
    if write.is_some_and(|write| shared.strikes(Strike::After(write))) {
        shared.kill();
        tokio::spawn(async move { shared.rise(false).await });
        return gone;
    }
    told.body(body.into()).unwrap_or(gone)
}
