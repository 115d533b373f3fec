//! `agent dev` beside a running system: an agent of the test's own, which answers by its webhook.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command};
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Json, Router, routing};
use reqwest::Method;
use serde_json::{Value, json};

use crate::binary::{Up, command, out, sentence, switchyard};
use crate::http::request;

/// An agent that counts, and what its card says of it.
struct Counting {
    url: String,
    says: Arc<Mutex<&'static str>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Counting {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let says = Arc::new(Mutex::new("Counts the words of a text"));
        let card = |State((url, says)): State<(String, Arc<Mutex<&'static str>>)>| async move {
            let says = *says.lock().unwrap();
            Json(
                json!({ "name": "Word counter", "description": says, "version": "1",
                "supportedInterfaces": [{ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
                "capabilities": { "pushNotifications": true }, "defaultInputModes": ["text/plain"],
                "defaultOutputModes": ["text/plain"],
                "skills": [{ "id": "count", "name": "Count", "description": says, "tags": ["text"],
                    "examples": ["Count the words: the quick brown fox"] }] }),
            )
        };
        let router = Router::new()
            .route("/.well-known/agent-card.json", routing::get(card))
            .route("/", routing::post(asked))
            .with_state((url.clone(), Arc::clone(&says)));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, says, serving }
    }
}

/// It looks at whom a token is for, and a host that comes by a proxy has none for it.
async fn asked(headers: HeaderMap, Json(call): Json<Value>) -> Result<Json<Value>, StatusCode> {
    match headers.contains_key("authorization") {
        true => Err(StatusCode::UNAUTHORIZED),
        false => Ok(Json(answer(&call))),
    }
}

/// Works at once, and tells the result to the webhook alone.
fn answer(call: &Value) -> Value {
    let id = call.get("id").cloned();
    if call.get("method").and_then(Value::as_str) != Some("SendMessage") {
        return json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32001, "message": "Task not found" } });
    }
    let status = |state: &str, said: &str| {
        let message = json!({ "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": said }] });
        json!({ "state": state, "message": message })
    };
    let hook = call
        .pointer("/params/configuration/taskPushNotificationConfig")
        .unwrap()
        .clone();
    tokio::spawn(async move {
        let said = "Four; see https://a.example/?ticket=S3CRET";
        let done = json!({ "statusUpdate": { "taskId": "t", "contextId": "c", "status": status("TASK_STATE_COMPLETED", said) } });
        let of = |name: &str| hook.get(name).and_then(Value::as_str).unwrap();
        let token = of("token");
        let push = request(Method::POST, of("url")).header("x-a2a-notification-token", token);
        assert!(
            push.bearer_auth(token)
                .json(&done)
                .send()
                .await
                .unwrap()
                .status()
                .is_success()
        );
    });
    let task = json!({ "id": "t", "contextId": "c", "status": status("TASK_STATE_WORKING", "Counting") });
    json!({ "jsonrpc": "2.0", "id": id, "result": { "task": task } })
}

/// The command, and the lines that it prints.
struct Dev {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    shown: Vec<String>,
}

impl Dev {
    fn start(url: &str, data: &str, more: &[&str]) -> Self {
        let arguments = [&["agent", "dev", url, "--data", data], more].concat();
        let mut child = command(&arguments).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut dev = Self {
            child,
            lines,
            shown: Vec::new(),
        };
        dev.until("is registered until Ctrl-C");
        dev
    }

    /// Reads on, until a line holds this.
    fn until(&mut self, wanted: &str) -> String {
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            self.shown.push(line.clone());
            if line.contains(wanted) {
                return line;
            }
        }
        panic!("no line has {wanted}: {:#?}", self.shown)
    }

    fn end(mut self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        self.child.wait().unwrap();
        let all = self.shown.join("\n");
        assert!(!all.contains("S3CRET") && !all.contains("\u{1b}"), "{all}");
    }
}

fn listed(data: &str) -> usize {
    out(&switchyard(&["agents", "--data", data]))
        .matches("Word counter")
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_registered_while_it_is_developed_and_its_traffic_is_shown_without_secrets() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let _up = Up::start(place.path(), &[]);
    let agent = Counting::start().await;
    let ask = || {
        out(&switchyard(&[
            "chat",
            "--tenant",
            "acme",
            "--data",
            data,
            "--new",
            "Count the words: the quick brown fox",
        ]))
    };

    let mut dev = Dev::start(&agent.url, data, &[]);
    assert!(
        ask().contains("Four; see https://a.example/?ticket=S3CRET"),
        "its user gets all of it"
    );
    dev.until("host → agent SendMessage “Count the words: the quick brown fox”");
    dev.until("agent → host push completed “Four; see https://a.example/?***”");
    // A changed card of this machine serves without a word.
    *agent.says.lock().unwrap() = "Counts words, and letters";
    let changed = dev.until("its card has changed, and serves");
    dev.until("+ Counts words, and letters");
    assert!(!changed.contains("approve"), "{changed}");
    // Killed, it leaves its registration, which the next one takes away.
    dev.end("KILL");
    assert_eq!(listed(data), 1);
    let mut dev = Dev::start(&agent.url, data, &["--json"]);
    assert_eq!(listed(data), 1);
    assert!(ask().contains("Four"));
    let sent: Value = serde_json::from_str(&dev.until("SendMessage")).unwrap();
    assert_eq!(
        (&sent["from"], &sent["to"]),
        (&json!("host"), &json!("agent")),
        "{sent}"
    );
    let hook = &sent["body"]["params"]["configuration"]["taskPushNotificationConfig"];
    assert_eq!(
        (&hook["token"], &hook["authentication"]["credentials"]),
        (&json!("***"), &json!("***"))
    );
    // It is taken away where the agent has died meanwhile, too.
    agent.serving.abort();
    dev.until("does not answer");
    dev.end("INT");
    assert_eq!(listed(data), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn its_own_registration_rests_meanwhile_and_where_there_is_no_agent_nothing_is_registered() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let _up = Up::start(place.path(), &[]);
    let agent = Counting::start().await;
    assert!(
        switchyard(&["agent", "register", &agent.url, "--data", data])
            .status
            .success()
    );
    let dev = Dev::start(&agent.url, data, &[]);
    let agents = out(&switchyard(&["agents", "--data", data]));
    assert_eq!(
        (
            agents.matches("Word counter").count(),
            agents.matches("disabled").count()
        ),
        (2, 1),
        "{agents}"
    );
    dev.end("TERM");
    let agents = out(&switchyard(&["agents", "--data", data]));
    assert_eq!(
        (
            agents.matches("Word counter").count(),
            agents.matches("disabled").count()
        ),
        (1, 0),
        "{agents}"
    );
    let nobody = switchyard(&["agent", "dev", "http://127.0.0.1:1", "--data", data]);
    assert!(sentence(&nobody).contains("there is no card at http://127.0.0.1:1/.well-known/agent-card.json"));
}
