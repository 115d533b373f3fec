//! The bridge on AWS IoT Core: its program with the settings of `infra/mqtt-iot.yaml`, handed every event of `events/mqtt_bridge` as
//! Lambda does. Each publication is judged by the policy of its role.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use auth::Sealer;
use domain::{ExposeSecret as _, SystemEntropy};
use serde_json::{Value, json};
use tests::policy::{Policy, Request};
use tests::runtime_api::{Function, Reply, Spec, program};
use tests::template::{Stack, Template};
use wiremock::matchers::{any, header_exists, method};
use wiremock::{Mock, MockServer, ResponseTemplate};

const FUNCTION: &str = "MqttBridgeFunction";
const TASK: &str = "6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f";
const REPLY: &str = "a2a/v1/reply/acme.example/lab/asker/3f1c9b5e7a2d4c6f8e0b1a2c3d4e5f60";

/// What comes of an event.
#[derive(Debug, PartialEq)]
enum Expect {
    /// These are published: for each reply what a JSON pointer finds, for a card its topic.
    Published(&'static [(&'static str, &'static str)]),
    /// Nothing is published, and the invocation is good.
    Nothing,
    /// An HTTP status.
    Status(u64),
}
use Expect::{Nothing, Published, Status};

const EVENTS: &[(&str, Expect)] = &[
    (
        "iot_send_message",
        Published(&[("/result/task/status/state", "TASK_STATE_COMPLETED")]),
    ),
    (
        "iot_stream",
        Published(&[
            ("/result/task/status/state", "TASK_STATE_COMPLETED"),
            ("/result/statusUpdate/status/state", "TASK_STATE_COMPLETED"),
        ]),
    ),
    (
        "iot_get_task",
        Published(&[("/result/task/status/state", "TASK_STATE_COMPLETED")]),
    ),
    ("iot_rubbish_payload", Published(&[("/error/code", "-32700")])),
    (
        "iot_without_task_id",
        Published(&[("/error/data/a2a_error", "transport_protocol_error")]),
    ),
    (
        "iot_without_correlation",
        Published(&[("/error/data/a2a_error", "transport_protocol_error")]),
    ),
    (
        "iot_two_tokens",
        Published(&[("/error/data/a2a_error", "transport_protocol_error")]),
    ),
    (
        "iot_unauthorized",
        Published(&[("/error/data/a2a_error", "unauthenticated")]),
    ),
    ("iot_without_response_topic", Nothing),
    ("iot_foreign_response_topic", Nothing),
    ("iot_unknown_agent", Nothing),
    (
        "schedule",
        Published(&[("topic", "a2a/v1/discovery/switchyard/platform/weather")]),
    ),
    ("reply_unauthorized", Status(401)),
];

/// The agent: it answers whoever has a token, and has a card.
async fn agent() -> MockServer {
    let server = MockServer::start().await;
    let card = ResponseTemplate::new(200).set_body_json(json!({ "name": "Weather", "skills": [] }));
    Mock::given(method("GET")).respond_with(card).mount(&server).await;
    let task = json!({ "id": TASK, "contextId": "c-1", "status": { "state": "TASK_STATE_COMPLETED" } });
    let answer = json!({ "jsonrpc": "2.0", "id": "r-1", "result": { "task": task } });
    Mock::given(method("POST"))
        .and(header_exists("authorization"))
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .with_priority(1)
        .mount(&server)
        .await;
    let refused = json!({ "error": "unauthorized", "www_authenticate": "Bearer" });
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(401).set_body_json(refused))
        .mount(&server)
        .await;
    server
}

async fn answering(body: Value) -> MockServer {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_body_json(body);
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

fn stack(agent: &str) -> Stack {
    let agents = json!([{ "address": "switchyard/platform/weather", "url": agent }]).to_string();
    let given = [
        ("Agents", agents.as_str()),
        ("Requesters", r#"["acme.example"]"#),
        ("IotHost", "abc123-ats.iot.eu-north-1.amazonaws.com"),
    ];
    Stack::new(Template::read("infra/mqtt-iot.yaml"), "switchyard-mqtt", &given)
}

fn read(event: &str) -> Value {
    let path = tests::folder().join(format!("../events/mqtt_bridge/{event}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A Publish call, as IAM sees it, and its body.
fn published(request: &wiremock::Request) -> (Vec<Request>, String, Value) {
    let path = request.url.path().strip_prefix("/topics/").unwrap();
    let topic = path.replace("%2F", "/").replace("%24", "$");
    let may = |action: &str| Request {
        action: action.to_owned(),
        resource: format!("arn:aws:iot:eu-north-1:123456789012:topic/{topic}"),
        leading_keys: Vec::new(),
        attributes: Vec::new(),
    };
    let mut asked = vec![may("iot:Publish")];
    if request.url.query().unwrap_or_default().contains("retain=true") {
        asked.push(may("iot:RetainPublish"));
    }
    (asked, topic, request.body_json().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_answers_each_event_of_iot_core_and_publishes_what_its_role_allows() {
    let (agent, core) = (agent().await, answering(json!({ "message": "OK" })).await);
    let key = Sealer::generate_key(&SystemEntropy).expose_secret().to_owned();
    let secret = json!([["k1", key]]).to_string();
    let secrets = answering(json!({ "Name": "sealing", "SecretString": secret })).await;
    let stack = stack(&agent.uri());
    let policy = Policy::of(&stack, FUNCTION);
    let mut environment = stack.environment(FUNCTION);
    for (name, value) in [
        ("AWS_ENDPOINT_URL_IOT_DATA_PLANE", core.uri()),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets.uri()),
        ("ALLOW_LOOPBACK", "true".to_owned()),
        // Nothing leaves this machine: the agent is on it.
        ("AWS_REGION", "eu-north-1".to_owned()),
    ] {
        environment.insert(name.to_owned(), value);
    }
    let spec = Spec {
        name: "mqtt_bridge".to_owned(),
        binary: program("mqtt_bridge"),
        environment,
        timeout: Duration::from_secs(30),
        memory: 256,
    };
    let logs = tempfile::tempdir().unwrap();
    let lambda = Function::new(spec, logs.path());
    let mut wrong = Vec::new();
    for (event, expect) in EVENTS {
        core.reset().await;
        let ok = ResponseTemplate::new(200).set_body_json(json!({ "message": "OK" }));
        Mock::given(any()).respond_with(ok).mount(&core).await;
        let reply = lambda.invoke(read(event)).await;
        let Reply::Answer(answer) = reply else {
            wrong.push(format!("{event}: {reply:?}"));
            continue;
        };
        let calls: Vec<_> = core
            .received_requests()
            .await
            .unwrap()
            .iter()
            .map(published)
            .collect();
        for request in calls.iter().flat_map(|(asked, _, _)| asked) {
            if !policy.allows(request) {
                wrong.push(format!("{event}: {request:?} is not allowed"));
            }
        }
        let wanted = match expect {
            Published(wanted) => *wanted,
            Nothing => &[],
            Status(status) => {
                if answer["statusCode"] != *status {
                    wrong.push(format!("{event}: {answer}"));
                }
                &[]
            }
        };
        let told: Vec<(String, String)> = calls
            .iter()
            .zip(wanted.iter().map(Some).chain(std::iter::repeat(None)))
            .map(|((_, topic, body), wanted)| match wanted {
                Some(("topic", _)) => ("topic".to_owned(), topic.clone()),
                Some((pointer, _)) if topic == REPLY => {
                    let found = body.pointer(pointer).cloned().unwrap_or_default();
                    let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
                    ((*pointer).to_owned(), found)
                }
                _ => (topic.clone(), body.to_string()),
            })
            .collect();
        let wanted: Vec<(String, String)> = wanted
            .iter()
            .map(|(pointer, value)| ((*pointer).to_owned(), (*value).to_owned()))
            .collect();
        if told != wanted {
            wrong.push(format!("{event}: {told:?}, not {wanted:?}"));
        }
    }
    let log = std::fs::read_dir(logs.path()).unwrap();
    let log: String = log
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap_or_default())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{log}");
    assert!(!log.contains("Bearer"), "no token is in the log");
    // What the role may do besides: reading the key, which Secrets Manager's own name decides.
    let unused: BTreeSet<String> = policy.unused().into_iter().map(|(_, action)| action).collect();
    assert_eq!(unused, ["secretsmanager:GetSecretValue".to_owned()].into());
}

/// Rules write their events themselves: what the samples have, the rule selects.
#[test]
fn the_rule_selects_what_the_events_hold_and_each_event_is_used() {
    let folder = tests::folder().join("../events/mqtt_bridge");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.trim_end_matches(".json").to_owned())
        .collect();
    let used: BTreeSet<String> = EVENTS.iter().map(|(event, _)| (*event).to_owned()).collect();
    assert_eq!(there, used);
    let stack = stack("https://agents.example/a/weather");
    let rule = &stack.template.functions()[FUNCTION]["Events"]["Requests"]["Properties"];
    let sql = stack.text(&rule["Sql"]);
    assert!(sql.contains("FROM 'a2a/v1/request/switchyard/#'"), "{sql}");
    let selected: BTreeSet<&str> = sql
        .split(" AS ")
        .skip(1)
        .filter_map(|rest| rest.split([',', ' ']).next())
        .collect();
    let held: BTreeMap<String, Value> = serde_json::from_value(read("iot_send_message")).unwrap();
    assert_eq!(selected, held.keys().map(String::as_str).collect());
}

#[test]
fn the_functions_settings_are_those_that_it_reads() {
    let stack = stack("https://agents.example/a/weather");
    let mut env = edge::config::Env::of(stack.environment(FUNCTION));
    let read = mqtt_bridge::Config::read(&mut env).unwrap();
    let platform = edge::config::Platform::read(&mut env);
    assert!(platform.is_ok() && read.iot.is_some());
    let asked = env.asked().clone();
    env.finish().unwrap();
    for name in stack.environment(FUNCTION).keys() {
        assert!(asked.contains(name), "{name} is not read");
    }
}
