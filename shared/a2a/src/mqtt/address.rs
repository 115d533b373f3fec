//! Who is addressed: agents and pools of them.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// Longest name of an organisation, unit, agent or pool.
const NAME_MAX: usize = 64;
/// Longest name of a shared subscription's group.
const GROUP_MAX: usize = 64;

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidAddress(pub(super) &'static str);

/// Whether the text can be a level of an address: `[A-Za-z0-9_.-]+`.
pub(super) fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !text.is_empty() && text.len() <= NAME_MAX && text.bytes().all(fits)
}

fn name(text: &str) -> Result<Box<str>, InvalidAddress> {
    match is_name(text) {
        true => Ok(text.into()),
        false => Err(InvalidAddress(
            "organisation, unit and agent are 1 to 64 letters, digits, '_', '.' and '-' each",
        )),
    }
}

/// An agent: `{org}/{unit}/{agent}`, which is its client id as well.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentAddress {
    org: Box<str>,
    unit: Box<str>,
    agent: Box<str>,
}

impl AgentAddress {
    /// The agent of these three names.
    ///
    /// # Errors
    /// [`InvalidAddress`] where one of them is no name.
    pub fn new(org: &str, unit: &str, agent: &str) -> Result<Self, InvalidAddress> {
        Ok(Self {
            org: name(org)?,
            unit: name(unit)?,
            agent: name(agent)?,
        })
    }

    /// The organisation.
    #[must_use]
    pub fn org(&self) -> &str {
        &self.org
    }

    /// The unit within the organisation.
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// The agent within the unit.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.agent
    }
}

impl fmt::Display for AgentAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.org, self.unit, self.agent)
    }
}

impl fmt::Debug for AgentAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mqtt agent({self})")
    }
}

impl FromStr for AgentAddress {
    type Err = InvalidAddress;
    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let mut levels = text.split('/');
        match (levels.next(), levels.next(), levels.next(), levels.next()) {
            (Some(org), Some(unit), Some(agent), None) => Self::new(org, unit, agent),
            _ => Err(InvalidAddress("an agent is ORG/UNIT/AGENT")),
        }
    }
}

/// A pool of agents that share one request topic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolAddress {
    org: Box<str>,
    unit: Box<str>,
    pool: Box<str>,
}

impl PoolAddress {
    /// The pool of these three names.
    ///
    /// # Errors
    /// [`InvalidAddress`] where one of them is no name.
    pub fn new(org: &str, unit: &str, pool: &str) -> Result<Self, InvalidAddress> {
        Ok(Self {
            org: name(org)?,
            unit: name(unit)?,
            pool: name(pool)?,
        })
    }

    /// The group of its members' shared subscription: the same one for each of them, at most 64 characters.
    #[must_use]
    pub fn group(&self) -> String {
        let told = format!("a2a.{}.{}.{}", self.org, self.unit, self.pool);
        let plain = |c: char| if c == '-' { '_' } else { c };
        let group: String = told.chars().map(plain).collect();
        if group.len() <= GROUP_MAX {
            return group;
        }
        // Two long names must not meet in their beginnings.
        let hash = Sha256::digest(told.as_bytes());
        let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let kept = group.get(..GROUP_MAX - hash.len() - 1).unwrap_or_default();
        format!("{kept}.{hash}")
    }
}

impl fmt::Display for PoolAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/pool/{}", self.org, self.unit, self.pool)
    }
}

/// Whom a request is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Recipient {
    /// One agent.
    Agent(AgentAddress),
    /// Whichever member of a pool gets it.
    Pool(PoolAddress),
}

impl Recipient {
    /// The agent that a reply names as its responder: by its name within the unit that was asked, as the profile has it, or by its
    /// whole address. `None` where that is no agent of this unit.
    #[must_use]
    pub fn responder(&self, told: &str) -> Option<AgentAddress> {
        let (org, unit) = match self {
            Self::Agent(agent) => (agent.org(), agent.unit()),
            Self::Pool(pool) => (&*pool.org, &*pool.unit),
        };
        match told.contains('/') {
            true => told.parse().ok(),
            false => AgentAddress::new(org, unit, told).ok(),
        }
        .filter(|agent| (agent.org(), agent.unit()) == (org, unit))
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => agent.fmt(f),
            Self::Pool(pool) => pool.fmt(f),
        }
    }
}

impl FromStr for Recipient {
    type Err = InvalidAddress;
    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let levels: Vec<&str> = text.split('/').collect();
        match *levels.as_slice() {
            [org, unit, agent] => AgentAddress::new(org, unit, agent).map(Self::Agent),
            [org, unit, "pool", pool] => PoolAddress::new(org, unit, pool).map(Self::Pool),
            _ => Err(InvalidAddress(
                "a recipient is ORG/UNIT/AGENT or ORG/UNIT/pool/POOL",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_responder_is_an_agent_of_the_unit_that_was_asked() {
        for asked in ["acme/lab/echo", "acme/lab/pool/echoes"] {
            let asked: Recipient = asked.parse().unwrap();
            let named = |told: &str| asked.responder(told).map(|agent| agent.to_string());
            for told in ["echo-2", "acme/lab/echo-2"] {
                assert_eq!(named(told).as_deref(), Some("acme/lab/echo-2"));
            }
            for told in [
                "",
                "acme/press/echo-2",
                "globex/lab/echo-2",
                "lab/echo-2",
                "acme/lab/pool/echoes",
                "+",
                "echo 2",
            ] {
                assert_eq!(named(told), None, "{told}");
            }
        }
    }

    #[test]
    fn a_recipient_is_an_agent_or_a_pool() {
        for good in ["acme/lab/echo", "acme/lab/pool", "acme/lab/pool/echoes"] {
            let read: Recipient = good.parse().unwrap();
            assert_eq!(read.to_string(), good);
        }
        for bad in [
            "",
            "acme/lab",
            "acme/lab/pools/echoes",
            "acme/lab/pool/",
            "acme/lab/pool/a/b",
            "acme/+/echo",
        ] {
            assert!(bad.parse::<Recipient>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_three_names_are_an_agent() {
        let good: AgentAddress = "com.example/factory-a/iot_ops.1".parse().unwrap();
        assert_eq!(good.to_string(), "com.example/factory-a/iot_ops.1");
        assert_eq!(
            (good.org(), good.unit(), good.agent()),
            ("com.example", "factory-a", "iot_ops.1")
        );
        let long = format!("{}/u/a", "o".repeat(65));
        for bad in [
            "",
            "a",
            "a/b",
            "a/b/c/d",
            "a//c",
            "a/b/+",
            "a/#/c",
            "a/b/c d",
            "ä/b/c",
            "$a/b/c",
            long.as_str(),
        ] {
            assert!(bad.parse::<AgentAddress>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_group_is_plain_bounded_and_its_pools_own() {
        let pool = PoolAddress::new("acme", "factory-a", "welders").unwrap();
        assert_eq!(pool.group(), "a2a.acme.factory_a.welders");
        let long = |last: &str| PoolAddress::new(&"o".repeat(60), "u", last).unwrap().group();
        assert_eq!(long("one").len(), 64);
        assert_ne!(long("one"), long("two"));
        // '-' and '_' are one character in a group; only a hash could keep them apart, and the profile wants none there.
        assert!(PoolAddress::new("a", "b", "c/d").is_err());
    }
}
