//! The words of what agents say of themselves, ready to be compared with words of texts. It is made once for each answer of the
//! registry; all that can be found out without a text is found out here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::OnceLock;

use domain::AgentType;

use super::cards::{Card, NAMING, card, texts};
use super::grams::{Grams, Runs, grams, likeness};
use super::guess::Forms;
use super::hashing::ByHash;
use super::spelling::Spelling;
use super::terms::{Languages, Term, is_function_word, is_mute, language, spelled};
use crate::AgentBrief;

/// How much a type's words lose where it has more of them than the average: with 1, one of twice as many has half.
const LONG: f64 = 0.27;
/// What a word of a name or a tag counts for at least, however long the card is.
const NAMED_LEAST: f64 = 0.9;
/// What likeness to a word of another language counts for, where the two are not the same.
const ABROAD: f64 = 0.5;
/// How much the types that have a word too take from it: with 1, each of two gets half.
const SHARED: f64 = 0.3;

/// Of what a word speaks for the best, the least that takes from it.
const HAS: f64 = 0.1;
/// How many words a saying has.
const SAYING: std::ops::RangeInclusive<usize> = 2..=6;
/// How many words tell a question from a statement: "am I free", "I'm free".
const OPENING: usize = 2;

/// Agents, ready to be compared with texts. Those of one type are one.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(super) types: Vec<AgentType>,
    /// How many types or cards there are.
    pub(super) owners: usize,
    /// The languages that all types' cards are written in.
    pub(super) spoken: Languages,
    words: Vec<Word>,
    /// Owners of words with what a word counts for there; each word has a range of them.
    uses: Vec<(u32, f64)>,
    /// Words of names and tags, with the types whose they are.
    pub(super) named: HashMap<String, Vec<usize>, ByHash>,
    /// Where the words stand that have a run of letters.
    of_gram: HashMap<u64, Range<usize>, ByHash>,
    /// The numbers of words, one run's behind another's.
    postings: Vec<u32>,
    /// What examples say in little words alone, such as "qué tiempo hace", with the one type that it is said to.
    sayings: Vec<(Vec<String>, usize)>,
    /// What questions of examples begin with, such as "am I".
    openings: BTreeSet<Vec<String>>,
    /// Found out when a text first needs it.
    spelling: OnceLock<Spelling>,
    forms: OnceLock<Forms>,
}

/// A word of cards.
#[derive(Debug)]
struct Word {
    /// How many runs of letters it has.
    grams: u16,
    /// What it begins with.
    opening: u64,
    /// The languages of the texts that it stands in.
    spoken: Languages,
    /// The types that have it.
    uses: Range<usize>,
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
        let mut spoken = vec![0; types.len()];
        for agent in agents {
            let own = texts(agent)
                .into_iter()
                .fold(0, |all, (text, _)| all | language(text));
            if let Some(spoken) = spoken.get_mut(place(agent)) {
                *spoken |= own;
            }
        }
        index.spoken = spoken.into_iter().fold(Languages::MAX, |all, own| all & own);
        index.sayings = sayings(agents.iter().map(|agent| (place(agent), agent)));
        index.openings = openings(agents);
        index.types = types;
        index
    }

    /// The types that a text in little words is said to, each once.
    pub(super) fn said_to(&self, words: &[String]) -> BTreeSet<usize> {
        let stands = |saying: &[String]| words.windows(saying.len()).any(|run| run == saying);
        let said = self.sayings.iter().filter(|(saying, _)| stands(saying));
        said.map(|(_, owner)| *owner).collect()
    }

    /// Whether a text begins as some example's question does.
    pub(super) fn opens_a_question(&self, text: &str) -> bool {
        opening(text).is_some_and(|opening| self.openings.contains(&opening))
    }

    /// An index over cards as words, each with its owner's place.
    pub(super) fn of_cards(owners: usize, cards: &[(usize, Card)]) -> Self {
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
        let even = even(owners, words.values().map(|(_, spoken, used)| (*spoken, used)));
        let mut index = Self {
            owners,
            ..Self::default()
        };
        let mut of_gram: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for (number, (term, spoken, used)) in (0..).zip(words.into_values()) {
            let naming = used.iter().filter(|(_, weight)| **weight >= NAMING);
            let naming: Vec<usize> = naming.map(|(owner, _)| *owner).collect();
            if !naming.is_empty() {
                index.named.insert(term.text.clone(), naming);
            }
            let grams = grams(term);
            let from = index.uses.len();
            index.uses.extend(used.into_iter().filter_map(|(owner, weight)| {
                let even = even.get(owner).copied()?;
                let even = if weight >= NAMING {
                    even.max(NAMED_LEAST)
                } else {
                    even
                };
                Some((u32::try_from(owner).ok()?, weight * even))
            }));
            index.words.push(Word {
                grams: u16::try_from(grams.runs.len()).unwrap_or(u16::MAX),
                opening: grams.opening,
                spoken,
                uses: from..index.uses.len(),
            });
            for gram in grams.runs {
                of_gram.entry(gram).or_default().push(number);
            }
        }
        for (gram, numbers) in of_gram {
            let from = index.postings.len();
            index.postings.extend(numbers);
            index.of_gram.insert(gram, from..index.postings.len());
        }
        index
    }

    /// All words of the cards, as they are spelled.
    pub(super) fn spelling(&self, agents: &[AgentBrief]) -> &Spelling {
        self.spelling.get_or_init(|| Spelling::of(agents))
    }

    /// What the cards' examples look like.
    pub(super) fn forms(&self, agents: &[AgentBrief]) -> &Forms {
        self.forms.get_or_init(|| Forms::of(agents))
    }

    /// Whom a word of a text in these languages speaks for, and how much.
    pub(super) fn speaks_for(&self, term: &Term, spoken: Languages, work: &mut Work) -> Vec<(u32, f64)> {
        let asked = grams(term);
        work.count(self, &asked);
        let mut found: Vec<(u32, f64)> = Vec::new();
        for at in work.touched.drain(..) {
            let (Some(word), Some(both)) = (self.words.get(at), work.both.get_mut(at)) else {
                continue;
            };
            let like = likeness(Runs {
                asked: asked.runs.len(),
                known: usize::from(word.grams),
                both: usize::from(std::mem::take(both)),
                open_alike: asked.opening == word.opening,
            });
            if like <= 0.0 {
                continue;
            }
            let abroad = like < 1.0 && spoken != 0 && spoken & word.spoken == 0;
            let like = if abroad { like * ABROAD } else { like };
            for (owner, weight) in self.uses.get(word.uses.clone()).unwrap_or_default() {
                let known = usize::try_from(*owner)
                    .ok()
                    .and_then(|owner| work.of_owner.get_mut(owner));
                let Some(known) = known else { continue };
                if *known <= 0.0 {
                    found.push((*owner, 0.0));
                }
                *known = known.max(like * weight);
            }
        }
        for (owner, best) in &mut found {
            let known = usize::try_from(*owner)
                .ok()
                .and_then(|owner| work.of_owner.get_mut(owner));
            *best = known.map(std::mem::take).unwrap_or_default();
        }
        // Whoever has something like it takes nothing from whoever has it.
        let most = found.iter().map(|(_, best)| *best).fold(0.0, f64::max);
        let have = found
            .iter()
            .map(|(_, best)| *best)
            .filter(|best| *best >= most * HAS);
        let all: f64 = have.sum();
        for (_, best) in &mut found {
            *best *= (*best / all).min(1.0).powf(SHARED);
        }
        found
    }
}

/// The clauses of examples that have nothing but words that hold sentences together, where one type alone has such a clause.
fn sayings<'a>(agents: impl Iterator<Item = (usize, &'a AgentBrief)>) -> Vec<(Vec<String>, usize)> {
    let mut said: BTreeMap<Vec<String>, BTreeSet<usize>> = BTreeMap::new();
    for (owner, agent) in agents {
        let examples = agent.skills().iter().flat_map(|skill| skill.examples());
        let clauses = examples.flat_map(|example| example.split(|c: char| ",;.:?!¿¡".contains(c)));
        for clause in clauses.map(spelled) {
            let long = clause.iter().any(|word| !is_mute(word));
            if SAYING.contains(&clause.len()) && long && clause.iter().all(|word| is_function_word(word)) {
                said.entry(clause).or_default().insert(owner);
            }
        }
    }
    let only = said
        .into_iter()
        .filter(|(_, owners)| owners.len() == 1)
        .map(|(clause, owners)| owners.into_iter().map(move |owner| (clause.clone(), owner)));
    only.flatten().collect()
}

/// The first words of the clauses of examples that ask.
fn openings(agents: &[AgentBrief]) -> BTreeSet<Vec<String>> {
    let skills = agents.iter().flat_map(AgentBrief::skills);
    let sentences = skills
        .flat_map(|skill| skill.examples())
        .flat_map(|example| example.split_inclusive(['.', '!', '?', '？']));
    let questions = sentences.filter(|sentence| sentence.ends_with(['?', '？']));
    let clauses = questions.flat_map(|question| question.split([',', ';', ':']));
    clauses.filter_map(opening).collect()
}

/// What a text begins with; none where it is no more than that.
fn opening(text: &str) -> Option<Vec<String>> {
    let words = spelled(text);
    let (opening, rest) = words.split_at_checked(OPENING)?;
    (!rest.is_empty()).then(|| opening.to_vec())
}

/// What is needed to compare a word with all others; the next word needs no other.
#[derive(Debug, Default)]
pub(super) struct Work {
    both: Vec<u16>,
    touched: Vec<usize>,
    of_owner: Vec<f64>,
    /// How many entries of the index were looked at.
    pub(super) looked_at: usize,
}

impl Work {
    pub(super) fn of(index: &Index) -> Self {
        Self {
            both: vec![0; index.words.len()],
            touched: Vec::new(),
            of_owner: vec![0.0; index.owners],
            looked_at: 0,
        }
    }

    /// Counts what runs each known word has in common with the asked one.
    fn count(&mut self, index: &Index, asked: &Grams) {
        for range in asked.runs.iter().filter_map(|gram| index.of_gram.get(gram)) {
            let numbers = index.postings.get(range.clone()).unwrap_or_default();
            self.looked_at += numbers.len();
            for number in numbers {
                let Some(at) = usize::try_from(*number).ok() else {
                    continue;
                };
                if let Some(both) = self.both.get_mut(at) {
                    if *both == 0 {
                        self.touched.push(at);
                    }
                    *both = both.saturating_add(1);
                }
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
