//! Why one attempt brought no answer, in the classes that decide what is done next.

use std::time::Duration;

use outbound::CallError;

/// Why one attempt brought no answer. The causes are for the log: they hold statuses and codes, never what a server said
/// in its own words, which may repeat the key or the prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Its provider is overloaded, or we ask too much.
    #[error("it is busy: {cause}")]
    Busy {
        /// How long it wants to be left alone, where it says so.
        wait: Option<Duration>,
        /// For the log.
        cause: String,
    },
    /// The connection or the stream broke, fell silent, or was not understood.
    #[error("no whole answer came: {0}")]
    Broken(String),
    /// Our request is not taken, and the same one never will be.
    #[error("it does not take our request: {0}")]
    Denied(String),
    /// The model will not answer this; with its own words, for the user.
    #[error("it refuses to answer")]
    Refused(String),
    /// What came is an answer, but none that can be used.
    #[error("its answer cannot be used: {0}")]
    Unusable(String),
}

impl Fault {
    /// By the status of an answer that is no stream.
    pub(crate) fn of_status(status: u16, wait: Option<Duration>, code: &str) -> Self {
        let code = word(code);
        let cause = match code.is_empty() {
            true => format!("HTTP status {status}"),
            false => format!("HTTP status {status}, {code}"),
        };
        match status {
            408 | 409 | 425 | 429 | 500..=599 => Self::Busy { wait, cause },
            200..=299 => Self::Broken(format!("{cause} without a stream")),
            _ => Self::Denied(cause),
        }
    }
}

impl From<CallError> for Fault {
    fn from(error: CallError) -> Self {
        match error {
            // The guard's own words, about an address of the operator's.
            CallError::NotAllowed(reason) => Self::Denied(reason),
            CallError::TooLarge(bytes) => Self::Unusable(format!("it is larger than {bytes} bytes")),
            error => Self::Broken(error.to_string()),
        }
    }
}

/// A provider's code as one short word: nothing else of what it says is repeated.
pub(crate) fn word(code: &str) -> String {
    let is_code = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_word = code.len() <= 40 && code.chars().all(|c| is_code(&c));
    // A key is longer than any code, or has digits in it.
    let letters = code.chars().filter(char::is_ascii_digit).count() <= 3;
    if is_word && letters {
        code.to_owned()
    } else {
        String::new()
    }
}
