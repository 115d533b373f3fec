//! The words that a text has in common with a card. Where there is no engine they alone say whose it is; beside one they tell apart
//! what is said alike. Each card counts by itself, whoever else is there.

use std::collections::HashSet;

use nlu::{Act, Reading, is_function_word, rarity};
use words::phrases::words;

use crate::{AgentBrief, SkillBrief};

/// Most examples of a skill that are read: whoever names more is no likelier for it.
const EXAMPLES_MAX: usize = 6;
/// How well a text must fit an agent to go there, in standard deviations above what anybody may say.
pub(super) const FITS: f32 = 2.1;
/// How well it must fit for its user to be asked.
pub(super) const NEAR: f32 = 1.2;
/// Most letters of a word that are looked at: what follows is an ending.
const STEM: usize = 6;
/// Most words of a text, and of a card, that are looked at.
const WORDS_MAX: usize = 400;
/// A word that is no rarer says nothing.
const SAYS: f32 = 0.3;
/// The same of one that mostly holds sentences together: "order" is rarer than "how" and "about".
const FUNCTION_SAYS: f32 = 0.44;
/// What a word of an agent's name counts for, beside one of what it says it does.
const NAMED: f32 = 1.5;
/// The same where nothing but words is known.
const NAMED_ALONE: f32 = 3.0;
/// What all words together count for at most.
const SCORE_MAX: f32 = 3.0;
/// What an id counts for that begins as those of a card do.
const ID_SAYS: f32 = 3.0;
/// Most letters before an id's number, and fewest digits of it: "A4" and "Q3" are ids of nobody's.
const KIND_MAX: usize = 6;
const DIGITS_MIN: usize = 2;
/// So much in common is enough, where nobody else has as much; and how much better a card fits for each rare word beyond that, in the
/// engine's deviations.
const ENOUGH: f32 = 0.3;
const PIECE_ENOUGH: f32 = 0.4;
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
    /// What ids begin with in what it says of itself: "inv" of "INV-2043".
    kinds: HashSet<String>,
}

impl Lexicon {
    /// Of these agents' cards.
    pub(crate) fn of(agents: &[AgentBrief]) -> Self {
        let card = |agent: &AgentBrief| {
            let skills = || agent.skills().iter();
            let names = [agent.name(), agent.agent_type().as_str()].into_iter();
            let names = names.chain(skills().map(SkillBrief::name));
            let described = skills().map(SkillBrief::description).chain([agent.description()]);
            // What holds sentences together says something where it is said what the agent does: "order".
            let told = texts(agent).into_iter().flat_map(stems);
            let told = told.filter(|word| !word.is_passing);
            Card {
                kinds: texts(agent).into_iter().flat_map(kinds).take(WORDS_MAX).collect(),
                named: names.flat_map(stems).map(|word| word.stem).collect(),
                told: described
                    .flat_map(stems)
                    .chain(told)
                    .map(|word| word.stem)
                    .take(WORDS_MAX)
                    .collect(),
            }
        };
        let cards = agents.iter().map(card);
        Self {
            cards: cards.collect(),
        }
    }

    /// How much each card has in common with a text: about one for each rare word.
    pub(crate) fn scores(&self, text: &str) -> Vec<f32> {
        self.scored(text, NAMED)
    }

    fn scored(&self, text: &str, named: f32) -> Vec<f32> {
        let text = &nlu::unquoted(text);
        let mut said: Vec<Stem> = stems(text).take(WORDS_MAX).collect();
        said.sort_by(|one, other| one.stem.cmp(&other.stem));
        said.dedup_by(|one, other| one.stem == other.stem);
        let ids: Vec<String> = kinds(text).take(WORDS_MAX).collect();
        let score = |card: &Card| {
            let of = |word: &Stem| match () {
                () if card.named.contains(&word.stem) => word.rarity * named,
                () if card.told.contains(&word.stem) => word.rarity,
                () => 0.0,
            };
            let is_own = ids.iter().any(|kind| card.kinds.contains(kind));
            said.iter().map(of).sum::<f32>().min(SCORE_MAX) + if is_own { ID_SAYS } else { 0.0 }
        };
        self.cards.iter().map(score).collect()
    }

    /// A piece of a text, likewise. It is another agent's than the whole text's where that one has enough of its words, and more.
    pub(crate) fn piece(&self, text: &str, whole: &Reading) -> Reading {
        let mut piece = self.reading(text);
        let scores = self.scored(text, NAMED_ALONE);
        let first = whole.ranked().first().map(|(first, _)| *first);
        let of_first = first.and_then(|first| scores.get(first)).copied().unwrap_or(0.0);
        let others = scores.iter().enumerate().filter(|(at, _)| Some(*at) != first);
        let most = others.map(|(_, score)| *score).fold(0.0, f32::max);
        let leaves = most >= PIECE_ENOUGH.max(of_first + ENOUGH);
        for (at, (fit, score)) in piece.fits.iter_mut().zip(&scores).enumerate() {
            // It goes to whom it fits best, or stays where the whole is.
            if leaves && *score < most || !leaves && Some(at) != first {
                *fit = 0.0;
            }
        }
        piece
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
            tells: -1.0,
            fits: self.scored(text, NAMED_ALONE).into_iter().map(fit).collect(),
        }
    }
}

/// The beginning of a word.
struct Stem {
    stem: String,
    /// How rare the word is.
    rarity: f32,
    /// It mostly holds sentences together, or has a capital within one: in an example a name is as good as any other.
    is_passing: bool,
}

/// The beginnings of the words of a text that are not too common.
fn stems(text: &str) -> impl Iterator<Item = Stem> {
    words(text).into_iter().filter_map(|word| {
        let lower = word.lower();
        let rarity = rarity(&lower);
        let is_function = is_function_word(&lower);
        let least = if is_function { FUNCTION_SAYS } else { SAYS };
        (rarity > least && lower.contains(char::is_alphabetic)).then(|| {
            let plural = lower.strip_suffix('s').filter(|short| short.len() > 2);
            Stem {
                stem: plural.unwrap_or(&lower).chars().take(STEM).collect(),
                rarity,
                is_passing: is_function || word.is_name(),
            }
        })
    })
}

/// What the ids of a text begin with, in small letters: "inv" of "INV-2043" and of "inv2043".
fn kinds(text: &str) -> impl Iterator<Item = String> {
    let tokens = text.split(|c: char| !c.is_alphanumeric() && !"-_#".contains(c));
    tokens.filter_map(|token| {
        let token = token.trim_start_matches(['-', '_', '#']);
        let digits = token.trim_start_matches(char::is_alphabetic);
        let kind = token.strip_suffix(digits)?;
        let number = digits.trim_start_matches(['-', '_', '#']);
        let is_id = (1..=KIND_MAX).contains(&kind.chars().count())
            && number.len() >= DIGITS_MIN
            && number.bytes().all(|byte| byte.is_ascii_digit());
        is_id.then(|| kind.to_lowercase())
    })
}

/// What an agent says of itself, as far as it is read.
pub(super) fn texts(agent: &AgentBrief) -> Vec<&str> {
    let mut texts = vec![agent.name(), agent.description()];
    for skill in agent.skills() {
        texts.extend([skill.name(), skill.description()]);
        texts.extend(skill.examples().iter().take(EXAMPLES_MAX).map(String::as_str));
    }
    texts.retain(|text| !text.is_empty());
    if texts.is_empty() {
        texts.push(agent.agent_type().as_str());
    }
    texts
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
    fn an_id_is_of_the_card_that_has_such_ids() {
        assert_eq!(
            kinds("INV-2043, hd17, #QS_881 and A4").collect::<Vec<_>>(),
            ["inv", "hd", "qs"]
        );
        let bills = search("Payables", "Says where a bill such as INV-2043 is.");
        let tickets = search("Desk", "Says where a ticket such as HD-17 is.");
        let agents = [bills, tickets];
        for (text, expect) in [("wheres inv-2310 at", 0), ("Und HD-212?", 1)] {
            assert_eq!(best_fitting(&agents, text), [expect], "{text}");
        }
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
