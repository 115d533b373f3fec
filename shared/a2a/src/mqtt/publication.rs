//! What travels in a PUBLISH.

use std::fmt;

use bytes::Bytes;
use domain::SecretString;

/// Names of user properties.
pub mod property {
    /// The caller's `Bearer …`.
    pub const AUTHORIZATION: &str = "a2a-authorization";
    /// The conversation, a copy of what the payload says.
    pub const CONTEXT_ID: &str = "a2a-context-id";
    /// Which member of a pool has answered, and from where the task goes on.
    pub const RESPONDER: &str = "a2a-responder-agent-id";
    /// How artifacts are wanted: `json` or `binary`.
    pub const ARTIFACT_MODE: &str = "a2a-artifact-mode";
    /// What a binary payload is a piece of.
    pub const EVENT_TYPE: &str = "a2a-event-type";
    /// The task of a binary payload.
    pub const TASK_ID: &str = "a2a-task-id";
    /// The artifact of a binary payload.
    pub const ARTIFACT_ID: &str = "a2a-artifact-id";
    /// Which piece of the artifact a binary payload is, from 1.
    pub const CHUNK: &str = "a2a-chunk-seqno";
    /// Whether it is the last piece.
    pub const LAST_CHUNK: &str = "a2a-last-chunk";
    /// Whether an agent is there: `online` or `offline`.
    pub const STATUS: &str = "a2a-status";
    /// Who says so: `agent`, `lwt` or `broker`.
    pub const STATUS_SOURCE: &str = "a2a-status-source";
    /// The trace that a request is part of (W3C Trace Context).
    pub const TRACE: &str = "traceparent";
}

/// A payload with its topic and what stands beside it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Publication {
    /// Where it is published.
    pub topic: String,
    /// The payload.
    pub payload: Bytes,
    /// The broker keeps it for later subscribers.
    pub retain: bool,
    /// What stands beside it.
    pub properties: Properties,
}

/// The properties of a publication that the profile uses.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Properties {
    /// Where the reply goes.
    pub response_topic: Option<String>,
    /// What ties a reply to its request.
    pub correlation: Option<Bytes>,
    /// The payload's media type.
    pub content_type: Option<String>,
    /// The payload is text in UTF-8.
    pub is_text: bool,
    /// Seconds for which it is worth anything.
    pub expiry: Option<u32>,
    /// Everything else, by name; names may come more than once.
    pub user: Vec<(String, String)>,
}

/// A user property that may come once came twice, or is not what its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadProperty;

impl Properties {
    /// The one user property of that name.
    ///
    /// # Errors
    /// [`BadProperty`] where there are two: which of them counts would be a guess.
    pub fn one(&self, name: &str) -> Result<Option<&str>, BadProperty> {
        let mut found = self.user.iter().filter(|(known, _)| known == name);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(BadProperty),
            (found, _) => Ok(found.map(|(_, value)| value.as_str())),
        }
    }

    /// The bearer token, without its scheme.
    ///
    /// # Errors
    /// [`BadProperty`] where there are two, or where it is no bearer token.
    pub fn bearer(&self) -> Result<Option<SecretString>, BadProperty> {
        let Some(told) = self.one(property::AUTHORIZATION)? else {
            return Ok(None);
        };
        let (scheme, token) = told.trim().split_once(' ').ok_or(BadProperty)?;
        match scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() {
            true => Ok(Some(token.trim().into())),
            false => Err(BadProperty),
        }
    }
}

/// Whether an agent is there, as its card's publication says. It is a hint: an agent that is not there is found out by asking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is, or nothing is said.
    Online,
    /// It is not.
    Offline,
}

/// What the properties of a card's publication say. The broker's own word goes before anybody else's, and otherwise the first: a
/// broker that adds its word puts it in front.
#[must_use]
pub fn presence(properties: &Properties) -> Presence {
    let all = |wanted: &'static str| {
        let named = properties.user.iter().filter(move |(name, _)| name == wanted);
        named.map(|(_, value)| value.as_str())
    };
    let by_broker = all(property::STATUS_SOURCE).position(|source| source == "broker");
    match all(property::STATUS).nth(by_broker.unwrap_or_default()) {
        Some("offline") => Presence::Offline,
        _ => Presence::Online,
    }
}

/// Values may be tokens, correlations what a reply is known by: neither is shown.
impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.user.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Properties")
            .field("response_topic", &self.response_topic)
            .field("correlation", &self.correlation.as_ref().map(Bytes::len))
            .field("content_type", &self.content_type)
            .field("expiry", &self.expiry)
            .field("user", &names)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Publication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publication")
            .field("topic", &self.topic)
            .field("payload", &self.payload.len())
            .field("retain", &self.retain)
            .field("properties", &self.properties)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use domain::ExposeSecret as _;

    use super::*;

    fn properties(user: &[(&str, &str)]) -> Properties {
        Properties {
            user: user
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            correlation: Some(Bytes::from_static(b"hunter2")),
            ..Properties::default()
        }
    }

    #[test]
    fn the_brokers_word_of_a_presence_goes_before_the_agents() {
        let of = |user: &[(&str, &str)]| presence(&properties(user));
        assert_eq!(of(&[]), Presence::Online);
        assert_eq!(
            of(&[("a2a-status", "offline"), ("a2a-status-source", "lwt")]),
            Presence::Offline
        );
        let both = [
            ("a2a-status", "online"),
            ("a2a-status-source", "agent"),
            ("a2a-status", "offline"),
            ("a2a-status-source", "broker"),
        ];
        assert_eq!(of(&both), Presence::Offline);
        assert_eq!(of(&[("a2a-status", "on holiday")]), Presence::Online);
    }

    #[test]
    fn a_token_is_read_once_and_never_shown() {
        let one = properties(&[
            ("a2a-authorization", "bearer  hunter2"),
            ("x", "hunter2"),
            ("x", "y"),
        ]);
        assert_eq!(one.bearer().unwrap().unwrap().expose_secret(), "hunter2");
        let shown = format!(
            "{:?}",
            Publication {
                payload: "hunter2".into(),
                properties: one,
                ..Publication::default()
            }
        );
        assert!(
            !shown.contains("hunter2") && shown.contains("a2a-authorization"),
            "{shown}"
        );
        assert!(properties(&[]).bearer().unwrap().is_none());
        for bad in [
            &[
                ("a2a-authorization", "Bearer a"),
                ("a2a-authorization", "Bearer a"),
            ][..],
            &[("a2a-authorization", "hunter2")],
            &[("a2a-authorization", "Bearer ")],
            &[("a2a-authorization", "Basic hunter2")],
        ] {
            assert!(properties(bad).bearer().is_err(), "{bad:?}");
        }
    }
}
