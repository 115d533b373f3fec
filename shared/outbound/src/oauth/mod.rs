//! The client side of OAuth: finding a resource's authorization server, getting tokens, renewing and revoking them.
//!
//! Authorization code with PKCE alone, the client known by its secret, each token for one resource (RFC 8707), as far as the
//! server's [`Dialect`] goes along. What a server refuses ([`OAuthError::Refused`]) is told apart from a server that cannot be asked
//! ([`OAuthError::Call`]): the one wants the user's consent again, the other another try.

mod dialect;
mod discover;
mod token;

use std::collections::BTreeMap;
use std::fmt;

use domain::SecretString;
use serde::{Deserialize, Serialize};

use crate::CallError;

pub use dialect::Dialect;
pub(crate) use discover::appended;
pub use discover::{AuthorizationAsk, ResourceMetadata, ServerMetadata};
pub use token::{CodeExchange, OFFLINE_ACCESS, Refresh, TokenKind, Tokens};

/// The providers that a function has a client at, by their ids, such as `idp`.
pub type Providers = BTreeMap<String, Provider>;

/// An authorization server that we are registered at. The secret goes to the endpoints of this issuer alone, whatever
/// an agent's metadata say.
#[derive(Debug, Clone, Deserialize)]
pub struct Provider {
    /// Its issuer identifier, to the letter.
    pub issuer: String,
    /// What it does otherwise than the standards have it.
    #[serde(default)]
    pub dialect: Dialect,
    /// How people sign in to the chat there, where they do.
    #[serde(default)]
    pub sign_in: SignInTerms,
    /// How we are known there.
    #[serde(flatten)]
    pub client: OAuthClient,
}

/// How people sign in to the chat at a provider that is not our own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SignInTerms {
    /// What the page calls it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The claim of its identity tokens that holds roles or groups: a text or a list of texts. Everybody is a member where there is
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roles_claim: Option<String>,
    /// Which role of ours a value of that claim gives, such as `{"chat-admins": "admin"}`; where it is empty, a value that is called
    /// like a role of ours gives it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, String>,
}

/// A confidential client.
#[derive(Clone, Deserialize)]
pub struct OAuthClient {
    /// Its `client_id`.
    #[serde(rename = "client_id")]
    pub id: String,
    /// Its secret.
    #[serde(rename = "client_secret", deserialize_with = "secret")]
    pub secret: SecretString,
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient")
            .field("id", &self.id)
            .field("secret", &"***")
            .finish()
    }
}

fn secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    String::deserialize(deserializer).map(SecretString::from)
}

/// Why an authorization server did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    /// It answered, and says no (RFC 6749 §5.2).
    #[error("the authorization server refuses: {0}")]
    Refused(OAuthRefusal),
    /// What it says of itself cannot be used.
    #[error("the metadata cannot be used: {0}")]
    Metadata(&'static str),
    /// It cannot be asked, or does not answer as it should.
    #[error("the authorization server cannot be asked")]
    Call(#[from] CallError),
}

/// What an authorization server says when it refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OAuthRefusal {
    /// The code or the refresh token is used up, revoked, expired, or not ours.
    #[error("invalid_grant")]
    InvalidGrant,
    /// It does not know us.
    #[error("invalid_client")]
    InvalidClient,
    /// It does not give these scopes.
    #[error("invalid_scope")]
    InvalidScope,
    /// It does not know this resource (RFC 8707).
    #[error("invalid_target")]
    InvalidTarget,
    /// Anything else, in its own word.
    #[error("{0}")]
    Other(String),
}

impl OAuthRefusal {
    fn read(error: &str) -> Self {
        match error {
            "invalid_grant" => Self::InvalidGrant,
            "invalid_client" => Self::InvalidClient,
            "invalid_scope" => Self::InvalidScope,
            "invalid_target" => Self::InvalidTarget,
            other => Self::Other(
                other
                    .chars()
                    .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .take(40)
                    .collect(),
            ),
        }
    }
}

impl OAuthError {
    /// True where the code or the refresh token is refused for good: only the user's consent brings another.
    #[must_use]
    pub fn is_invalid_grant(&self) -> bool {
        matches!(self, Self::Refused(OAuthRefusal::InvalidGrant))
    }

    /// True where the server is well and says no, in whatever words: asking it the same again brings the same.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// True where the same may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_retryable())
    }
}
