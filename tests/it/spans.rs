//! Spans: a collector that takes OTLP over HTTP in its JSON form gets one tree of the weather walk, from the chat to the
//! webhook and back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use edge::telemetry::{self, Collector, LogFilter};
use serde::Deserialize;
use serde_json::json;
use system_testing::Local;
use system_testing::models::{Dialect, ModelServer};

use crate::models::walk::system;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SECRET_WORDS: [&str; 4] = ["Oslo", "Bearer", "eyJ", "rain"];

/// `ExportTraceServiceRequest` in protobuf's JSON, with OTLP's own rules: ids are hexadecimal, enumerations are numbers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Export {
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResourceSpans {
    resource: Resource,
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scope {
    name: String,
    version: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Span {
    trace_id: String,
    span_id: String,
    parent_span_id: String,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    status: Status,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Status {
    code: u8,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribute {
    key: String,
    value: AnyValue,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
enum AnyValue {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "boolValue")]
    Bool(bool),
    #[serde(rename = "intValue")]
    Whole(String),
}

impl Span {
    fn attribute(&self, key: &str) -> Option<&AnyValue> {
        let found = self.attributes.iter().find(|attribute| attribute.key == key);
        found.map(|attribute| &attribute.value)
    }

    fn says(&self, key: &str, value: &str) -> bool {
        self.attribute(key) == Some(&AnyValue::Text(value.to_owned()))
    }
}

#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<String>>>);

/// Takes spans as a collector does.
async fn take(
    State(received): State<Received>,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, &'static str) {
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["api-key"], "a b");
    received.0.lock().unwrap().push(body);
    (StatusCode::OK, "{}")
}

impl Received {
    async fn collector() -> (Self, Collector) {
        let received = Self::default();
        let router = Router::new()
            .route("/otlp/v1/traces", post(take))
            .with_state(received.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/otlp", listener.local_addr().unwrap());
        tokio::spawn(async { axum::serve(listener, router).await });
        let collector = Collector {
            endpoint: endpoint.parse().unwrap(),
            headers: "api-key=a%20b".parse().unwrap(),
            service: "walk".to_owned(),
        };
        (received, collector)
    }

    /// Every span of the trace so far.
    fn spans(&self) -> Vec<Span> {
        let bodies = self.0.lock().unwrap();
        let mut spans = Vec::new();
        for body in bodies.iter() {
            let export: Export =
                serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {body}"));
            for of_resource in export.resource_spans {
                let service = &of_resource.resource.attributes[0];
                assert_eq!(service.key, "service.name");
                assert_eq!(service.value, AnyValue::Text("walk".into()));
                for of_scope in of_resource.scope_spans {
                    assert_eq!(of_scope.scope.name, "switchyard");
                    assert!(!of_scope.scope.version.is_empty());
                    spans.extend(of_scope.spans);
                }
            }
        }
        spans.retain(|span| span.trace_id == TRACE);
        spans
    }

    async fn until(&self, done: impl Fn(&[Span]) -> bool) -> Vec<Span> {
        for _ in 0..200 {
            telemetry::flush().await;
            let spans = self.spans();
            if done(&spans) {
                return spans;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the collector has only {:#?}", self.spans());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_weather_walk_is_one_tree_from_the_chat_to_the_webhook() {
    let (received, collector) = Received::collector().await;
    telemetry::init(
        &"off".parse::<LogFilter>().unwrap(),
        "Switchyard",
        Some(&collector),
    );
    let local = Local::start().await;
    let user = local.user("acme");
    let body = json!({ "id": "traced", "messages": [
        { "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "Will it rain in Oslo tomorrow?" }] }] });
    let answer = user.traced(TRACE, "/api/chat", body).await;
    let task = user.until(&answer.task_id(), &["completed"]).await;
    let is_of =
        |span: &Span, function: &str| span.name == "edge.request.answer" && span.says("function", function);
    let host = answer.task_id();
    let spans = received
        .until(|spans| {
            let is_end =
                |span: &&Span| span.name == "store.task.commit" && span.says("task.state", "completed");
            spans
                .iter()
                .filter(is_end)
                .any(|span| span.says("task.id", &host))
                && spans.iter().any(|span| is_of(span, "chat_api"))
                && spans.iter().any(|span| is_of(span, "webhook_receiver"))
        })
        .await;

    // One tree: ids are unique, and everything hangs on the request for the chat, which hangs on its caller.
    let by_id: BTreeMap<&str, &Span> = spans.iter().map(|span| (span.span_id.as_str(), span)).collect();
    assert_eq!(by_id.len(), spans.len());
    let roots: Vec<&Span> = spans
        .iter()
        .filter(|span| !by_id.contains_key(span.parent_span_id.as_str()))
        .collect();
    assert_eq!(roots.len(), 1, "{roots:#?}");
    assert!(is_of(roots[0], "chat_api"), "{roots:#?}");
    for span in &spans {
        assert!(span.span_id.len() == 16 && span.span_id.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let time = |text: &str| text.parse::<u64>().unwrap();
        assert!(time(&span.start_time_unix_nano) <= time(&span.end_time_unix_nano));
        assert!((1..=5).contains(&span.kind), "{span:?}");
        for attribute in &span.attributes {
            let whole = match &attribute.value {
                AnyValue::Whole(digits) => digits.parse::<i64>().is_ok(),
                AnyValue::Text(_) | AnyValue::Bool(_) => true,
            };
            assert!(whole, "{attribute:?}");
        }
        assert_eq!(span.status.code, 0, "nothing failed: {span:?}");
    }
    let names: BTreeSet<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    for name in [
        "edge.request.answer",
        "outbound.http.exchange",
        "store.task.create",
        "store.task.commit",
        "agent.wake.send",
        "local.wake.handle",
        "agent.worker.round",
        "host.model.step",
        "agent.push.deliver",
    ] {
        assert!(names.contains(name), "no {name} among {names:?}");
    }

    // The webhook's request hangs on the delivery, that on the specialist's work, and so on up to the chat.
    let webhook = spans.iter().find(|span| is_of(span, "webhook_receiver")).unwrap();
    let mut way = Vec::new();
    let mut next = Some(&webhook);
    while let Some(span) = next {
        way.push(*span);
        next = by_id.get(span.parent_span_id.as_str());
    }
    let remote = task["remoteTaskId"].as_str().unwrap();
    for (what, found) in [
        (
            "the delivery",
            way.iter()
                .any(|span| span.name == "agent.push.deliver" && span.says("task.id", remote)),
        ),
        (
            "the host's send",
            way.iter().any(|span| is_of(span, "weather_agent")),
        ),
        (
            "the host's work",
            way.iter()
                .any(|span| span.name == "agent.worker.round" && span.says("task.id", &host)),
        ),
        ("the chat", way.last().is_some_and(|span| is_of(span, "chat_api"))),
    ] {
        assert!(found, "{what} is not on the way up: {way:#?}");
    }

    let told = received.0.lock().unwrap().join("\n");
    for word in SECRET_WORDS {
        assert!(!told.contains(word), "a collector is told {word:?}");
    }
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_to_a_model_is_told_by_the_conventions_for_generative_ai() {
    let (received, collector) = Received::collector().await;
    telemetry::init(
        &"off".parse::<LogFilter>().unwrap(),
        "Switchyard",
        Some(&collector),
    );
    let server = ModelServer::start([Dialect::OpenAi.says("Hunter2 it is.")]).await;
    let local = system(Dialect::OpenAi, &server, false).await;
    let body = json!({ "id": "traced", "messages": [
        { "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "Tell me of hunter2" }] }] });
    let user = local.user("acme");
    let answer = user.traced(TRACE, "/api/chat", body).await;
    user.until(&answer.task_id(), &["completed"]).await;
    let is_call = |span: &Span| span.says("gen_ai.operation.name", "chat");
    let spans = received.until(|spans| spans.iter().any(is_call)).await;
    let call = spans.iter().find(|span| is_call(span)).unwrap();
    assert_eq!((call.name.as_str(), call.kind), ("chat scripted", 3));
    assert!(call.says("gen_ai.provider.name", "openai") && call.says("gen_ai.request.model", "scripted"));
    for used in ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"] {
        let Some(AnyValue::Whole(count)) = call.attribute(used) else {
            panic!("{call:?}")
        };
        assert!(count.parse::<u64>().unwrap() > 0, "{used}: {count}");
    }
    let told = received.0.lock().unwrap().join("\n").to_lowercase();
    assert!(!told.contains("hunter2"), "a collector is told nobody's words");
    local.system.stop().await;
}
