//! Why a call did not bring an answer; the variants are the decisions a caller can make.

use a2a::A2aError;

/// Why a call did not bring an answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The agent refused it in the protocol's own words.
    #[error("the agent refused the call: {0}")]
    Refused(A2aError),
    /// The agent wants a (better) token: 401.
    #[error("{}", if *.expired { "token has expired" } else { "the agent wants a valid token" })]
    Unauthorized {
        /// The token that was sent is expired or otherwise no longer good: refresh it and try once more.
        expired: bool,
        /// The `WWW-Authenticate` header.
        challenge: Option<String>,
    },
    /// The token is good but may not do this: 403.
    #[error("the agent forbids the call")]
    Forbidden {
        /// The `WWW-Authenticate` header.
        challenge: Option<String>,
    },
    /// The address guard does not let the call out.
    #[error("the address is not allowed: {0}")]
    NotAllowed(String),
    /// No connection, or it broke.
    #[error("the address cannot be reached")]
    Unreachable {
        /// What the client says.
        #[source]
        source: reqwest::Error,
    },
    /// No answer in time.
    #[error("no answer in time")]
    Timeout,
    /// The answer is not what the protocol wants.
    #[error("the answer cannot be used: {0}")]
    BadAnswer(String),
    /// The answer has more bytes than these.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// A status that says all there is to say.
    #[error("the answer was HTTP status {0}")]
    Status(u16),
}

impl CallError {
    /// True where the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout => true,
            Self::Status(status) => matches!(status, 408 | 425 | 429 | 500 | 502..=504),
            // The same message id goes with the next try, so that nothing is done twice.
            Self::Refused(error) => error.code() == A2aError::internal().code(),
            Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::NotAllowed(_)
            | Self::BadAnswer(_)
            | Self::TooLarge(_) => false,
        }
    }
}
