//! When executors start: the worker measures it (`StartDelay`) on the log, in the span of the wake it works on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use agent::measure::METRICS;
use domain::TaskId;
use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The measurement that says so.
const STARTED: &str = "StartDelay";

/// When the executor of each task started first.
#[derive(Clone, Default)]
pub(crate) struct Starts(Arc<Mutex<HashMap<TaskId, Instant>>>);

impl Starts {
    /// Listens to the log of this process from now on.
    pub(crate) fn listen() -> Self {
        let starts = Self::default();
        let wanted = |about: &Metadata<'_>| about.is_span() || about.target() == METRICS;
        tracing_subscriber::registry()
            .with(Ears(starts.clone()).with_filter(filter_fn(wanted)))
            .init();
        starts
    }

    /// When that task's executor started.
    pub(crate) fn of(&self, task: TaskId) -> Option<Instant> {
        self.0
            .lock()
            .expect("no panic under the lock")
            .get(&task)
            .copied()
    }
}

struct Ears(Starts);

/// What a span says of its task.
struct Of(TaskId);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Ears {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut found = Found::default();
        attributes.record(&mut found);
        if let (Some(span), Some(task)) = (context.span(id), found.task) {
            span.extensions_mut().insert(Of(task));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut found = Found::default();
        event.record(&mut found);
        if found.metric.as_deref() != Some(STARTED) {
            return;
        }
        let now = Instant::now();
        let spans = context.event_scope(event).into_iter().flatten();
        let task = spans
            .into_iter()
            .find_map(|span| span.extensions().get::<Of>().map(|of| of.0));
        if let Some(task) = task {
            let mut starts = self.0.0.lock().expect("no panic under the lock");
            starts.entry(task).or_insert(now);
        }
    }
}

#[derive(Default)]
struct Found {
    task: Option<TaskId>,
    metric: Option<String>,
}

impl Visit for Found {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "metric" {
            self.metric = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "task.id" {
            self.task = TaskId::parse(&format!("{value:?}")).ok();
        }
    }
}
