//! Logs: JSON lines on standard output, readable text on a terminal.

use std::io::IsTerminal;
use std::panic::PanicHookInfo;
use std::str::FromStr;

use agent::measure::METRICS;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{FilterExt as _, ParseError, filter_fn};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::metrics::EmbeddedMetrics;

/// Which log lines are written, such as `info,host_agent=debug`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter(String);

impl Default for LogFilter {
    fn default() -> Self {
        Self("info".to_owned())
    }
}

impl FromStr for LogFilter {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        EnvFilter::try_new(text).map(|_| Self(text.to_owned()))
    }
}

/// Starts logging for the process, and writing metrics where the log is read by a machine. A second call changes
/// nothing.
pub fn init(filter: &LogFilter) {
    let terminal = std::io::stdout().is_terminal();
    let logged = EnvFilter::new(&filter.0).and(filter_fn(|about| about.target() != METRICS));
    let lines = tracing_subscriber::fmt::layer();
    let started = if terminal {
        tracing_subscriber::registry()
            .with(lines.with_filter(logged))
            .try_init()
    } else {
        let lines = lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false);
        tracing_subscriber::registry()
            .with(lines.with_filter(logged))
            .with(EmbeddedMetrics.with_filter(filter_fn(|about| about.target() == METRICS)))
            .try_init()
    };
    if started.is_ok() && !terminal {
        std::panic::set_hook(Box::new(log_panic));
    }
}

/// One line instead of text across several. Where, not what: the words of a panic may quote what a client sent.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string);
    tracing::error!(location = location.as_deref().unwrap_or("unknown"), "panicked");
}
