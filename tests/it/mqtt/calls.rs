//! What a send over MQTT costs in calls of DynamoDB: no more than the same send over HTTP.

use axum::body::Body;
use http::{Request, StatusCode};
use local::Signer;
use serde_json::{Value, json};
use system_testing::Local;
use tower::ServiceExt as _;

use super::requester::new_task;

/// A send that does not wait, with a push configuration, as HTTP clients make it; with a task's id it is what the bridge makes of a
/// request (`a_stream_is_a_send_without_waiting_whose_notifications_are_the_stream` of `mqtt_bridge` shows that).
async fn sent(local: &Local, task: Option<&str>) -> store::Calls {
    let gateway = local.endpoint("/gateway").trim_end_matches('/').to_owned();
    let url = local.endpoint("/agents/weather").trim_end_matches('/').to_owned();
    let mut body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "message": { "messageId": new_task(), "role": "ROLE_USER", "parts": [{ "text": "Weather in Oslo tomorrow?" }] },
        "configuration": { "returnImmediately": true,
            "taskPushNotificationConfig": { "url": format!("{gateway}/nobody"), "token": "t" } } } });
    let token = local.system.signed(
        Signer::Session("acme"),
        "user-ada",
        &url,
        "tasks",
        std::time::Duration::ZERO,
    );
    let mut request = Request::post(url.strip_prefix(&gateway).expect("of the gateway"))
        .header("authorization", format!("Bearer {}", token.expect("a token")))
        .header("content-type", "application/json")
        .header("a2a-version", "1.0");
    if let Some(task) = task {
        body["params"]["message"]["taskId"] = json!(task);
        let extensions = format!("{}, {}", a2a::CLIENT_TASK_ID, a2a::EVERY_EVENT);
        request = request.header("a2a-extensions", extensions);
    }
    let request = request.body(Body::from(body.to_string())).expect("a request");
    let (answer, calls) = store::counted(local.system.router().oneshot(request)).await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), StatusCode::OK);
    let told = axum::body::to_bytes(answer.into_body(), 1 << 20)
        .await
        .expect("a body");
    let told: Value = serde_json::from_slice(&told).expect("JSON");
    let made = told["result"]["task"]["id"].as_str().expect("a task").to_owned();
    assert!(task.is_none_or(|task| task == made), "{told:#}");
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_over_mqtt_makes_as_many_calls_as_one_over_http() {
    let local = Local::start().await;
    // How its tenant stands is looked up once in ten seconds.
    sent(&local, None).await;
    let over_http = sent(&local, None).await;
    let over_mqtt = sent(&local, Some(&new_task())).await;
    println!("over HTTP {over_http:?}, over MQTT {over_mqtt:?}");
    assert_eq!(over_mqtt.by_operation, over_http.by_operation);
    local.system.stop().await;
}
