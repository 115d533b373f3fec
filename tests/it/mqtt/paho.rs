//! The user story of the profile's authors, "Security OAuth", with a client that is not ours: paho, on a broker with credentials
//! and access lists.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::identities::Closed;
use super::requester::new_task;
use super::{message, state};

/// A paho client, driven line by line.
struct Paho {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Paho {
    fn start(world: &Closed, user: &str, password: &str) -> Self {
        let mut process = Command::new(system_testing::python_of("mqtt"))
            .arg(system_testing::folder().join("python/mqtt_paho.py"))
            .args([&world.port().to_string(), user, password])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script runs");
        Self {
            orders: process.stdin.take().expect("piped"),
            answers: BufReader::new(process.stdout.take().expect("piped")),
            process,
        }
    }

    fn order(&mut self, order: Value) -> Value {
        writeln!(self.orders, "{order}").expect("it listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{order}: {line:?}"))
    }

    fn ask(&mut self, agent: &str, method: &str, params: Value, token: Option<&str>) -> Value {
        self.order(json!({ "op": "ask", "agent": agent, "method": method, "params": params, "token": token }))
    }
}

impl Drop for Paho {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn error<'v>(told: &'v Value, name: &str) -> &'v Value {
    let error = &told["items"][0]["error"];
    assert_eq!(error["data"]["a2a_error"], name, "{told:#}");
    error
}

/// Where a client's people are sent back to; nothing listens there.
const REDIRECT_URI: &str = "http://127.0.0.1:9/cb";
const WEATHER: &str = "switchyard/platform/weather";

/// A client of `acme` at the broker, as the operator's command makes one.
async fn admitted(world: &Closed) -> Value {
    let gateway = world.local.endpoint("/gateway");
    let answer = system_testing::user::http()
        .put(format!(
            "{}/admin/tenants/acme/mqtt/asker",
            gateway.trim_end_matches('/')
        ))
        .bearer_auth(world.local.endpoint("/admin_token"))
        .json(&json!({ "redirectUris": [REDIRECT_URI] }))
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status(), 200);
    answer.json().await.expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_client_discovers_signs_its_user_in_streams_and_sees_each_failure() {
    let world = Closed::start().await;
    let (acme, globex) = (world.unit("acme"), world.unit("globex"));
    let admitted = admitted(&world).await;
    let user = admitted["address"].as_str().expect("an address");
    assert_eq!(user, format!("switchyard/{acme}/asker"));
    let mut paho = Paho::start(&world, user, admitted["password"].as_str().expect("a password"));
    let login = world.local.login("acme", 0).clone();
    let horizon = format!("switchyard/{acme}/horizon");
    let local = world.local;
    let clock = local.clock.clone();
    let done = tokio::task::spawn_blocking(move || {
        // Discovery: retained cards of its tenant and of what is for everybody, and whether each is there.
        let cards =
            paho.order(json!({ "op": "cards", "filter": "$a2a/v1/discovery/switchyard/+/+", "seconds": 3 }));
        let card = |agent: &str| &cards[format!("$a2a/v1/discovery/{agent}")];
        assert_eq!(card(WEATHER)["user"]["a2a-status"], "online", "{cards:#}");
        assert!(
            card(&horizon)["card"]["securityRequirements"].is_array(),
            "{cards:#}"
        );
        assert!(card(&format!("switchyard/{acme}/host")).is_object());
        let topics = cards.as_object().unwrap().keys();
        assert!(
            topics.into_iter().all(|topic| !topic.contains(&globex)),
            "{cards:#}"
        );

        // A stream, by its correlation, to the terminal state.
        let question = message(&new_task(), "Weather in Oslo tomorrow?");
        let told = paho.ask(WEATHER, "SendStreamingMessage", question, None);
        let items = told["items"].as_array().unwrap();
        assert_eq!(
            (&told["puback"], state(items.last().unwrap())),
            (&json!(0), "TASK_STATE_COMPLETED")
        );
        let is_artifact = |item: &Value| item["result"]["artifactUpdate"].is_object();
        assert!(items.iter().any(is_artifact), "{told:#}");

        // What a secured agent needs stands in its card; a person signs in there and agrees.
        let token = |paho: &mut Paho, scopes: Option<&[&str]>| {
            let mut order = json!({ "op": "token", "agent": horizon, "client_id": admitted["clientId"],
                "redirect_uri": REDIRECT_URI, "username": login["username"], "password": login["password"] });
            if let Some(scopes) = scopes {
                order["scopes"] = json!(scopes);
            }
            let told = paho.order(order);
            told["access_token"]
                .as_str()
                .unwrap_or_else(|| panic!("{told:#}"))
                .to_owned()
        };
        let params = || message(&new_task(), "Where is my order 1003?");
        let small = token(&mut paho, Some(&["tasks"]));
        let good = token(&mut paho, None);
        let told = paho.ask(&horizon, "SendStreamingMessage", params(), Some(&good));
        let last = told["items"].as_array().unwrap().last().unwrap();
        assert_eq!(state(last), "TASK_STATE_COMPLETED", "{told:#}");
        assert!(told.to_string().contains("1003"), "{told:#}");

        // No token, a wrong one, too small a one, and one that has ended meanwhile; the next one is good again.
        let refused = |paho: &mut Paho, token: Option<&str>, wanted: &str| {
            let told = paho.ask(&horizon, "SendMessage", params(), token);
            let error = error(&told, wanted);
            let challenge = error["data"]["www_authenticate"].as_str().unwrap_or_default();
            assert!(challenge.contains("resource_metadata"), "{told:#}");
            assert!(!told.to_string().contains("hunter2"));
        };
        refused(&mut paho, None, "unauthenticated");
        refused(&mut paho, Some("hunter2"), "unauthenticated");
        refused(&mut paho, Some(&small), "insufficient_scope");
        clock.advance(Duration::from_secs(11 * 60));
        refused(&mut paho, Some(&good), "unauthenticated");
        let told = paho.order(json!({ "op": "refresh" }));
        let next = told["access_token"]
            .as_str()
            .unwrap_or_else(|| panic!("{told:#}"));
        let told = paho.ask(&horizon, "SendMessage", params(), Some(next));
        assert_eq!(state(&told["items"][0]), "TASK_STATE_COMPLETED", "{told:#}");

        // Nobody there: the reason code of the PUBACK. Another tenant's agent, and somebody else's: not for this client.
        let told = paho.ask("switchyard/platform/nobody", "SendMessage", params(), None);
        assert_eq!(told["puback"], 0x10);
        for agent in [
            format!("switchyard/{globex}/horizon"),
            "globex.example/lab/x".to_owned(),
        ] {
            let told = paho.ask(&agent, "GetTask", json!({}), None);
            assert_eq!(told["puback"], 0x87, "{agent}");
        }

        // A stream that is interrupted goes on under a new correlation, and the task is the same.
        let task = new_task();
        let question = message(&task, "Weather in Bergen tomorrow?");
        let begun = json!({ "op": "ask", "agent": WEATHER, "method": "SendStreamingMessage",
            "params": question, "stop_after": 1 });
        let told = paho.order(begun);
        assert_eq!(told["items"][0]["result"]["task"]["id"], json!(task));
        paho.order(json!({ "op": "break" }));
        let told = paho.ask(WEATHER, "SendStreamingMessage", question, None);
        let items = told["items"].as_array().unwrap();
        assert_eq!(items[0]["result"]["task"]["id"], json!(task));
        assert_eq!(state(items.last().unwrap()), "TASK_STATE_COMPLETED", "{told:#}");
        let told = paho.ask(WEATHER, "GetTask", json!({ "id": task }), None);
        let found = &told["items"][0]["result"];
        assert_eq!(found["artifacts"].as_array().map(Vec::len), Some(1), "{told:#}");
    });
    done.await.expect("every step");
    local.system.stop().await;
}
