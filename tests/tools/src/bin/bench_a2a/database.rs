//! The embedded DynamoDB as a process of its own, which counts what it is asked once it is told to.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// DynamoDB's own limit of a request, in bytes.
const BODY_LIMIT: usize = 16 * 1024 * 1024;

/// What was asked.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Spent {
    /// How often each operation was called.
    pub(crate) calls: BTreeMap<String, u64>,
    /// Capacity units of the writes.
    pub(crate) written: f64,
    /// Capacity units of the reads.
    pub(crate) read: f64,
}

#[derive(Default)]
struct Meter {
    counts: AtomicBool,
    spent: Mutex<Spent>,
}

/// Serves until it is killed. `PUT /meter` begins to count, which makes it slower; `GET /meter` tells what it came to.
pub(crate) async fn run() {
    let meter = Arc::new(Meter::default());
    let told = routing::put(begin).get(tell).with_state(Arc::clone(&meter));
    let wrap = move |router: Router| {
        let counted = router.layer(from_fn_with_state(meter, count));
        Router::new().route("/meter", told).merge(counted)
    };
    let server = dynamodb::Server::start_behind(None, wrap).expect("the database starts");
    println!("{}", serde_json::json!({ "url": server.url() }));
    std::future::pending::<()>().await;
}

async fn begin(State(meter): State<Arc<Meter>>) {
    *meter.spent.lock().expect("no panic under the lock") = Spent::default();
    meter.counts.store(true, Ordering::SeqCst);
}

async fn tell(State(meter): State<Arc<Meter>>) -> Json<Spent> {
    meter.counts.store(false, Ordering::SeqCst);
    Json(meter.spent.lock().expect("no panic under the lock").clone())
}

/// Has each answer say what it cost, and adds that up.
async fn count(State(meter): State<Arc<Meter>>, request: Request, next: Next) -> Response {
    if !meter.counts.load(Ordering::SeqCst) {
        return next.run(request).await;
    }
    let (mut head, body) = request.into_parts();
    let target = head.headers.get("x-amz-target");
    let target = target.and_then(|target| target.to_str().ok()).unwrap_or_default();
    let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
    let mut asked: Value = serde_json::from_slice(&whole(body).await).expect("a request in JSON");
    asked["ReturnConsumedCapacity"] = "TOTAL".into();
    head.headers.remove("content-length");
    let request = Request::from_parts(head, Body::from(asked.to_string()));
    let (head, body) = next.run(request).await.into_parts();
    let body = whole(body).await;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let consumed = match &answer["ConsumedCapacity"] {
        Value::Array(tables) => tables.iter().map(units).sum(),
        table => units(table),
    };
    let mut spent = meter.spent.lock().expect("no panic under the lock");
    if operation.contains("Write") || ["PutItem", "UpdateItem", "DeleteItem"].contains(&operation.as_str()) {
        spent.written += consumed;
    } else {
        spent.read += consumed;
    }
    *spent.calls.entry(operation).or_default() += 1;
    (head, body).into_response()
}

async fn whole(body: Body) -> Bytes {
    to_bytes(body, BODY_LIMIT).await.expect("a whole body")
}

fn units(consumed: &Value) -> f64 {
    consumed["CapacityUnits"].as_f64().unwrap_or_default()
}
