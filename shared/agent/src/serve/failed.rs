//! What an operation comes to where it does not succeed.

use a2a::A2aError;

use super::caller::Refused;

/// Why an operation was refused.
pub(crate) enum Failed {
    /// In the protocol's words.
    Error(A2aError),
    /// The request's body is of a media type that is not read here at all.
    NotJson,
    /// The caller has to show credentials first.
    Refused(Refused),
}

impl From<A2aError> for Failed {
    fn from(error: A2aError) -> Self {
        Self::Error(error)
    }
}
