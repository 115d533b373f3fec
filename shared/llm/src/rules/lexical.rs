//! The words that a text has in common with a card. Where there is no engine they alone say whose it is; beside one they tell apart
//! what is said alike. Each card counts by itself, whoever else is there.

use std::collections::HashSet;

use nlu::{Act, Reading, rarity};
use words::phrases::words;

use super::understood::{FITS, NEAR};
use crate::AgentBrief;

/// Most letters of a word that are looked at: what follows is an ending.
const STEM: usize = 6;
/// Most words of a text, and of a card, that are looked at.
const WORDS_MAX: usize = 400;
/// A word that is no rarer holds sentences together.
const SAYS: f32 = 0.15;
/// What a word of an agent's name counts for, beside one of what it says it does.
const NAMED: f32 = 1.5;
/// What all words together count for at most.
const SCORE_MAX: f32 = 3.0;
/// So much in common is enough, where nobody else has as much; and how much better a card fits for each rare word beyond that, in the
/// engine's deviations.
const ENOUGH: f32 = 0.3;
const EACH: f32 = 0.8;

/// The words of some cards.
#[derive(Debug, Default)]
pub(crate) struct Lexicon {
    cards: Vec<Card>,
}

#[derive(Debug)]
struct Card {
    named: HashSet<String>,
    told: HashSet<String>,
}

impl Lexicon {
    /// Of these agents' cards.
    pub(crate) fn of(agents: &[AgentBrief]) -> Self {
        let cards = agents.iter().map(|agent| Card {
            named: [agent.name(), agent.agent_type().as_str()]
                .into_iter()
                .flat_map(|text| stems(text).map(|(stem, _)| stem))
                .collect(),
            told: super::understood::texts(agent)
                .into_iter()
                .flat_map(stems)
                .map(|(stem, _)| stem)
                .take(WORDS_MAX)
                .collect(),
        });
        Self {
            cards: cards.collect(),
        }
    }

    /// How much each card has in common with a text: about one for each rare word.
    pub(crate) fn scores(&self, text: &str) -> Vec<f32> {
        let mut said: Vec<(String, f32)> = stems(text).take(WORDS_MAX).collect();
        said.sort_by(|one, other| one.0.cmp(&other.0));
        said.dedup_by(|one, other| one.0 == other.0);
        let score = |card: &Card| {
            let of = |(stem, rarity): &(String, f32)| match () {
                () if card.named.contains(stem) => rarity * NAMED,
                () if card.told.contains(stem) => *rarity,
                () => 0.0,
            };
            said.iter().map(of).sum::<f32>().min(SCORE_MAX)
        };
        self.cards.iter().map(score).collect()
    }

    /// A text as it is read by its words alone: it asks for something, and nothing is known of what it would do.
    pub(crate) fn reading(&self, text: &str) -> Reading {
        let fit = |score: f32| match score {
            score if score >= ENOUGH => FITS + EACH * (score - ENOUGH),
            score if score > 0.0 => NEAR,
            _ => 0.0,
        };
        Reading {
            acts: Act::ALL
                .map(|act| if act == Act::Request { 0.2 } else { 0.0 })
                .to_vec(),
            talk: Vec::new(),
            destroys: -1.0,
            conditional: -1.0,
            corrects: -1.0,
            fits: self.scores(text).into_iter().map(fit).collect(),
        }
    }
}

/// The beginnings of the words of a text that say something, each with how rare its word is.
fn stems(text: &str) -> impl Iterator<Item = (String, f32)> {
    words(text).into_iter().filter_map(|word| {
        let lower = word.lower();
        let rarity = rarity(&lower);
        (rarity > SAYS && lower.contains(char::is_alphabetic)).then(|| {
            let plural = lower.strip_suffix('s').filter(|short| short.len() > 2);
            (plural.unwrap_or(&lower).chars().take(STEM).collect(), rarity)
        })
    })
}

/// The agents, by their places, whose cards have most in common with a text; all of them where nothing tells them apart.
#[must_use]
pub fn best_fitting(agents: &[AgentBrief], text: &str) -> Vec<usize> {
    let scores = Lexicon::of(agents).scores(domain::to_read(text));
    let best = scores.iter().copied().fold(0.0, f32::max);
    let is_best = |(_, score): &(usize, &f32)| (**score - best).abs() <= f32::EPSILON;
    scores
        .iter()
        .enumerate()
        .filter(is_best)
        .map(|(at, _)| at)
        .collect()
}

#[cfg(test)]
mod tests {
    use domain::AgentType;

    use super::*;
    use crate::{CardText, SkillText};

    fn search(name: &str, description: &str) -> AgentBrief {
        let card = CardText { name, description };
        let skill = SkillText {
            name: "Search",
            ..SkillText::default()
        };
        AgentBrief::new(AgentType::parse("search").unwrap(), card, [skill])
    }

    #[test]
    fn the_words_that_only_one_card_has_decide() {
        let patents = search("Patent Search", "Searches patents of all countries.");
        let library = search("Library Search", "Searches books of the library.");
        let agents = [patents.clone(), library.clone(), patents];
        for (text, expect) in [
            ("search for a patent on batteries", &[0, 2][..]),
            ("search for books about whales", &[1]),
            ("search for whales", &[0, 1, 2]),
            ("", &[0, 1, 2]),
        ] {
            assert_eq!(best_fitting(&agents, text), expect, "{text}");
        }
        assert!(best_fitting(&[], "search").is_empty());
        assert_eq!(best_fitting(&[library], "anything"), [0]);
    }

    #[test]
    fn a_card_counts_the_same_whoever_is_beside_it() {
        let own = search("Patent Search", "Searches patents of all countries.");
        let other = search("Library Search", "Searches books and patents.");
        let alone = Lexicon::of(std::slice::from_ref(&own)).scores("any patents on bees?");
        let beside = Lexicon::of(&[own, other]).scores("any patents on bees?");
        assert_eq!(alone.first(), beside.first());
    }
}
