//! Every metric of a task's life is written where it happens: acknowledged, started, retried, resumed, timed out,
//! delivered, parked, and the time in each state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::measure::METRICS;
use serde_json::{Value, json};
use system_testing::Local;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use wiremock::matchers::{any, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::scripted::Scripted;

const PROMPT: &str = "Am I free on Friday in my calendar?";

/// By metric and agent, how many measurements there were, and their sum.
type Sums = BTreeMap<(String, String), (u64, u64)>;

/// The measurements of the process.
#[derive(Clone, Default)]
struct Measurements(Arc<Mutex<Sums>>);

#[derive(Default)]
struct Fields {
    metric: String,
    agent: String,
    value: u64,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "metric" => value.clone_into(&mut self.metric),
            "agent" => value.clone_into(&mut self.agent),
            _ => {}
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "value" {
            self.value = value;
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl<S: Subscriber> Layer<S> for Measurements {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != METRICS {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut measurements = self.0.lock().expect("no panic under the lock");
        let known = measurements.entry((fields.metric, fields.agent)).or_default();
        *known = (known.0 + 1, known.1 + fields.value);
    }
}

impl Measurements {
    /// How many there are of this metric of this agent, and their sum.
    fn of(&self, metric: &str, agent: &str) -> (u64, u64) {
        let measurements = self.0.lock().expect("no panic under the lock");
        measurements
            .get(&(metric.to_owned(), agent.to_owned()))
            .copied()
            .unwrap_or_default()
    }

    /// Waits until there is one.
    async fn wait(&self, metric: &str, agent: &str) -> (u64, u64) {
        for _ in 0..200 {
            let found = self.of(metric, agent);
            if found.0 > 0 {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!(
            "no {metric} of {agent}: {:?}",
            self.0.lock().expect("no panic under the lock")
        )
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_metric_of_a_tasks_life_is_written() {
    let measured = Measurements::default();
    tracing_subscriber::registry().with(measured.clone()).init();
    let local = Local::start().await;
    let user = local.user("acme");

    // A walk as it should be: the host's own times, and the specialist's delivery.
    let asked = user.ask("Will it rain in Oslo tomorrow?").await;
    user.until(&asked.task_id(), &["completed"]).await;
    for (metric, agent) in [
        ("TasksAcknowledged", "host"),
        ("TasksAcknowledged", "weather"),
        ("StartDelay", "host"),
        ("StartDelay", "weather"),
        ("TasksCompleted", "host"),
        ("TasksCompleted", "weather"),
        ("TimeSubmitted", "host"),
        ("TimeWorking", "host"),
        ("TimeWorking", "weather"),
    ] {
        assert_eq!(
            measured.wait(metric, agent).await.0,
            1,
            "{metric} of {agent}, once"
        );
    }
    measured.wait("PushesDelivered", "weather").await;

    // A question back.
    let asked = user
        .chat("where", "m1", "What will the weather be tomorrow?")
        .await;
    user.until(&asked.task_id(), &["input-required"]).await;
    local.clock.advance(Duration::from_secs(5));
    user.chat("where", "m2", "Bergen").await;
    user.until(&asked.task_id(), &["completed"]).await;
    let (times, sum) = measured.wait("TimeInputRequired", "host").await;
    assert!(times == 1 && sum >= 5_000, "{times} times, {sum} ms");

    // A specialist that waits for a consent of its own, then is silent for too long, then reports: the receiver moves the
    // task out of each of these states.
    let odd = Scripted::start(&local, "calendar", PROMPT).await;
    let (asked, sent) = tokio::join!(user.chat("c", "m1", PROMPT), async {
        let sent = odd.nth(1).await;
        odd.reports(&sent, "TASK_STATE_AUTH_REQUIRED", Some("Please allow it."), None)
            .await;
        sent
    });
    let id = asked.task_id();
    user.until(&id, &["auth-required"]).await;
    local.clock.advance(Duration::from_secs(7));
    odd.reports(&sent, "TASK_STATE_WORKING", Some("Looking"), None)
        .await;
    let (times, sum) = measured.wait("TimeAuthRequired", "host").await;
    assert!(
        times == 1 && sum >= 7_000,
        "the receiver moved it: {times} times, {sum} ms"
    );
    for _ in 0..40 {
        local.advance(Duration::from_secs(120)).await;
        if user.task(&id).await["status"] == "unknown" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    user.until(&id, &["unknown"]).await;
    assert_eq!(measured.wait("TasksTimedOut", "host").await, (1, 1));
    local.clock.advance(Duration::from_secs(9));
    odd.reports(&sent, "TASK_STATE_WORKING", Some("Still here"), None)
        .await;
    let (times, sum) = measured.wait("TimeUnknown", "host").await;
    assert!(times == 1 && sum >= 9_000, "{times} times, {sum} ms");

    // The answer to its question does not reach it at first: the attempt is tried again, and somebody goes on with it.
    odd.reports(&sent, "TASK_STATE_INPUT_REQUIRED", Some("Which Friday?"), None)
        .await;
    user.until(&id, &["input-required"]).await;
    odd.is_away(true);
    tokio::join!(user.chat("c", "m2", "The next one"), async {
        measured.wait("AttemptsRetried", "host").await;
        odd.is_away(false);
        for _ in 0..100 {
            if odd.sent().len() > 1 {
                break;
            }
            local.advance(Duration::from_secs(5)).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        odd.reports(&sent, "TASK_STATE_COMPLETED", None, Some("You are free."))
            .await;
    });
    user.until(&id, &["completed"]).await;
    assert!(measured.of("TasksResumed", "host").0 >= 1);

    pushes(&local, &measured).await;
    local.system.stop().await;
}

/// One receiver fails and is asked again, one is gone.
async fn pushes(local: &Local, measured: &Measurements) {
    let receiver = MockServer::start().await;
    let gone = Mock::given(path("/gone")).respond_with(ResponseTemplate::new(410));
    gone.mount(&receiver).await;
    let fails = Mock::given(any()).respond_with(ResponseTemplate::new(503));
    fails.mount(&receiver).await;
    let host = local
        .endpoint("/tenants/acme/host_agent")
        .trim_end_matches('/')
        .to_owned();
    let token = local.system.token("acme", "somebody", &host).expect("a token");
    for place in ["fails", "gone"] {
        let hook = format!("{}/{place}", receiver.uri());
        let sent: Value = system_testing::user::http()
            .post(&host)
            .bearer_auth(&token)
            .header("a2a-version", "1.0")
            .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
                "message": { "messageId": place, "role": "ROLE_USER", "parts": [{ "text": "hello" }] },
                "configuration": { "returnImmediately": true, "taskPushNotificationConfig": { "url": hook, "token": "t" } } } }))
            .send()
            .await
            .expect("an answer")
            .json()
            .await
            .expect("JSON");
        assert!(sent["result"]["task"]["id"].is_string(), "{sent}");
    }
    measured.wait("PushesRetried", "host").await;
    assert_eq!(measured.wait("PushesParked", "host").await, (1, 1));
}
