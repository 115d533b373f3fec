//! Logs: JSON lines on standard output, readable text on a terminal.

use std::io::IsTerminal;
use std::panic::PanicHookInfo;
use std::str::FromStr;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

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

/// Starts logging for the process. A second call changes nothing.
pub fn init(filter: &LogFilter) {
    let terminal = std::io::stdout().is_terminal();
    let lines = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(&filter.0));
    let started = if terminal {
        lines.try_init()
    } else {
        lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
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
