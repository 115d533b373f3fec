//! `switchyard deliveries`: what clients were not told, and trying it again.

use reqwest::Method;
use serde_json::json;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::binary::{Up, out, sentence, switchyard};
use crate::http::request;

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_delivery_is_listed_and_tried_again() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let up = Up::start(place.path(), &[]);
    let agents = up.endpoints.agents.iter();
    let mut weather = agents
        .filter(|(name, _)| name.as_str() == "weather")
        .map(|(_, url)| url.to_string());
    let weather = weather.next_back().unwrap();
    let weather = weather.trim_end_matches('/').to_owned();
    let token = switchyard(&["token", "--tenant", "acme", "--for", &weather, "--data", data]);
    let hook = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(410))
        .mount(&hook)
        .await;
    let body = json!({
        "message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Weather in Oslo?"}]},
        "configuration": {
            "returnImmediately": true,
            "taskPushNotificationConfig": {"url": format!("{}/hook", hook.uri()), "token": "t"},
        },
    });
    let sent = request(Method::POST, format!("{weather}/message:send"))
        .bearer_auth(out(&token).trim())
        .header("a2a-version", "1.0")
        .json(&body)
        .send()
        .await
        .unwrap();
    assert!(sent.status().is_success(), "{}", sent.status());

    let list = |more: &[&str]| out(&switchyard(&[&["deliveries", "--data", data], more].concat()));
    let mut parked = String::new();
    for _ in 0..200 {
        parked = list(&["--parked", "--tenant", "acme"]);
        // News make a parked delivery due again; the end of the task is the last.
        let all = list(&["--tenant", "acme", "--agent", "weather"]);
        if parked.contains("410") && !all.contains("owed") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(parked.contains("weather") && parked.contains("410"), "{parked}");
    assert!(
        !list(&["--tenant", "globex"]).contains("parked"),
        "another tenant's"
    );
    assert!(!list(&["--agent", "host"]).contains("parked"), "another agent's");

    hook.reset().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(204))
        .mount(&hook)
        .await;
    let replayed = switchyard(&["deliveries", "replay", "--data", data]);
    assert_eq!(out(&replayed).trim(), "1 tried again", "{replayed:?}");
    for _ in 0..200 {
        if !hook.received_requests().await.unwrap().is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(hook.received_requests().await.unwrap().len(), 1);
    let nobody = switchyard(&["deliveries", "--tenant", "nobody", "--data", data]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(
        sentence(&nobody).contains("there is no tenant nobody"),
        "{nobody:?}"
    );
    assert!(nobody.stdout.is_empty(), "no table of nothing: {nobody:?}");
    let nobody = switchyard(&["deliveries", "--agent", "nobody", "--data", data]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(
        sentence(&nobody).contains("there is no agent nobody"),
        "{nobody:?}"
    );
    let nothing = switchyard(&["deliveries", "replay", "--task", "x", "--data", data]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        sentence(&nothing).contains("there are no push notifications of a task x"),
        "{nothing:?}"
    );
    up.end("TERM");
}
