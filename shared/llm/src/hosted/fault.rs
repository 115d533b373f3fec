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
    /// The same, where one more word may help.
    #[error("its answer is malformed: {0}")]
    Malformed(String),
    /// It does not know something that we sent, and will not be sent it again.
    #[error("it does not know {0}, which is left out from now on")]
    Unknown(&'static str),
    /// The prompt is longer than it takes.
    #[error("the prompt is too long for it")]
    TooLong,
    /// It is being loaded, and answers soon.
    #[error("it is starting")]
    Starting,
}

/// How providers say that a prompt is longer than they take, and that a model is being loaded.
const TOO_LONG: [&str; 6] = [
    "context_length",
    "context length",
    "context size",
    "context window",
    "exceed_context",
    "too long",
];
const LOADING: &str = "loading model";
/// How Azure says that its filter takes no such prompt: nobody's fault but the words'.
const FILTERED: &str = "content_filter";

impl Fault {
    /// What heals by itself or by less, by a refusal's own words: these are for decisions, and repeated nowhere.
    pub(crate) fn of_words(status: u16, words: &str) -> Option<Self> {
        let lower = words.to_lowercase();
        let is_too_long = status == 413 || TOO_LONG.iter().any(|said| lower.contains(said));
        match status {
            400 | 413 | 422 if is_too_long => Some(Self::TooLong),
            503 if lower.contains(LOADING) => Some(Self::Starting),
            400 if lower.contains(FILTERED) => Some(Self::Refused(String::new())),
            _ => None,
        }
    }

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
