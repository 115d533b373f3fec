//! The pure rules of tokens: signing and verifying JWTs (ES256), sealing secrets at rest, webhook tokens.
//!
//! Nothing here opens a socket, reads a clock or a file: keys, time and chance are parameters.

mod key;
mod refusal;
mod seal;
pub mod token;
mod verify;

pub use key::{Grant, KeyError, SigningKey};
pub use refusal::{Refusal, bearer};
pub use seal::{SealError, Sealer};
pub use verify::{TrustedIssuer, Verified, Verifier};
