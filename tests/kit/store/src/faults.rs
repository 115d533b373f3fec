//! What the database in the process cannot do, injected into the client by chance, from a seed: load, rival
//! transactions, requests and answers that are lost, indexes that lag behind, slowness.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use aws_types::SdkConfig;
use serde_json::{Value, json};
use store::{Store, Tables};
use tokio::time::Instant;

/// How often what goes wrong. All shares are of a thousand requests of the kind; nothing goes wrong by default.
///
/// Its text is a list such as `seed=7,throttled=20,lag_ms=500`, for a worker's command line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Which faults they are: the same requests in the same order meet the same faults.
    pub seed: u64,
    /// Requests that are refused for load: `ProvisionedThroughputExceededException`, `ThrottlingException`.
    pub throttled: u64,
    /// Writes that are refused because of a rival transaction.
    pub conflicts: u64,
    /// Requests that never arrive.
    pub unsent: u64,
    /// Requests that are done, and the answer is lost.
    pub lost: u64,
    /// Queries of an index that see an older state of it.
    pub lagging: u64,
    /// How far such a query is behind, in milliseconds.
    pub lag_ms: u64,
    /// How long a request takes at most beside its own time, in milliseconds.
    pub latency_ms: u64,
}

impl Faults {
    /// A rough day: a little of everything.
    #[must_use]
    pub fn rough(seed: u64) -> Self {
        Self {
            seed,
            throttled: 20,
            conflicts: 20,
            unsent: 10,
            lost: 20,
            lagging: 200,
            lag_ms: 1_000,
            latency_ms: 5,
        }
    }

    fn named(&mut self) -> [(&'static str, &mut u64); 8] {
        [
            ("seed", &mut self.seed),
            ("throttled", &mut self.throttled),
            ("conflicts", &mut self.conflicts),
            ("unsent", &mut self.unsent),
            ("lost", &mut self.lost),
            ("lagging", &mut self.lagging),
            ("lag_ms", &mut self.lag_ms),
            ("latency_ms", &mut self.latency_ms),
        ]
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut copy = *self;
        let named = copy.named().map(|(name, value)| format!("{name}={value}"));
        f.write_str(&named.join(","))
    }
}

/// The text is no list of faults.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no fault and its number: {0}")]
pub struct NoFault(String);

impl FromStr for Faults {
    type Err = NoFault;

    fn from_str(text: &str) -> Result<Self, NoFault> {
        let mut faults = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let wrong = || NoFault(part.to_owned());
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let mut named = faults.named();
            let known = named.iter_mut().find(|(known, _)| *known == name);
            let (_, place) = known.ok_or_else(wrong)?;
            **place = value.parse().map_err(|_| wrong())?;
        }
        Ok(faults)
    }
}

/// How many faults were injected so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Injected {
    /// Requests in all.
    pub requests: u64,
    /// Requests refused for load.
    pub throttled: u64,
    /// Writes refused because of a rival transaction.
    pub conflicts: u64,
    /// Requests that never arrived.
    pub unsent: u64,
    /// Requests done of which the answer was lost.
    pub lost: u64,
    /// Queries of an index whose answer was made older than it was.
    pub lagging: u64,
}

/// Tells what was injected into a store.
#[derive(Debug, Clone)]
pub struct Injector(Arc<State>);

impl Injector {
    /// The counts up to now.
    #[must_use]
    pub fn injected(&self) -> Injected {
        *self.0.injected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store over a plain HTTP endpoint whose client meets faults, and the counts of them.
#[must_use]
pub fn faulty_store(config: SdkConfig, tables: Tables, faults: Faults) -> (Store, Injector) {
    let state = Arc::new(State {
        faults,
        requests: AtomicU64::new(0),
        injected: Mutex::default(),
        past: Mutex::default(),
    });
    let client = Faulty {
        inner: aws_smithy_http_client::Builder::new().build_http(),
        state: Arc::clone(&state),
    };
    let config = config.into_builder().http_client(client).build();
    (Store::new(&config, tables), Injector(state))
}

#[derive(Debug)]
struct State {
    faults: Faults,
    requests: AtomicU64,
    injected: Mutex<Injected>,
    past: Mutex<Past>,
}

/// What is needed to show an index as it was.
#[derive(Debug, Default)]
struct Past {
    /// When each item was written here last: an index that lags does not show that yet.
    written: HashMap<(String, String), Instant>,
    /// What an index showed, by what was asked.
    shown: HashMap<String, (Instant, Value)>,
}

#[derive(Debug, Clone)]
struct Faulty {
    inner: SharedHttpClient,
    state: Arc<State>,
}

impl HttpClient for Faulty {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector {
            inner: self.inner.http_connector(settings, components),
            state: Arc::clone(&self.state),
        })
    }
}

#[derive(Debug)]
struct Connector {
    inner: SharedHttpConnector,
    state: Arc<State>,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inner, state) = (self.inner.clone(), Arc::clone(&self.state));
        HttpConnectorFuture::new(async move { state.answer(&inner, request).await })
    }
}

/// Chance that follows from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn hits(&mut self, share: u64) -> bool {
        self.roll() % 1000 < share
    }
}

impl State {
    async fn answer(
        &self,
        inner: &SharedHttpConnector,
        request: HttpRequest,
    ) -> Result<HttpResponse, ConnectorError> {
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        let mut dice = Dice(self.faults.seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ (number << 20));
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        if operation.ends_with("Table") {
            return inner.call(request).await;
        }
        let asked: Value = request
            .body()
            .bytes()
            .and_then(|body| serde_json::from_slice(body).ok())
            .unwrap_or_default();
        let writes = operation.contains("Write") || operation.ends_with("Item") && operation != "GetItem";
        self.count(|injected| injected.requests += 1);

        if self.faults.latency_ms > 0 {
            let wait = dice.roll() % (self.faults.latency_ms + 1);
            tokio::time::sleep(Duration::from_millis(wait)).await;
        }
        if dice.hits(self.faults.unsent) {
            self.count(|injected| injected.unsent += 1);
            return Err(ConnectorError::io("the connection was refused".into()));
        }
        if dice.hits(self.faults.throttled) {
            self.count(|injected| injected.throttled += 1);
            let codes = ["ProvisionedThroughputExceededException", "ThrottlingException"];
            let code = if dice.hits(500) { codes[0] } else { codes[1] };
            return refusal(&json!({ "__type": named(code) }));
        }
        if writes && dice.hits(self.faults.conflicts) {
            self.count(|injected| injected.conflicts += 1);
            return refusal(&rival(&asked, &mut dice));
        }
        let answer = inner.call(request).await?;
        if writes {
            self.note(&asked);
        }
        if dice.hits(self.faults.lost) {
            self.count(|injected| injected.lost += 1);
            return Err(ConnectorError::io("the connection was reset".into()));
        }
        if operation == "Query" && asked.get("IndexName").is_some() && answer.status().is_success() {
            let lags = dice.hits(self.faults.lagging);
            return self.of_the_past(&asked, answer, lags).await;
        }
        Ok(answer)
    }

    fn count(&self, what: impl FnOnce(&mut Injected)) {
        what(&mut self.injected.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Remembers which items were just written.
    fn note(&self, asked: &Value) {
        let (now, lag) = (Instant::now(), Duration::from_millis(self.faults.lag_ms));
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.written.retain(|_, at| now.duration_since(*at) < lag);
        let mut of = |write: &Value| {
            let key = [write.get("Item"), write.get("Key")]
                .into_iter()
                .flatten()
                .find_map(key);
            if let Some(key) = key {
                past.written.insert(key, now);
            }
        };
        of(asked);
        let writes = asked.get("TransactItems").and_then(Value::as_array);
        for write in writes.into_iter().flatten().filter_map(Value::as_object) {
            write.values().for_each(&mut of);
        }
    }

    /// Shows an index as it was: as it was shown before, or at least without what was just written.
    async fn of_the_past(
        &self,
        asked: &Value,
        mut answer: HttpResponse,
        lags: bool,
    ) -> Result<HttpResponse, ConnectorError> {
        let body = std::mem::replace(answer.body_mut(), SdkBody::empty());
        let body = ByteStream::new(body).collect().await;
        let body = body
            .map_err(|error| ConnectorError::io(Box::new(error)))?
            .into_bytes();
        let mut told: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (now, lag) = (Instant::now(), Duration::from_millis(self.faults.lag_ms));
        // What is not a whole answer would not fit into another.
        let whole = told.get("LastEvaluatedKey").is_none() && asked.get("ExclusiveStartKey").is_none();
        let question = question(asked);
        let changed = {
            let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
            past.shown.retain(|_, (at, _)| now.duration_since(*at) < lag);
            let before = past.shown.get(&question).map(|(_, told)| told.clone());
            if whole && before.is_none() {
                past.shown.insert(question, (now, told.clone()));
            }
            match before.filter(|_| whole) {
                _ if !lags => false,
                Some(before) if before != told => {
                    told = before;
                    true
                }
                _ => forget(&mut told, |key| {
                    past.written
                        .get(&key)
                        .is_some_and(|at| now.duration_since(*at) < lag)
                }),
            }
        };
        let body = if changed {
            self.count(|injected| injected.lagging += 1);
            SdkBody::from(told.to_string())
        } else {
            SdkBody::from(body)
        };
        *answer.body_mut() = body;
        Ok(answer)
    }
}

/// What a query asks of which partition, whatever the time is.
fn question(asked: &Value) -> String {
    let values = asked.get("ExpressionAttributeValues").and_then(Value::as_object);
    let values = values
        .into_iter()
        .flatten()
        .filter(|(name, _)| !name.starts_with(":now"));
    let rest = [
        "TableName",
        "IndexName",
        "KeyConditionExpression",
        "FilterExpression",
        "Select",
        "Limit",
    ];
    let rest = rest.map(|name| asked.get(name));
    format!("{rest:?} {:?}", values.collect::<Vec<_>>())
}

/// Takes items out of an answer; true where there were any.
fn forget(told: &mut Value, unseen: impl Fn((String, String)) -> bool) -> bool {
    let Some(items) = told.get_mut("Items").and_then(Value::as_array_mut) else {
        return false;
    };
    let many = items.len();
    items.retain(|item| !key(item).is_some_and(&unseen));
    let count = items.len();
    if let Some(told) = told.as_object_mut() {
        told.insert("Count".to_owned(), json!(count));
    }
    count < many
}

fn key(item: &Value) -> Option<(String, String)> {
    let part = |name: &str| Some(item.get(name)?.get("S")?.as_str()?.to_owned());
    Some((part("pk")?, part("sk")?))
}

fn named(code: &str) -> String {
    format!("com.amazonaws.dynamodb.v20120810#{code}")
}

/// How DynamoDB refuses a write that runs into somebody else's transaction.
fn rival(asked: &Value, dice: &mut Dice) -> Value {
    let Some(writes) = asked.get("TransactItems").and_then(Value::as_array) else {
        return json!({ "__type": named("TransactionConflictException") });
    };
    let which = dice.roll() % (writes.len().max(1) as u64);
    let code = |at: u64| {
        if at == which {
            "TransactionConflict"
        } else {
            "None"
        }
    };
    let reasons: Vec<_> = (0..writes.len() as u64)
        .map(|at| json!({ "Code": code(at) }))
        .collect();
    json!({ "__type": named("TransactionCanceledException"), "CancellationReasons": reasons })
}

fn refusal(body: &Value) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(400).map_err(|error| ConnectorError::other(Box::new(error), None))?;
    Ok(HttpResponse::new(status, SdkBody::from(body.to_string())))
}
