//! Metrics: what agents measure ([`agent::measure`]) as CloudWatch's embedded metric format, one JSON line each on
//! standard output, from which CloudWatch makes metrics without a call of ours.

use agent::measure::METRICS;
use domain::{Clock as _, SystemClock, Timestamp};
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// Writes measurements; everything else passes by.
pub struct EmbeddedMetrics {
    /// Their namespace in CloudWatch, which tells the stages of an account apart.
    pub namespace: String,
}

impl<S: Subscriber> Layer<S> for EmbeddedMetrics {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != METRICS {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        if let Some(line) = line(&self.namespace, fields.0, SystemClock.now()) {
            write(&line);
        }
    }
}

#[expect(
    clippy::print_stdout,
    reason = "standard output is where CloudWatch reads from"
)]
fn write(line: &Value) {
    println!("{line}");
}

/// The line for a measurement's fields; `None` where they are none.
fn line(namespace: &str, mut fields: Map<String, Value>, now: Timestamp) -> Option<Value> {
    let (Value::String(name), value, unit) = (
        fields.remove("metric")?,
        fields.remove("value")?,
        fields.remove("unit")?,
    ) else {
        return None;
    };
    // What is left tells them apart: few values each, because every combination is a metric of its own.
    let dimensions: Vec<&String> = fields.keys().collect();
    let about = json!({
        "Timestamp": now.millis(),
        "CloudWatchMetrics": [{
            "Namespace": namespace,
            "Dimensions": [dimensions],
            "Metrics": [{"Name": name, "Unit": unit}],
        }],
    });
    fields.insert("_aws".to_owned(), about);
    fields.insert(name, value);
    Some(Value::Object(fields))
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), json!(value));
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }
    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {
        // Not a number, and no dimension: its values would be without end.
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Heard(Arc<Mutex<Vec<Value>>>);

    impl<S: Subscriber> Layer<S> for Heard {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let mut fields = Fields::default();
            event.record(&mut fields);
            let line = line("Switchyard/prod", fields.0, Timestamp::from_millis(7));
            self.0.lock().unwrap().extend(line);
        }
    }

    #[test]
    fn a_measurement_is_a_line_that_cloudwatch_understands() {
        let heard = Heard::default();
        let agent = domain::AgentName::parse("weather").unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(heard.clone()), || {
            agent::measure::record("TasksCompleted", 1, "Count", &agent);
            tracing::info!(task.id = "x", "no measurement");
        });
        let expect = json!({
            "_aws": {
                "Timestamp": 7,
                "CloudWatchMetrics": [{
                    "Namespace": "Switchyard/prod",
                    "Dimensions": [["agent"]],
                    "Metrics": [{"Name": "TasksCompleted", "Unit": "Count"}],
                }],
            },
            "agent": "weather",
            "TasksCompleted": 1,
        });
        assert_eq!(*heard.0.lock().unwrap(), [expect]);
    }
}
