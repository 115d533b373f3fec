//! `switchyard verify` against the local system, and against what only looks like one.

use std::process::Output;

use axum::Router;
use axum::http::HeaderMap;
use serde_json::{Value, json};
use system_testing::{Local, binary};

/// Runs the command against these endpoints.
async fn verify(endpoints: &Value, more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("endpoints.json");
    std::fs::write(&file, endpoints.to_string()).unwrap();
    let mut words = vec![
        "verify",
        "--tenant",
        "acme",
        "--endpoints",
        file.to_str().unwrap(),
    ];
    words.extend(more);
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    tokio::task::spawn_blocking(move || {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        binary::run(&words)
    })
    .await
    .unwrap()
}

fn rows(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_as_it_should_be_here() {
    let local = Local::start_now().await;
    let output = verify(local.endpoints(), &[]).await;
    let rows = rows(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        rows.iter()
            .all(|row| !row.starts_with("WRONG") && !row.starts_with("known")),
        "{rows:#?}"
    );
    for good in [
        "the host agent answers in time: first ",
        "the card of the host",
        "the card of the weather agent",
        "the card of the horizon agent",
        "the authorization server's document: http",
        "the authorization server's document before the path",
        "its keys: ",
        "the host agent refuses who brings no token",
        "where the host agent says to get one",
        "the registry refuses who brings no token",
        "an address where nothing is",
        "a body of more than 10 MB is refused",
        "the page and its headers",
        "who is there: nobody",
        "an answer in the chat: the task is completed",
    ] {
        assert!(
            rows.iter().any(|row| row.starts_with(&format!("ok      {good}"))),
            "{good}: {rows:#?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_as_it_should_be_is_named() {
    let local = Local::start_now().await;
    // One that says yes to everything, with the headers of none; and one where nobody is.
    let router = Router::new().fallback(async |_: HeaderMap| axum::Json(json!({ "keys": [], "who": 7 })));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let yes = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(async move { axum::serve(listener, router).await });
    let mut endpoints = local.endpoints().clone();
    endpoints["registry"] = json!(format!("{yes}/registry"));
    endpoints["idp"] = json!(format!("{yes}/idp"));
    endpoints["tenants"]["acme"]["base"] = json!(format!("{yes}/t/acme"));
    endpoints["agents"]["weather"] = json!("http://127.0.0.1:9/weather");
    let output = verify(&endpoints, &[]).await;
    served.abort();
    let rows = rows(&output);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    for (what, why) in [
        ("the card of the weather agent", "nobody answers"),
        ("the authorization server's document", "its issuer is None"),
        ("the registry refuses who brings no token", "200"),
        ("an address where nothing is", "200"),
        ("a body of more than 10 MB is refused", ""),
        ("the page and its headers", "content-security-policy"),
        ("an answer in the chat", "no task was shown"),
    ] {
        let row = rows
            .iter()
            .find(|row| row.starts_with(&format!("WRONG   {what}: ")));
        assert!(row.is_some_and(|row| row.contains(why)), "{what}: {rows:#?}");
    }
    // What is right is told beside it.
    assert!(
        rows.iter().any(|row| row == "ok      the card of the host"),
        "{rows:#?}"
    );
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("are not as they should be"), "{told}");

    let odd = tempfile::NamedTempFile::new().unwrap();
    let output = verify(&endpoints, &["--session", odd.path().to_str().unwrap()]).await;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("does not hold one cookie") && output.stdout.is_empty(),
        "{told}"
    );
}
