//! Logs: JSON lines on standard output, readable text on a terminal.

use std::io::IsTerminal;
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
    let filter = EnvFilter::new(&filter.0);
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(true);
    let _already_started = if std::io::stdout().is_terminal() {
        lines.try_init()
    } else {
        lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .try_init()
    };
}
