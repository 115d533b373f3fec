//! Ids: each its own type, parsed once. Ids that we mint are UUIDs; ids that others may choose (context, message,
//! a remote task) are opaque bounded text, as A2A leaves their form to whoever mints them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::Entropy;

/// Why a text is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {reason}")]
pub struct InvalidId {
    /// The kind of id that was wanted, such as `tenant`.
    pub kind: &'static str,
    /// What is wrong, without the text itself.
    pub reason: &'static str,
}

/// Most bytes of an id that somebody else chose.
const FOREIGN_MAX: usize = 256;

fn visible(kind: &'static str, text: &str, max: usize) -> Result<(), InvalidId> {
    let reason = if text.is_empty() {
        "must not be empty"
    } else if text.len() > max {
        "is too long"
    } else if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        "must not contain blanks or control characters"
    } else {
        return Ok(());
    };
    Err(InvalidId { kind, reason })
}

/// `[a-z][a-z0-9{extra}]*`, `min..=max` bytes.
pub(crate) fn name(
    kind: &'static str,
    text: &str,
    min: usize,
    max: usize,
    extra: &[u8],
) -> Result<(), InvalidId> {
    let bytes = text.as_bytes();
    let reason = if bytes.len() < min {
        match min {
            2 => "is too short: it has two characters or more",
            _ => "is too short",
        }
    } else if bytes.len() > max {
        "is too long"
    } else if !bytes.first().is_some_and(u8::is_ascii_lowercase) {
        "must start with a lower-case letter"
    } else if !bytes
        .iter()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || extra.contains(b))
    {
        "may hold only lower-case letters, digits and dashes"
    } else {
        return Ok(());
    };
    Err(InvalidId { kind, reason })
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, |$text:ident| $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// Parses the text.
            ///
            /// # Errors
            /// [`InvalidId`] says what is wrong with it.
            pub fn parse($text: &str) -> Result<Self, InvalidId> {
                $check?;
                Ok(Self($text.into()))
            }

            /// The text, as it travels.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        text_traits!($name, $kind);
    };
}

macro_rules! text_traits {
    ($name:ident, $kind:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", $kind, self.0)
            }
        }
        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::parse(text)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

text_id! {
    /// The name an agent has in keys and on queues: `host`, `weather`.
    AgentName, "agent", |text| name("agent", text, 2, 40, b"-_")
}

text_id! {
    /// What an agent is found by: the value of a skill's `type:` tag.
    AgentType, "agent type", |text| name("agent type", text, 2, 40, b"-_")
}

text_id! {
    /// Whose a task, chat or grant is, within a tenant: a user's or guest's stable id (a token's `sub`, for which OpenID Connect
    /// allows 255 characters).
    Owner, "owner", |text| visible("owner", text, 255).and(if text.contains('#') {
        Err(InvalidId { kind: "owner", reason: "must not contain '#'" })
    } else { Ok(()) })
}

impl AgentName {
    /// The name of every tenant's host agent in keys and queues.
    pub const HOST: &'static str = "host";

    /// Whether this is a tenant's host agent.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.as_str() == Self::HOST
    }
}

/// The agents of the platform that keep tasks, consents and grants under names of their own; the host comes first, because it tells
/// the others when a task is canceled.
pub const OWN_AGENTS: [&str; 6] = [
    AgentName::HOST,
    "weather",
    "airbnb",
    "calendar",
    "report",
    "horizon",
];

impl ChatId {
    /// Where the chat lies that its owner's page calls so: another owner's chat of that name lies elsewhere.
    #[must_use]
    pub fn of_owner(&self, owner: &Owner) -> Self {
        Self(format!("of-{}", derived_uuid(&format!("{owner}\n{self}"))).into())
    }
}

/// What the ids of guests begin with.
const GUEST: &str = "guest-";

impl Owner {
    /// The owner of what a caller without a token made at an open agent.
    #[must_use]
    pub fn anonymous() -> Self {
        Self("anonymous".into())
    }

    /// The owner of what a guest of a chat makes: somebody who has not signed in.
    ///
    /// # Errors
    /// Where the id cannot be part of one.
    pub fn guest(id: &str) -> Result<Self, InvalidId> {
        Self::parse(&format!("{GUEST}{id}"))
    }

    /// True for what a guest made. It stays so where somebody who has signed in took it over.
    #[must_use]
    pub fn is_guest(&self) -> bool {
        self.as_str().starts_with(GUEST)
    }

    /// True for [`Owner::anonymous`].
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.as_str() == "anonymous"
    }
}

text_id! {
    /// A2A `contextId`: groups the tasks and messages of one conversation. No authority.
    ContextId, "context id", |text| visible("context id", text, FOREIGN_MAX)
}

text_id! {
    /// A2A `messageId`, unique to its sender; the idempotency key of a send.
    MessageId, "message id", |text| visible("message id", text, FOREIGN_MAX)
}

text_id! {
    /// A task's id at the agent that we delegated to; its form is that agent's business.
    RemoteTaskId, "remote task id", |text| visible("remote task id", text, FOREIGN_MAX)
}

text_id! {
    /// The id of a push notification configuration, unique within its task.
    PushConfigId, "push config id", |text| visible("push config id", text, 128)
}

text_id! {
    /// The AI SDK's chat id, chosen by the page.
    ChatId, "chat id", |text| visible("chat id", text, 128).and(if text.contains('#') {
        Err(InvalidId { kind: "chat id", reason: "must not contain '#'" })
    } else { Ok(()) })
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// A new random id (UUID version 4).
            #[must_use]
            pub fn random(entropy: &dyn Entropy) -> Self {
                Self(entropy.uuid())
            }

            /// The id with these bytes.
            #[must_use]
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The id that always belongs to `seed` (UUID version 5), so that a repeat gives the same id.
            #[must_use]
            pub fn derived(seed: &str) -> Self {
                Self(derived_uuid(seed))
            }

            /// Parses a UUID in its usual hyphenated form.
            ///
            /// # Errors
            /// [`InvalidId`] when it is none.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                if text.len() != 36 {
                    return Err(InvalidId { kind: $kind, reason: "must be a UUID" });
                }
                Uuid::try_parse(text).map(Self).map_err(|_| InvalidId { kind: $kind, reason: "must be a UUID" })
            }
        }

        text_traits!($name, $kind);
    };
}

uuid_id! {
    /// A task's id here. Unguessable, but no authority: every look-up has tenant and owner in its key or its check.
    TaskId, "task id"
}

uuid_id! {
    /// A registered agent's id in the registry.
    AgentId, "agent id"
}

impl AgentId {
    /// The id of the agent whose card lies at this URL, registered for the tenant of this prefix, or for everybody: registering it
    /// again is registering the same agent.
    #[must_use]
    pub fn of_card(prefix: Option<&str>, card_url: &str) -> Self {
        Self::derived(&format!("{}#{card_url}", prefix.unwrap_or("global")))
    }
}

impl MessageId {
    /// A new random id.
    #[must_use]
    pub fn random(entropy: &dyn Entropy) -> Self {
        Self(entropy.uuid().to_string().into())
    }

    /// The id that always belongs to `seed`: a resend after a crash carries the same one.
    #[must_use]
    pub fn derived(seed: &str) -> Self {
        Self(derived_uuid(seed).to_string().into())
    }

    /// True for a UUID of version 4 or 7 as they are usually written: nobody else comes upon it.
    #[must_use]
    pub fn is_unguessable(&self) -> bool {
        TaskId::parse(&self.0).is_ok_and(|id| id.is_unguessable())
    }
}

impl TaskId {
    /// The id's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// True for a UUID of version 4 or 7: nobody else comes upon it.
    #[must_use]
    pub fn is_unguessable(&self) -> bool {
        matches!(self.0.get_version_num(), 4 | 7)
    }
}

impl ContextId {
    /// A new random id.
    #[must_use]
    pub fn random(entropy: &dyn Entropy) -> Self {
        Self(entropy.uuid().to_string().into())
    }

    /// The id that always belongs to `seed`, such as a tenant's chat.
    #[must_use]
    pub fn derived(seed: &str) -> Self {
        Self(derived_uuid(seed).to_string().into())
    }
}

fn derived_uuid(seed: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, seed.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_ids_are_bounded_and_visible() {
        assert!(MessageId::parse("tck-complete-task-1").is_ok());
        for bad in ["", "a b", "a\0b", "a\nb", "x".repeat(257).as_str()] {
            assert!(MessageId::parse(bad).is_err(), "{bad:?}");
        }
        assert!(Owner::parse("a#b").is_err());
    }

    #[test]
    fn only_random_uuids_are_unguessable() {
        for (id, expected) in [
            ("9e107d9d-372b-4182-8b8a-0cfe2ae7a1c5", true),
            ("9E107D9D-372B-4182-8B8A-0CFE2AE7A1C5", true),
            ("019338a0-7c1e-7f3a-9c2e-0cfe2ae7a1c5", true),
            ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", false),
            ("00000000-0000-0000-0000-000000000000", false),
            ("9e107d9d372b41828b8a0cfe2ae7a1c5", false),
            ("{9e107d9d-372b-4182-8b8a-0cfe2ae7a1}", false),
            ("m1", false),
        ] {
            assert_eq!(MessageId::parse(id).unwrap().is_unguessable(), expected, "{id}");
        }
        assert!(!MessageId::derived("m1").is_unguessable());
        for (id, expected) in [
            ("6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f", true),
            ("00000000-0000-0000-0000-000000000001", false),
        ] {
            assert_eq!(TaskId::parse(id).unwrap().is_unguessable(), expected, "{id}");
        }
    }

    #[test]
    fn task_ids_are_uuids_only() {
        assert!(TaskId::parse("6f2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f").is_ok());
        for bad in [
            "",
            "1",
            "6f2c1b1e9a2b4c3d8e4f5a6b7c8d9e0f",
            "zf2c1b1e-9a2b-4c3d-8e4f-5a6b7c8d9e0f",
        ] {
            assert!(TaskId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn derived_ids_repeat() {
        assert_eq!(MessageId::derived("a"), MessageId::derived("a"));
        assert_ne!(MessageId::derived("a"), MessageId::derived("b"));
    }
}
