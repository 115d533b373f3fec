//! Where a job's agent is called, and with which token it answers.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

/// The protocol generation an agent speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Generation {
    /// A2A 0.3.x.
    #[serde(rename = "0.3")]
    V0_3,
    /// A2A 1.0.
    #[serde(rename = "1.0")]
    V1_0,
}

/// The binding an agent is called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transport {
    /// JSON-RPC 2.0 over HTTP.
    #[serde(rename = "JSONRPC")]
    JsonRpc,
    /// The REST binding.
    #[serde(rename = "HTTP+JSON")]
    Rest,
    /// JSON-RPC 2.0 over MQTT 5; the URL is the agent's request topic below its broker.
    #[serde(rename = "MQTTv5+JSONRPCv2")]
    Mqtt,
}

/// Where and how an agent is called: one interface of its card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The interface's URL.
    pub url: Url,
    /// Its protocol generation.
    pub generation: Generation,
    /// Its binding.
    pub transport: Transport,
    /// The interface's opaque `tenant`, echoed with every call (A2A 1.0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The audience of tokens for the agent, where that is another URL: the interface over HTTP of an agent that is called by
    /// another binding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Url>,
}

impl Endpoint {
    /// The audience of tokens for the agent (RFC 8707).
    #[must_use]
    pub fn audience(&self) -> &Url {
        self.resource.as_ref().unwrap_or(&self.url)
    }
}

/// A secret token at rest: its hash to check against, and sealed so that a resend is byte-identical.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedToken {
    /// SHA-256 of the token, base64url.
    pub hash: String,
    /// The token sealed, base64url. None once its job is over: nothing is sent any more, and what comes late is still
    /// known by the hash.
    #[serde(serialize_with = "text_or_empty", deserialize_with = "none_if_empty")]
    pub sealed: Option<String>,
}

/// Release 0.2 wants a text here.
fn text_or_empty<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text.as_deref().unwrap_or_default())
}

fn none_if_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

impl std::fmt::Debug for SealedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealedToken(***)")
    }
}
