//! The command in a terminal, as somebody uses it: a pseudo-terminal of its own, lines that are typed, Ctrl-C.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use system_testing::Local;

/// What the terminal showed, once each step was there.
fn typed(arguments: &[&str], steps: &Value) -> String {
    let mut process = Command::new(system_testing::python())
        .arg(system_testing::folder().join("python/terminal.py"))
        .arg(system_testing::binary::path("switchyard"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the script runs");
    let mut input = process.stdin.take().expect("piped");
    input.write_all(steps.to_string().as_bytes()).expect("it reads");
    drop(input);
    let ran = process.wait_with_output().expect("it ends");
    let shown = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{shown}");
    shown
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_talks_edits_leaves_an_answer_and_goes() {
    let local = Local::start_now().await;
    let place = tempfile::tempdir().expect("a folder");
    let list = place.path().join("endpoints.json");
    std::fs::write(&list, local.endpoints().to_string()).expect("it is written");
    let list = list.to_str().expect("a path").to_owned();
    let talked = tokio::task::spawn_blocking(move || {
        let at = ["chat", "--endpoints", &list, "--tenant", "acme"];
        let shown = typed(
            &at,
            &json!([
                { "wait": "acme> " }, { "type": "/help\r" }, { "wait": "/agent NAME" },
                { "wait": "acme> " }, { "type": "/what\r" }, { "wait": "there is no /what" },
                // The line is mended before it is sent.
                { "wait": "acme> " }, { "type": "Weather in Olso\u{7f}\u{7f}\u{7f}slo tomorrow?\r" }, { "wait": "\u{1b}[2m[task " }, { "wait": "completed" },
                { "wait": "Oslo" }, { "wait": "acme> " }, { "type": "Where is my order 1003?\r" },
                // The code is spoken of before the link.
                { "wait": "type that here" }, { "wait": "/connect/" },
                // Markdown is drawn, and what would steer the terminal is not sent on.
                { "wait": "acme> " }, { "type": format!("/agent report Sum this up: {}\r", "Whales **live** in the \u{9b}2Jsea and breathe air, says the book. ".repeat(5)) },
                { "wait": "\u{1b}[1mReport on your text\u{1b}[0m" }, { "wait": "Whales \u{1b}[1mlive\u{1b}[0m in the 2Jsea" },
                { "wait": "acme> " }, { "type": "/agent report A report on whales\r" }, { "wait": "working" },
                { "type": "\u{3}" }, { "wait": "the task goes on" },
                { "wait": "acme> " }, { "type": "/tasks\r" }, { "wait": "auth-required" },
                { "wait": "acme> " }, { "type": "/quit\r" },
                // Otherwise its line may be read, or not, before the terminal is gone.
                { "end": true },
            ]),
        );
        assert!(!shown.contains("panicked"), "{shown}");
        // What was typed before is there again; the tenant need not be named any more.
        typed(
            &["chat", "--endpoints", &list],
            &json!([{ "wait": "acme> " }, { "type": "\u{1b}[A" }, { "wait": "/quit" }, { "type": "\u{15}\u{4}" }]),
        );
        system_testing::binary::run(&["tasks", "--endpoints", &list])
    });
    let listed = String::from_utf8(talked.await.expect("each step").stdout).expect("text");
    assert!(
        listed.contains("completed       Weather") && listed.contains("auth-required   Horizon"),
        "{listed}"
    );
    local.system.stop().await;
}
