//! Whom a text concerns: its words, held against the words of what agents say of themselves.
//!
//! A word of the text speaks for a type of agents by the word of its cards that is most like it, the more the fewer types
//! have such a word. A type with more words than others has counts less for each: words do not pay by their number. What of a
//! text speaks for nobody weighs against everybody.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::AgentType;

use super::grams::{ByHash, Grams, Runs, grams, likeness};
use super::guess::vocabulary;
use super::terms::{Languages, Term, language, spelled, terms};
use crate::AgentBrief;

/// What a word counts for that stands in a description or an example; in a name or a tag it counts for more.
const TOLD: f64 = 0.8;
/// What a word of a name or a tag counts for.
const NAMING: f64 = 1.0;
/// What a part of a tag such as `open-meteo` counts for: alone it is not what the agent is for.
const COMPOUND: f64 = 0.45;
/// How much the types that have a word too take from it: with 1, each of two gets half.
const SHARED: f64 = 0.3;
/// A text of so many words loses half of what speaks for somebody, a longer one more.
const WORDS: f64 = 3.5;
/// From here on a text is for somebody.
const FITS: f64 = 0.31;
/// How much more the best must have than the second.
const CLEARLY: f64 = 1.5;
/// How much more one agent must have than another of its type, that the other is not as good.
const ALIKE: f64 = 1.2;
/// What a text must have more for somebody where others do not speak its language, who might be meant as well.
const UNHEARD: f64 = 1.6;
/// How much a type's words lose where it has more of them than the average: with 1, one of twice as many has half.
const LONG: f64 = 0.27;
/// Of what the best has, the least that is enough for the only one that is called by its name.
const CALLED: f64 = 0.7;
/// What the second of two neighbours counts for that both name what somebody does.
const SPECIFIED: f64 = 0.2;
/// What likeness to a word of another language counts for, where the two are not the same.
const ABROAD: f64 = 0.5;
/// What a word of a name or a tag counts for at least, however long the card is.
const NAMED_LEAST: f64 = 0.7;
/// From here on somebody may be meant.
const NEAR: f64 = 0.02;
/// Of what the best has, the least that makes another one worth naming.
const BESIDE: f64 = 0.08;
/// From here on somebody is worth asking about.
const OFFERED: f64 = 0.2;
/// Of what the best of these has, the least that makes another one worth it too.
const WITH_IT: f64 = 0.4;
/// A text of so many words is too short to be for somebody by the words of examples alone.
const SCRAP: usize = 2;
/// Of what a part of a text says, how much must speak for somebody where nothing else is said.
const WHOLE: f64 = 0.8;
/// What says less than this has said nothing.
const HARDLY: f64 = 0.1;
/// Most that are named to choose from.
const NAMED: usize = 3;

/// Agents, ready to be compared with texts. Those of one type are one.
#[derive(Debug, Default)]
pub(crate) struct Index {
    types: Vec<AgentType>,
    /// What each type's words count for.
    even: Vec<f64>,
    /// The languages that all types' cards are written in.
    spoken: Languages,
    words: Vec<Word>,
    /// All words of the cards, as they are spelled.
    spelled: BTreeSet<String>,
    /// Words of names and tags, with the types whose they are.
    named: HashMap<String, Vec<usize>>,
    of_gram: HashMap<u64, Vec<u32>, ByHash>,
}

/// A word of cards.
#[derive(Debug)]
struct Word {
    /// How many runs of letters it has.
    grams: usize,
    /// What it begins with.
    opening: u64,
    /// The languages of the texts that it stands in.
    spoken: Languages,
    /// The types that have it, with what it counts for there.
    used: Vec<(usize, f64)>,
}

impl Index {
    pub(crate) fn of(agents: &[AgentBrief]) -> Self {
        let mut types: Vec<AgentType> = agents.iter().map(|agent| agent.agent_type().clone()).collect();
        types.sort_unstable();
        types.dedup();
        let place = |agent: &AgentBrief| types.binary_search(agent.agent_type()).unwrap_or_default();
        let cards = agents.iter().map(|agent| (place(agent), card(agent)));
        let cards: Vec<_> = cards.collect();
        let mut index = Self::of_cards(types.len(), &cards);
        let spoken = |agent_type: &AgentType| {
            let own = agents.iter().filter(|agent| agent.agent_type() == agent_type);
            own.flat_map(texts).fold(0, |all, (text, _)| all | language(text))
        };
        index.spoken = types
            .iter()
            .map(spoken)
            .fold(Languages::MAX, |all, own| all & own);
        index.types = types;
        index.spelled = vocabulary(agents);
        index
    }

    /// An index over cards as words, each with its owner's place.
    fn of_cards(owners: usize, cards: &[(usize, Card)]) -> Self {
        let mut words: BTreeMap<&str, (&Term, Languages, BTreeMap<usize, f64>)> = BTreeMap::new();
        for (owner, card) in cards {
            for said in card.values() {
                let entry = words.entry(&said.term.text);
                let entry = entry.or_insert_with(|| (&said.term, 0, BTreeMap::new()));
                entry.1 |= said.spoken;
                let known = entry.2.entry(*owner).or_insert(0.0);
                *known = known.max(said.weight);
            }
        }
        let mut index = Self {
            even: even(owners, words.values().map(|(_, spoken, used)| (*spoken, used))),
            ..Self::default()
        };
        for (number, (term, spoken, used)) in (0..).zip(words.into_values()) {
            let naming = used.iter().filter(|(_, weight)| **weight >= NAMING);
            let naming: Vec<usize> = naming.map(|(owner, _)| *owner).collect();
            if !naming.is_empty() {
                index.named.insert(term.text.clone(), naming);
            }
            let grams = grams(term);
            index.words.push(Word {
                grams: grams.runs.len(),
                opening: grams.opening,
                spoken,
                used: used.into_iter().collect(),
            });
            for gram in grams.runs {
                index.of_gram.entry(gram).or_default().push(number);
            }
        }
        index
    }

    /// All words of the cards.
    pub(super) fn spelled(&self) -> &BTreeSet<String> {
        &self.spelled
    }

    /// How much speaks for each type, in their order.
    fn scores(&self, text: &str) -> Scores {
        let (terms, spoken) = (self.terms(text), language(text));
        let mut scores = vec![0.0; self.even.len()];
        let mut firm = vec![false; self.even.len()];
        let mut work = Work::of(self);
        for term in &terms {
            work.best(self, &grams(term), spoken);
            let all: f64 = work.best.iter().map(|(_, best)| *best).sum();
            for (owner, best) in &work.best {
                if let Some(score) = scores.get_mut(*owner) {
                    *score += term.weight * best * (best / all).powf(SHARED);
                }
                if let Some(firm) = firm.get_mut(*owner) {
                    *firm |= term.weight >= 1.0;
                }
            }
        }
        let said = terms.iter().map(|term| term.weight).sum();
        let matter = terms.iter().filter(|term| term.is_matter());
        let matter = matter.map(|term| term.weight).sum();
        Scores {
            all: scores,
            firm,
            said,
            matter,
        }
    }

    /// The terms of a text. "Order" holds sentences together, but not where somebody has it in its name; and a "weather
    /// report" is about the weather.
    fn terms(&self, text: &str) -> Vec<Term> {
        let mut terms = terms(text);
        for term in terms.iter_mut().filter(|term| term.is_faint()) {
            if self.named.contains_key(&term.text) {
                term.weight = 1.0;
            }
        }
        let mut before = false;
        for term in &mut terms {
            let names = self.named.contains_key(&term.text);
            if names && before && term.behind {
                term.weight *= SPECIFIED;
            }
            before = names;
        }
        terms
    }

    /// What must speak for somebody in this text.
    pub(super) fn bar(&self, text: &str) -> f64 {
        let said_in = language(text);
        let unheard = said_in != 0 && said_in & self.spoken == 0;
        if unheard { FITS * UNHEARD } else { FITS }
    }

    /// The types that a text may be for, the likeliest first.
    pub(super) fn near(&self, text: &str) -> Vec<&AgentType> {
        let ranked = self.ranked(&self.scores(text).diluted());
        let best = ranked.first().map_or(0.0, |(best, _)| *best);
        let least = NEAR.max(best * BESIDE);
        let near = ranked.into_iter().filter(|(score, _)| *score >= least);
        near.take(NAMED).map(|(_, agent_type)| agent_type).collect()
    }

    /// The types that the user is asked about, the likeliest first: those that come close together, or else those that
    /// something of weight speaks for. None where that is everybody: who is near everything is near nothing.
    pub(super) fn worth_asking(&self, text: &str) -> Vec<&AgentType> {
        let ranked = self.ranked(&self.scores(text).firm().diluted());
        let best = ranked.first().map_or(0.0, |(best, _)| *best);
        let least = match best >= self.bar(text) {
            true => best / CLEARLY,
            false => OFFERED.max(best * WITH_IT),
        };
        let near = ranked.into_iter().filter(|(score, _)| *score >= least);
        let near: Vec<&AgentType> = near.map(|(_, agent_type)| agent_type).collect();
        if near.len() > 2 && near.len() >= self.types.len() {
            return Vec::new();
        }
        near.into_iter().take(NAMED).collect()
    }

    /// Whether a text is no more than a word or two that some example happens to have, and no name of what is wanted.
    fn is_scrap(&self, text: &str) -> bool {
        spelled(text).len() <= SCRAP && !terms(text).iter().any(|term| self.named.contains_key(&term.text))
    }

    /// The type that a text is for, where it is for one.
    pub(super) fn best(&self, text: &str, bar: f64) -> Option<&AgentType> {
        let ranked = self.ranked(&self.scores(text).firm().diluted());
        let best = clearly(&ranked, bar).filter(|_| !self.is_scrap(text));
        let best = best.map(|(_, agent_type)| agent_type);
        best.or_else(|| self.called(text, &ranked, bar))
    }

    /// Of two that come close, the one that the text calls by its name: "a report on hot air balloons".
    fn called<'a>(&self, text: &str, ranked: &[(f64, &'a AgentType)], bar: f64) -> Option<&'a AgentType> {
        let terms = terms(text);
        let called = terms
            .iter()
            .filter_map(|term| self.named.get(&term.text))
            .flatten();
        let called: BTreeSet<usize> = called.copied().collect();
        let called: Vec<&usize> = called.iter().collect();
        let [only] = called.as_slice() else { return None };
        let only = self.types.get(**only)?;
        let (score, only) = ranked.iter().take(2).find(|(_, near)| *near == only)?;
        let best = ranked.first().map_or(0.0, |(best, _)| *best);
        (*score >= bar && *score >= best * CALLED).then_some(only)
    }

    /// The type that a part of a text is for, with what speaks for it, whatever else the part says.
    pub(super) fn best_of_part(&self, text: &str, least: f64) -> Option<(f64, &AgentType)> {
        clearly(&self.ranked(&self.scores(text).firm().all), least)
    }

    /// The type that a text is for which says nothing but that: "am I free on Friday?".
    pub(super) fn nothing_but(&self, text: &str) -> Option<&AgentType> {
        self.all_of_part(text).filter(|_| !self.is_scrap(text))
    }

    /// The type that a part of a text is for, where the part says nothing else, such as "am I free?".
    pub(super) fn all_of_part(&self, text: &str) -> Option<&AgentType> {
        let scores = self.scores(text);
        let whole = (scores.matter * WHOLE).max(HARDLY);
        clearly(&self.ranked(&scores.all), whole).map(|(_, agent_type)| agent_type)
    }

    /// What speaks for a type in a part of a text.
    pub(super) fn score(&self, text: &str, agent_type: &AgentType) -> f64 {
        let place = self.types.binary_search(agent_type).ok();
        place
            .and_then(|place| self.scores(text).all.get(place).copied())
            .unwrap_or(0.0)
    }

    /// The types that something speaks for, the best first; equal ones by name.
    fn ranked(&self, scores: &[f64]) -> Vec<(f64, &AgentType)> {
        let scores = scores.iter().copied().zip(&self.types);
        let mut ranked: Vec<(f64, &AgentType)> = scores.filter(|(score, _)| *score > 0.0).collect();
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
        ranked
    }
}

/// The best, where that is enough and no other comes close.
fn clearly<'a>(ranked: &[(f64, &'a AgentType)], least: f64) -> Option<(f64, &'a AgentType)> {
    let second = ranked.get(1).map_or(0.0, |(score, _)| *score);
    let best = ranked.first().copied();
    best.filter(|(best, _)| *best >= least && *best >= second * CLEARLY)
}

/// How much of a text speaks for each type, in their order.
struct Scores {
    all: Vec<f64>,
    /// For which more speaks than words that hold sentences together.
    firm: Vec<bool>,
    /// How much the text says.
    said: f64,
    /// How much of it is neither when nor where nor who.
    matter: f64,
}

impl Scores {
    /// The same without types for which nothing but words speaks that hold sentences together.
    fn firm(mut self) -> Self {
        for (score, firm) in self.all.iter_mut().zip(&self.firm) {
            if !firm {
                *score = 0.0;
            }
        }
        self
    }

    /// What of a text speaks for nobody weighs against everybody.
    fn diluted(&self) -> Vec<f64> {
        let left = WORDS / (WORDS + self.said);
        self.all.iter().map(|score| score * left).collect()
    }
}

/// The places of the cards, of one type all, that a text speaks for most; all of them where nothing tells them apart.
pub(super) fn most_spoken_of(agents: &[AgentBrief], text: &str) -> Vec<usize> {
    let cards: Vec<_> = agents.iter().map(card).enumerate().collect();
    let scores = Index::of_cards(agents.len(), &cards).scores(text).all;
    let best = scores.iter().copied().fold(0.0, f64::max);
    let fits = scores
        .iter()
        .enumerate()
        .filter(|(_, score)| **score * ALIKE >= best);
    fits.map(|(place, _)| place).collect()
}

/// What is remembered from one word to the next.
struct Work {
    both: Vec<u16>,
    touched: Vec<u32>,
    of_owner: Vec<f64>,
    /// The owners with a word like the one looked at, with how much it speaks for them.
    best: Vec<(usize, f64)>,
}

impl Work {
    fn of(index: &Index) -> Self {
        Self {
            both: vec![0; index.words.len()],
            touched: Vec::new(),
            of_owner: vec![0.0; index.even.len()],
            best: Vec::new(),
        }
    }

    fn best(&mut self, index: &Index, asked: &Grams, spoken: Languages) {
        for number in asked
            .runs
            .iter()
            .filter_map(|gram| index.of_gram.get(gram))
            .flatten()
        {
            if let Some(both) = usize::try_from(*number).ok().and_then(|at| self.both.get_mut(at)) {
                if *both == 0 {
                    self.touched.push(*number);
                }
                *both = both.saturating_add(1);
            }
        }
        self.best.clear();
        for at in self
            .touched
            .drain(..)
            .filter_map(|number| usize::try_from(number).ok())
        {
            let (Some(word), Some(both)) = (index.words.get(at), self.both.get_mut(at)) else {
                continue;
            };
            let like = likeness(Runs {
                asked: asked.runs.len(),
                known: word.grams,
                both: usize::from(std::mem::take(both)),
                open_alike: asked.opening == word.opening,
            });
            let abroad = like < 1.0 && spoken != 0 && spoken & word.spoken == 0;
            let like = if abroad { like * ABROAD } else { like };
            for (owner, weight) in word.used.iter().filter(|_| like > 0.0) {
                let (Some(known), Some(even)) = (self.of_owner.get_mut(*owner), index.even.get(*owner))
                else {
                    continue;
                };
                if *known <= 0.0 {
                    self.best.push((*owner, 0.0));
                }
                let even = if *weight >= NAMING {
                    even.max(NAMED_LEAST)
                } else {
                    *even
                };
                *known = known.max(like * weight * even);
            }
        }
        for (owner, best) in &mut self.best {
            if let Some(known) = self.of_owner.get_mut(*owner) {
                *best = std::mem::take(known);
            }
        }
    }
}

/// What each owner's words count for: less where it has more of them than the average. Words of several languages are not more:
/// the language counts that has most of them.
fn even<'a>(owners: usize, words: impl Iterator<Item = (Languages, &'a BTreeMap<usize, f64>)>) -> Vec<f64> {
    let mut counts = vec![[0_u32; Languages::BITS as usize]; owners];
    for (spoken, used) in words {
        for owner in used.keys() {
            let of_language = counts.get_mut(*owner).into_iter().flatten();
            for (bit, count) in of_language.enumerate() {
                *count += u32::from(spoken >> bit & 1);
            }
        }
    }
    let counts: Vec<f64> = counts
        .iter()
        .map(|counts| f64::from(counts.iter().copied().max().unwrap_or(0)))
        .collect();
    let all: f64 = counts.iter().sum();
    let average = all / f64::from(u32::try_from(owners.max(1)).unwrap_or(u32::MAX));
    let even = |count: &f64| 1.0 / (1.0 - LONG + LONG * count / average.max(1.0));
    counts.iter().map(|count| even(count).min(1.0)).collect()
}

/// A card's terms by their text.
type Card = BTreeMap<String, Said>;

/// What a card says.
struct Said {
    term: Term,
    /// What it counts for.
    weight: f64,
    /// The languages it is said in.
    spoken: Languages,
}

fn card(agent: &AgentBrief) -> Card {
    let mut card = Card::new();
    for (text, weight) in texts(agent) {
        let spoken = match language(text) {
            0 => Languages::MAX,
            spoken => spoken,
        };
        for term in terms(text) {
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
fn texts(agent: &AgentBrief) -> Vec<(&str, f64)> {
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
