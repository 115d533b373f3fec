//! Our extension of the protocol for hosts: which of the agents that a host hands work to are open, so that what they say is
//! nobody's alone.

use std::collections::{BTreeMap, BTreeSet};

use domain::{AgentId, AgentType};
use serde_json::{Value, json};

use crate::card::Extension;

/// What the extension is called by. A host whose extended card has it names in `params.agents`, by type, the ids of the open agents.
pub const OPEN_AGENTS: &str = "urn:switchyard:a2a:open-agents:v1";

/// Most agents that are read.
const AGENTS_MAX: usize = 1_000;

/// The open agents of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenAgents(BTreeMap<AgentType, BTreeSet<AgentId>>);

impl OpenAgents {
    /// Whether the agent is open under this type.
    #[must_use]
    pub fn has(&self, agent_type: &AgentType, id: &AgentId) -> bool {
        self.0.get(agent_type).is_some_and(|ids| ids.contains(id))
    }

    /// Adds an agent.
    pub fn insert(&mut self, agent_type: AgentType, id: AgentId) {
        self.0.entry(agent_type).or_default().insert(id);
    }

    /// The types that have any.
    pub fn types(&self) -> impl Iterator<Item = &AgentType> {
        self.0.keys()
    }

    /// Takes a type out.
    pub fn remove(&mut self, agent_type: &AgentType) {
        self.0.remove(agent_type);
    }

    /// The extension as a card names it.
    #[must_use]
    pub fn extension(&self) -> Extension {
        let ids = |ids: &BTreeSet<AgentId>| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        let agents: BTreeMap<&str, Vec<String>> =
            self.0.iter().map(|(name, of)| (name.as_str(), ids(of))).collect();
        Extension {
            uri: OPEN_AGENTS.to_owned(),
            description: "Names the agents, by type and id, that demand nothing of whom they answer."
                .to_owned(),
            params: [("agents".to_owned(), json!(agents))].into_iter().collect(),
            ..Extension::default()
        }
    }

    /// What a card says of it; nobody is open where it says nothing. What is not as it should be is passed over.
    #[must_use]
    pub fn of(card: &Value) -> Self {
        let all = card.pointer("/capabilities/extensions").and_then(Value::as_array);
        let own = all
            .into_iter()
            .flatten()
            .find(|extension| extension.get("uri").is_some_and(|uri| uri == OPEN_AGENTS));
        let agents = own.and_then(|own| own.pointer("/params/agents")?.as_object());
        let named = agents.into_iter().flatten().flat_map(|(name, ids)| {
            let ids = ids.as_array().into_iter().flatten().filter_map(Value::as_str);
            ids.filter_map(|id| Some((AgentType::parse(name).ok()?, AgentId::parse(id).ok()?)))
        });
        let mut open = Self::default();
        for (agent_type, id) in named.take(AGENTS_MAX) {
            open.insert(agent_type, id);
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_says_is_read_again_and_rubbish_opens_nobody() {
        let weather = AgentType::parse("weather").unwrap();
        let (one, other) = (AgentId::derived("one"), AgentId::derived("other"));
        let mut open = OpenAgents::default();
        open.insert(weather.clone(), one);
        let params = open.extension().params;
        let card = json!({"capabilities": {"extensions": [
            {"uri": "urn:other"}, {"uri": OPEN_AGENTS, "params": params},
        ]}});
        let read = OpenAgents::of(&card);
        assert_eq!(read, open);
        assert!(read.has(&weather, &one) && !read.has(&weather, &other));
        assert!(!read.has(&AgentType::parse("report").unwrap(), &one));
        let with = |agents: Value| json!({"capabilities": {"extensions": [{"uri": OPEN_AGENTS, "params": {"agents": agents}}]}});
        for rubbish in [
            json!(null),
            json!({"capabilities": {"extensions": 7}}),
            with(json!(["weather"])),
            with(json!({"weather": one.to_string()})),
            with(json!({"WEATHER!": [one.to_string()]})),
            with(json!({"weather": ["x", 7, null]})),
        ] {
            assert_eq!(OpenAgents::of(&rubbish), OpenAgents::default(), "{rubbish}");
        }
    }
}
