//! The scripted agents of the tables: agents of another server, which a restart of the system does not touch.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::{Value, json};
use system_testing::Local;
use tokio::task::AbortHandle;

/// What an agent is and says of itself.
struct Script {
    agent_type: &'static str,
    name: &'static str,
    description: &'static str,
    example: &'static str,
}

fn script(kind: &str) -> Script {
    let (agent_type, name, description, example) = match kind.split(':').next().unwrap_or_default() {
        "slow-report" => (
            "report",
            "Report",
            "Writes sample reports on any topic in several slow steps, and says how far it is.",
            "Write a report about electric cars",
        ),
        "asks-back" => (
            "gizmo",
            "Gizmo",
            "Says hello to somebody. Gizmo asks whom.",
            "gizmo ask",
        ),
        "asks-choice" => (
            "canteen",
            "Canteen",
            "Reserves a seat in the canteen.",
            "Reserve me a seat in the canteen",
        ),
        "currency" | "dead" | "hangs" => (
            "currency",
            "Currency",
            "Converts an amount of money from one currency into another.",
            "Convert 20 dollars to pounds",
        ),
        "crashes" => (
            "translator",
            "Translator",
            "Translates text between languages.",
            "Translate good morning into French",
        ),
        "exception" => (
            "recipe",
            "Recipes",
            "Finds a recipe for the ingredients you have.",
            "A recipe with leeks",
        ),
        "fails-once" => (
            "printer",
            "Printer",
            "Prints a page on the office printer.",
            "Print my boarding pass",
        ),
        "rejects" => (
            "legal",
            "Legal",
            "Answers questions on contracts.",
            "May I sublet my office?",
        ),
        "empty" | "trickles" => (
            "trivia",
            "Trivia",
            "Tells a piece of trivia.",
            "Tell me some trivia",
        ),
        "many-updates" => (
            "stocktake",
            "Stocktake",
            "Counts the stock of the warehouse.",
            "Count the stock",
        ),
        "large-result" => (
            "archive",
            "Archive",
            "Fetches a file of the company's archive.",
            "Fetch the minutes of May from the archive",
        ),
        other => panic!("no such agent: {other}"),
    };
    Script {
        agent_type,
        name,
        description,
        example,
    }
}

/// What the card of a built-in agent says that it can do, as the tables of routing have it (a test holds them against what
/// the agents publish).
fn built_in_skills(agent_type: &str) -> Value {
    const CARDS: &str = include_str!("../../data/routing/own_cards.json");
    let cards: Vec<Value> = serde_json::from_str(CARDS).expect("JSON");
    let card = cards.into_iter().find(|card| card["type"] == agent_type);
    card.expect("a card of that type")["skills"].clone()
}

/// Whether agents of these kinds can be at one registry: no two of one type, and beside one that is asked in free words, or that
/// stands in the place of a built-in one, no other.
pub(super) fn get_along(some: &[String], others: &[String]) -> bool {
    let apart = |kinds: &[String]| -> BTreeSet<String> {
        let apart = |kind: &&String| kind.starts_with("asks-") || *kind == "slow-report";
        kinds.iter().filter(apart).cloned().collect()
    };
    if apart(some) != apart(others) {
        return false;
    }
    let alike =
        |one: &&String, other: &String| *one != other && script(one).agent_type == script(other).agent_type;
    !some
        .iter()
        .any(|one| others.iter().any(|other| alike(&one, other)))
}

/// A scripted agent that runs.
#[derive(Clone)]
pub(super) struct Agent(Arc<Inner>);

struct Inner {
    kind: String,
    http: reqwest::Client,
    tasks: Mutex<Vec<Remote>>,
    server: Mutex<Option<AbortHandle>>,
}

/// A task at such an agent.
#[derive(Clone, Default)]
struct Remote {
    id: String,
    context: String,
    asked: String,
    hook: String,
    token: String,
    state: String,
    text: Option<String>,
    artifacts: Vec<Value>,
}

/// What is due to happen to a task at once, or a little later.
struct Step {
    state: &'static str,
    text: Option<String>,
    artifact: Option<Value>,
}

fn step(state: &'static str, text: impl Into<Option<&'static str>>) -> Step {
    Step {
        state,
        text: text.into().map(str::to_owned),
        artifact: None,
    }
}

impl Agent {
    /// Starts it and registers it under its type for every tenant.
    pub(super) async fn start(local: &Local, kind: &str) -> Self {
        let agent = Self(Arc::new(Inner {
            kind: kind.to_owned(),
            http: system_testing::user::http(),
            tasks: Mutex::default(),
            server: Mutex::default(),
        }));
        let about = script(kind);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let skills = match about.agent_type {
            "report" => built_in_skills("report"),
            agent_type => json!([{ "id": agent_type, "name": about.name, "description": about.description,
                "tags": [format!("type:{agent_type}")], "examples": [about.example] }]),
        };
        let card = json!({
            "name": about.name, "description": about.description, "version": "1",
            "supportedInterfaces": [{ "url": format!("{url}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
            "capabilities": { "pushNotifications": true },
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": skills,
        });
        let router = axum::Router::new()
            .route(
                "/.well-known/agent-card.json",
                get(move || async move { Json(card) }),
            )
            .route("/", post(served))
            .with_state(agent.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        *agent.0.server.lock().expect("no panic under the lock") = Some(server.abort_handle());
        agent.register(local, about.agent_type, &url).await;
        if kind == "dead" {
            agent.die();
        }
        agent
    }

    async fn register(&self, local: &Local, agent_type: &str, url: &str) {
        let registry = local.endpoint("/registry").trim_end_matches('/').to_owned();
        let token = local.endpoint("/registry_token");
        let http = &self.0.http;
        if agent_type == "report" {
            // It replaces the built-in one.
            let listed: Value = http
                .get(format!("{registry}/agents?tag=type:report"))
                .bearer_auth(token)
                .send()
                .await
                .expect("an answer")
                .json()
                .await
                .expect("JSON");
            for agent in listed["agents"].as_array().into_iter().flatten() {
                let id = agent["id"].as_str().expect("an id");
                let gone = http.delete(format!("{registry}/agents/{id}")).bearer_auth(token);
                assert!(gone.send().await.expect("an answer").status().is_success());
            }
        } else {
            let declared = http.put(format!("{registry}/types/{agent_type}"));
            let declared = declared.json(&json!({ "scope": "global" })).bearer_auth(token);
            assert!(declared.send().await.expect("an answer").status().is_success());
        }
        let known = http
            .post(format!("{registry}/agents"))
            .json(&json!({ "cardUrl": url }));
        let known = known.bearer_auth(token).send().await.expect("an answer");
        let status = known.status();
        assert!(status.is_success(), "{status}: {:?}", known.text().await);
    }

    /// Its process is gone: nothing listens at its address.
    fn die(&self) {
        if let Some(server) = &*self.0.server.lock().expect("no panic under the lock") {
            server.abort();
        }
    }

    /// Whether it told a first step of the last report of these conversations.
    pub(super) fn has_started(&self, contexts: &BTreeSet<String>) -> bool {
        let tasks = self.0.tasks.lock().expect("no panic under the lock");
        let last = tasks.iter().rev().find(|task| contexts.contains(&task.context));
        self.0.kind == "slow-report" && last.is_some_and(|task| task.text.is_some())
    }

    /// Every report of these conversations that is being worked on gets its result.
    pub(super) async fn finish_reports(&self, contexts: &BTreeSet<String>) {
        if self.0.kind != "slow-report" {
            return;
        }
        let open: Vec<Remote> = {
            let tasks = self.0.tasks.lock().expect("no panic under the lock");
            let open = tasks.iter().filter(|task| task.state == "TASK_STATE_WORKING");
            open.filter(|task| contexts.contains(&task.context))
                .cloned()
                .collect()
        };
        for task in open {
            let text = format!("A report as asked: {}.", task.asked);
            let artifact = json!({ "artifactId": "report", "name": "Report", "parts": [{ "text": text }] });
            let done = Step {
                artifact: Some(artifact),
                ..step("COMPLETED", None)
            };
            self.goes_on(&task.id, done).await;
        }
    }

    /// Changes a task and tells its host.
    async fn goes_on(&self, id: &str, step: Step) {
        let (shown, hook, token) = {
            let mut tasks = self.0.tasks.lock().expect("no panic under the lock");
            let Some(task) = tasks.iter_mut().find(|task| task.id == id) else {
                return;
            };
            if task.state == "TASK_STATE_CANCELED" {
                return;
            }
            task.take(step);
            (task.shown(), task.hook.clone(), task.token.clone())
        };
        for _ in 0..40 {
            let call = self
                .0
                .http
                .post(&hook)
                .bearer_auth(&token)
                .json(&json!({ "task": shown }));
            match call.send().await {
                Ok(answer) if answer.status() != 404 && !answer.status().is_server_error() => return,
                // The host may not have written down yet that there is such a task, or is just being restarted.
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// What a message leads to: the state that is answered at once, and what follows.
    fn reaction(&self, text: &str, again: bool, count: usize) -> (Step, Vec<Step>) {
        let kind = self.0.kind.as_str();
        let ack = || step("SUBMITTED", None);
        let said = |text: &str| Step {
            text: Some(text.to_owned()),
            ..step("COMPLETED", None)
        };
        match kind.split(':').next().unwrap_or_default() {
            "slow-report" if !again && topic(text).is_none() => (
                ack(),
                vec![step("INPUT_REQUIRED", "What should the report be about?")],
            ),
            "slow-report" => (ack(), vec![step("WORKING", "Gathering sources")]),
            "asks-back" if !again => (ack(), vec![step("INPUT_REQUIRED", "Whom shall I greet?")]),
            "asks-back" => (ack(), vec![said(&format!("gizmo says hello to {text}"))]),
            "asks-choice" => match meal(text).filter(|_| again) {
                Some(meal) => (ack(), vec![said(&format!("A seat is reserved for {meal}."))]),
                None => (
                    ack(),
                    vec![step("INPUT_REQUIRED", "Lunch or dinner?\n1. Lunch\n2. Dinner")],
                ),
            },
            "currency" => (ack(), vec![said("20 USD are 16 GBP.")]),
            "crashes" => (ack(), vec![step("WORKING", "translating")]),
            "exception" => (ack(), vec![step("FAILED", None)]),
            "fails-once" if count == 0 => (ack(), vec![step("FAILED", "Out of paper.")]),
            "fails-once" => (ack(), vec![said("Printed.")]),
            "rejects" => (ack(), vec![step("REJECTED", "I advise staff only.")]),
            "empty" => (ack(), vec![step("COMPLETED", None)]),
            "many-updates" => {
                let steps = (1..=200).map(|number| Step {
                    text: Some(format!("shelf {number}")),
                    ..step("WORKING", None)
                });
                (ack(), steps.chain([said("200 shelves counted.")]).collect())
            }
            "large-result" => {
                let file = "x".repeat(bytes(kind));
                let artifact = json!({ "artifactId": "minutes", "name": "minutes.txt",
                    "parts": [{ "text": file, "filename": "minutes.txt", "mediaType": "text/plain" }] });
                let done = Step {
                    artifact: Some(artifact),
                    ..said("Here are the minutes.")
                };
                (ack(), vec![done])
            }
            other => panic!("{other} is never asked"),
        }
    }
}

impl Remote {
    fn take(&mut self, step: Step) {
        self.state = format!("TASK_STATE_{}", step.state);
        self.text = step.text;
        self.artifacts.extend(step.artifact);
    }

    fn shown(&self) -> Value {
        let mut task = json!({ "id": self.id, "contextId": self.context, "status": { "state": self.state } });
        if let Some(text) = &self.text {
            let id = domain::MessageId::random(&domain::SystemEntropy);
            task["status"]["message"] =
                json!({ "messageId": id, "role": "ROLE_AGENT", "parts": [{ "text": text }] });
        }
        if !self.artifacts.is_empty() {
            task["artifacts"] = json!(self.artifacts);
        }
        task
    }
}

/// An answer that comes a byte at a time, and has no end, or what `answer` says.
async fn served(agent: State<Agent>, call: Json<Value>) -> Response {
    if agent.0.0.kind != "trickles" {
        return answer(agent, call).await.into_response();
    }
    let bytes = futures_util::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Some((Ok::<_, Infallible>(" "), ()))
    });
    Body::from_stream(bytes).into_response()
}

async fn answer(State(agent): State<Agent>, Json(call): Json<Value>) -> Result<Json<Value>, StatusCode> {
    let result = |value: Value| Json(json!({ "jsonrpc": "2.0", "id": call["id"], "result": value }));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if agent.0.kind == "hangs" {
        // It takes the message and never says a word.
        return std::future::pending().await;
    }
    if call["method"] != "SendMessage" {
        let id = text(&call["params"]["id"]);
        let mut tasks = agent.0.tasks.lock().expect("no panic under the lock");
        let Some(task) = tasks.iter_mut().find(|task| task.id == id) else {
            let error = json!({ "code": -32001, "message": "no such task" });
            return Ok(Json(
                json!({ "jsonrpc": "2.0", "id": call["id"], "error": error }),
            ));
        };
        if call["method"] == "CancelTask" {
            task.take(step("CANCELED", None));
        }
        return Ok(result(task.shown()));
    }
    let (message, push) = (
        &call["params"]["message"],
        &call["params"]["configuration"]["taskPushNotificationConfig"],
    );
    let said = text(&message["parts"][0]["text"]);
    let id = match message["taskId"].as_str() {
        Some(id) => id.to_owned(),
        None => format!("remote-{}", text(&message["messageId"])),
    };
    let (shown, follows) = {
        let mut tasks = agent.0.tasks.lock().expect("no panic under the lock");
        let again = tasks.iter().any(|task| task.id == id);
        let context = text(&message["contextId"]);
        let count = tasks.iter().filter(|task| task.context == context).count();
        let (ack, follows) = agent.reaction(&said, again, count);
        if !again {
            tasks.push(Remote {
                id: id.clone(),
                context,
                hook: text(&push["url"]),
                token: text(&push["token"]),
                asked: said.clone(),
                ..Remote::default()
            });
        }
        let task = tasks
            .iter_mut()
            .find(|task| task.id == id)
            .expect("it was just made");
        if again && message["taskId"].is_null() {
            // A resend of the same message.
            (task.shown(), Vec::new())
        } else {
            if again && agent.0.kind == "slow-report" {
                // The topic that it asked for.
                task.asked = said;
            }
            task.take(ack);
            (task.shown(), follows)
        }
    };
    tokio::spawn(async move {
        let pause = Duration::from_millis(if follows.len() > 1 { 50 } else { 30 });
        for step in follows {
            tokio::time::sleep(pause).await;
            agent.goes_on(&id, step).await;
        }
        if agent.0.kind == "crashes" {
            agent.die();
        }
    });
    Ok(result(json!({ "task": shown })))
}

/// The topic of a report, where the text names one.
fn topic(text: &str) -> Option<&str> {
    let lower = text.to_lowercase();
    let at = ["about ", "on ", "of ", "regarding "]
        .iter()
        .find_map(|word| lower.find(word));
    at.and_then(|at| text.get(at..)).or_else(|| {
        let rest = lower.split_whitespace().filter(|word| {
            let plain: BTreeSet<&str> = [
                "i", "need", "a", "report", "write", "me", "please", "the", "want", "an",
            ]
            .into();
            !plain.contains(word)
        });
        (rest.count() > 0).then_some(text)
    })
}

/// The meal that is chosen in a text.
fn meal(text: &str) -> Option<&'static str> {
    let lower = text.to_lowercase();
    let has = |words: &[&str]| {
        lower
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| words.contains(&word))
    };
    match (has(&["lunch", "1", "first"]), has(&["dinner", "2", "second"])) {
        (true, false) => Some("lunch"),
        (false, true) => Some("dinner"),
        _ => None,
    }
}

/// The size that a kind such as `large-result:1.4MB` names.
fn bytes(kind: &str) -> usize {
    match kind.split(':').nth(1).unwrap_or_default() {
        "130KB" => 130_000,
        "400KB" => 400_000,
        "1.4MB" => 1_400_000,
        "3MB" => 3_000_000,
        other => panic!("no such size: {other}"),
    }
}
