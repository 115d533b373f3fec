//! `switchyard up` killed without a word while a task waits: for the next attempt at a send, for an agent that works on it, in the
//! middle of a large result. Started again it goes on from there; nothing is lost, and nobody is asked twice.

use std::time::Duration;

use serde_json::json;
use tests::User;
use tests::binary::{Up, free_port};

use crate::scripted::Scripted;

const PROMPT: &str = "Count the stock of the warehouse";

struct Bench {
    data: tempfile::TempDir,
    port: u16,
    up: Up,
    agent: Scripted,
    user: User,
}

impl Bench {
    async fn start() -> Self {
        let (data, port) = (tempfile::tempdir().expect("a folder"), free_port());
        let up = Up::start(data.path(), port);
        let place = |name: &str| up.endpoints[name].as_str().expect("an endpoint").to_owned();
        let registry = (place("registry"), place("registry_token"));
        let agent = Scripted::registered(&registry, ("stocktake", "Stocktake"), PROMPT).await;
        // It has no task for a message that it did not get.
        agent.knows(json!({ "tasks": [] }));
        let user = User::new(up.base("acme"));
        Self {
            data,
            port,
            up,
            agent,
            user,
        }
    }

    fn killed_and_started_again(&mut self) {
        self.up.kill();
        self.up = Up::start(self.data.path(), self.port);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_it_waits_for_the_next_attempt_at_a_send() {
    let mut bench = Bench::start().await;
    bench.agent.is_away(true);
    let asked = bench.user.ask(PROMPT).await;
    assert!(
        asked.said().contains("No answer from Stocktake yet"),
        "{}",
        asked.said()
    );
    let id = asked.task_id();
    for _ in 0..2 {
        bench.killed_and_started_again();
        let task = bench.user.task(&id).await;
        assert_eq!(task["status"], "working", "{task:#}");
        let told = task["statusMessage"].as_str().unwrap_or_default();
        assert!(
            told.starts_with("No answer from Stocktake yet, trying again ("),
            "{told}"
        );
    }
    bench.agent.is_away(false);
    let sent = bench.agent.nth(1).await;
    bench
        .agent
        .reports(
            &sent,
            "TASK_STATE_COMPLETED",
            Some("200 shelves."),
            Some("200 shelves"),
        )
        .await;
    bench.user.until(&id, &["completed"]).await;
    assert_eq!(bench.agent.sent().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_an_agent_works_on_it() {
    let mut bench = Bench::start().await;
    let id = bench.user.ask(PROMPT).await.task_id();
    let sent = bench.agent.nth(1).await;
    for step in ["shelf 1", "shelf 2"] {
        bench.killed_and_started_again();
        bench
            .agent
            .reports(&sent, "TASK_STATE_WORKING", Some(step), None)
            .await;
        assert_eq!(bench.user.task(&id).await["statusMessage"], step);
    }
    bench.killed_and_started_again();
    bench
        .agent
        .reports(&sent, "TASK_STATE_COMPLETED", None, Some("200 shelves"))
        .await;
    bench.user.until(&id, &["completed"]).await;
    assert_eq!(bench.agent.sent().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_middle_of_a_large_result() {
    let mut bench = Bench::start().await;
    let file = "x".repeat(1_400_000);
    for (round, pause) in (1..).zip([0_u64, 20, 60, 150]) {
        let asked = bench.user.chat(&format!("chat-{round}"), "m", PROMPT).await;
        let id = asked.task_id();
        let sent = bench.agent.nth(round).await;
        let report = {
            let (agent, sent, file) = (bench.agent.clone(), sent.clone(), file.clone());
            tokio::spawn(async move { agent.tries_to_report(&sent, "TASK_STATE_COMPLETED", &file).await })
        };
        tokio::time::sleep(Duration::from_millis(pause)).await;
        bench.killed_and_started_again();
        report.await.expect("no panic");
        // Who got no answer says it again.
        let told = bench
            .agent
            .tries_to_report(&sent, "TASK_STATE_COMPLETED", &file)
            .await;
        assert_eq!(told, Some(204), "killed after {pause} ms");
        let task = bench.user.until(&id, &["completed"]).await;
        let parts = &task["artifacts"][0]["parts"];
        assert_eq!(
            parts[0]["text"].as_str().map(str::len),
            Some(file.len()),
            "killed after {pause} ms"
        );
        assert_eq!(task["artifacts"].as_array().map(Vec::len), Some(1));
        assert_eq!(
            task["jobs"][0]["artifacts"][0]["sameAs"],
            task["artifacts"][0]["artifactId"]
        );
    }
    assert_eq!(bench.agent.sent().len(), 4);
}
