//! The signature algorithms that are known here. There is no symmetric one and no `none`, so that no configuration and
//! no header can choose them.

use serde::{Deserialize, Serialize};

/// How a token is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256, the default.
    #[serde(rename = "ES256")]
    Es256,
    /// RSA (PKCS#1 v1.5) with SHA-256, for clients that know nothing else.
    #[serde(rename = "RS256")]
    Rs256,
}

impl Algorithm {
    /// Its name in headers and keys (RFC 7518).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }
}
