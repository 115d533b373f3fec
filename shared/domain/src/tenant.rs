//! A tenant: what people call it, and what everything kept for it begins with.
//!
//! The two are told apart by the type alone: a tenant has no text of its own (no `Display`), so whoever writes one says
//! which of the two is meant. A tenant that is removed and made again under its old name gets another incarnation, and
//! with it another prefix: nothing that was kept for the first is ever taken for the second's.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::name;
use crate::{Entropy, InvalidId};

/// What stands between a tenant's name and its incarnation; no name holds it.
const SEPARATOR: char = '.';
/// Hexadecimal digits of an incarnation.
const INCARNATION: usize = 8;
const PUBLIC: &str = "public";

/// A tenant. Two of one name and different incarnations are different tenants.
///
/// In JSON it is its prefix, as in everything that is kept; what people and other programs read says [`Tenant::name`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant {
    prefix: Box<str>,
}

impl Tenant {
    /// Parses a name, `[a-z][a-z0-9-]{1,30}`, of a tenant without an incarnation. `public` and `global` are reserved.
    ///
    /// # Errors
    /// [`InvalidId`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        name("tenant", text, 2, 31, b"-")?;
        if matches!(text, PUBLIC | "global") {
            return Err(invalid("is a reserved word"));
        }
        Ok(Self { prefix: text.into() })
    }

    /// Parses a prefix: a name alone, or with an incarnation of eight hexadecimal digits behind a dot.
    ///
    /// # Errors
    /// As [`Tenant::parse`].
    pub fn from_prefix(text: &str) -> Result<Self, InvalidId> {
        let (name, incarnation) = match text.split_once(SEPARATOR) {
            Some((name, incarnation)) => (name, Some(incarnation)),
            None => (text, None),
        };
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if incarnation.is_some_and(|text| text.len() != INCARNATION || !text.bytes().all(is_digit)) {
            return Err(invalid("has an incarnation that is not eight hexadecimal digits"));
        }
        Self::parse(name)?;
        Ok(Self { prefix: text.into() })
    }

    /// A new incarnation of this name: nothing that was ever kept under it is the new one's.
    #[must_use]
    pub fn incarnated(&self, entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; INCARNATION / 2];
        entropy.fill(&mut bytes);
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            prefix: format!("{}{SEPARATOR}{digits}", self.name()).into(),
        }
    }

    /// What stands in the names of the pool's own queues where a tenant's name stands in those of its stack. No tenant is added by it.
    pub const POOL: &str = "pool";

    /// The tenant of callers without a token at an open agent. No token can carry it.
    #[must_use]
    pub fn public() -> Self {
        Self {
            prefix: PUBLIC.into(),
        }
    }

    /// Parses what the store itself wrote, where the reserved `public` is a value too.
    ///
    /// # Errors
    /// As [`Tenant::from_prefix`], but for the reserved word `public`.
    pub fn parse_stored(text: &str) -> Result<Self, InvalidId> {
        if text == PUBLIC {
            Ok(Self::public())
        } else {
            Self::from_prefix(text)
        }
    }

    /// For `#[serde(deserialize_with)]` on what we wrote ourselves; see [`Tenant::parse_stored`].
    ///
    /// # Errors
    /// As [`Tenant::parse_stored`].
    pub fn deserialize_stored<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse_stored(&text).map_err(serde::de::Error::custom)
    }

    /// What people, cards, the claim `tenant_id`, configuration, logs and AWS resources call it.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = self.prefix.split_once(SEPARATOR);
        name.map_or(&self.prefix, |(name, _)| name)
    }

    /// What stands for it wherever something is kept or recognised: in keys, what sealed values are bound to, issuers,
    /// cookies' names, topics. The only way for a tenant into one of them.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

const fn invalid(reason: &'static str) -> InvalidId {
    InvalidId {
        kind: "tenant",
        reason,
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tenant({})", self.prefix)
    }
}

/// A name, as people type it.
impl FromStr for Tenant {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::parse(text)
    }
}

impl Serialize for Tenant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.prefix())
    }
}

impl<'de> Deserialize<'de> for Tenant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_prefix(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_follow_their_pattern() {
        for good in ["acme", "a1", "a-b-c", "globex"] {
            assert!(Tenant::parse(good).is_ok(), "{good}");
        }
        let long = "a".repeat(32);
        for bad in [
            "",
            "a",
            "1a",
            "Acme",
            "a_b",
            "a#b",
            "a b",
            "public",
            "global",
            long.as_str(),
            "ä1",
        ] {
            assert!(Tenant::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_a_prefix_of_its_own_and_an_incarnation_makes_another() {
        let acme = Tenant::parse("acme").unwrap();
        assert_eq!((acme.name(), acme.prefix()), ("acme", "acme"));
        let again = Tenant::from_prefix("acme.7f3a9c2e").unwrap();
        assert_eq!((again.name(), again.prefix()), ("acme", "acme.7f3a9c2e"));
        assert_ne!(acme, again);
        let read: Tenant = serde_json::from_str(&serde_json::to_string(&again).unwrap()).unwrap();
        assert_eq!(read, again);
        assert_eq!(Tenant::from_prefix("acme").unwrap(), acme);
    }

    #[test]
    fn each_incarnation_of_a_name_is_another_tenant() {
        let acme = Tenant::parse("acme").unwrap();
        let (one, two) = (
            acme.incarnated(&crate::SystemEntropy),
            acme.incarnated(&crate::SystemEntropy),
        );
        assert!(one != two && one != acme);
        for made in [&one, &two, &one.incarnated(&crate::SystemEntropy)] {
            assert_eq!(made.name(), "acme");
            assert_eq!(Tenant::from_prefix(made.prefix()).unwrap(), *made);
        }
    }

    #[test]
    fn only_a_name_and_eight_digits_are_a_prefix() {
        for bad in [
            "acme.",
            "acme.7f3a9c2",
            "acme.7f3a9c2e0",
            "acme.7F3A9C2E",
            "acme.7f3a9c2g",
            "acme.7f3a9c2e.",
            ".7f3a9c2e",
            "public.7f3a9c2e",
            "global",
            "public",
        ] {
            assert!(Tenant::from_prefix(bad).is_err(), "{bad}");
        }
        assert!(Tenant::parse("acme.7f3a9c2e").is_err());
        assert_eq!(Tenant::parse_stored("public").unwrap(), Tenant::public());
    }
}
