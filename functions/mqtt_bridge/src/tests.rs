//! The bridge without a broker: requests in, replies out, an agent that answers as it is told.

mod calls;
mod cards;
mod iot;
mod presence;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use a2a::mqtt::{AgentAddress, Properties, Publication, TopicPrefix};
use async_trait::async_trait;
use auth::{Sealer, Verifier};
use axum::body::Body;
use domain::{SystemClock, SystemEntropy};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use mqtt::{PublishError, Published, Publisher};
use outbound::{Outbound, Policy};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::{ATTEMPT, AgentPlace, Bridge, BridgeParts, Handled, handle, router};

const TASK: &str = "6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f";
const REPLY: &str = "$a2a/v1/reply/acme/lab/asker/s1";

/// Keeps what is published, and answers with what it is told to.
struct Desk {
    published: Mutex<Vec<Publication>>,
    answer: Mutex<Result<Published, PublishError>>,
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            published: Mutex::default(),
            answer: Mutex::new(Ok(Published::Taken)),
        }
    }
}

#[async_trait]
impl Publisher for Desk {
    async fn publish(&self, publication: Publication) -> Result<Published, PublishError> {
        let answer = self.answer.lock().unwrap().clone();
        if answer.is_ok() {
            self.published.lock().unwrap().push(publication);
        }
        answer
    }

    fn max_packet(&self) -> usize {
        256 * 1024
    }
}

struct World {
    bridge: Arc<Bridge>,
    desk: Arc<Desk>,
    agent: MockServer,
    address: AgentAddress,
}

async fn world(status: u16, answer: Value) -> World {
    world_that(status, answer, true).await
}

/// One whose process stays, or does not.
async fn world_that(status: u16, answer: Value, stays: bool) -> World {
    let agent = MockServer::start().await;
    let template = ResponseTemplate::new(status).set_body_json(answer);
    Mock::given(any()).respond_with(template).mount(&agent).await;
    let address: AgentAddress = "acme/platform/weather".parse().unwrap();
    let entropy = Arc::new(SystemEntropy);
    let policy = Policy {
        allow_loopback: true,
        ..Policy::default()
    };
    let bridge = Arc::new(
        Bridge::new(BridgeParts {
            url: "https://gateway.example/mqtt".parse().unwrap(),
            broker: "mqtts://broker.example".parse().unwrap(),
            prefix: TopicPrefix::standard(),
            orgs: ["acme".to_owned()].into(),
            agents: vec![AgentPlace {
                address: address.clone(),
                url: agent.uri().parse().unwrap(),
                pools: Vec::new(),
                webhook: None,
            }],
            verifier: Verifier::new("https://gateway.example/mqtt".to_owned(), Vec::new()).unwrap(),
            replies_for: Duration::from_secs(3_600),
            sealer: Arc::new(Sealer::new(vec![("k1".into(), Sealer::generate_key(&SystemEntropy))]).unwrap()),
            outbound: Outbound::new(policy, entropy.clone()),
            clock: Arc::new(SystemClock),
            entropy,
            patience: Duration::from_millis(500),
            attempt: ATTEMPT,
            stays,
        })
        .unwrap(),
    );
    let desk = Arc::new(Desk::default());
    bridge.publishes(&address, desk.clone());
    World {
        bridge,
        desk,
        agent,
        address,
    }
}

impl World {
    async fn handle(&self, publication: &Publication) -> Handled {
        handle(&self.bridge, &self.address, publication, Duration::ZERO).await
    }

    /// What was published, without its envelope.
    fn told(&self) -> Vec<Value> {
        let published = self.desk.published.lock().unwrap();
        let read = |publication: &Publication| {
            assert_eq!(publication.topic, REPLY);
            assert_eq!(
                publication.properties.correlation.as_deref(),
                Some(&[0, 0xff][..])
            );
            let payload: Value = serde_json::from_slice(&publication.payload).unwrap();
            assert_eq!(payload["id"], "r-1");
            payload
        };
        published.iter().map(read).collect()
    }

    /// What the agent got, with its headers.
    async fn asked(&self) -> (Value, http::HeaderMap) {
        let requests = self.agent.received_requests().await.unwrap();
        let last = requests.last().unwrap();
        (last.body_json().unwrap(), last.headers.clone())
    }

    async fn reply(&self, token: Option<&str>, body: &Value) -> StatusCode {
        let mut request = Request::post("/reply").header("content-type", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Body::from(body.to_string())).unwrap();
        let response = router(Arc::clone(&self.bridge)).oneshot(request).await.unwrap();
        let status = response.status();
        response.into_body().collect().await.unwrap();
        status
    }
}

fn request(method: &str, params: Value) -> Publication {
    let payload = json!({ "jsonrpc": "2.0", "id": "r-1", "method": method, "params": params });
    Publication {
        topic: "$a2a/v1/request/acme/platform/weather".to_owned(),
        payload: payload.to_string().into(),
        retain: false,
        properties: Properties {
            response_topic: Some(REPLY.to_owned()),
            correlation: Some(vec![0, 0xff].into()),
            user: vec![
                ("a2a-authorization".into(), "Bearer hunter2".into()),
                (
                    "traceparent".into(),
                    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
                ),
            ],
            ..Properties::default()
        },
    }
}

fn message() -> Value {
    json!({ "message": { "messageId": "m", "taskId": TASK, "role": "ROLE_USER", "parts": [{ "text": "Oslo?" }] } })
}

fn task(state: &str) -> Value {
    json!({ "task": { "id": TASK, "contextId": "c", "status": { "state": state }, "metadata": { "x": 1 } } })
}

fn result(result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "r-1", "result": result })
}

/// The token of the push configuration that the agent was given.
fn token(asked: &Value) -> String {
    asked["params"]["configuration"]["taskPushNotificationConfig"]["token"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The lines that are logged as errors in this thread, as long as the guard is there.
#[derive(Clone, Default)]
struct Errors(Arc<Mutex<Vec<u8>>>);

impl io::Write for Errors {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Errors {
    fn begin() -> (Self, tracing::subscriber::DefaultGuard) {
        let errors = Self::default();
        let writer = errors.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_max_level(tracing::Level::ERROR)
            .with_writer(move || writer.clone())
            .finish();
        (errors, tracing::subscriber::set_default(subscriber))
    }

    fn told(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[tokio::test]
async fn a_stream_is_a_send_without_waiting_whose_notifications_are_the_stream() {
    let world = world(200, result(task("TASK_STATE_SUBMITTED"))).await;
    assert_eq!(
        world.handle(&request("SendStreamingMessage", message())).await,
        Handled::Answered
    );
    let (asked, headers) = world.asked().await;
    assert_eq!(
        (&asked["method"], &asked["params"]["message"]["taskId"]),
        (&json!("SendMessage"), &json!(TASK))
    );
    assert_eq!(asked["params"]["configuration"]["returnImmediately"], true);
    assert_eq!(headers["authorization"], "Bearer hunter2");
    assert_eq!(
        headers["a2a-extensions"],
        "urn:switchyard:a2a:client-task-id:v1, urn:switchyard:a2a:every-event:v1"
    );
    assert!(
        headers["traceparent"]
            .to_str()
            .unwrap()
            .contains("0af7651916cd43dd8448eb211c80319c")
    );
    let token = token(&asked);
    assert!(!token.contains("reply"), "nothing of a request shows");
    let working = json!({ "statusUpdate": { "taskId": TASK, "status": { "state": "TASK_STATE_WORKING" } } });
    assert_eq!(world.reply(Some(&token), &working).await, StatusCode::NO_CONTENT);
    assert_eq!(
        world.reply(Some(&token), &task("TASK_STATE_COMPLETED")).await,
        StatusCode::NO_CONTENT
    );
    let told = world.told();
    assert_eq!(told[0]["result"], task("TASK_STATE_SUBMITTED"));
    assert_eq!(told[1]["result"], working);
    let last = &told[2]["result"]["statusUpdate"];
    assert_eq!(
        (&last["status"]["state"], &last["metadata"]["x"]),
        (&json!("TASK_STATE_COMPLETED"), &json!(1))
    );
}

#[tokio::test]
async fn who_waits_for_the_settled_task_hears_of_nothing_before() {
    let world = world(200, result(task("TASK_STATE_SUBMITTED"))).await;
    assert_eq!(
        world.handle(&request("SendMessage", message())).await,
        Handled::Answered
    );
    let token = token(&world.asked().await.0);
    let working = json!({ "statusUpdate": { "taskId": TASK, "status": { "state": "TASK_STATE_WORKING" } } });
    assert_eq!(world.reply(Some(&token), &working).await, StatusCode::NO_CONTENT);
    assert!(world.told().is_empty());
    assert_eq!(
        world
            .reply(Some(&token), &task("TASK_STATE_INPUT_REQUIRED"))
            .await,
        StatusCode::NO_CONTENT
    );
    assert_eq!(world.told()[0]["result"], task("TASK_STATE_INPUT_REQUIRED"));
}

#[tokio::test]
async fn what_is_settled_already_is_told_at_once_and_ends_a_stream() {
    for (method, items) in [("SendMessage", 1), ("SendStreamingMessage", 2)] {
        let world = world(200, result(task("TASK_STATE_COMPLETED"))).await;
        assert_eq!(world.handle(&request(method, message())).await, Handled::Answered);
        let told = world.told();
        assert_eq!(
            (told.len(), &told[0]["result"]),
            (items, &task("TASK_STATE_COMPLETED"))
        );
        let last = told.last().unwrap();
        assert!(a2a::mqtt::is_stream_end(&last["result"]));
    }
}

#[tokio::test]
async fn other_methods_pass_through_and_so_do_the_agents_errors() {
    let found = json!({ "id": TASK, "status": { "state": "TASK_STATE_WORKING" } });
    let world = world(200, result(found.clone())).await;
    assert_eq!(
        world.handle(&request("GetTask", json!({ "id": TASK }))).await,
        Handled::Answered
    );
    assert_eq!(world.asked().await.0["params"], json!({ "id": TASK }));
    assert_eq!(world.told()[0]["result"], found);

    let error =
        json!({ "code": -32001, "message": "Task not found", "data": [{ "reason": "TASK_NOT_FOUND" }] });
    let world = self::world(200, json!({ "jsonrpc": "2.0", "id": "r-1", "error": error })).await;
    assert_eq!(
        world.handle(&request("CancelTask", json!({ "id": "x" }))).await,
        Handled::Refused
    );
    assert_eq!(world.told()[0]["error"], error);
}

#[tokio::test]
async fn a_subscription_begins_with_the_task_and_asks_for_what_comes() {
    let found = json!({ "id": TASK, "status": { "state": "TASK_STATE_WORKING" } });
    let world = world(200, result(found.clone())).await;
    assert_eq!(
        world
            .handle(&request("SubscribeToTask", json!({ "id": TASK })))
            .await,
        Handled::Answered
    );
    let (asked, _) = world.asked().await;
    assert_eq!(asked["method"], "CreateTaskPushNotificationConfig");
    assert_eq!(
        (&asked["params"]["taskId"], &asked["params"]["url"]),
        (&json!(TASK), &json!("https://gateway.example/mqtt/reply"))
    );
    assert_eq!(world.told()[0]["result"], json!({ "task": found }));
}

#[tokio::test]
async fn an_agent_that_wants_a_token_or_does_not_answer_says_so_in_the_bindings_words() {
    let challenge = json!({ "error": "invalid_token", "www_authenticate": "Bearer error=\"invalid_token\"" });
    for (status, body, code, name) in [
        (401, challenge.clone(), 401, "unauthenticated"),
        (403, challenge, 403, "insufficient_scope"),
        (500, json!({}), -32004, "responder_unavailable"),
        (429, json!({}), -32004, "responder_unavailable"),
        (200, json!("rubbish"), -32004, "responder_unavailable"),
    ] {
        let world = world(status, body).await;
        assert_eq!(
            world.handle(&request("SendMessage", message())).await,
            Handled::Refused
        );
        let error = &world.told()[0]["error"];
        assert_eq!(
            (&error["code"], &error["data"]["a2a_error"]),
            (&json!(code), &json!(name))
        );
        if status < 404 && status > 400 {
            assert_eq!(
                error["data"]["www_authenticate"],
                "Bearer error=\"invalid_token\""
            );
        }
        assert!(
            !world.told()[0].to_string().contains("hunter2"),
            "a token is never echoed"
        );
    }
}

#[tokio::test]
async fn what_cannot_be_answered_changes_nothing() {
    let world = world(200, result(task("TASK_STATE_SUBMITTED"))).await;
    let mut foreign = request("SendMessage", message());
    foreign.properties.response_topic = Some("$a2a/v1/reply/globex/lab/asker/s1".to_owned());
    assert_eq!(
        world.handle(&foreign).await,
        Handled::Dropped("foreign_response_topic")
    );
    let mut other = request("SendMessage", message());
    other.topic = "$a2a/v1/request/acme/platform/report".to_owned();
    assert_eq!(world.handle(&other).await, Handled::Dropped("not_a_request"));
    let mut twice = request("SendMessage", message());
    twice
        .properties
        .user
        .push(("a2a-authorization".into(), "Bearer other".into()));
    assert_eq!(world.handle(&twice).await, Handled::Refused);
    assert_eq!(
        world.told()[0]["error"]["data"]["a2a_error"],
        "transport_protocol_error"
    );
    assert!(
        world.agent.received_requests().await.unwrap().is_empty(),
        "the agent was not asked"
    );
}

#[tokio::test]
async fn only_what_was_sealed_here_becomes_a_reply() {
    let world = world(200, result(task("TASK_STATE_SUBMITTED"))).await;
    world.handle(&request("SendStreamingMessage", message())).await;
    let token = token(&world.asked().await.0);
    let told = world.told().len();
    let mut other = token.clone();
    other.pop();
    for bad in [None, Some("rubbish"), Some(other.as_str())] {
        assert_eq!(
            world.reply(bad, &task("TASK_STATE_COMPLETED")).await,
            StatusCode::UNAUTHORIZED
        );
    }
    for rubbish in [json!([]), json!({}), json!({ "task": 1 }), json!("x")] {
        assert_eq!(world.reply(Some(&token), &rubbish).await, StatusCode::BAD_REQUEST);
    }
    assert_eq!(world.told().len(), told);
}

#[tokio::test]
async fn a_reply_that_nobody_hears_ends_its_notifications_and_one_that_is_late_is_repeated() {
    let world = world(200, result(task("TASK_STATE_SUBMITTED"))).await;
    world.handle(&request("SendStreamingMessage", message())).await;
    let token = token(&world.asked().await.0);
    let answers = |answer| *world.desk.answer.lock().unwrap() = answer;
    // That it may not reply is for whoever runs the broker: the one that is told as an error.
    for (answer, status, is_error) in [
        (Ok(Published::NoMatchingSubscribers), StatusCode::GONE, false),
        (Err(PublishError::NotAuthorized), StatusCode::GONE, true),
        (
            Err(PublishError::Disconnected),
            StatusCode::SERVICE_UNAVAILABLE,
            false,
        ),
        (Err(PublishError::Timeout), StatusCode::SERVICE_UNAVAILABLE, false),
        (Ok(Published::Taken), StatusCode::NO_CONTENT, false),
    ] {
        answers(answer);
        let (errors, _guard) = Errors::begin();
        assert_eq!(
            world.reply(Some(&token), &task("TASK_STATE_COMPLETED")).await,
            status
        );
        let told = errors.told();
        assert_eq!(told.contains("0x87") && told.contains(REPLY), is_error, "{told}");
        assert_eq!(told.is_empty(), !is_error, "{told}");
    }
}

#[tokio::test]
async fn who_waits_for_long_is_shown_that_there_is_work() {
    let world = world(200, result(task("TASK_STATE_SUBMITTED"))).await;
    world.handle(&request("SendMessage", message())).await;
    assert!(world.told().is_empty());
    world.agent.reset().await;
    let found = json!({ "id": TASK, "status": { "state": "TASK_STATE_WORKING" } });
    let template = ResponseTemplate::new(200).set_body_json(result(found.clone()));
    Mock::given(any())
        .respond_with(template)
        .mount(&world.agent)
        .await;
    for _ in 0..500 {
        if !world.told().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(world.asked().await.0["method"], "GetTask");
    assert_eq!(world.told()[0]["result"], json!({ "task": found }));
}
