//! Publications that are dropped: told in the log, and counted.

use std::fmt::Display;

use agent::measure::METRICS;

/// Something for this agent was dropped: told, and counted.
pub(crate) fn dropped(agent: impl Display, reason: &str) {
    // No agent of the platform's measures it: the name is the bridge's own.
    tracing::info!(target: METRICS, metric = "MqttDropped", value = 1, unit = "Count", agent = %agent);
    tracing::info!(mqtt.agent = %agent, reason, "publication dropped");
}

#[cfg(test)]
pub(crate) mod counting {
    use std::fmt::Debug;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tracing::field::{Field, Visit};
    use tracing::subscriber::DefaultGuard;
    use tracing::{Event, Subscriber};
    use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

    use super::METRICS;

    /// What was counted as dropped in this thread, as long as the guard is there.
    #[derive(Clone, Default)]
    pub(crate) struct Dropped(Arc<AtomicUsize>);

    impl Dropped {
        pub(crate) fn begin() -> (Self, DefaultGuard) {
            let dropped = Self::default();
            let subscriber = tracing_subscriber::registry().with(dropped.clone());
            (dropped, tracing::subscriber::set_default(subscriber))
        }

        pub(crate) fn count(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl<S: Subscriber> Layer<S> for Dropped {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let mut named = Named(false);
            event.record(&mut named);
            if event.metadata().target() == METRICS && named.0 {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Whether it is the measurement of drops.
    struct Named(bool);

    impl Visit for Named {
        fn record_str(&mut self, field: &Field, value: &str) {
            self.0 |= field.name() == "metric" && value == "MqttDropped";
        }

        fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
    }
}
