//! Why a tool's call did not bring an answer.

use crate::CallError;

/// Most characters of a server's own words that are kept: they are for logs and people, never for decisions.
const WORDS_MAX: usize = 300;

/// Why a tool's call did not bring an answer; the variants are the decisions a caller can make.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// No usable answer came over HTTP: the address, the time, the size, the status, the form.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The server sends us elsewhere; nobody goes there.
    #[error("the server redirects, which is not followed")]
    Redirected,
    /// The server takes no client of the revisions we speak.
    #[error("the server refused the handshake: {0}")]
    HandshakeRefused(String),
    /// The server forgot the session of this call.
    #[error("the server ended the session")]
    SessionGone,
    /// The stream of the answer ended before the answer.
    #[error("the answer broke off")]
    Cut,
    /// The server has no such tool (any more).
    #[error("the server has no tool {0}")]
    ToolGone(String),
    /// Nobody has read and allowed this tool.
    #[error("the tool {0} is not pinned")]
    NotPinned(String),
    /// The tool is not the one that was read and allowed.
    #[error("the tool {0} has changed since it was pinned")]
    ToolChanged(String),
    /// The tool does not take what we would send.
    #[error("the tool {tool} does not fit: {why}")]
    Misfit {
        /// Which.
        tool: String,
        /// What does not fit.
        why: String,
    },
    /// The tool says that it failed.
    #[error("the tool failed: {0}")]
    Failed(String),
    /// The server refused the call in the protocol's own words.
    #[error("the server refused the call: {0}")]
    Refused(String),
    /// The server asks for something before it answers (a form, a page, a model's words, folders); it gets nothing.
    #[error("the server asks for {0}, which it does not get")]
    Asks(String),
}

impl McpError {
    /// True where the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Call(error) => error.is_retryable(),
            Self::SessionGone | Self::Cut => true,
            _ => false,
        }
    }

    /// True where the server's tools are not those that an operator has allowed.
    #[must_use]
    pub fn is_unpinned(&self) -> bool {
        matches!(self, Self::NotPinned(_) | Self::ToolChanged(_))
    }
}

/// A server's own words, cut short.
pub(super) fn words(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control())
        .take(WORDS_MAX)
        .collect()
}
