//! What the registry knows of agents on the broker.

use serde_json::{Value, json};
use system_testing::Local;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

/// What a card calls an interface that is there for its URL alone: the audience of tokens.
const AUDIENCE: &str = "urn:switchyard:a2a:audience:v1";

/// The registry of a system in this process, as its operator calls it.
pub(super) async fn registry(local: &Local, method: &str, path: &str, body: Option<Value>) -> Value {
    registry_at(local.endpoints(), method, path, body).await
}

/// The registry of the system with these endpoints.
pub(super) async fn registry_at(endpoints: &Value, method: &str, path: &str, body: Option<Value>) -> Value {
    let base = endpoints["registry"].as_str().expect("a URL");
    let token = endpoints["registry_token"].as_str().expect("a token");
    let method = method.parse().expect("a method");
    let mut request = system_testing::user::http()
        .request(method, format!("{}{path}", base.trim_end_matches('/')))
        .bearer_auth(token);
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.expect("an answer");
    let status = answer.status();
    let told = answer.text().await.expect("a body");
    assert!(status.is_success(), "{path}: {status} {told}");
    serde_json::from_str(&told).unwrap_or_default()
}

/// An agent of the system: its address, where it is over HTTP, and whose it is.
pub(super) struct OnBroker<'a> {
    pub(super) address: &'a str,
    pub(super) url: &'a str,
    pub(super) tenant: Option<&'a str>,
}

/// Has an agent of the system with these endpoints called over this broker alone: the card that the registry knows names no other
/// interface to call, and is otherwise as `change` leaves it. The card is there for as long as what is returned.
pub(super) async fn only_over_mqtt(
    endpoints: &Value,
    broker: &str,
    agent: OnBroker<'_>,
    change: impl FnOnce(&mut Value),
) -> MockServer {
    let OnBroker { address, url, tenant } = agent;
    let place = format!("{}/.well-known/agent-card.json", url.trim_end_matches('/'));
    let asked = system_testing::user::http()
        .get(place)
        .header("a2a-version", "1.0");
    let mut card: Value = asked.send().await.expect("a card").json().await.expect("JSON");
    card["supportedInterfaces"] = json!([
        { "url": format!("{broker}/$a2a/v1/request/{address}"), "protocolBinding": "MQTTv5+JSONRPCv2", "protocolVersion": "1.0" },
        { "url": url, "protocolBinding": AUDIENCE, "protocolVersion": "1.0" },
    ]);
    card.as_object_mut().expect("an object").remove("signatures");
    change(&mut card);
    let own = tenant
        .map(|tenant| format!("&tenant={tenant}"))
        .unwrap_or_default();
    let known = registry_at(endpoints, "GET", &format!("/agents?disabled=true{own}"), None).await;
    for agent in known["agents"].as_array().expect("a list") {
        if agent["card"]["name"] == card["name"] {
            let path = format!("/agents/{}/disable?{own}", agent["id"].as_str().expect("an id"));
            registry_at(endpoints, "POST", &path, None).await;
        }
    }
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200).set_body_json(card))
        .mount(&server)
        .await;
    let body = json!({ "cardUrl": format!("{}/card.json", server.uri()), "tenant": tenant });
    registry_at(endpoints, "POST", "/agents", Some(body)).await;
    server
}
