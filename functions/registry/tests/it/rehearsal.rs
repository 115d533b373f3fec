//! What a registration says at once of an agent that will not work, by fake agents that each have one fault.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use wiremock::matchers::{any, path};
use wiremock::{Mock, Request, ResponseTemplate};

use crate::fixture::{Registry, card};

/// What an agent answers a call with.
type Answers = fn(&Request) -> ResponseTemplate;

fn error(code: i32) -> ResponseTemplate {
    let error = json!({"code": code, "message": "no"});
    ResponseTemplate::new(200).set_body_json(json!({"jsonrpc": "2.0", "id": "1", "error": error}))
}

/// An agent that has no task of that id, and knows looks by these names.
fn knows(request: &Request, names: &[&str]) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let called = body["method"].as_str().unwrap();
    assert!(["GetTask", "tasks/get"].contains(&called), "{called} costs work");
    error(if names.contains(&called) { -32001 } else { -32601 })
}

fn good(request: &Request) -> ResponseTemplate {
    knows(request, &["tasks/get"])
}

fn pushing(mut card: Value) -> Value {
    card["capabilities"] = json!({"pushNotifications": true});
    card
}

fn claiming_1_0(card: Value) -> Value {
    let mut card = pushing(card);
    let url = card["url"].take();
    card["protocolVersion"].take();
    card["supportedInterfaces"] =
        json!([{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]);
    card
}

fn by_rest(card: Value) -> Value {
    let mut card = claiming_1_0(card);
    card["supportedInterfaces"][0]["protocolBinding"] = json!("HTTP+JSON");
    card
}

fn secured(card: Value) -> Value {
    let mut card = pushing(card);
    card["security"] = json!([{"key": []}]);
    card["securitySchemes"] = json!({"key": {"type": "apiKey", "in": "header", "name": "x"}});
    card
}

fn with_a_relative_address(card: Value) -> Value {
    let mut card = pushing(card);
    card["additionalInterfaces"] = json!([{"url": "/rpc", "transport": "JSONRPC"}]);
    card
}

fn away(card: Value) -> Value {
    let mut card = pushing(card);
    card["url"] = json!("http://127.0.0.1:9/a2a");
    card
}

/// The situation, the card, what the agent answers, and what is said of it; nothing where all is well.
type Case = (&'static str, fn(Value) -> Value, Answers, &'static [&'static str]);

const CASES: [Case; 15] = [
    ("well", pushing, good, &[]),
    ("no push", |card| card, good, &["does not push"]),
    ("well, 1.0", claiming_1_0, |asked| knows(asked, &["GetTask"]), &[]),
    (
        "claims 1.0, speaks 0.3",
        claiming_1_0,
        good,
        &["speaks A2A 0.3, and its card claims 1.0"],
    ),
    (
        "claims 0.3, speaks 1.0",
        pushing,
        |asked| knows(asked, &["GetTask"]),
        &["speaks A2A 1.0, and its card claims 0.3"],
    ),
    (
        "knows no look",
        pushing,
        |asked| knows(asked, &[]),
        &["cannot look at a task"],
    ),
    (
        "an interface's address is relative",
        with_a_relative_address,
        good,
        &["an interface's url is no URL"],
    ),
    ("nobody is there", away, good, &["nobody answers there"]),
    (
        "slow",
        pushing,
        |asked| good(asked).set_delay(Duration::from_millis(2200)),
        &["it is slow"],
    ),
    (
        "silent",
        pushing,
        |asked| good(asked).set_delay(Duration::from_secs(60)),
        &["nobody answered in time", "it is slow"],
    ),
    (
        "another path",
        pushing,
        |_| ResponseTemplate::new(404),
        &["the answer was 404"],
    ),
    (
        "by REST, which tells so of a task that is not there",
        by_rest,
        |_| ResponseTemplate::new(404),
        &[],
    ),
    (
        "a page",
        pushing,
        |_| ResponseTemplate::new(200).set_body_string("<html>"),
        &["the answer is not JSON"],
    ),
    (
        "a door that the card does not tell of",
        pushing,
        |_| ResponseTemplate::new(401),
        &["wants credentials"],
    ),
    (
        "a door that it tells of",
        secured,
        |_| ResponseTemplate::new(401),
        &[],
    ),
];

#[tokio::test]
async fn a_registration_and_a_check_say_what_will_not_work_and_refuse_nothing_for_it() {
    let registry = Registry::start().await;
    registry.declare("weather", "global").await;
    let cases = CASES
        .iter()
        .enumerate()
        .map(|(number, (name, change, answers, expected))| {
            let registry = &registry;
            async move {
                let agent = format!("/agent-{number}");
                let calls = Mock::given(any()).and(path(&agent)).respond_with(answers);
                calls.mount(&registry.cards).await;
                let mut named = card(name, &["type:weather"]);
                named["url"] = json!(format!("{}{agent}", registry.cards.uri()));
                let url = registry.serve(&format!("{agent}.json"), &change(named)).await;
                let registered = registry
                    .call("POST", "/agents", &registry.admin(), json!({"cardUrl": url}))
                    .await;
                assert_eq!(
                    registered.status,
                    StatusCode::CREATED,
                    "{name}: {}",
                    registered.body
                );
                let path = format!("/agents/{}", registered.body["id"].as_str().unwrap());
                let checked = registry
                    .call("POST", &format!("{path}/check"), &registry.admin(), json!(null))
                    .await;
                assert_eq!(checked.status, StatusCode::OK, "{name}: {}", checked.body);
                for told in [registered, checked] {
                    let told = told.body["warnings"].as_array().cloned().unwrap_or_default();
                    let is_as = told.len() == expected.len();
                    let mut pairs = told.iter().zip(*expected);
                    let is_as =
                        is_as && pairs.all(|(told, expected)| told.as_str().unwrap().contains(expected));
                    assert!(is_as, "{name}: {told:?}");
                }
                let seen = registry.get(&path, &registry.admin()).await;
                assert_eq!(seen.body["warnings"], json!(null), "it is not kept");
            }
        });
    futures_util::future::join_all(cases).await;
}
