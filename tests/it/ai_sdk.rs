//! The chat route against the real `ai` package: its parser reads our stream and makes the UI message.

use std::process::Command;

use serde_json::Value;
use tests::Local;

#[tokio::test(flavor = "multi_thread")]
async fn the_ai_packages_own_parser_reads_the_stream() {
    let local = Local::start().await;
    let base = local
        .endpoint("/tenants/acme/base")
        .trim_end_matches('/')
        .to_owned();
    let script = tests::folder().join("js/check-chat.mjs");
    let ran = tokio::task::spawn_blocking(move || {
        Command::new("node")
            .arg(script)
            .args([&base, "Will it rain in Oslo tomorrow?"])
            .output()
            .expect("node runs")
    })
    .await
    .expect("no panic");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
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
    assert!(text.contains("Oslo"), "{message:#}");
    local.system.stop().await;
}
