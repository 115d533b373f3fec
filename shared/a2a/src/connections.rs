//! Our extension of the protocol for agents that act at others in their users' names: where a user is connected, and the
//! end of that.

use domain::Timestamp;
use serde::{Deserialize, Serialize};

use crate::card::Extension;

/// What the extension is called by. An agent whose card has it serves, below its URL and to its callers' own tokens,
/// `GET /connections`, which answers with [`Connections`], and `DELETE /connections/{id}`, which ends one of these and answers
/// with [`Disconnected`], or 404 where the caller has none of that id.
pub const CONNECTIONS: &str = "urn:switchyard:a2a:connections:v1";

/// Ends every connection of the caller's, and whatever is still asked for: `DELETE /connections/all` at a host. No provider is called
/// so.
pub const EVERY_CONNECTION: &str = "all";

/// Longest id of a connection.
const ID_MAX: usize = 200;

/// The extension as a card names it.
#[must_use]
pub fn connections_extension() -> Extension {
    Extension {
        uri: CONNECTIONS.to_owned(),
        description: "GET /connections lists where the caller is connected through this agent; DELETE /connections/{id} ends \
                      one, here and at the provider."
            .to_owned(),
        ..Extension::default()
    }
}

/// Where a user has let agents act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// What it is ended by: good for the caller it was told, and no secret.
    pub id: String,
    /// Who has granted it.
    pub provider: String,
    /// The account there, where that is known.
    #[serde(default)]
    pub account: Option<String>,
    /// What it allows.
    pub scopes: Vec<String>,
    /// Whose it is: the name of an agent with connections of its own; none where it is the answering agent's.
    #[serde(default)]
    pub agent: Option<String>,
    /// How many agents are called with it.
    pub agents: usize,
    /// Since when.
    pub connected_at: Timestamp,
    /// When it was used last, as far as its provider was asked for a token: to the life of one, an hour or less as a rule.
    pub last_used_at: Timestamp,
}

/// Where a user is connected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Connections {
    /// The connections.
    pub connections: Vec<Connection>,
    /// The names of agents that may have more, and did not answer.
    #[serde(default)]
    pub unasked: Vec<String>,
}

/// The end of a connection: it is gone where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disconnected {
    /// Who had granted it.
    pub provider: String,
    /// Whether that one could be told.
    pub revoked: bool,
}

/// Whether a text can be the id of a connection: one segment of a path, without anything that would have to be escaped.
#[must_use]
pub fn is_connection_id(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'~' | b'.');
    (1..=ID_MAX).contains(&text.len()) && !text.starts_with('.') && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_segment_of_a_path() {
        for id in ["idp", "google", "0f8fad5b-d9cb~google", "login.example"] {
            assert!(is_connection_id(id), "{id}");
        }
        let long = "x".repeat(ID_MAX + 1);
        for other in ["", ".", "..", "a/b", "a%2fb", "a b", "a?b", "ü", "a#b", &long] {
            assert!(!is_connection_id(other), "{other}");
        }
    }

    #[test]
    fn what_an_agent_leaves_out_is_read() {
        let told = r#"{"connections": [{"id": "g", "provider": "google", "scopes": [], "agents": 1,
            "connectedAt": "2026-01-01T00:00:00.000Z", "lastUsedAt": "2026-01-02T00:00:00.000Z", "more": 7}]}"#;
        let read: Connections = serde_json::from_str(told).unwrap();
        assert_eq!(read.unasked, Vec::<String>::new());
        assert_eq!(read.connections[0].account, None);
        for rubbish in [
            "[]",
            "{}",
            r#"{"connections": [{}]}"#,
            r#"{"connections": "all"}"#,
        ] {
            assert!(serde_json::from_str::<Connections>(rubbish).is_err(), "{rubbish}");
        }
    }
}
