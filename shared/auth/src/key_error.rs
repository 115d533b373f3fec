//! What can be wrong with a key, or with what is said of an issuer's.

/// A key that is unusable.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It could not be made.
    #[error("no key could be made")]
    NotMade,
    /// It is no key that tokens are signed or checked with.
    #[error("not a usable key: {0}")]
    Unusable(&'static str),
    /// It is not a sealing key: 32 bytes, base64url, under a plain name.
    #[error("not a sealing key: {0}")]
    NotSealing(&'static str),
    /// What is said of an issuer contradicts itself.
    #[error("an issuer is described wrongly: {0}")]
    Issuer(&'static str),
    /// One issuer is described in two ways.
    #[error("an issuer is listed in two ways that differ")]
    Contradiction,
    /// It did not sign.
    #[error("the key did not sign")]
    NotSigned,
}
