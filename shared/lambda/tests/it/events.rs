//! Every file of `events/` through the one Lambda entry.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::Json;
use axum::extract::{Query, Request};
use axum::http::header::SET_COOKIE;
use axum::response::{AppendHeaders, IntoResponse};
use domain::{SystemClock, SystemEntropy};
use edge::config::{Answers, Http};
use edge::{
    Authorizer, Error, Front, Function, IotHandler, IotHandlerError, IotMessage, QueueError, QueueHandler,
    ScheduleError, ScheduleHandler,
};
use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt as _;
use lambda::{EventError, LambdaResponse};
use lambda_runtime::{Context, FunctionResponse, LambdaEvent};
use routes::Routes;
use serde_json::{Value, json};

use crate::log::Log;

/// Takes publications of IoT Core, but no empty ones.
struct Iot;

#[async_trait]
impl IotHandler for Iot {
    async fn handle(&self, message: IotMessage) -> Result<(), IotHandlerError> {
        match message.publication.payload.is_empty() {
            true => Err(IotHandlerError("an empty payload".into())),
            false => Ok(()),
        }
    }
}

/// Lets acme in, and nobody else.
struct Door;

#[async_trait]
impl Authorizer for Door {
    async fn authorize(&self, tenant: &str) -> Result<Option<Vec<(&'static str, String)>>, Error> {
        Ok((tenant == "acme").then(|| vec![("prefix", tenant.to_owned())]))
    }
}

/// A function with how its HTTP events are answered.
struct Deployed {
    function: Function,
    http: Http,
}

impl Deployed {
    fn with_queue(self, queue: Queue) -> Self {
        let function = self.function.with_queue(queue);
        Self { function, ..self }
    }

    fn with_schedule(self, schedule: Schedule) -> Self {
        let function = self.function.with_schedule(schedule);
        Self { function, ..self }
    }
}

async fn answer(deployed: &Deployed, event: LambdaEvent<Value>) -> Result<LambdaResponse, EventError> {
    lambda::answer(&deployed.function, &deployed.http, event).await
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events")
}

fn sample(name: &str) -> Value {
    let path = folder().join(name);
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()
}

/// Says what arrived.
async fn echo(request: Request) -> impl IntoResponse {
    let (head, body) = request.into_parts();
    let header = |name: &str| {
        let values = head.headers.get_all(name).iter();
        values
            .map(|value| value.to_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let trace = domain::TraceParent::current().map(|trace| trace.to_string());
    let seen = json!({
        "method": head.method.as_str(),
        "path": head.uri.path(),
        "query": head.uri.query(),
        "authorization": header("authorization"),
        "cookie": header("cookie"),
        "requestId": header("x-request-id"),
        "trace": trace,
    });
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    (
        AppendHeaders([(SET_COOKIE, "a=1"), (SET_COOKIE, "b=2")]),
        Json(json!({ "seen": seen, "body": text })),
    )
}

async fn tags(Query(pairs): Query<Vec<(String, String)>>) -> Json<Vec<(String, String)>> {
    Json(pairs)
}

async fn chunks() -> axum::body::Body {
    let parts = ["data: 1\n\n", "data: 2\n\n"].map(|part| Ok::<_, std::io::Error>(part.to_owned()));
    axum::body::Body::from_stream(stream::iter(parts))
}

#[derive(Clone, Default)]
struct Queue(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl QueueHandler for Queue {
    async fn handle(&self, body: &str) -> Result<(), QueueError> {
        self.0.lock().unwrap().push(body.to_owned());
        match serde_json::from_str::<Value>(body) {
            Err(error) => Err(QueueError::Unreadable(error.to_string())),
            Ok(wake) if wake["v"] == 99 => panic!("a handler that panics"),
            Ok(wake) if wake["taskId"].as_str().unwrap().ends_with('2') => {
                Err(QueueError::Failed("the database is away".into()))
            }
            Ok(wake) => {
                tracing::Span::current().record("tenant.id", wake["tenant"].as_str());
                Ok(())
            }
        }
    }
}

struct Schedule;

#[async_trait]
impl ScheduleHandler for Schedule {
    async fn run(&self) -> Result<Value, ScheduleError> {
        Ok(json!({ "woken": 3 }))
    }
}

/// Without a queue, without a schedule.
fn bare(answers: Answers, base: &str) -> Deployed {
    let routes = Routes::new()
        .get("/agents", "", tags)
        .get("/binary", "", async || [0xff_u8, 0x00].as_slice())
        .get("/stream", "", chunks)
        .get("/only-get", "", async || "got")
        .get("/broken", "", async || -> &'static str {
            panic!("a secret of the handler")
        })
        .any("/", "", echo)
        .any("/{*rest}", "", echo);
    let http = Http {
        answers,
        base_path: if base.is_empty() {
            <_>::default()
        } else {
            base.parse().unwrap()
        },
    };
    let front = Front {
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        function: "probe",
        body_limit: edge::BODY_LIMIT,
        tenant: None,
    };
    let function = Function::new(edge::front(routes, front));
    Deployed { function, http }
}

fn function(answers: Answers, base: &str) -> Deployed {
    bare(answers, base)
        .with_queue(Queue::default())
        .with_schedule(Schedule)
}

fn event(payload: Value) -> LambdaEvent<Value> {
    let mut context = Context::default();
    context.request_id = "8476a536-e9f4-11e8-9739-2dfe598c3fcd".to_owned();
    LambdaEvent::new(payload, context)
}

async fn buffered_with(function: &Deployed, payload: Value) -> Value {
    match answer(function, event(payload)).await.unwrap() {
        FunctionResponse::BufferedResponse(document) => document,
        FunctionResponse::StreamingResponse(_) => panic!("a stream where a document was asked for"),
    }
}

async fn buffered(payload: Value) -> Value {
    buffered_with(&function(Answers::Buffered, ""), payload).await
}

async fn seen(name: &str) -> Value {
    let document = buffered(sample(name)).await;
    serde_json::from_str(document["body"].as_str().unwrap()).unwrap()
}

fn get_event(path: &str) -> Value {
    let mut event = sample("host_agent/card.json");
    event["path"] = json!(path);
    event
}

#[tokio::test]
async fn a_rest_event_is_answered_with_header_lists() {
    let document = buffered(sample("host_agent/send_message.json")).await;
    assert_eq!(document["statusCode"], 200);
    assert_eq!(document["isBase64Encoded"], false);
    let headers = &document["multiValueHeaders"];
    assert_eq!(headers["content-type"], json!(["application/json"]));
    assert_eq!(headers["set-cookie"], json!(["a=1", "b=2"]));
    assert_eq!(
        headers["x-request-id"],
        json!(["8476a536-e9f4-11e8-9739-2dfe598c3fcd"])
    );
    let body: Value = serde_json::from_str(document["body"].as_str().unwrap()).unwrap();
    assert_eq!(
        body["seen"],
        json!({
            "method": "POST", "path": "/", "query": null, "cookie": [],
            "authorization": ["Bearer header.payload.signature"],
            "requestId": ["8476a536-e9f4-11e8-9739-2dfe598c3fcd"],
            "trace": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        })
    );
    assert_eq!(body["body"], sample("host_agent/send_message.json")["body"]);
}

#[tokio::test]
async fn an_http_api_event_is_answered_with_its_cookies_apart() {
    let document = buffered(sample("chat_api/tasks_of_context.json")).await;
    assert_eq!(document["statusCode"], 200);
    assert_eq!(document["cookies"], json!(["a=1", "b=2"]));
    assert_eq!(document["headers"]["content-type"], "application/json");
    assert_eq!(document["headers"]["set-cookie"], json!(null));
    let body: Value = serde_json::from_str(document["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["seen"]["cookie"], json!(["switchyard_acme=tok_example"]));
    assert_eq!(body["seen"]["query"], "contextId=c-1&tag=a%20b");
}

#[tokio::test]
async fn cookies_of_an_http_api_become_one_header() {
    let seen = seen("chat_api/chat.json").await;
    assert_eq!(
        seen["seen"]["cookie"],
        json!(["switchyard_acme=tok_example; theme=dark"])
    );
}

#[tokio::test]
async fn a_base64_body_arrives_decoded() {
    let seen = seen("host_agent/send_message_base64.json").await;
    assert_eq!(seen["body"], sample("host_agent/send_message.json")["body"]);
}

#[tokio::test]
async fn a_named_stage_of_an_http_api_is_no_part_of_the_path() {
    let seen = seen("webhook_receiver/notification_token.json").await;
    assert_eq!(seen["seen"]["path"], "/api/webhook/tasks");
}

#[tokio::test]
async fn repeated_query_parameters_arrive_in_order_and_encoded() {
    let document = buffered(sample("registry/agents_by_tags.json")).await;
    assert_eq!(
        serde_json::from_str::<Value>(document["body"].as_str().unwrap()).unwrap(),
        json!([["tag", "type:weather"], ["tag", "region:north & south"]])
    );
}

#[tokio::test]
async fn bytes_that_are_no_text_travel_as_base64() {
    let document = buffered(get_event("/binary")).await;
    assert_eq!(
        (&document["body"], &document["isBase64Encoded"]),
        (&json!("/wA="), &json!(true))
    );
}

#[tokio::test]
async fn the_base_path_is_stripped_and_everything_else_is_not_found() {
    let function = function(Answers::Buffered, "/a/0123456789abcdef");
    let seen = async |path: &str| {
        let document = buffered_with(&function, get_event(path)).await;
        let body: Value = serde_json::from_str(document["body"].as_str().unwrap()).unwrap();
        (
            document["statusCode"].clone(),
            body["seen"]["path"].clone(),
            body["error"].clone(),
        )
    };
    assert_eq!(
        seen("/a/0123456789abcdef").await,
        (json!(200), json!("/"), json!(null))
    );
    assert_eq!(
        seen("/a/0123456789abcdef/").await,
        (json!(200), json!("/"), json!(null))
    );
    assert_eq!(
        seen("/a/0123456789abcdef/tasks/7").await,
        (json!(200), json!("/tasks/7"), json!(null))
    );
    for elsewhere in ["/", "/a/0123456789abcdefg/tasks", "/tasks"] {
        assert_eq!(
            seen(elsewhere).await,
            (json!(404), json!(null), json!("not_found")),
            "{elsewhere}"
        );
    }
}

#[tokio::test]
async fn strange_paths_never_fail_the_invocation() {
    for path in [
        "",
        "//",
        "/%",
        "/%zz",
        "/%ff",
        "/\u{0}",
        "/ø/\u{1F600}",
        "/..//../etc",
        "/a?b#c",
        "no-slash",
        "*",
    ] {
        let document = buffered(get_event(path)).await;
        let status = document["statusCode"].as_u64().unwrap();
        assert!((200..500).contains(&status), "{path:?}: {document}");
    }
}

#[tokio::test]
async fn a_refusal_of_the_framework_is_typed() {
    let mut event = get_event("/only-get");
    event["httpMethod"] = json!("DELETE");
    let document = buffered(event).await;
    assert_eq!(document["statusCode"], 405);
    assert_eq!(document["multiValueHeaders"]["allow"], json!(["GET,HEAD"]));
    let body: Value = serde_json::from_str(document["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["error"], "method_not_allowed");
}

#[tokio::test]
async fn a_panic_is_a_constant_body_with_the_request_id() {
    let document = buffered(get_event("/broken")).await;
    assert_eq!(document["statusCode"], 500);
    let body: Value = serde_json::from_str(document["body"].as_str().unwrap()).unwrap();
    assert_eq!(
        body,
        json!({
            "error": "internal", "message": "Something went wrong here.",
            "requestId": "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
        })
    );
}

#[tokio::test]
async fn a_streaming_answer_has_its_head_first_and_its_body_in_pieces() {
    let function = function(Answers::Streaming, "");
    let FunctionResponse::StreamingResponse(streaming) =
        answer(&function, event(get_event("/stream"))).await.unwrap()
    else {
        panic!("a document where a stream was asked for");
    };
    assert_eq!(streaming.metadata_prelude.status_code, 200);
    let pieces: Vec<_> = streaming.stream.map(|piece| piece.unwrap()).collect().await;
    assert_eq!(pieces, ["data: 1\n\n", "data: 2\n\n"]);
}

#[tokio::test]
async fn a_streaming_answer_carries_cookies_and_refusals_too() {
    let function = function(Answers::Streaming, "");
    let streamed = async |payload: Value| match answer(&function, event(payload)).await.unwrap() {
        LambdaResponse::StreamingResponse(streaming) => streaming,
        LambdaResponse::BufferedResponse(_) => panic!("a document where a stream was asked for"),
    };
    let echoed = streamed(sample("chat_api/chat.json")).await;
    assert_eq!(echoed.metadata_prelude.cookies, ["a=1", "b=2"]);
    assert!(!echoed.metadata_prelude.headers.contains_key(SET_COOKIE));

    let refused = streamed(get_event("/broken")).await;
    assert_eq!(refused.metadata_prelude.status_code, 500);
    let body: Vec<u8> = refused
        .stream
        .map(|piece| piece.unwrap())
        .collect::<Vec<_>>()
        .await
        .concat();
    assert_eq!(
        serde_json::from_slice::<Value>(&body).unwrap()["error"],
        "internal"
    );
}

#[tokio::test]
async fn only_the_failed_messages_of_a_batch_come_again() {
    let (log, _guard) = Log::start();
    let document = buffered(sample("host_agent/wakes.json")).await;
    let id = |n: u8| json!({ "itemIdentifier": format!("059f36b4-87a3-44ab-83d2-66197592000{n}") });
    assert_eq!(document, json!({ "batchItemFailures": [id(2)] }));

    // Rubbish and a panic do not take their neighbour along.
    let document = buffered(sample("host_agent/wakes_with_rubbish.json")).await;
    assert_eq!(document, json!({ "batchItemFailures": [id(2), id(3)] }));
    assert!(log.text().contains("the database is away"));
    let lines = log.lines();
    let handled = lines
        .iter()
        .find(|line| line["message"] == "message handled")
        .unwrap();
    assert_eq!(handled["span"]["tenant.id"], "acme", "{handled}");
    assert!(
        !log.text().contains("not a wake"),
        "the log holds a message's body"
    );
}

#[tokio::test]
async fn a_batch_is_answered_buffered_even_where_http_streams() {
    let function = function(Answers::Streaming, "");
    assert!(matches!(
        answer(&function, event(sample("host_agent/wakes.json"))).await,
        Ok(LambdaResponse::BufferedResponse(_))
    ));
}

#[tokio::test]
async fn a_batch_whose_failures_could_not_be_named_is_refused_before_any_work() {
    let mut batch = sample("host_agent/wakes.json");
    batch["Records"][1].as_object_mut().unwrap().remove("messageId");
    let queue = Queue::default();
    let function = bare(Answers::Buffered, "").with_queue(queue.clone());
    let refused = answer(&function, event(batch)).await.err().unwrap();
    assert_eq!(refused.code(), "Edge.MalformedEvent");
    assert!(queue.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_schedule_answers_with_its_report() {
    for name in ["task_sweeper/schedule.json", "task_sweeper/scheduler.json"] {
        assert_eq!(buffered(sample(name)).await, json!({ "woken": 3 }), "{name}");
    }
}

#[tokio::test]
async fn an_event_without_a_part_for_it_is_refused_by_name() {
    let function = bare(Answers::Buffered, "");
    for name in ["host_agent/wakes.json", "task_sweeper/schedule.json"] {
        let refused = answer(&function, event(sample(name))).await.err().unwrap();
        assert!(
            matches!(refused, EventError::NotServed { .. }),
            "{name}: {refused}"
        );
    }
}

#[tokio::test]
async fn rubbish_events_fail_the_invocation_with_a_typed_error() {
    let mut base64 = sample("host_agent/send_message_base64.json");
    base64["body"] = json!("%%%");
    let mut cookie = sample("chat_api/chat.json");
    cookie["cookies"] = json!(["a\nb"]);
    for (rubbish, code) in [
        (json!({}), "Edge.UnknownEvent"),
        (
            json!({ "detail-type": "Scheduled Event", "source": "somebody" }),
            "Edge.UnknownEvent",
        ),
        (base64, "Edge.MalformedEvent"),
        (cookie, "Edge.MalformedEvent"),
    ] {
        let refused = answer(&function(Answers::Buffered, ""), event(rubbish))
            .await
            .err()
            .unwrap();
        assert_eq!(refused.code(), code);
        let told = lambda_runtime::Diagnostic::from(refused);
        assert_eq!(told.error_type, code);
    }
}

#[tokio::test]
async fn every_sample_event_is_of_a_known_kind() {
    let mut count = 0;
    for function_folder in std::fs::read_dir(folder()).unwrap() {
        for file in std::fs::read_dir(function_folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let payload: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            for answers in [Answers::Buffered, Answers::Streaming] {
                let mut deployed = function(answers, "");
                deployed.function = deployed.function.with_iot(Iot).with_authorizer(Door);
                let done = answer(&deployed, event(payload.clone())).await;
                assert!(done.is_ok(), "{}: {:?}", path.display(), done.err());
            }
            count += 1;
        }
    }
    assert!(count >= 25, "only {count} sample events");
}

#[tokio::test]
async fn an_authorizer_is_asked_for_the_name_in_the_path_alone() {
    let mut deployed = bare(Answers::Buffered, "");
    deployed.function = deployed.function.with_authorizer(Door);
    for (name, effect) in [
        ("a_tenant_of_the_pool", "Allow"),
        ("a_made_up_name", "Deny"),
        ("no_name", "Deny"),
    ] {
        let told = buffered_with(&deployed, sample(&format!("pool_authorizer/{name}.json"))).await;
        assert_eq!(
            told["policyDocument"]["Statement"][0]["Effect"], effect,
            "{name}: {told}"
        );
    }
}

#[tokio::test]
async fn a_publication_of_iot_core_that_fails_fails_the_invocation() {
    let mut deployed = bare(Answers::Buffered, "");
    let good = sample("mqtt_bridge/iot_send_message.json");
    let refused = answer(&deployed, event(good.clone())).await.err().unwrap();
    assert_eq!(refused.code(), "Edge.EventNotServed");
    deployed.function = deployed.function.with_iot(Iot);
    assert!(answer(&deployed, event(good.clone())).await.is_ok());
    let mut empty = good;
    empty["payload"] = json!("");
    let failed = answer(&deployed, event(empty)).await.err().unwrap();
    assert_eq!(failed.code(), "Edge.PublicationFailed");
}
