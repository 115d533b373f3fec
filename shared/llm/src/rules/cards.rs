//! What agents say of themselves, as terms: each with what it counts for and the languages it is said in.

use std::collections::BTreeMap;

use super::terms::{Languages, Term, Text};
use crate::AgentBrief;

/// What a word counts for that stands in a description or an example; in a name or a tag it counts for more.
const TOLD: f64 = 0.8;
/// What a word of a name or a tag counts for.
pub(super) const NAMING: f64 = 1.0;
/// What a part of a tag such as `open-meteo` counts for: alone it is not what the agent is for.
const COMPOUND: f64 = 0.45;

/// A card's terms by their text.
pub(super) type Card = BTreeMap<String, Said>;

/// What a card says.
pub(super) struct Said {
    pub(super) term: Term,
    /// What it counts for.
    pub(super) weight: f64,
    /// The languages it is said in.
    pub(super) spoken: Languages,
}

pub(super) fn card(agent: &AgentBrief) -> Card {
    let mut card = Card::new();
    for (text, weight) in texts(agent) {
        let text = Text::of(text);
        let spoken = match text.spoken {
            0 => Languages::MAX,
            spoken => spoken,
        };
        for term in text.terms() {
            let known = card
                .entry(term.text.clone())
                .or_insert(Said { term, weight, spoken });
            known.weight = known.weight.max(weight);
            known.spoken |= spoken;
        }
    }
    card
}

/// What an agent says of itself, each text with what its words count for.
pub(super) fn texts(agent: &AgentBrief) -> Vec<(&str, f64)> {
    let mut texts = vec![
        (agent.agent_type().as_str(), NAMING),
        (agent.name(), NAMING),
        (agent.description(), TOLD),
    ];
    for skill in agent.skills() {
        texts.extend([(skill.name(), NAMING), (skill.description(), TOLD)]);
        // What an agent does not do, `not:refund`, is no reason to ask it.
        let tags = skill.tags().iter().filter(|tag| !tag.starts_with("not:"));
        texts.extend(tags.map(|tag| (tag.as_str(), if tag.contains('-') { COMPOUND } else { NAMING })));
        texts.extend(skill.examples().iter().map(|example| (example.as_str(), TOLD)));
    }
    texts
}
