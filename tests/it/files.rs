//! What a user attaches goes to the agents that take it; who does not take it is named in the answer.

use reqwest::Method;
use serde_json::{Value, json};
use tests::{Local, User};

use crate::scripted::Scripted;

const PICTURE: &str = "iVBORw0KGgo=";

/// By the chat's route, as a page sends it.
async fn in_the_chat(user: &User, prompt: &str) -> String {
    let id = domain::MessageId::random(&domain::SystemEntropy).to_string();
    let parts = json!([
        {"type": "text", "text": prompt},
        {"type": "file", "mediaType": "image/png", "filename": "sky.png", "url": format!("data:image/png;base64,{PICTURE}")},
    ]);
    let message = json!({"id": id, "role": "user", "parts": parts});
    let body = json!({"id": format!("chat-{id}"), "trigger": "submit-message", "message": message});
    let answer = user.call(Method::POST, "/api/chat", Some(body)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.task_id()
}

/// By A2A, as any other client does.
async fn by_a2a(local: &Local, prompt: &str) -> String {
    let url = local.endpoint("/tenants/acme/host_agent");
    let token = local.system.token("acme", "ada", url).unwrap();
    let id = domain::MessageId::random(&domain::SystemEntropy).to_string();
    let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [
        {"text": prompt}, {"raw": PICTURE, "mediaType": "image/png", "filename": "sky.png"}]});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let request = tests::user::http().post(url).bearer_auth(token);
    let answer = request.header("a2a-version", "1.0").json(&call).send().await;
    let answer: Value = answer.unwrap().json().await.unwrap();
    let result = &answer["result"];
    let said = match result.get("message") {
        Some(message) => message,
        None => &result["task"]["status"]["message"],
    };
    said["parts"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer:#}"))
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_an_agent_does_not_take_is_named_in_its_answer() {
    const LEFT_OUT: &str = "Weather takes no such files: sky.png was left out.";
    let local = Local::start().await;
    let user = local.user("acme");
    let task = in_the_chat(&user, "Will it rain in Oslo tomorrow?").await;
    let done = user.until(&task, &["completed"]).await;
    let said = done["statusMessage"].as_str().unwrap_or_default();
    assert!(said.contains("Oslo") && said.ends_with(LEFT_OUT), "{done:#}");

    let said = by_a2a(&local, "Will it rain in Bergen tomorrow?").await;
    assert!(said.contains("Bergen") && said.ends_with(LEFT_OUT), "{said}");

    // Nobody takes it and nobody is asked: that is said too.
    let said = by_a2a(&local, "Thank you").await;
    assert!(said.contains("file"), "{said}");
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_goes_to_an_agent_that_takes_it_as_it_was() {
    let local = Local::start().await;
    let printer = Scripted::start(&local, "printer", "Print this picture").await;
    let user = local.user("acme");
    let task = in_the_chat(&user, "Print this picture").await;
    let sent = printer.nth(1).await;
    let file = &sent.parts[1];
    assert_eq!(file["raw"], PICTURE, "{:#}", sent.parts);
    assert_eq!(
        (&file["filename"], &file["mediaType"]),
        (&json!("sky.png"), &json!("image/png"))
    );
    printer
        .reports(&sent, "TASK_STATE_COMPLETED", None, Some("Printed."))
        .await;
    let done = user.until(&task, &["completed"]).await;
    assert!(!done.to_string().contains("left out"), "{done:#}");
    local.system.stop().await;
}
