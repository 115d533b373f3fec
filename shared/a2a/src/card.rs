//! Agent cards: the one document that our agents publish for both generations, and what we read of others'.

mod inputs;
mod oauth;
mod read;
mod sign;
mod write;

use domain::{Endpoint, Metadata, Tag};
use serde_json::Value;
use url::Url;

pub use inputs::{INPUTS, inputs};
pub use read::parse;
pub use sign::{JwsSignature, Signature, Verdict, etag, matches, sign, signatures, verify};
pub use write::{document, encode};

/// What one of our agents publishes of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// Its name.
    pub name: String,
    /// What it does, for people and models.
    pub description: String,
    /// Its own version.
    pub version: String,
    /// Where it is called, JSON-RPC and REST alike.
    pub url: Url,
    /// Its interface over MQTT, where it is on a broker as well.
    pub mqtt: Option<Url>,
    /// Where it is documented.
    pub documentation_url: Option<Url>,
    /// Who runs it.
    pub provider: Option<Provider>,
    /// What it can do.
    pub skills: Vec<Skill>,
    /// Media types it reads, unless a skill says otherwise.
    pub default_input_modes: Vec<String>,
    /// Media types it writes, unless a skill says otherwise.
    pub default_output_modes: Vec<String>,
    /// It streams.
    pub streaming: bool,
    /// It pushes.
    pub push_notifications: bool,
    /// It has an extended card for authenticated callers.
    pub extended: bool,
    /// What it can do beyond the protocol.
    pub extensions: Vec<Extension>,
    /// It wants a bearer token; `None` where it is open.
    pub secured: Option<Bearer>,
}

/// An extension of the protocol that an agent has (A2A 1.0, 4.6).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extension {
    /// What it is called by, version included.
    pub uri: String,
    /// How the agent uses it, for people.
    pub description: String,
    /// Calls that do not name it are refused.
    pub required: bool,
    /// What the extension itself wants to be told.
    pub params: Metadata,
}

/// Who runs an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The organization's name.
    pub organization: String,
    /// Its site.
    pub url: Url,
}

/// One thing that an agent can do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skill {
    /// Unique within the card.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does, for people and models.
    pub description: String,
    /// What it is found by; `key:value` here.
    pub tags: Vec<String>,
    /// Prompts that fit it.
    pub examples: Vec<String>,
    /// Media types it reads; empty means the card's.
    pub input_modes: Vec<String>,
    /// Media types it writes; empty means the card's.
    pub output_modes: Vec<String>,
}

/// The bearer token that an agent wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bearer {
    /// What to tell people of it.
    pub description: Option<String>,
    /// The scopes it must have.
    pub scopes: Vec<String>,
    /// Where a user's token is to be had; `None` where callers know of themselves.
    pub oauth: Option<OAuth>,
}

/// The authorization server that issues tokens for an agent, by authorization code with PKCE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuth {
    /// The server's issuer identifier, to the letter.
    pub issuer: String,
    /// Where the user is sent.
    pub authorization_url: Url,
    /// Where codes and refresh tokens are exchanged.
    pub token_url: Url,
    /// Where the server describes itself (RFC 8414).
    pub metadata_url: Url,
    /// What each scope allows, in words for people.
    pub scopes: Vec<(String, String)>,
}

/// What we read of a card that somebody else wrote. Its texts are untrusted.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignCard {
    /// Its name.
    pub name: String,
    /// What it says it does.
    pub description: String,
    /// Its own version.
    pub version: String,
    /// What it says it can do.
    pub skills: Vec<ForeignSkill>,
    /// Where it is called, by its own preference; only bindings that we speak. Never empty.
    pub endpoints: Vec<Endpoint>,
    /// What is wrong with interfaces beside those, which cannot be called.
    pub unusable: Vec<String>,
    /// It says that it pushes.
    pub push_notifications: bool,
    /// It says that it streams.
    pub streaming: bool,
    /// It says that it takes JSON beside words.
    pub takes_data: bool,
    /// The media types that it says it takes, for whatever skill; none where it does not say.
    pub input_modes: Vec<String>,
    /// It says that its users may be connected through it ([`crate::CONNECTIONS`]).
    pub connects: bool,
    /// It says that its links for consent take a proof of the starter's browser ([`crate::CONSENT`]).
    pub takes_proof: bool,
    /// It asks for credentials of some kind.
    pub secured: bool,
    /// How it says that a user's token is to be had, where that is one of the ways it offers.
    pub oauth: Option<ForeignOAuth>,
    /// Where it is documented.
    pub documentation_url: Option<Url>,
}

/// How somebody else's agent says that a user's token for it is to be had. Its addresses are untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForeignOAuth {
    /// Where the authorization server describes itself: RFC 8414 or OpenID Connect discovery.
    pub metadata_url: Option<Url>,
    /// Where the user is sent.
    pub authorization_url: Option<Url>,
    /// Where codes are exchanged.
    pub token_url: Option<Url>,
    /// Where refresh tokens are exchanged, if elsewhere.
    pub refresh_url: Option<Url>,
    /// The scopes that a token must have.
    pub scopes: Vec<String>,
}

/// One thing that somebody else's agent says it can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSkill {
    /// Unique within the card.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it says it does.
    pub description: String,
    /// Its tags of the form `key:value`.
    pub tags: Vec<Tag>,
    /// Its other tags.
    pub plain_tags: Vec<String>,
    /// Prompts that fit it.
    pub examples: Vec<String>,
    /// What it takes as data, as a JSON Schema, where the card says so ([`INPUTS`]).
    pub input: Option<Value>,
}

/// Why a document is no card that we can use; the reasons can be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .reasons.join("; "))]
pub struct CardFault {
    /// Each thing that is wrong.
    pub reasons: Vec<String>,
}
