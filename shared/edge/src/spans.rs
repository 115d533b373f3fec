//! Spans for a collector: OTLP over HTTP in its JSON form (`OTEL_EXPORTER_OTLP_ENDPOINT`).
//!
//! Only our own spans are kept, by their three-part names, with the fields that stand at them; so no token, body or prompt
//! can be among them. They wait in memory until [`flush`], which whoever ends an invocation awaits: a frozen sandbox holds
//! none back. `docs/decisions/spans.md` says why this is not OpenTelemetry's SDK.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use domain::trace::{TraceParent, enter_span, exit_span};
use domain::{Entropy, SystemEntropy};
use http::HeaderMap;
use outbound::{CallError, Outbound, Policy, below};
use serde_json::{Value, json};
use tokio::time::timeout_at;
use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber as _;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::NoSubscriber;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;
use url::Url;

use crate::collector::Collector;

/// Spans that wait at most; beyond, the oldest are given up.
const MOST: usize = 4_096;
/// Spans of one request.
const AT_ONCE: usize = 512;
/// How long an invocation waits for the collector at most, however many spans there are.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long nobody waits for a collector that did not take the last spans.
const REST: Duration = Duration::from_secs(30);
/// Whose log lines say what came of a whole request or message: it is told of its span, too.
const ENDS: [&str; 2] = ["edge::front", "edge::batch"];

/// The exporter of this process, where it has one.
static EXPORTER: OnceLock<Arc<Exporter>> = OnceLock::new();

/// Where spans go.
struct Exporter {
    outbound: Outbound,
    url: Url,
    headers: HeaderMap,
    service: String,
    done: Mutex<VecDeque<Value>>,
    /// Until when nothing is sent to a collector that did not answer.
    rests: Mutex<Option<Instant>>,
}

/// Collects the spans of a subscriber.
struct Spans(Arc<Exporter>);

/// A span that has not ended.
struct Open {
    own: TraceParent,
    parent: Option<TraceParent>,
    began: SystemTime,
    fields: Fields,
    failed: bool,
}

/// The field that names a span otherwise than its place in the code does, where a convention wants so.
const NAME: &str = "otel.name";

/// Fields as OTLP's attributes.
#[derive(Default)]
struct Fields(Vec<Value>);

impl Fields {
    fn add(&mut self, field: &Field, value: Value) {
        if field.name() != "message" {
            self.0.push(json!({ "key": field.name(), "value": value }));
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, json!({ "stringValue": value }));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, json!({ "boolValue": value }));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        // Whole numbers of 64 bits are strings in protobuf's JSON.
        self.add(field, json!({ "intValue": value.to_string() }));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, json!({ "intValue": value.to_string() }));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.add(field, json!({ "stringValue": format!("{value:?}") }));
    }
}

/// Our own spans, which are named `room.thing.action`, and the log lines that say something of them.
fn concern(about: &Metadata<'_>) -> bool {
    match about.is_span() {
        true => about.name().split('.').count() == 3,
        false => *about.level() == Level::ERROR || ENDS.contains(&about.target()),
    }
}

/// OTLP's number for what a span is to its parent.
fn kind(name: &str) -> u8 {
    match name {
        "edge.request.answer" => 2,                       // SERVER
        "outbound.http.exchange" | "llm.model.chat" => 3, // CLIENT
        "agent.wake.send" => 4,                           // PRODUCER
        "edge.message.handle" => 5,                       // CONSUMER
        _ => 1,                                           // INTERNAL
    }
}

fn nanoseconds(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().to_string()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a span's times are the real ones, whatever clock the system runs on, and finer than a timestamp's"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Starts collecting for this collector, once in a process.
pub(crate) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(collector: &Collector) -> impl Layer<S> {
    // The collector is the operator's word, and usually a neighbour in the same sandbox.
    let policy = Policy {
        allow_loopback: true,
        timeout: PATIENCE,
        connect_timeout: PATIENCE,
        ..Policy::default()
    };
    let exporter = EXPORTER.get_or_init(|| {
        Arc::new(Exporter {
            outbound: Outbound::new(policy, Arc::new(SystemEntropy)),
            url: below(&collector.endpoint, "v1/traces"),
            headers: collector.headers.0.clone(),
            service: collector.service.clone(),
            done: Mutex::default(),
            rests: Mutex::default(),
        })
    });
    let concern = filter_fn(concern).with_max_level_hint(Level::DEBUG);
    Spans(Arc::clone(exporter)).with_filter(concern)
}

/// True where spans are collected.
#[must_use]
pub fn is_collecting() -> bool {
    EXPORTER.get().is_some()
}

/// Sends the spans that have ended; returns at once where none are collected.
pub async fn flush() {
    let Some(exporter) = EXPORTER.get() else { return };
    if exporter.rests().is_some_and(|until| Instant::now() < until) {
        return;
    }
    // The exchange with the collector is itself no span.
    let sent = exporter.flush().with_subscriber(NoSubscriber::new()).await;
    if let Err(error) = sent {
        *exporter.rests() = Some(Instant::now() + REST);
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "spans did not reach the collector"
        );
    }
}

/// Sends them every so often, for a process that never ends an invocation.
pub async fn flush_every(pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        flush().await;
    }
}

impl Exporter {
    async fn flush(&self) -> Result<(), CallError> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let spans: Vec<Value> = {
                let mut done = self.done();
                let count = done.len().min(AT_ONCE);
                done.drain(..count).collect()
            };
            if spans.is_empty() {
                return Ok(());
            }
            let body = self.request(&spans);
            let sent = self.outbound.post(&self.url, &body, &self.headers);
            let sent = timeout_at(deadline, sent).await;
            if let Err(error) = sent.unwrap_or(Err(CallError::Timeout)) {
                // They go with the next ones.
                let mut done = self.done();
                for span in spans.into_iter().rev() {
                    done.push_front(span);
                }
                return Err(error);
            }
        }
    }

    fn request(&self, spans: &[Value]) -> Value {
        let resource = json!([{ "key": "service.name", "value": { "stringValue": self.service } }]);
        let scope = json!({ "name": "switchyard", "version": env!("CARGO_PKG_VERSION") });
        json!({ "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{ "scope": scope, "spans": spans }],
        }] })
    }

    fn rests(&self) -> MutexGuard<'_, Option<Instant>> {
        self.rests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self) -> MutexGuard<'_, VecDeque<Value>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let entropy: &dyn Entropy = &SystemEntropy;
        let parent = TraceParent::current();
        let own = parent
            .as_ref()
            .map_or_else(|| TraceParent::random(entropy), |parent| parent.child(entropy));
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(Open {
            own,
            parent,
            began: now(),
            fields,
            failed: false,
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            values.record(&mut open.fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if let Some(span) = context.lookup_current()
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            open.failed |= *event.metadata().level() == Level::ERROR;
            if ENDS.contains(&event.metadata().target()) {
                event.record(&mut open.fields);
            }
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions().get::<Open>()
        {
            enter_span(open.own.clone());
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if context
            .span(id)
            .is_some_and(|span| span.extensions().get::<Open>().is_some())
        {
            exit_span();
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(mut open) = span.extensions_mut().remove::<Open>() else {
            return;
        };
        let is_name = |field: &mut Value| field.get("key").is_some_and(|key| key == NAME);
        let named = open.fields.0.extract_if(.., is_name).next();
        let named = named
            .as_ref()
            .and_then(|field| field.pointer("/value/stringValue")?.as_str());
        let told = json!({
            "traceId": open.own.trace_id(),
            "spanId": open.own.span_id(),
            // Empty is none.
            "parentSpanId": open.parent.map(|parent| parent.span_id()).unwrap_or_default(),
            "name": named.unwrap_or(span.name()),
            "kind": kind(span.name()),
            "startTimeUnixNano": nanoseconds(open.began),
            "endTimeUnixNano": nanoseconds(now()),
            "attributes": open.fields.0,
            // UNSET or ERROR.
            "status": { "code": if open.failed { 2 } else { 0 } },
        });
        let mut done = self.0.done();
        if done.len() >= MOST {
            done.pop_front();
        }
        done.push_back(told);
    }
}
