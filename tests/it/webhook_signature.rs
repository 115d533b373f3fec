//! Our notifications in the hands of others: signatures checked by the official package of Standard Webhooks and by
//! PyCA's cryptography, with the keys that the agent publishes.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use domain::{Clock, SystemClock};
use serde_json::{Value, json};
use system_testing::Local;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// What the packages say of a notification.
fn checked(told: &Value) -> Value {
    let mut python = Command::new(system_testing::python())
        .arg(system_testing::folder().join("python/check_webhook_signature.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    let stdin = python.stdin.as_mut().expect("its input is piped");
    stdin.write_all(told.to_string().as_bytes()).expect("it reads");
    let done = python.wait_with_output().expect("it ends");
    assert!(done.status.success(), "{done:?}");
    serde_json::from_slice(&done.stdout).expect("JSON")
}

/// Asks the weather agent something and gives the last notification that came of it.
async fn notified(weather: &str, token: &str, receiver: &MockServer) -> Request {
    let body = json!({
        "message": {"messageId": token, "role": "ROLE_USER", "parts": [{"text": "Weather in Oslo?"}]},
        "configuration": {
            "returnImmediately": true,
            "taskPushNotificationConfig": {"url": format!("{}/hook", receiver.uri()), "token": token},
        },
    });
    let sent = system_testing::user::http()
        .post(format!("{weather}/message:send"))
        .header("a2a-version", "1.0")
        .json(&body)
        .send()
        .await
        .expect("it answers");
    assert!(sent.status().is_success(), "{}", sent.status());
    for _ in 0..600 {
        let requests = receiver.received_requests().await.expect("they are kept");
        let over =
            |request: &&Request| String::from_utf8_lossy(&request.body).contains("TASK_STATE_COMPLETED");
        if let Some(last) = requests.iter().find(over) {
            return last.clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no notification of the end came");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_packages_accept_our_signatures_and_nothing_else() {
    let local = Local::start().await;
    // The packages look at the real time.
    local.clock.advance(SystemClock.now().since(local.clock.now()));
    let weather = local.endpoint("/agents/weather").trim_end_matches('/').to_owned();
    let jwks: Value = system_testing::user::http()
        .get(format!("{weather}/.well-known/jwks.json"))
        .send()
        .await
        .expect("it answers")
        .json()
        .await
        .expect("JSON");
    for (token, secret) in [
        (
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ),
        (
            "a-token-of-no-special-form-at-all",
            "whsec_YS10b2tlbi1vZi1uby1zcGVjaWFsLWZvcm0tYXQtYWxs",
        ),
    ] {
        let receiver = MockServer::start().await;
        Mock::given(any())
            .respond_with(ResponseTemplate::new(204))
            .mount(&receiver)
            .await;
        let request = notified(&weather, token, &receiver).await;
        let named = ["webhook-id", "webhook-timestamp", "webhook-signature"];
        let headers: serde_json::Map<String, Value> = named
            .iter()
            .map(|name| {
                let value = request.headers.get(*name).expect("it is signed");
                ((*name).to_owned(), json!(value.to_str().expect("text")))
            })
            .collect();
        let body = String::from_utf8(request.body.clone()).expect("text");
        let told = json!({"headers": headers, "body": body, "secret": secret, "jwks": jwks});
        assert_eq!(checked(&told), json!({"hmac": true, "ed25519": true}), "{token}");
        let mut forged = told.clone();
        forged["body"] = json!(body.replace("COMPLETED", "FAILED"));
        assert_eq!(checked(&forged), json!({"hmac": false, "ed25519": false}));
        let mut moved = told;
        moved["headers"]["webhook-id"] = json!("another");
        assert_eq!(checked(&moved), json!({"hmac": false, "ed25519": false}));
    }
    local.system.stop().await;
}
