//! How well an agent fits a text: shared terms, weighed by where the agent uses them and by how few agents do.

use std::collections::{BTreeMap, BTreeSet};

use domain::AgentType;

use super::words::{ideas, is_time_term, terms};
use crate::AgentBrief;

/// What counts as fitting at all; names and times decide between agents that fit, but make none fit.
const ENOUGH: f64 = 1.0;
/// From here on the rest of the prompt does not matter: the agent was named or clearly described.
const CLEAR: f64 = 2.4;
/// Below [`CLEAR`], the share of the prompt's terms that must speak for the agent.
const COVERED: f64 = 0.25;
/// From this many terms on, a card's descriptions and examples count less: stuffing a card with words must not pay.
const TERSE: f64 = 60.0;
/// What is read of a prompt.
const READ_MAX: usize = 4_000;

/// The agents' terms, ready to be compared with prompts.
pub(super) struct Index<'a> {
    agents: Vec<(&'a AgentBrief, BTreeMap<String, f64>)>,
    spread: BTreeMap<String, f64>,
}

impl<'a> Index<'a> {
    pub(super) fn of(agents: &'a [AgentBrief]) -> Self {
        let agents: Vec<_> = agents.iter().map(|agent| (agent, weights(agent))).collect();
        // Agents of one type share its words, and are told apart only once the type is clear.
        let mut users: BTreeMap<String, BTreeSet<&AgentType>> = BTreeMap::new();
        for (agent, weights) in &agents {
            for term in weights.keys() {
                users.entry(term.clone()).or_default().insert(agent.agent_type());
            }
        }
        let types: BTreeSet<&AgentType> = agents.iter().map(|(agent, _)| agent.agent_type()).collect();
        let all = number(types.len()) + 1.0;
        // 1 for a term that one type alone uses, near 0 for one that all use, however many types there are.
        let rarity = |count: usize| (all / number(count)).ln() / all.ln();
        let spread = users
            .into_iter()
            .map(|(term, types)| (term, rarity(types.len())))
            .collect();
        Self { agents, spread }
    }

    /// The agent that fits best, where one fits.
    pub(super) fn best(&self, text: &str) -> Option<&'a AgentType> {
        let asked = asked(text);
        let mut best: Option<(f64, &'a AgentType)> = None;
        for (agent, weights) in &self.agents {
            let score = self.score(weights, &asked);
            let agent_type = agent.agent_type();
            // Equal scores go by name, so that the registry's order decides nothing.
            let wins = best.is_none_or(|(top, winner)| score > top || (score >= top && agent_type < winner));
            if score > 0.0 && wins {
                best = Some((score, agent_type));
            }
        }
        best.map(|(_, agent_type)| agent_type)
    }

    /// The agent that has most in common with a text, though it may not fit.
    pub(super) fn nearest(&self, text: &str) -> Option<&'a AgentBrief> {
        let asked = asked(text);
        let shared = |weights: &BTreeMap<String, f64>| -> f64 {
            let terms = asked.content.iter().chain(&asked.ideas);
            terms.filter_map(|term| weights.get(term)).sum()
        };
        let near = self
            .agents
            .iter()
            .map(|(agent, weights)| (*agent, shared(weights)));
        let near = near.filter(|(_, shared)| *shared > 0.0);
        near.max_by(|one, other| one.1.total_cmp(&other.1))
            .map(|(agent, _)| agent)
    }

    /// The score of one agent, where it fits.
    pub(super) fn fit(&self, text: &str, agent_type: &AgentType) -> f64 {
        let asked = asked(text);
        let agents = self
            .agents
            .iter()
            .filter(|(agent, _)| agent.agent_type() == agent_type);
        agents
            .map(|(_, weights)| self.score(weights, &asked))
            .fold(0.0, f64::max)
    }

    /// The prompts that an agent names as examples.
    pub(super) fn examples(&self, agent_type: &AgentType) -> impl Iterator<Item = &'a str> {
        let agents = self
            .agents
            .iter()
            .filter(move |(agent, _)| agent.agent_type() == agent_type);
        agents
            .flat_map(|(agent, _)| agent.skills())
            .flat_map(|skill| skill.examples())
            .map(String::as_str)
    }

    /// The one kind of agent that takes a place and a day without a question, where the text is no more than that: its card
    /// has such an example.
    pub(super) fn of_a_place_and_a_day(&self, text: &str) -> Option<&'a AgentType> {
        // A word that stands for something, such as "meeting", is hardly a place.
        if !::words::is_place_and_day(text) || !asked(text).ideas.is_empty() {
            return None;
        }
        let all = self.agents.iter().map(|(agent, _)| agent.agent_type());
        let mut takes = all.filter(|name| self.examples(name).any(::words::is_place_and_day));
        let first = takes.next()?;
        takes.all(|other| other == first).then_some(first)
    }

    fn score(&self, weights: &BTreeMap<String, f64>, asked: &Asked) -> f64 {
        let worth = |term: &String| {
            let weight = weights.get(term)?;
            Some(weight * self.spread.get(term).copied().unwrap_or(0.0))
        };
        let direct: f64 = asked.terms.iter().filter_map(worth).sum();
        let related: f64 = asked.ideas.iter().filter_map(worth).sum();
        let about: f64 = asked.content.iter().filter_map(worth).sum::<f64>() + related;
        let score = direct + related;
        let speaks = |term: &&String| {
            weights.contains_key(*term) || ideas(term).any(|idea| weights.contains_key(idea))
        };
        let speaking = asked.content.iter().filter(speaks).count();
        let share = ratio(speaking, asked.content.len());
        if about >= CLEAR || (about >= ENOUGH && share >= COVERED) {
            score
        } else {
            0.0
        }
    }
}

pub(super) struct Asked {
    pub(super) terms: BTreeSet<String>,
    pub(super) ideas: BTreeSet<String>,
    /// The terms that are no names and no times: what the prompt is about.
    content: BTreeSet<String>,
}

pub(super) fn asked(text: &str) -> Asked {
    let end = text.char_indices().nth(READ_MAX).map_or(text.len(), |(at, _)| at);
    let found = terms(text.get(..end).unwrap_or(text));
    let about = found.iter().filter(|(term, name)| !name && !is_time_term(term));
    Asked {
        ideas: found
            .iter()
            .flat_map(|(term, _)| ideas(term))
            .map(str::to_owned)
            .collect(),
        content: about.map(|(term, _)| term.clone()).collect(),
        terms: found.into_iter().map(|(term, _)| term).collect(),
    }
}

pub(super) fn weights(agent: &AgentBrief) -> BTreeMap<String, f64> {
    let mut named: BTreeMap<String, f64> = BTreeMap::new();
    add(&mut named, agent.agent_type().as_str(), 2.5);
    add(&mut named, agent.name(), 2.2);
    let mut told: BTreeMap<String, f64> = BTreeMap::new();
    add(&mut told, agent.description(), 0.9);
    for skill in agent.skills() {
        add(&mut named, skill.name(), 1.8);
        // What an agent does not do, `not:refund`, is no reason to ask it.
        for tag in skill.tags().iter().filter(|tag| !tag.starts_with("not:")) {
            // Of a compound such as `open-meteo` no part alone is what the agent is for.
            let plain = tag.chars().all(char::is_alphanumeric);
            add(&mut named, tag, if plain { 1.8 } else { 0.8 });
        }
        add(&mut told, skill.description(), 0.9);
        for example in skill.examples() {
            add(&mut told, example, 1.2);
        }
    }
    let terse = (TERSE / ratio(told.len().max(1), 1)).min(1.0).sqrt();
    let mut related: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
    for term in named.keys() {
        for idea in ideas(term) {
            related.insert(idea, (1.4, 2));
        }
    }
    for term in told.keys() {
        for idea in ideas(term) {
            related.entry(idea).or_insert((1.1 * terse, 0)).1 += 1;
        }
    }
    let mut all = named;
    for (term, weight) in told {
        let known = all.entry(term).or_insert(0.0);
        *known = known.max(weight * terse);
    }
    // One passing mention of "free" or "night" in a description does not make an agent one for calendars or hotels.
    let related = related.into_iter().filter(|(_, (_, mentions))| *mentions >= 2);
    all.extend(related.map(|(idea, (weight, _))| (idea.to_owned(), weight)));
    all
}

fn add(weights: &mut BTreeMap<String, f64>, text: &str, weight: f64) {
    for (term, name) in terms(&text.replace(['_', '-'], " ")) {
        // A place in an example, or "tomorrow", says little about what the agent is for.
        let weight = if name && weight < 1.5 || is_time_term(&term) {
            weight.min(0.2)
        } else {
            weight
        };
        let known = weights.entry(term).or_insert(0.0);
        *known = known.max(weight);
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        number(part) / number(whole)
    }
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
