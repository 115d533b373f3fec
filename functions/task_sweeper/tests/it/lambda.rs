//! The Lambda's own program: its configuration, an event over the runtime API, a wake on SQS.

use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::Wake;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde_json::{Value, json};
use store::TaskKey;
use tokio::sync::mpsc;

use crate::support::{Wanted, create, id, start};

/// What the program said to the runtime API: the path's last part, the response mode, the body.
type Said = (String, Option<String>, Bytes);

/// A runtime API that has events to give, and SQS beside it.
#[derive(Clone)]
struct Lambda {
    events: Arc<Mutex<Vec<Value>>>,
    said: mpsc::UnboundedSender<Said>,
    wakes: Arc<Mutex<Vec<Value>>>,
}

impl Lambda {
    async fn start(events: Vec<Value>) -> (Self, String, mpsc::UnboundedReceiver<Said>) {
        let (said, heard) = mpsc::unbounded_channel();
        let lambda = Self {
            events: Arc::new(Mutex::new(events)),
            said,
            wakes: Arc::default(),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/{what}", post(take))
            .route("/", post(sqs))
            .with_state(lambda.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (lambda, address, heard)
    }
}

async fn next(State(lambda): State<Lambda>) -> impl IntoResponse {
    let event = lambda.events.lock().unwrap().pop();
    let Some(event) = event else {
        std::future::pending().await
    };
    let headers = [
        (
            "lambda-runtime-aws-request-id",
            "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
        ),
        ("lambda-runtime-deadline-ms", "4102444800000"),
        (
            "lambda-runtime-invoked-function-arn",
            "arn:aws:lambda:eu-north-1:123456789012:function:task_sweeper",
        ),
    ];
    (headers, event.to_string())
}

async fn take(
    State(lambda): State<Lambda>,
    Path((_id, what)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> impl IntoResponse {
    let mode = headers
        .get("lambda-runtime-function-response-mode")
        .map(|mode| mode.to_str().unwrap().to_owned());
    lambda.said.send((what, mode, body)).unwrap();
    (axum::http::StatusCode::ACCEPTED, r#"{"status":"OK"}"#)
}

async fn sqs(State(lambda): State<Lambda>, body: String) -> impl IntoResponse {
    lambda
        .wakes
        .lock()
        .unwrap()
        .push(serde_json::from_str(&body).unwrap());
    let taken = json!({ "Id": "0", "MessageId": "m", "MD5OfMessageBody": "" });
    json!({ "Successful": [taken], "Failed": [] }).to_string()
}

fn program(variables: &[(&str, &str)]) -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_task_sweeper"));
    command
        .env_clear()
        .envs(variables.iter().copied())
        .env("AWS_LAMBDA_FUNCTION_NAME", "task_sweeper")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_LAMBDA_LOG_STREAM_NAME", "stream")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", "group")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the program until it has said something, and gives its log too.
async fn run(variables: &[(&str, &str)], mut heard: mpsc::UnboundedReceiver<Said>) -> (Said, String) {
    let mut child = program(variables).spawn().unwrap();
    let said = tokio::time::timeout(Duration::from_secs(30), heard.recv()).await;
    child.kill().unwrap();
    let Output { stdout, stderr, .. } = child.wait_with_output().unwrap();
    let log = String::from_utf8(stdout).unwrap();
    let said = said.ok().flatten();
    (
        said.unwrap_or_else(|| panic!("no word: {log} {}", String::from_utf8_lossy(&stderr))),
        log,
    )
}

fn sample(name: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../events")
        .join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[tokio::test]
async fn a_scheduled_event_wakes_a_due_task_through_sqs() {
    let (store, database) = store_testing::start().await;
    let task = create(
        &store,
        Wanted {
            tenant: "acme",
            agent: "host",
            id: id(9),
            due_at: start(),
        },
    )
    .await;
    let (lambda, api, heard) = Lambda::start(vec![sample("task_sweeper/schedule.json")]).await;
    let endpoint = format!("http://{api}");
    let queues = json!({ "host": format!("{endpoint}/queue/host") }).to_string();
    let variables = [
        ("AWS_LAMBDA_RUNTIME_API", api.as_str()),
        ("AWS_ENDPOINT_URL_DYNAMODB", database.url().as_str()),
        ("AWS_ENDPOINT_URL_SQS", &endpoint),
        ("WAKE_QUEUES", &queues),
    ];
    let ((what, mode, body), log) = run(&variables, heard).await;
    assert_eq!((what.as_str(), mode), ("response", None));
    let report: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        report,
        json!({ "tasks": 1, "deliveries": 0, "notSent": 0, "left": 0, "unreadShards": 0, "unfinishedShards": 0, "oldestDueSeconds": report["oldestDueSeconds"] })
    );

    let wakes = lambda.wakes.lock().unwrap();
    let entry = &wakes[0]["Entries"][0];
    assert_eq!(
        (&entry["MessageGroupId"], &wakes[0]["Entries"][1]),
        (&json!("acme"), &Value::Null)
    );
    let wake = Wake::parse(entry["MessageBody"].as_str().unwrap()).unwrap();
    assert_eq!((wakes.len(), wake.key()), (1, TaskKey::from(&task)));
    let line = log.lines().find(|line| line.contains("swept")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(line).unwrap()["tasks"],
        1,
        "a log line is JSON: {line}"
    );
}

#[tokio::test]
async fn an_event_of_a_kind_it_does_not_serve_fails_the_invocation_by_name() {
    let (_, api, heard) = Lambda::start(vec![sample("host_agent/wakes.json")]).await;
    let ((what, _, body), _) = run(&[("AWS_LAMBDA_RUNTIME_API", &api), ("WAKE_QUEUES", "{}")], heard).await;
    let error: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (what.as_str(), &error["errorType"]),
        ("error", &json!("Edge.EventNotServed"))
    );
}

#[tokio::test]
async fn an_answer_streams_where_the_switch_says_so() {
    let (_, api, heard) = Lambda::start(vec![sample("registry/unauthorized.json")]).await;
    let variables = [
        ("AWS_LAMBDA_RUNTIME_API", api.as_str()),
        ("WAKE_QUEUES", "{}"),
        ("ANSWERS", "streaming"),
    ];
    let ((what, mode, body), _) = run(&variables, heard).await;
    assert_eq!((what.as_str(), mode.as_deref()), ("response", Some("streaming")));
    let text = String::from_utf8(body.to_vec()).unwrap();
    let (prelude, body) = text.split_once("\0\0\0\0\0\0\0\0").unwrap();
    assert_eq!(serde_json::from_str::<Value>(prelude).unwrap()["statusCode"], 404);
    assert_eq!(serde_json::from_str::<Value>(body).unwrap()["error"], "not_found");
}

#[test]
fn without_its_settings_it_does_not_start_and_names_them_all() {
    let output = program(&[("ANSWERS", "loud"), ("LOG_FILTER", "x=y=z")])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let told = String::from_utf8(output.stderr).unwrap();
    for name in ["LOG_FILTER", "ANSWERS", "WAKE_QUEUES"] {
        assert!(told.contains(name), "{name}: {told}");
    }
}
