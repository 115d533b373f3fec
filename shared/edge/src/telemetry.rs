//! Logs: JSON lines on standard output, readable text on a terminal. Spans for a collector, where there is one.

use std::io::IsTerminal;
use std::panic::PanicHookInfo;
use std::path::Path;
use std::str::FromStr;
use std::sync::Mutex;

use agent::measure::METRICS;
use store::audit;
use tracing::Level;
pub use tracing_subscriber::filter::ParseError;
use tracing_subscriber::filter::{FilterExt as _, FilterFn, Targets, filter_fn};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::metrics::EmbeddedMetrics;
use crate::spans;

pub use crate::collector::{Collector, Headers};
pub use crate::spans::{flush, flush_every, is_collecting};

/// Which log lines are written, by level and by module, such as `info,host_agent=debug`. Not by what stands in a span:
/// that would bring a regular expression engine into every function.
#[derive(Debug, Clone, PartialEq)]
pub struct LogFilter(Targets);

impl Default for LogFilter {
    fn default() -> Self {
        Self(Targets::new().with_default(tracing::Level::INFO))
    }
}

impl FromStr for LogFilter {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        text.parse().map(Self)
    }
}

/// Starts logging for the process, and writing metrics (in this namespace of CloudWatch) where the log is read by a machine;
/// and collecting spans where they have a collector. A second call changes nothing.
pub fn init(filter: &LogFilter, namespace: &str, collector: Option<&Collector>) {
    let terminal = std::io::stdout().is_terminal();
    // Audit events are no matter of a level.
    let audited =
        FilterFn::new(|about| about.target() == audit::TARGET).with_max_level_hint(tracing::Level::INFO);
    let logged = filter.0.clone().and(filter_fn(is_for_the_log)).or(audited);
    let lines = tracing_subscriber::fmt::layer();
    let started = if terminal {
        tracing_subscriber::registry()
            .with(collector.map(spans::layer))
            .with(lines.with_filter(logged))
            .try_init()
    } else {
        let lines = lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false);
        let metrics = EmbeddedMetrics {
            namespace: namespace.to_owned(),
        };
        tracing_subscriber::registry()
            .with(collector.map(spans::layer))
            .with(lines.with_filter(logged))
            .with(metrics.with_filter(filter_fn(|about| about.target() == METRICS)))
            .try_init()
    };
    if started.is_ok() && !terminal {
        std::panic::set_hook(Box::new(log_panic));
    }
}

/// How log lines of a program on somebody's own machine look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Readable text on standard error, beside what the program itself says.
    Text,
    /// JSON on standard output, for programs.
    Json,
}

/// A kept log over so many bytes is begun anew.
const KEPT_MAX: u64 = 16 * 1024 * 1024;

/// Starts logging for a program that people start: no metrics, which are for CloudWatch alone. A file keeps what is
/// worth knowing as JSON, whatever the filter shows; one that has become large is begun anew.
pub fn init_local(filter: &LogFilter, lines: Lines, collector: Option<&Collector>, kept: Option<&Path>) {
    let logged = filter.0.clone().and(filter_fn(is_for_the_log));
    let layer = tracing_subscriber::fmt::layer();
    let layer = match lines {
        Lines::Text => layer
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .boxed(),
        Lines::Json => layer.json().flatten_event(true).with_span_list(false).boxed(),
    };
    let kept = kept.and_then(|path| {
        let is_large = std::fs::metadata(path).is_ok_and(|file| file.len() > KEPT_MAX);
        let mut open = std::fs::OpenOptions::new();
        let file = open
            .create(true)
            .append(!is_large)
            .write(true)
            .truncate(is_large)
            .open(path)
            .ok()?;
        let layer = tracing_subscriber::fmt::layer().json();
        let layer = layer
            .flatten_event(true)
            .with_span_list(false)
            .with_writer(Mutex::new(file));
        let worth_knowing = Targets::new()
            .with_default(Level::INFO)
            .with_target("dynoxide", Level::ERROR);
        Some(layer.with_filter(worth_knowing.and(filter_fn(is_for_the_log))))
    });
    let _second_call = tracing_subscriber::registry()
        .with(collector.map(spans::layer))
        .with(kept)
        .with(layer.with_filter(logged))
        .try_init();
}

/// Measurements are no lines; and the MCP client's library would write down what people ask, and strangers answer, at
/// every level. What matters of its work is told by who calls it.
fn is_for_the_log(about: &tracing::Metadata<'_>) -> bool {
    let library = about.target().split("::").next() == Some("rmcp");
    about.target() != METRICS && !library
}

/// One line instead of text across several. Where, not what: the words of a panic may quote what a client sent.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string);
    tracing::error!(location = location.as_deref().unwrap_or("unknown"), "panicked");
}
