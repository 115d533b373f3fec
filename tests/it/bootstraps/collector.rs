//! Spans of a function: they have left when an invocation ends, and a collector that does not answer costs no invocation more
//! than two seconds, and that only now and then.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::post;
use serde_json::Value;
use system_testing::runtime_api::{Reply, Sandbox};
use tokio::net::TcpListener;

use super::lambda::{get, spec};

/// What an invocation may take longer for a collector that does not answer.
const BOUND: Duration = Duration::from_secs(2);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(3);

/// A sandbox whose spans go there.
async fn sandbox(answers: &str, collector: &str, logs: &std::path::Path) -> Sandbox {
    let mut spec = spec(answers);
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b"),
    ] {
        spec.environment.insert(name.to_owned(), value.to_owned());
    }
    let sandbox = Sandbox::start(&spec, logs).await;
    sandbox.ready().await;
    sandbox
}

/// The spans' names that a collector was told, one list for each request.
type Told = Arc<Mutex<Vec<Vec<String>>>>;

async fn collector() -> (String, Told) {
    let told = Told::default();
    let tells = Arc::clone(&told);
    let take = async move |headers: HeaderMap, body: String| {
        assert_eq!(headers["api-key"], "a b");
        let export: Value = serde_json::from_str(&body).unwrap();
        let spans = export.pointer("/resourceSpans/0/scopeSpans/0/spans");
        let spans = spans.and_then(Value::as_array).unwrap().iter();
        let names = spans.map(|span| span["name"].as_str().unwrap().to_owned());
        tells.lock().unwrap().push(names.collect());
        "{}"
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/traces", post(take));
    tokio::spawn(async { axum::serve(listener, router).await });
    (url, told)
}

#[tokio::test(flavor = "multi_thread")]
async fn when_an_invocation_ends_its_spans_have_left() {
    let logs = tempfile::tempdir().unwrap();
    let (url, told) = collector().await;
    let buffered = sandbox("buffered", &url, logs.path()).await;
    for n in 1..=3 {
        let reply = buffered.invoke(get("POST", "/count")).await;
        assert_eq!(reply.status(), Some(200), "{reply:?}\n{}", buffered.log());
        // Frozen from here on: what was not sent would not come.
        buffered.signal("STOP");
        let told = told.lock().unwrap().clone();
        assert_eq!(told, vec![vec!["edge.request.answer".to_owned()]; n]);
        buffered.signal("CONT");
        assert!(buffered.free().await);
    }
    told.lock().unwrap().clear();
    let streaming = sandbox("streaming", &url, logs.path()).await;
    let Reply::Stream(stream) = streaming.invoke(get("GET", "/chunks")).await else {
        panic!("no stream\n{}", streaming.log())
    };
    assert!(stream.text().await.ends_with("data: 4\n\n"));
    streaming.signal("STOP");
    assert_eq!(*told.lock().unwrap(), [["edge.request.answer"]]);
}

/// How long invocations take with this collector; all of them are answered.
async fn invoked(collector: &str, count: usize) -> Vec<Duration> {
    let logs = tempfile::tempdir().unwrap();
    let sandbox = sandbox("buffered", collector, logs.path()).await;
    let mut took = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        let reply = sandbox.invoke(get("POST", "/count")).await;
        took.push(began.elapsed());
        assert_eq!(reply.status(), Some(200), "{reply:?}\n{}", sandbox.log());
    }
    let log = sandbox.log();
    assert!(log.contains("spans did not reach the collector"), "{log}");
    assert!(!log.contains("a b") && !log.contains("a%20b"), "the key is told");
    took
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_collector_fails_and_delays_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for took in invoked(&dead, 5).await {
        assert!(took < BOUND + SLACK, "{took:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_never_answers_delays_one_invocation_by_its_bound() {
    // Connections are taken by the system, and nobody reads them.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let took = invoked(&silent, 5).await;
    assert!(took[0] >= BOUND / 2, "it waited: {took:?}");
    assert!(took[0] < BOUND + SLACK, "{took:?}");
    let others: Duration = took[1..].iter().sum();
    assert!(others < BOUND, "the others did not wait: {took:?}");
}
