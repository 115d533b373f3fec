//! Plain JSON.

use domain::SecretString;
use http::Method;
use outbound::CallError;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;
use wiremock::matchers::{any, body_json, header, method};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{outbound, token};

#[derive(Debug, Deserialize, PartialEq)]
struct Weather {
    rain: u32,
}

#[tokio::test]
async fn json_goes_and_comes() {
    let server = MockServer::start().await;
    let url = Url::parse(&server.uri()).unwrap();
    Mock::given(method("POST"))
        .and(body_json(json!({"place": "Oslo"})))
        .and(header("authorization", "Bearer the-token"))
        .respond_with(ResponseTemplate::new(201).set_body_json(json!({"rain": 4})))
        .mount(&server)
        .await;
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"rain": "wet"})))
        .mount(&server)
        .await;
    Mock::given(method("DELETE"))
        .respond_with(ResponseTemplate::new(204))
        .mount(&server)
        .await;
    let out = outbound();
    let told: Weather = out
        .post_json(&url, &json!({"place": "Oslo"}), Some(&token()))
        .await
        .unwrap();
    assert_eq!(told, Weather { rain: 4 });
    let told = out.get_json::<Weather>(&url, None).await;
    assert!(matches!(told, Err(CallError::BadAnswer(_))));
    let (status, body) = out.request_json(Method::DELETE, &url, None, None).await.unwrap();
    assert_eq!((status, body), (204, Value::Null));
    // A token that cannot stand in a header goes nowhere.
    let evil = SecretString::from("x\r\nX-Evil: 1");
    let told = out.get_json::<Value>(&url, Some(&evil)).await;
    assert!(matches!(told, Err(CallError::NotAllowed(_))));
}

#[tokio::test]
async fn refusals_can_be_read() {
    let server = MockServer::start().await;
    let body = json!({"error": "card_refused", "reasons": ["no skills"]});
    Mock::given(any())
        .respond_with(ResponseTemplate::new(422).set_body_json(&body))
        .mount(&server)
        .await;
    let url = Url::parse(&server.uri()).unwrap();
    let out = outbound();
    let told = out
        .request_json(Method::POST, &url, Some(&json!({})), None)
        .await
        .unwrap();
    assert_eq!(told, (422, body));
    let told = out.post_json::<_, Value>(&url, &json!({}), None).await;
    assert!(matches!(told, Err(CallError::Status(422))));
}
