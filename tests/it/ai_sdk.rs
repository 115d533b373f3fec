//! The chat route against the real `ai` package: its parser reads our stream and makes the UI message.

use std::process::Command;

use serde_json::Value;
use system_testing::Local;

/// Those whose transports and parsers are in use out there.
const PACKAGES: [&str; 3] = ["ai", "ai-6", "ai-5"];

#[tokio::test(flavor = "multi_thread")]
async fn the_ai_packages_own_parser_reads_the_stream() {
    let local = Local::start().await;
    for package in PACKAGES {
        reads(&local, package).await;
    }
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_react_packages_chat_sends_repeats_and_takes_a_stream_up_again() {
    let local = Local::start().await;
    let base = local.endpoint("/tenants/acme/base").to_owned();
    let script = system_testing::folder().join("js/react-chat.mjs");
    let ran = tokio::task::spawn_blocking(move || {
        Command::new("node")
            .arg(script)
            .arg(&base)
            .output()
            .expect("node runs")
    })
    .await
    .expect("no panic");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    local.system.stop().await;
}

/// The community's A2A provider of the AI SDK, which speaks A2A 0.3: our agents are models for it. Where its calls name a webhook, they are
/// acknowledged, and the webhook is told the end under each call's own token.
#[tokio::test(flavor = "multi_thread")]
async fn the_a2a_provider_asks_an_agent_and_the_host_as_models() {
    let local = Local::start().await;
    for pointer in ["/agents/weather", "/tenants/acme/host_agent"] {
        let url = local.endpoint(pointer).to_owned();
        let token = local.system.token("acme", "ada", &url).expect("a token");
        let url = url.trim_end_matches('/').to_owned();
        let script = system_testing::folder().join("js/provider/run.mjs");
        let card = format!("{url}/.well-known/agent-card.json");
        let ran = tokio::task::spawn_blocking(move || {
            Command::new("node")
                .arg(script)
                .args([&card, &token, "Will it rain in Oslo tomorrow?"])
                .output()
                .expect("node runs")
        });
        let ran = ran.await.expect("no panic");
        assert!(
            ran.status.success(),
            "{pointer}: {}",
            String::from_utf8_lossy(&ran.stderr)
        );
        let told: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        let many = |name: &str| told[name].as_str().unwrap_or_default().matches("Oslo").count();
        assert_eq!(many("streamed"), 1, "{pointer}: {told}");
        assert_eq!(told["finish"], "stop", "{pointer}");
        // The provider joins a task's last words and its results: what both say is written once.
        assert_eq!(many("generated"), 1, "{pointer}: {told}");
        let acknowledged = &told["acknowledged"];
        assert_eq!(acknowledged["kind"], "task", "{pointer}: {told}");
        let state = acknowledged["state"].as_str().unwrap_or_default();
        assert!(["submitted", "working"].contains(&state), "{pointer}: {told}");
        assert_eq!(many("followed"), 1, "{pointer}: {told}");
        let notified = told["notified"].as_array().expect("notifications");
        for (method, task) in [
            ("message/send", Some(&acknowledged["id"])),
            ("message/stream", None),
        ] {
            let end = notified.iter().find(|end| end["by"] == method).expect(method);
            assert!(task.is_none_or(|task| *task == end["id"]), "{pointer}: {told}");
            assert_eq!(end["state"], "completed", "{pointer}: {told}");
            let text = end["text"].as_str().unwrap_or_default();
            assert_eq!(text.matches("Oslo").count(), 1, "{pointer}: {told}");
        }
    }
    local.system.stop().await;
}

async fn reads(local: &Local, package: &'static str) {
    let base = local
        .endpoint("/tenants/acme/base")
        .trim_end_matches('/')
        .to_owned();
    let script = system_testing::folder().join("js/check-chat.mjs");
    let ran = tokio::task::spawn_blocking(move || {
        Command::new("node")
            .arg(script)
            .args([&base, "Will it rain in Oslo tomorrow?"])
            .env("AI", package)
            .output()
            .expect("node runs")
    })
    .await
    .expect("no panic");
    assert!(
        ran.status.success(),
        "{package}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let message: Value = serde_json::from_slice(&ran.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&ran.stdout)));
    assert_eq!(message["role"], "assistant");
    let parts = message["parts"].as_array().expect("parts");
    let task = parts
        .iter()
        .find(|part| part["type"] == "data-task")
        .expect("a task part");
    assert_eq!(task["data"]["artifactType"], "task");
    let text: String = parts
        .iter()
        .filter(|part| part["type"] == "text")
        .filter_map(|part| part["text"].as_str())
        .collect();
    assert!(text.contains("Oslo"), "{package}: {message:#}");
}
