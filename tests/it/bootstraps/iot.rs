//! The bridge on AWS IoT Core: its program with the settings of `infra/mqtt-iot.yaml`, handed every event of `events/mqtt_bridge` as
//! Lambda does, and by `cargo lambda invoke`. Each publication is judged by the policy of its role.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::Sealer;
use domain::{ExposeSecret as _, SystemEntropy};
use serde_json::{Value, json};
use system_testing::binary::free_port;
use system_testing::policy::{Policy, Request};
use system_testing::runtime_api::{Function, Reply, Spec, program};
use system_testing::template::{Stack, Template};
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
    let path = system_testing::folder().join(format!("../events/mqtt_bridge/{event}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// What IAM is asked about a topic.
fn asked(action: &str, topic: &str) -> Request {
    Request {
        action: action.to_owned(),
        resource: format!("arn:aws:iot:eu-north-1:123456789012:topic/{topic}"),
        leading_keys: Vec::new(),
        attributes: Vec::new(),
        prefix: None,
    }
}

/// A Publish call, as IAM sees it, and its body.
fn published(request: &wiremock::Request) -> (Vec<Request>, String, Value) {
    let path = request.url.path().strip_prefix("/topics/").unwrap();
    let topic = path.replace("%2F", "/").replace("%24", "$");
    let mut may = vec![asked("iot:Publish", &topic)];
    if request.url.query().unwrap_or_default().contains("retain=true") {
        may.push(asked("iot:RetainPublish", &topic));
    }
    (may, topic, request.body_json().unwrap_or_default())
}

/// The function with all that it talks to.
struct World {
    core: MockServer,
    /// The agent, and what holds its secrets.
    _others: [MockServer; 2],
    policy: Policy,
    environment: BTreeMap<String, String>,
    logs: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let (agent, core) = (agent().await, answering(json!({ "message": "OK" })).await);
        let key = Sealer::generate_key(&SystemEntropy).expose_secret().to_owned();
        let secret = json!([["k1", key]]).to_string();
        let secrets = answering(json!({ "Name": "sealing", "SecretString": secret })).await;
        let stack = stack(&agent.uri());
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
        Self {
            policy: Policy::of(&stack, FUNCTION),
            environment,
            logs: tempfile::tempdir().unwrap(),
            core,
            _others: [agent, secrets],
        }
    }

    /// Every event, handed over in that way: each is answered as it should be, by calls that the role allows.
    async fn plays_every_event(&self, way: &Way) {
        let (mut wrong, mut sent) = (Vec::new(), BTreeMap::new());
        for (event, expect) in EVENTS {
            self.core.reset().await;
            let ok = ResponseTemplate::new(200).set_body_json(json!({ "message": "OK" }));
            Mock::given(any()).respond_with(ok).mount(&self.core).await;
            let answer = match way.invoke(event).await {
                Ok(answer) => answer,
                Err(fault) => {
                    wrong.push(format!("{event}: {fault}"));
                    continue;
                }
            };
            let requests = self.core.received_requests().await.unwrap();
            wrong.extend(
                self.judged(expect, &answer, &requests)
                    .map(|told| format!("{event}: {told}")),
            );
            let calls: Vec<Value> = requests.iter().map(as_sent).collect();
            sent.insert(*event, calls);
        }
        let log = std::fs::read_dir(self.logs.path()).unwrap();
        let log: String = log
            .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap_or_default())
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{log}");
        assert!(!log.contains("Bearer"), "no token is in the log");
        insta::assert_json_snapshot!("publish_calls", sent);
    }

    /// What is wrong with what came of an event.
    fn judged(
        &self,
        expect: &Expect,
        answer: &Value,
        requests: &[wiremock::Request],
    ) -> std::vec::IntoIter<String> {
        let mut wrong = Vec::new();
        let calls: Vec<_> = requests.iter().map(published).collect();
        for request in calls.iter().flat_map(|(asked, _, _)| asked) {
            if !self.policy.allows(request) {
                wrong.push(format!("{request:?} is not allowed"));
            }
        }
        let wanted = match expect {
            Published(wanted) => *wanted,
            Nothing => &[],
            Status(status) => {
                if answer["statusCode"] != *status {
                    wrong.push(answer.to_string());
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
            wrong.push(format!("{told:?}, not {wanted:?}"));
        }
        wrong.into_iter()
    }
}

/// A Publish call as it was sent: all of it but what changes from one run to the next.
fn as_sent(request: &wiremock::Request) -> Value {
    let header = |name: &str| {
        let value = request.headers.get(name);
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    let properties: BTreeMap<&str, &str> = request
        .headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("x-amz-mqtt5"))
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    let signed = header("authorization").unwrap_or_default();
    // Algorithm, scope without its day, signed headers.
    let scope = signed
        .split(['/', ','])
        .skip(2)
        .take(3)
        .collect::<Vec<_>>()
        .join("/");
    let names = signed
        .split("SignedHeaders=")
        .nth(1)
        .and_then(|rest| rest.split(',').next());
    json!({
        "method": request.method.as_str(),
        "path": request.url.path(),
        "query": request.url.query(),
        "properties": properties,
        "signed": { "for": scope, "headers": names },
        "body": request.body_json::<Value>().unwrap_or_default(),
    })
}

/// How an event is handed to the program.
enum Way {
    /// By the Lambda of these tests.
    Lambda(Arc<Function>),
    /// By `cargo lambda invoke`.
    CargoLambda(CargoLambda),
}

impl Way {
    async fn invoke(&self, event: &str) -> Result<Value, String> {
        match self {
            Self::Lambda(function) => match function.invoke(read(event)).await {
                Reply::Answer(answer) => Ok(answer),
                reply => Err(format!("{reply:?}")),
            },
            Self::CargoLambda(lambda) => lambda.invoke(event).await,
        }
    }
}

/// cargo-lambda's control plane and runtime API, and the program before it.
struct CargoLambda {
    program: PathBuf,
    port: String,
    running: [Child; 2],
}

impl CargoLambda {
    /// Starts both.
    async fn start(world: &World) -> Self {
        let tool = system_testing::folder().join(".tools/aws/bin/cargo-lambda");
        assert!(tool.exists(), "no cargo-lambda: `tests/run tools` installs it");
        let port = free_port().to_string();
        let log = |name: &str| File::create(world.logs.path().join(name)).unwrap();
        // It builds nothing: it is the control plane and the runtime API alone.
        let apis = Command::new(&tool)
            .args([
                "lambda",
                "watch",
                "--only-lambda-apis",
                "--invoke-address",
                "127.0.0.1",
            ])
            .args(["--invoke-port", &port])
            .current_dir(system_testing::folder().join(".."))
            .stdin(Stdio::null())
            .stdout(log("apis.out"))
            .stderr(log("apis.err"))
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while tokio::net::TcpStream::connect(format!("127.0.0.1:{port}"))
            .await
            .is_err()
        {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "cargo-lambda does not listen"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let function = Command::new(program("mqtt_bridge"))
            .env_clear()
            .envs(&world.environment)
            .env(
                "AWS_LAMBDA_RUNTIME_API",
                format!("http://127.0.0.1:{port}/.rt/mqtt_bridge"),
            )
            .env("AWS_LAMBDA_FUNCTION_NAME", "mqtt_bridge")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
            .stdin(Stdio::null())
            .stdout(log("function.out"))
            .stderr(log("function.err"))
            .spawn()
            .unwrap();
        Self {
            program: tool,
            port,
            running: [function, apis],
        }
    }

    async fn invoke(&self, event: &str) -> Result<Value, String> {
        let mut command = Command::new(&self.program);
        command
            .args(["lambda", "invoke", "mqtt_bridge", "--invoke-address", "127.0.0.1"])
            .args([
                "--invoke-port",
                &self.port,
                "--output-format",
                "json",
                "--data-file",
            ])
            .arg(system_testing::folder().join(format!("../events/mqtt_bridge/{event}.json")));
        let ended = tokio::task::spawn_blocking(move || command.output())
            .await
            .unwrap()
            .unwrap();
        let [out, err] = [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        match (ended.status.success(), serde_json::from_str(&out)) {
            (true, Ok(answer)) => Ok(answer),
            _ => Err(format!("{out}{err}")),
        }
    }
}

impl Drop for CargoLambda {
    fn drop(&mut self) {
        for process in &mut self.running {
            // It may have ended by itself.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_answers_each_event_of_iot_core_and_publishes_what_its_role_allows() {
    let world = World::new().await;
    let spec = Spec {
        name: "mqtt_bridge".to_owned(),
        binary: program("mqtt_bridge"),
        environment: world.environment.clone(),
        timeout: Duration::from_secs(30),
        memory: 256,
    };
    let lambda = Function::new(spec, world.logs.path());
    world.plays_every_event(&Way::Lambda(lambda)).await;
    // What the role may do besides: reading the key, which Secrets Manager's own name decides.
    let unused = world.policy.unused().into_iter().map(|(_, action)| action);
    let unused: BTreeSet<String> = unused.collect();
    assert_eq!(unused, ["secretsmanager:GetSecretValue".to_owned()].into());
    for (action, topic) in [
        ("iot:Publish", "a2a/v1/request/switchyard/platform/weather"),
        ("iot:Publish", "a2a/v1/event/switchyard/platform/weather"),
        ("iot:Publish", "a2a/v1/discovery/acme.example/lab/asker"),
        ("iot:Publish", "$aws/things/lamp/shadow/update"),
        ("iot:Publish", "a2a/v1/replying"),
        ("iot:RetainPublish", REPLY),
        ("iot:RetainPublish", "a2a/v1/discovery/acme.example/lab/asker"),
        ("iot:Subscribe", REPLY),
        ("iot:Receive", REPLY),
        (
            "iot:GetRetainedMessage",
            "a2a/v1/discovery/switchyard/platform/weather",
        ),
    ] {
        assert!(!world.policy.allows(&asked(action, topic)), "{action} {topic}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cargo_lambda_invoke_hands_over_the_same_events() {
    let world = World::new().await;
    let lambda = CargoLambda::start(&world).await;
    world.plays_every_event(&Way::CargoLambda(lambda)).await;
}

/// Rules write their events themselves: what the samples have, the rule selects.
#[test]
fn the_rule_selects_what_the_events_hold_and_each_event_is_used() {
    let folder = system_testing::folder().join("../events/mqtt_bridge");
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
