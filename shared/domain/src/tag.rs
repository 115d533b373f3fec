//! Tags of skills, `key:value`, and the scope that a type is declared with.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a text is not a tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a tag is `key:value`: a lower-case key, then 1 to 64 visible characters")]
pub struct InvalidTag;

/// A skill's tag, `key:value`, such as `type:weather` or `tenant_id:acme`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Tag {
    key: Box<str>,
    value: Box<str>,
}

impl Tag {
    /// Parses `key:value`.
    ///
    /// # Errors
    /// [`InvalidTag`] where it is not of that form.
    pub fn parse(text: &str) -> Result<Self, InvalidTag> {
        let (key, value) = text.split_once(':').ok_or(InvalidTag)?;
        let key_fits = (1..=32).contains(&key.len())
            && key
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
        let value_fits = (1..=64).contains(&value.len())
            && !value
                .chars()
                .any(|c| c.is_control() || c.is_whitespace() || c == '#');
        if key_fits && value_fits {
            Ok(Self {
                key: key.into(),
                value: value.into(),
            })
        } else {
            Err(InvalidTag)
        }
    }

    /// What stands before the colon.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What stands after the colon.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.key, self.value)
    }
}

impl FromStr for Tag {
    type Err = InvalidTag;
    fn from_str(text: &str) -> Result<Self, InvalidTag> {
        Self::parse(text)
    }
}

impl From<Tag> for String {
    fn from(tag: Tag) -> Self {
        tag.to_string()
    }
}

impl TryFrom<String> for Tag {
    type Error = InvalidTag;
    fn try_from(text: String) -> Result<Self, InvalidTag> {
        Self::parse(&text)
    }
}

/// Whether the agents of a type serve every tenant or each its own; declared once per type, in the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TypeScope {
    /// One for all tenants; looked up without the tenant.
    Global,
    /// Each tenant has its own; looked up with the tenant's `tenant_id:` tag.
    Tenant,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_a_key_and_a_value() {
        for good in ["type:weather", "tenant_id:tenant-abc", "region:eu:north"] {
            assert_eq!(Tag::parse(good).map(|t| t.to_string()).as_deref(), Ok(good));
        }
        for bad in [
            "", "weather", ":x", "type:", "Type:x", "type:a b", "type:a#b", "t:\0",
        ] {
            assert!(Tag::parse(bad).is_err(), "{bad:?}");
        }
    }
}
