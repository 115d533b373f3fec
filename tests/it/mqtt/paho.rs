//! The user story of the profile's authors, "Security OAuth", with a client that is not ours: paho, on a broker with credentials
//! and access lists.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use local::Signer;
use serde_json::{Value, json};

use super::identities::{Closed, GUEST};
use super::requester::new_task;
use super::{message, state};

/// A paho client, driven line by line.
struct Paho {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Paho {
    fn start(world: &Closed) -> Self {
        let password = world.passwords[GUEST].as_str().expect("a guest").to_owned();
        let mut process = Command::new(system_testing::python_of("mqtt"))
            .arg(system_testing::folder().join("python/mqtt_paho.py"))
            .args([&world.port().to_string(), GUEST, &password])
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

#[tokio::test(flavor = "multi_thread")]
async fn somebody_elses_client_discovers_asks_with_a_token_streams_and_sees_each_failure() {
    let world = Closed::start().await;
    let horizon = format!("switchyard/{}/horizon", world.unit("acme"));
    let audience = world.local.resource("acme");
    let sign = |tenant: &str, scope: &str, ago: u64| {
        let signed = world.local.system.signed(
            Signer::Idp(tenant),
            "ada",
            &audience,
            scope,
            Duration::from_secs(ago),
        );
        signed.expect("a token")
    };
    let good = sign("acme", "tasks orders:read", 0);
    let tokens = [
        (None, "unauthenticated"),
        (Some(sign("acme", "tasks orders:read", 3600)), "unauthenticated"),
        (Some(sign("globex", "tasks orders:read", 0)), "insufficient_scope"),
        (Some("hunter2".to_owned()), "unauthenticated"),
        (Some(sign("acme", "tasks", 0)), "insufficient_scope"),
    ];
    let mut paho = Paho::start(&world);
    let local = world.local;
    let done = tokio::task::spawn_blocking(move || {
        // Discovery: retained cards of what is for everybody, and whether each is there.
        let cards =
            paho.order(json!({ "op": "cards", "filter": "$a2a/v1/discovery/switchyard/+/+", "seconds": 3 }));
        let weather = &cards["$a2a/v1/discovery/switchyard/platform/weather"];
        assert_eq!(weather["user"]["a2a-status"], "online", "{cards:#}");
        assert!(weather["card"]["supportedInterfaces"].is_array());
        assert!(
            cards
                .as_object()
                .unwrap()
                .keys()
                .all(|topic| topic.contains("/switchyard/platform/"))
        );

        // A stream, by its correlation, to the terminal state.
        let task = new_task();
        let question = message(&task, "Weather in Oslo tomorrow?");
        let told = paho.ask(
            "switchyard/platform/weather",
            "SendStreamingMessage",
            question,
            None,
        );
        let items = told["items"].as_array().unwrap();
        assert_eq!(
            (&told["puback"], state(items.last().unwrap())),
            (&json!(0), "TASK_STATE_COMPLETED")
        );
        assert!(
            items
                .iter()
                .any(|item| item["result"]["artifactUpdate"].is_object()),
            "{told:#}"
        );

        // The agent's own security: its owner's token, or the reason why not.
        let params = || message(&new_task(), "Where is my order 1001?");
        for (token, wanted) in &tokens {
            let told = paho.ask(&horizon, "SendMessage", params(), token.as_deref());
            let error = error(&told, wanted);
            let challenge = error["data"]["www_authenticate"].as_str().unwrap_or_default();
            assert!(challenge.contains("resource_metadata"), "{told:#}");
            assert!(!told.to_string().contains("hunter2"));
        }
        let told = paho.ask(&horizon, "SendMessage", params(), Some(&good));
        let last = told["items"].as_array().unwrap().last().unwrap();
        assert!(last.get("result").is_some(), "{told:#}");

        // Nobody there: the reason code of the PUBACK.
        let told = paho.ask("switchyard/platform/nobody", "SendMessage", params(), None);
        assert_eq!(told["puback"], 0x10);
        // Somebody else's topic.
        let told = paho.order(
            json!({ "op": "ask", "agent": "globex.example/lab/x", "method": "GetTask", "params": {} }),
        );
        assert_eq!(told["puback"], 0x87);

        // A stream that is interrupted goes on under a new correlation, and the task is the same.
        let task = new_task();
        let question = message(&task, "Weather in Bergen tomorrow?");
        let begun = json!({ "op": "ask", "agent": "switchyard/platform/weather", "method": "SendStreamingMessage",
            "params": question, "stop_after": 1 });
        let told = paho.order(begun);
        assert_eq!(told["items"][0]["result"]["task"]["id"], json!(task));
        paho.order(json!({ "op": "break" }));
        let told = paho.ask(
            "switchyard/platform/weather",
            "SendStreamingMessage",
            question,
            None,
        );
        let items = told["items"].as_array().unwrap();
        assert_eq!(items[0]["result"]["task"]["id"], json!(task));
        assert_eq!(state(items.last().unwrap()), "TASK_STATE_COMPLETED", "{told:#}");
        let told = paho.ask(
            "switchyard/platform/weather",
            "GetTask",
            json!({ "id": task }),
            None,
        );
        let found = &told["items"][0]["result"];
        assert_eq!(found["artifacts"].as_array().map(Vec::len), Some(1), "{told:#}");
    });
    done.await.expect("every step");
    local.system.stop().await;
}
