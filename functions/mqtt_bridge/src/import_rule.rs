//! Which agents of the broker are registered, and as what: an operator's rules. Finding an agent there registers nothing by itself.

use std::fmt;
use std::str::FromStr;

use a2a::mqtt::{AgentAddress, InvalidAddress, TopicPrefix};
use domain::{AgentType, InvalidId, Tenant};
use serde::{Deserialize, Deserializer};

/// Registers the agents of a unit, or one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRule {
    /// An agent of the unit, which says the organisation and the unit; without [`ImportRule::is_one`] its own name does not count.
    place: AgentAddress,
    /// It is for this agent alone.
    is_one: bool,
    /// The tenant that they are registered for; everybody where there is none.
    pub tenant: Option<Tenant>,
    /// What they are registered as, whatever their cards say.
    pub agent_type: AgentType,
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    /// It has another form.
    #[error("a rule is ORG/UNIT[/AGENT]:TYPE[@TENANT]")]
    Form,
    /// The address is none.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// The type or the tenant is none.
    #[error(transparent)]
    Id(#[from] InvalidId),
}

impl ImportRule {
    /// Whether the rule is for this agent.
    #[must_use]
    pub fn is_for(&self, agent: &AgentAddress) -> bool {
        match self.is_one {
            true => self.place == *agent,
            false => (self.place.org(), self.place.unit()) == (agent.org(), agent.unit()),
        }
    }

    /// The filter by which the cards of its agents are found: never wider than a unit.
    #[must_use]
    pub fn filter(&self, prefix: &TopicPrefix) -> String {
        let topic = prefix.discovery(&self.place);
        match (self.is_one, topic.rsplit_once('/')) {
            (false, Some((unit, _))) => format!("{unit}/+"),
            _ => topic,
        }
    }
}

impl FromStr for ImportRule {
    type Err = InvalidRule;
    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        let (place, rest) = text.split_once(':').ok_or(InvalidRule::Form)?;
        let (agent_type, tenant) = match rest.split_once('@') {
            Some((agent_type, tenant)) => (agent_type, Some(Tenant::from_prefix(tenant)?)),
            None => (rest, None),
        };
        let levels: Vec<&str> = place.split('/').collect();
        let (place, is_one) = match levels.as_slice() {
            [org, unit] => (AgentAddress::new(org, unit, "any")?, false),
            [org, unit, agent] => (AgentAddress::new(org, unit, agent)?, true),
            _ => return Err(InvalidRule::Form),
        };
        Ok(Self {
            place,
            is_one,
            tenant,
            agent_type: AgentType::parse(agent_type)?,
        })
    }
}

impl fmt::Display for ImportRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        match self.is_one {
            true => write!(f, "{place}:{}", self.agent_type)?,
            false => write!(f, "{}/{}:{}", place.org(), place.unit(), self.agent_type)?,
        }
        match &self.tenant {
            Some(tenant) => write!(f, "@{}", tenant.prefix()),
            None => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for ImportRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_for_a_unit_or_for_one_agent_and_asks_for_no_more() {
        let unit: ImportRule = "acme/lab:echo".parse().unwrap();
        let one: ImportRule = "acme/lab/echo:echo@acme".parse().unwrap();
        let agent = |text: &str| text.parse::<AgentAddress>().unwrap();
        assert!(unit.is_for(&agent("acme/lab/x")) && !unit.is_for(&agent("acme/lab2/x")));
        assert!(one.is_for(&agent("acme/lab/echo")) && !one.is_for(&agent("acme/lab/x")));
        let prefix = TopicPrefix::standard();
        assert_eq!(unit.filter(&prefix), "$a2a/v1/discovery/acme/lab/+");
        assert_eq!(one.filter(&prefix), "$a2a/v1/discovery/acme/lab/echo");
        assert_eq!(unit.tenant, None);
        for rule in [unit, one] {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        for bad in [
            "",
            "acme",
            "acme:echo",
            "acme/lab",
            "acme/+:echo",
            "acme/lab:",
            "acme/lab:echo@",
            "a/b/c/d:echo",
        ] {
            assert!(bad.parse::<ImportRule>().is_err(), "{bad}");
        }
    }
}
