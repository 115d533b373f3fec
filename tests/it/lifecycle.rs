//! The command `switchyard up` as a user has it: ready soon, the same after a restart, killed at any point.

use std::time::Duration;

use serde_json::Value;
use system_testing::User;
use system_testing::binary::{self, Up, free_port};

/// What a second start may take.
const QUICK: Duration = Duration::from_secs(2);
/// Most of them that are timed.
const STARTS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn state_and_urls_survive_a_restart_and_the_second_start_is_quick() {
    let data = tempfile::tempdir().expect("a folder");
    let port = free_port();
    let first = Up::start(data.path(), port);
    let user = User::new(first.base("acme"));
    let id = user.ask("Will it rain in Oslo tomorrow?").await.task_id();
    user.until(&id, &["completed"]).await;
    let endpoints = first.endpoints.clone();
    for pointer in [
        "/gateway",
        "/dynamodb",
        "/dynamodb_key/access_key_id",
        "/dynamodb_key/secret_access_key",
        "/registry",
        "/agents/weather",
        "/registry_token",
        "/tenants/acme/base",
        "/tenants/acme/host_agent",
        "/tenants/globex/base",
        "/tenants/globex/host_agent",
    ] {
        assert!(
            endpoints.pointer(pointer).is_some_and(Value::is_string),
            "{pointer} in {endpoints:#}"
        );
    }
    assert_eq!(first.terminate(), Some(0), "SIGTERM stops cleanly");

    // The best of a few, as the machine may have other work in the meantime.
    let mut second = Up::start(data.path(), port);
    let mut took = vec![second.took];
    while second.took >= QUICK && took.len() < STARTS {
        assert_eq!(second.terminate(), Some(0), "SIGTERM stops cleanly");
        second = Up::start(data.path(), port);
        took.push(second.took);
    }
    assert!(second.took < QUICK, "ready after {took:?}");
    for pointer in [
        "/registry",
        "/agents/weather",
        "/tenants/acme/base",
        "/tenants/acme/host_agent",
    ] {
        assert_eq!(
            second.endpoints.pointer(pointer),
            endpoints.pointer(pointer),
            "{pointer}"
        );
    }
    assert_eq!(
        user.task(&id).await["status"],
        "completed",
        "the session and the task are still there"
    );
    let listed = binary::run(&["agents", "--data", data.path().to_str().unwrap()]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let weather = listed.lines().filter(|line| line.contains("Weather")).count();
    assert_eq!(weather, 1, "registered once: {listed}");
}

/// Kills the process at another point each time; the task always finishes, with one result.
#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_point_and_started_again_the_task_finishes() {
    let data = tempfile::tempdir().expect("a folder");
    let port = free_port();
    let mut up = Up::start(data.path(), port);
    let user = User::new(up.base("acme"));
    user.ask("hello").await;
    for pause in [0_u64, 3, 8, 15, 25, 40, 70, 120] {
        let message = domain::MessageId::random(&domain::SystemEntropy).to_string();
        let chat = format!("chat-{message}");
        let sent = std::sync::Arc::new(User::new(up.base("acme")));
        let session = sent.ask("hello").await;
        drop(session);
        let asking = tokio::spawn({
            let (sent, chat, message) = (sent.clone(), chat.clone(), message.clone());
            async move {
                sent.chat(&chat, &message, "Will it rain in Oslo and in Bergen tomorrow?")
                    .await
            }
        });
        tokio::time::sleep(Duration::from_millis(pause)).await;
        up.kill();
        let _ = asking.await;
        up = Up::start(data.path(), port);
        // A client that got no answer sends the same message again; that is the same task, whatever happened before.
        let again = sent
            .chat(&chat, &message, "Will it rain in Oslo and in Bergen tomorrow?")
            .await;
        assert_eq!(again.status, 200, "{again:?}");
        let task = sent.until(&again.task_id(), &["completed"]).await;
        let artifacts = task["artifacts"].as_array().expect("artifacts");
        assert_eq!(
            artifacts.len(),
            1,
            "killed after {pause} ms: one result, not two: {task:#}"
        );
        let context = task["contextId"].as_str().expect("a context");
        let listed = sent.get(&format!("/api/tasks?contextId={context}")).await.json();
        let listed = listed["tasks"]
            .as_array()
            .or(listed.as_array())
            .expect("a list")
            .len();
        assert_eq!(listed, 1, "killed after {pause} ms: one task, not two");
    }
}

#[test]
fn wrong_starts_give_one_clear_sentence() {
    let data = tempfile::tempdir().expect("a folder");
    let folder = data.path().to_str().expect("a path");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let check = |arguments: &[&str], wanted: &str| {
        let ended = binary::run(arguments);
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success(), "{arguments:?}");
        assert!(said.contains(wanted), "{arguments:?}: {said}");
        assert!(!said.contains("panicked") && !said.contains("Error {"), "{said}");
    };
    check(&["up", "--port", &port, "--memory"], &port);
    check(&["up", "--port", "70000", "--memory"], "70000");
    check(&["up", "--sideways"], "--sideways");
    check(&["up", "--memory", "--live", "everything"], "everything");
    std::fs::write(data.path().join("switchyard.db"), "this is no database").expect("written");
    std::fs::write(data.path().join("secrets.json"), "{\"broken\":").expect("written");
    check(&["up", "--port", "0", "--data", folder], folder);
    check(
        &["chat", "--tenant", "acme", "hi", "--data", "/nonexistent/folder"],
        "switchyard up",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_client_shows_the_task_and_the_answer() {
    let data = tempfile::tempdir().expect("a folder");
    let folder = data.path().to_str().expect("a path");
    let _up = Up::start(data.path(), free_port());
    let chatted = binary::run(&[
        "chat",
        "--tenant",
        "acme",
        "--data",
        folder,
        "Will it rain in Oslo tomorrow?",
    ]);
    let said = String::from_utf8_lossy(&chatted.stdout).into_owned();
    assert!(chatted.status.success(), "{chatted:?}");
    assert!(said.contains("Oslo") && said.contains("Weather"), "{said}");
    let id = said
        .split(|c: char| c.is_whitespace() || "()[],.".contains(c))
        .find(|word| word.len() == 36 && word.matches('-').count() == 4);
    let id = id.unwrap_or_else(|| panic!("a task id in {said}"));
    let asked = binary::run(&[
        "chat",
        "--tenant",
        "acme",
        "--data",
        folder,
        &format!("How is my task {id} doing?"),
    ]);
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(
        said.contains("completed") || said.contains("done") || said.contains("finished"),
        "the same session: {said}"
    );
    let wrong = binary::run(&["chat", "--tenant", "initech", "--data", folder, "hi"]);
    assert!(!wrong.status.success());
    assert!(
        String::from_utf8_lossy(&wrong.stderr).contains("initech"),
        "{wrong:?}"
    );
}
