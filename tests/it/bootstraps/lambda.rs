//! What Lambda does to a sandbox, and what becomes of the functions then.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use system_testing::runtime_api::{Reply, Sandbox, Spec, program};

pub(super) fn spec(answers: &str) -> Spec {
    Spec {
        name: "odd".to_owned(),
        binary: program("odd_function"),
        environment: BTreeMap::from([("ANSWERS".to_owned(), answers.to_owned())]),
        timeout: Duration::from_secs(20),
        memory: 256,
        isolated: false,
    }
}

pub(super) fn get(method: &str, path: &str) -> Value {
    json!({
        "resource": "/{proxy+}", "path": path, "httpMethod": method, "headers": {}, "multiValueHeaders": {},
        "queryStringParameters": null, "multiValueQueryStringParameters": null, "pathParameters": null,
        "requestContext": { "httpMethod": method, "path": path, "stage": "prod", "requestId": "r", "identity": {} },
        "body": null, "isBase64Encoded": false,
    })
}

async fn count(sandbox: &Sandbox) -> String {
    match sandbox.invoke(get("POST", "/count")).await {
        Reply::Answer(answer) => answer["body"].as_str().expect("text").to_owned(),
        other => panic!("{other:?}\n{}", sandbox.log()),
    }
}

/// A sandbox whose function takes this long to be built, and when it asked for its first event.
async fn built_in(takes: Duration, more: &[(&str, &str)], logs: &Path) -> (Sandbox, Duration) {
    let mut spec = spec("buffered");
    let takes = ("BUILD_TAKES", takes.as_millis().to_string());
    let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
    for (name, value) in more.chain([takes]) {
        spec.environment.insert(name.to_owned(), value);
    }
    let sandbox = Sandbox::start(&spec, logs).await;
    let asked = sandbox.ready().await;
    (sandbox, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_is_built_before_it_asks_for_its_first_event_whatever_kind_of_start_it_is() {
    const TAKES: Duration = Duration::from_secs(2);
    let logs = tempfile::tempdir().unwrap();
    let kind = |name| ("AWS_LAMBDA_INITIALIZATION_TYPE", name);
    for kind in [
        None,
        Some(kind("on-demand")),
        Some(kind("provisioned-concurrency")),
    ] {
        let (sandbox, asked) = built_in(TAKES, kind.as_slice(), logs.path()).await;
        assert!(asked >= TAKES, "it may be frozen as soon as it asks: {asked:?}");
        let started = Instant::now();
        assert_eq!(count(&sandbox).await, "0");
        assert!(started.elapsed() < TAKES, "it is built already");
        assert_eq!(count(&sandbox).await, "1", "which is built once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_cannot_be_built_ends_its_process_and_says_why() {
    let logs = tempfile::tempdir().unwrap();
    let mut spec = spec("buffered");
    spec.environment.insert("BUILD_TAKES".to_owned(), "10".to_owned());
    spec.environment
        .insert("BUILD_FAILS".to_owned(), "true".to_owned());
    let sandbox = Sandbox::start(&spec, logs.path()).await;
    assert!(!sandbox.comes_up().await, "it asks for no event");
    let log = sandbox.log();
    assert!(log.contains("it cannot be built, as it was asked to"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_costs_one_invocation_and_not_the_sandbox() {
    let logs = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&spec("buffered"), logs.path()).await;
    sandbox.ready().await;
    assert_eq!(count(&sandbox).await, "0");
    let reply = sandbox.invoke(get("GET", "/panic")).await;
    assert_eq!(reply.status(), Some(500), "{reply:?}");
    assert!(
        !format!("{reply:?}").contains("as it was asked to"),
        "a panic's words stay inside"
    );
    // The same process, with what it had.
    assert_eq!(count(&sandbox).await, "1");
    // An event that is none fails alone, with its kind.
    match sandbox.invoke(json!({ "rubbish": true })).await {
        Reply::Failed(error) => assert_eq!(error["errorType"], "Edge.UnknownEvent", "{error}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(count(&sandbox).await, "2");
    assert!(sandbox.log().contains("panicked"), "{}", sandbox.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_streamed_chunk_by_chunk() {
    let logs = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&spec("streaming"), logs.path()).await;
    sandbox.ready().await;
    let asked = Instant::now();
    let Reply::Stream(mut stream) = sandbox.invoke(get("GET", "/chunks")).await else {
        panic!("no stream\n{}", sandbox.log())
    };
    assert_eq!(stream.prelude["statusCode"], 200);
    let (mut came, mut text) = (Vec::new(), String::new());
    while let Some((at, chunk)) = stream.chunks.recv().await {
        came.push(at.duration_since(asked));
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert_eq!(text, "data: 0\n\ndata: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n");
    assert_eq!(came.len(), 5, "each on its own: {came:?}");
    let between = came[4] - came[0];
    assert!(
        between >= Duration::from_millis(350),
        "they are not kept until the end: {came:?}"
    );

    // A body that breaks off ends the stream; the sandbox goes on.
    if let Reply::Stream(stream) = sandbox.invoke(get("GET", "/breaks")).await {
        let _half = stream.text().await;
    }
    let reply = sandbox.invoke(get("POST", "/count")).await;
    assert_eq!(reply.status(), Some(200), "{reply:?}\n{}", sandbox.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_sandbox_goes_on_where_it_was() {
    let logs = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&spec("buffered"), logs.path()).await;
    sandbox.ready().await;
    for n in 0..3 {
        assert_eq!(count(&sandbox).await, n.to_string());
        assert!(sandbox.free().await);
        sandbox.signal("STOP");
        // Frozen while the next event is already there.
        let (answer, ()) = tokio::join!(sandbox.invoke(get("GET", "/none")), async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            sandbox.signal("CONT");
        });
        assert_eq!(answer.status(), Some(404), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_and_sigterm_end_a_sandbox_and_the_next_one_serves() {
    let logs = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&spec("buffered"), logs.path()).await;
    sandbox.ready().await;
    let reply = sandbox
        .invoke_within(get("GET", "/slow"), Duration::from_millis(300))
        .await;
    assert!(matches!(reply, Reply::TimedOut), "{reply:?}");
    assert!(!sandbox.lives());

    let sandbox = Sandbox::start(&spec("buffered"), logs.path()).await;
    sandbox.ready().await;
    let (reply, ()) = tokio::join!(sandbox.invoke(get("GET", "/slow")), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        sandbox.signal("TERM");
    });
    assert!(
        matches!(reply, Reply::Ended),
        "SIGTERM ends it at once: {reply:?}"
    );

    let sandbox = Sandbox::start(&spec("buffered"), logs.path()).await;
    sandbox.ready().await;
    assert_eq!(count(&sandbox).await, "0");
}
