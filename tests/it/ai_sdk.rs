//! The chat route against the real `ai` package: its parser reads our stream and makes the UI message.

use std::process::Command;

use serde_json::Value;
use tests::Local;

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
    let script = tests::folder().join("js/react-chat.mjs");
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

async fn reads(local: &Local, package: &'static str) {
    let base = local
        .endpoint("/tenants/acme/base")
        .trim_end_matches('/')
        .to_owned();
    let script = tests::folder().join("js/check-chat.mjs");
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
