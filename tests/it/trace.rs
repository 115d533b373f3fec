//! One W3C trace from the chat through host, specialist, push and receiver: in the headers of each hop, in the records,
//! and in the log lines.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use system_testing::Local;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::scripted::Scripted;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER: &str = "0af7651916cd43dd8448eb211c80319c";

/// Log lines, each with the trace of its span: as the span began (which is what a request's header said) and at the end.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Line>>>);

#[derive(Debug, Clone, Default)]
struct Line {
    message: String,
    function: String,
    began: Option<String>,
    trace: Option<String>,
}

#[derive(Default)]
struct Traced {
    began: Option<String>,
    now: Option<String>,
}

#[derive(Default)]
struct Fields {
    message: String,
    function: String,
    trace: Option<String>,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "function" => value.clone_into(&mut self.function),
            "trace_id" => self.trace = Some(value.to_owned()),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            let traced = Traced {
                began: fields.trace.clone(),
                now: fields.trace,
            };
            span.extensions_mut().insert(traced);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        let span = context.span(id);
        if let (Some(span), Some(trace)) = (span, fields.trace)
            && let Some(traced) = span.extensions_mut().get_mut::<Traced>()
        {
            traced.now = Some(trace);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let spans = context.event_scope(event).into_iter().flatten();
        let traced = spans.into_iter().find_map(|span| {
            let extensions = span.extensions();
            let traced = extensions.get::<Traced>().filter(|traced| traced.now.is_some())?;
            Some((traced.began.clone(), traced.now.clone()))
        });
        let (began, trace) = traced.unwrap_or_default();
        let line = Line {
            message: fields.message,
            function: fields.function,
            began,
            trace,
        };
        self.0.lock().expect("no panic under the lock").push(line);
    }
}

impl Lines {
    /// Waits for a line that fits, and gives it.
    async fn find(&self, what: &str, fits: impl Fn(&Line) -> bool) -> Line {
        for _ in 0..200 {
            let found = self
                .0
                .lock()
                .expect("no panic under the lock")
                .iter()
                .find(|line| fits(line))
                .cloned();
            if let Some(line) = found {
                return line;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("no log line: {what}")
    }
}

async fn stored(local: &Local, agent: &str, id: &str) -> domain::Task {
    let key = store::TaskKey {
        tenant: domain::Tenant::parse("acme").unwrap(),
        agent: domain::AgentName::parse(agent).unwrap(),
        id: id.parse().unwrap(),
    };
    let now = domain::Clock::now(local.clock.as_ref());
    local
        .system
        .store()
        .tasks()
        .find(&key, now)
        .await
        .unwrap()
        .expect("the task")
        .task
}

#[tokio::test(flavor = "multi_thread")]
async fn one_trace_goes_through_every_hop() {
    let lines = Lines::default();
    tracing_subscriber::registry().with(lines.clone()).init();
    let local = Local::start().await;
    let user = local.user("acme");

    // Chat → host → our own specialist → its push → the receiver → the host's answer.
    let body = json!({ "id": "traced", "messages": [
        { "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "Will it rain in Oslo tomorrow?" }] }] });
    let answer = user.traced(TRACE, "/api/chat", body).await;
    let task = user.until(&answer.task_id(), &["completed"]).await;
    assert_eq!(task["traceId"], TRACE, "{task:#}");
    let remote = stored(&local, "weather", task["remoteTaskId"].as_str().unwrap()).await;
    assert_eq!(remote.trace.map(|trace| trace.trace_id()).as_deref(), Some(TRACE));
    for function in ["chat_api", "host_agent", "webhook_receiver"] {
        // What the span began with is what the caller's header said.
        let of = |line: &Line| line.function.ends_with(function) && line.began.as_deref() == Some(TRACE);
        lines.find(function, of).await;
    }
    for message in [
        "delegation acknowledged",
        "task settled",
        "push delivered",
        "notification taken",
    ] {
        let line = lines.find(message, |line| line.message == message).await;
        assert_eq!(line.trace.as_deref(), Some(TRACE), "{line:?}");
    }

    // A specialist that is not ours gets it with the call; its news belong to the trace though it sends none back.
    let odd = Scripted::start(&local, "calendar", "Am I free on Friday in my calendar?").await;
    let receiver = MockServer::start().await;
    let anything = Mock::given(any()).respond_with(ResponseTemplate::new(204));
    anything.mount(&receiver).await;
    let host = local
        .endpoint("/tenants/acme/host_agent")
        .trim_end_matches('/')
        .to_owned();
    let sent: Value = system_testing::user::http()
        .post(&host)
        .bearer_auth(local.system.token("acme", "somebody", &host).expect("a token"))
        .header("a2a-version", "1.0")
        .header("traceparent", format!("00-{OTHER}-00f067aa0ba902b7-01"))
        .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
            "message": { "messageId": "t", "role": "ROLE_USER", "parts": [{ "text": "Am I free on Friday in my calendar?" }] },
            "configuration": { "returnImmediately": true,
                "taskPushNotificationConfig": { "url": format!("{}/hook", receiver.uri()), "token": "t" } } } }))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let id = sent["result"]["task"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{sent}"));
    let got = odd.nth(1).await;
    assert!(got.traceparent.starts_with(&format!("00-{OTHER}-")), "{got:?}");
    assert!(
        !got.traceparent.contains("00f067aa0ba902b7"),
        "each hop has a parent id of its own: {got:?}"
    );
    odd.reports(&got, "TASK_STATE_COMPLETED", None, Some("You are free."))
        .await;
    let taken = |line: &Line| line.message == "notification taken" && line.trace.as_deref() == Some(OTHER);
    let line = lines.find("the receiver's, of the other trace", taken).await;
    assert_ne!(
        line.began.as_deref(),
        Some(OTHER),
        "its request had none: {line:?}"
    );
    let pushed = async {
        loop {
            let pushed = receiver.received_requests().await.unwrap();
            if let Some(last) = pushed
                .iter()
                .find(|push| String::from_utf8_lossy(&push.body).contains("COMPLETED"))
            {
                return last.clone();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let pushed = tokio::time::timeout(Duration::from_secs(30), pushed)
        .await
        .expect("a push of the end");
    let header = pushed.headers["traceparent"].to_str().unwrap();
    assert!(header.starts_with(&format!("00-{OTHER}-")), "{header}");
    assert_eq!(
        stored(&local, "host", id)
            .await
            .trace
            .map(|trace| trace.trace_id())
            .as_deref(),
        Some(OTHER)
    );
    local.system.stop().await;
}

/// Who wakes a task later knows its trace no more; the worker does.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_the_sweeper_finds_goes_on_under_its_trace() {
    let lines = Lines::default();
    tracing_subscriber::registry().with(lines.clone()).init();
    let local = Local::start().await;
    let user = local.user("acme");
    local.system.lose_wakes(true);
    let id = user.begin_in(TRACE, "hello").await;
    local.system.lose_wakes(false);
    local.advance(Duration::from_secs(40)).await;
    user.until(&id, &["completed"]).await;
    let line = lines
        .find("task settled", |line| line.message == "task settled")
        .await;
    assert_eq!(line.trace.as_deref(), Some(TRACE), "{line:?}");
    local.system.stop().await;
}
