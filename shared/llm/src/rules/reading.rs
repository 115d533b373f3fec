//! Whom a text concerns: its words, held against the words of what agents say of themselves.
//!
//! A word of the text speaks for a type of agents by the word of its cards that is most like it, the more the fewer types
//! have such a word. A type with more words than others has counts less for each: words do not pay by their number. What of a
//! text speaks for nobody weighs against everybody.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use ::words::is_possessive;
use domain::AgentType;

use super::cards::card;
use super::hashing::ByHash;
use super::index::{Index, Work};
use super::terms::{Languages, Term, Text, is_function_word, spelled};
use crate::AgentBrief;

/// What the word for a kind of things counts for, where a text names one of them.
const OF_A_KIND: f64 = 0.8;
/// What that for an amount of money counts for, which may stand in a request for anything.
const BESIDE_A_KIND: f64 = 0.5;
/// A text of so many words loses half of what speaks for somebody, a longer one more.
const WORDS: f64 = 3.5;
/// From here on a text is for somebody.
const FITS: f64 = 0.31;
/// How much more than that a text has that is for somebody beyond doubt.
pub(super) const SURELY: f64 = 1.8;
/// How much more the best must have than the second.
const CLEARLY: f64 = 1.5;
/// How much more one agent must have than another of its type, that the other is not as good.
const ALIKE: f64 = 1.2;
/// What a text must have more for somebody where others do not speak its language, who might be meant as well.
const UNHEARD: f64 = 1.6;
/// Of what the best has, the least that is enough for the only one that is called by its name.
const CALLED: f64 = 0.7;
/// What the second of two neighbours counts for that both name what somebody does.
const SPECIFIED: f64 = 0.2;
/// What a word counts for that says what something is to be written about.
const TOPIC: f64 = 0.35;
/// What a word must speak for somebody, to be more than a likeness.
const FIRM: f64 = 0.3;
/// The same beside a word that nobody has.
const SURE: f64 = 0.5;
/// What it counts for where a text has a saying of somebody's examples in it.
const SAID: f64 = 1.0;
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
/// Of so many words something is told.
const TOLD: usize = 2;
/// What ends a question.
const ASKS: [char; 2] = ['?', '？'];
/// Most that are named to choose from.
const NAMED: usize = 3;

/// Whom a word speaks for, in the text's languages.
type Known = HashMap<(String, Languages), Rc<[(u32, f64)]>, ByHash>;

/// Reads texts of one decision: what was found out of a text or of a word is not found out again.
pub(super) struct Reader<'i> {
    index: &'i Index,
    work: RefCell<Work>,
    words: RefCell<Known>,
    texts: RefCell<HashMap<String, Rc<Scores>, ByHash>>,
}

/// How much of a text speaks for each type, in their order.
struct Scores {
    all: Vec<f64>,
    /// For which more speaks than words that hold sentences together.
    firm: Vec<bool>,
    /// The same, and beside a word that nobody has more than a likeness.
    sure: Vec<bool>,
    /// Whether more speaks for anybody than one word that holds sentences together.
    is_heard: bool,
    /// How much the text says.
    said: f64,
    /// How much of it is neither when nor where nor who.
    matter: f64,
    /// Its language, where that is known.
    spoken: Languages,
    /// The types that a word of the text is the name of.
    called: BTreeSet<usize>,
    /// No more than a word or two, and no name of what is wanted.
    is_scrap: bool,
}

impl<'i> Reader<'i> {
    pub(super) fn of(index: &'i Index) -> Self {
        Self {
            index,
            work: RefCell::new(Work::of(index)),
            words: RefCell::default(),
            texts: RefCell::default(),
        }
    }

    /// How many entries of the index were looked at.
    #[cfg(test)]
    pub(super) fn looked_at(&self) -> usize {
        self.work.borrow().looked_at
    }

    /// What must speak for somebody in this text.
    pub(super) fn bar(&self, text: &str) -> f64 {
        let spoken = self.scores(text).spoken;
        let unheard = spoken != 0 && spoken & self.index.spoken == 0;
        if unheard { FITS * UNHEARD } else { FITS }
    }

    /// The types that a text may be for, the likeliest first.
    pub(super) fn near(&self, text: &str) -> Vec<&'i AgentType> {
        let scores = self.scores(text).diluted();
        let best = scores.iter().copied().fold(0.0, f64::max);
        self.unless_all(&scores, NEAR.max(best * BESIDE))
    }

    /// Whether more than a likeness says that a text is about what somebody does.
    pub(super) fn knows(&self, text: &str) -> bool {
        self.scores(text).firm.contains(&true)
    }

    /// Whether a text has a word of weight that nobody has.
    pub(super) fn is_strange(&self, text: &str) -> bool {
        let read = Text::of(text);
        let spoken = read.spoken;
        let strange = |term: &Term| {
            let by = self.speaks_for(term, spoken);
            term.weight >= OF_A_KIND && by.iter().all(|(_, speaks)| *speaks < HARDLY)
        };
        read.terms().iter().any(strange)
    }

    /// The types that are named where nobody gets a text, the likeliest first. Where several are alike near, and by one word that
    /// holds sentences together, none is: "what is the capital of France" is near nobody.
    pub(super) fn worth_naming(&self, text: &str) -> Vec<&'i AgentType> {
        let scores = self.scores(text);
        let near = self.ranked(&scores.diluted());
        let alike = match near.as_slice() {
            [(best, _), .., (last, _)] => near.len() == NAMED && *last * CLEARLY >= *best,
            _ => false,
        };
        // Of few agents three are no answer; of many they are.
        let few = self.index.types.len() < 2 * NAMED;
        match alike && few && !scores.is_heard {
            true => Vec::new(),
            false => self.near(text),
        }
    }

    /// The types that the user is asked about, the likeliest first: those that come close together, or else those that
    /// something of weight speaks for.
    pub(super) fn worth_asking(&self, text: &str) -> Vec<&'i AgentType> {
        let read = self.scores(text);
        let mut scores = read.firm_and_diluted();
        let unsure = scores.iter_mut().zip(&read.sure).filter(|(_, sure)| !**sure);
        unsure.for_each(|(score, _)| *score = 0.0);
        let best = scores.iter().copied().fold(0.0, f64::max);
        let least = match best >= self.bar(text) {
            true => best / CLEARLY,
            false => OFFERED.max(best * WITH_IT),
        };
        self.unless_all(&scores, least)
    }

    /// The types that so much speaks for, the best first, but for where that is everybody: who is near everything is near nothing.
    fn unless_all(&self, scores: &[f64], least: f64) -> Vec<&'i AgentType> {
        let all = scores.iter().filter(|score| **score >= least).count();
        if all > 2 && all >= self.index.types.len() {
            return Vec::new();
        }
        let near = self
            .ranked(scores)
            .into_iter()
            .filter(|(score, _)| *score >= least);
        near.map(|(_, agent_type)| agent_type).collect()
    }

    /// The type that a text is for, where it is for one.
    pub(super) fn best(&self, text: &str, bar: f64) -> Option<&'i AgentType> {
        let scores = self.scores(text);
        let ranked = self.ranked(&scores.firm_and_diluted());
        let best = clearly(&ranked, bar).filter(|_| !scores.is_scrap);
        let is_sure = |agent_type: &&AgentType| {
            let place = self.index.types.binary_search(agent_type).ok();
            place.is_none_or(|place| scores.sure.get(place) == Some(&true))
        };
        let best = best.map(|(_, agent_type)| agent_type).filter(is_sure);
        best.or_else(|| self.called(&scores, &ranked, bar))
    }

    /// Whether a text is for somebody whom it calls by a name, and nobody else by one.
    pub(super) fn is_called(&self, text: &str) -> bool {
        let scores = self.scores(text);
        let mut called = scores.called.iter();
        let only = called.next().filter(|_| called.next().is_none());
        let only = only.and_then(|only| self.index.types.get(*only));
        only.is_some() && self.best(text, self.bar(text)) == only
    }

    /// Of two that come close, the one that the text calls by its name: "a report on hot air balloons".
    fn called(&self, scores: &Scores, ranked: &[(f64, &'i AgentType)], bar: f64) -> Option<&'i AgentType> {
        let mut called = scores.called.iter();
        let only = called.next().filter(|_| called.next().is_none())?;
        let only = self.index.types.get(*only)?;
        let (score, only) = ranked.iter().take(2).find(|(_, near)| *near == only)?;
        let best = ranked.first().map_or(0.0, |(best, _)| *best);
        (*score >= bar && *score >= best * CALLED).then_some(only)
    }

    /// The type that a part of a text is for, with what speaks for it, whatever else the part says.
    pub(super) fn best_of_part(&self, text: &str, least: f64) -> Option<&'i AgentType> {
        clearly(&self.ranked(&self.scores(text).firm()), least).map(|(_, agent_type)| agent_type)
    }

    /// The type that a text is for which says nothing but that: "am I free on Friday?".
    pub(super) fn nothing_but(&self, text: &str) -> Option<&'i AgentType> {
        self.all_of_part(text).filter(|_| !self.scores(text).is_scrap)
    }

    /// The type that a part of a text is for, where the part says nothing else, such as "am I free?".
    pub(super) fn all_of_part(&self, text: &str) -> Option<&'i AgentType> {
        let scores = self.scores(text);
        let whole = (scores.matter * WHOLE).max(HARDLY);
        clearly(&self.ranked(&scores.all), whole).map(|(_, agent_type)| agent_type)
    }

    /// What speaks for a type in a part of a text.
    pub(super) fn score(&self, text: &str, agent_type: &AgentType) -> f64 {
        let place = self.index.types.binary_search(agent_type).ok();
        place
            .and_then(|place| self.scores(text).all.get(place).copied())
            .unwrap_or(0.0)
    }

    /// A part of a text as it is said: where a question stands before an "and", its mark stands behind the other half.
    pub(super) fn said<'t>(&self, text: &str, part: &'t str) -> Cow<'t, str> {
        let lost = text.contains(ASKS) && !part.contains(ASKS) && self.index.opens_a_question(part);
        match super::order::asked_whether(part) {
            Some(asked) => format!("{asked}?").into(),
            None if lost => format!("{part}?").into(),
            None => part.into(),
        }
    }

    /// How much speaks for each type, in their order.
    fn scores(&self, text: &str) -> Rc<Scores> {
        if let Some(known) = self.texts.borrow().get(text) {
            return Rc::clone(known);
        }
        let scores = Rc::new(self.read(text));
        self.texts
            .borrow_mut()
            .insert(text.to_owned(), Rc::clone(&scores));
        scores
    }

    fn read(&self, text: &str) -> Scores {
        let read = Text::of(text);
        let (spoken, words) = (read.spoken, read.words());
        let mut terms = read.terms();
        let named = |term: &Term| self.index.named.get(&term.text);
        let called: BTreeSet<usize> = terms.iter().filter_map(named).flatten().copied().collect();
        let asks = text.contains(ASKS);
        self.weigh(&mut terms, spoken, asks);
        // "Regen morgen?" asks by a word that somebody's examples have.
        let asks_for = |term: &Term| {
            let by = self.speaks_for(term, spoken);
            term.weight >= OF_A_KIND && by.iter().any(|(_, speaks)| *speaks >= SURE)
        };
        let is_scrap = words <= SCRAP && called.is_empty() && !(asks && terms.iter().any(asks_for));
        if let Some(told) = self.told_of_somebody(text, spoken) {
            let is_told = |term: &&mut Term| told.contains(&term.text);
            terms.iter_mut().filter(is_told).for_each(Term::passes);
        }
        let said = terms.iter().map(|term| term.weight).sum();
        let matter = terms.iter().filter(|term| term.is_matter());
        let matter = matter.map(|term| term.weight).sum();
        // What a word is the name of speaks as well, and makes the text no longer.
        // Where somebody is called, what a topic is a kind of says as little as the topic.
        let topic = terms
            .iter()
            .find(|term| term.is_topic)
            .map(|term| term.text.clone());
        let topic = topic.filter(|_| !called.is_empty());
        let before = topic.and_then(|topic| text.get(..text.to_lowercase().find(&topic)?));
        let firm = before.map(::words::kinds);
        let kinds = ::words::kinds(text).into_iter();
        let kinds = kinds.map(|kind| {
            let weight = match kind {
                ::words::Kind::Amount => BESIDE_A_KIND,
                _ => OF_A_KIND,
            };
            let of_topic = firm.as_ref().is_some_and(|firm| !firm.contains(&kind));
            Term::named(kind.word(), if of_topic { weight * TOPIC } else { weight })
        });
        terms.extend(
            kinds
                .filter(|kind| !terms.iter().any(|term| term.text == kind.text))
                .collect::<Vec<_>>(),
        );
        let mut all = vec![0.0; self.index.owners];
        let mut firm = vec![false; self.index.owners];
        let spoken_for: Vec<_> = terms.iter().map(|term| self.speaks_for(term, spoken)).collect();
        // Beside a word that nobody has, a mere likeness is none: "my laptop won't boot" is not about boots.
        let is_unknown = |(term, by): (&Term, &Rc<[(u32, f64)]>)| {
            term.weight >= OF_A_KIND && by.iter().all(|(_, speaks)| *speaks < HARDLY)
        };
        let beside_unknown = terms.iter().zip(&spoken_for).any(is_unknown);
        let heard = terms.iter().zip(&spoken_for);
        let heard = heard
            .filter(|(term, by)| term.is_matter() && by.iter().any(|(_, speaks)| *speaks >= HARDLY))
            .map(|(term, _)| term.weight);
        let heard: Vec<f64> = heard.collect();
        let is_heard = heard.len() > 1 || heard.iter().any(|weight| *weight >= OF_A_KIND);
        let least = if beside_unknown { SURE } else { FIRM };
        let mut sure = vec![false; self.index.owners];
        for (term, by) in terms.iter().zip(&spoken_for) {
            for (owner, speaks) in by.iter() {
                let Ok(owner) = usize::try_from(*owner) else {
                    continue;
                };
                if let (Some(score), Some(firm), Some(sure)) =
                    (all.get_mut(owner), firm.get_mut(owner), sure.get_mut(owner))
                {
                    *score += term.weight * speaks;
                    *firm |= term.weight >= OF_A_KIND && *speaks >= FIRM;
                    *sure |= term.weight >= OF_A_KIND && *speaks >= least;
                }
            }
        }
        for owner in self.index.said_to(&spelled(text)) {
            if let (Some(score), Some(firm), Some(sure)) =
                (all.get_mut(owner), firm.get_mut(owner), sure.get_mut(owner))
            {
                *score += SAID;
                *firm = true;
                *sure = true;
            }
        }
        Scores {
            all,
            firm,
            sure,
            is_heard,
            said,
            matter,
            spoken,
            called,
            is_scrap,
        }
    }

    /// The words of what is to be told to somebody who is no agent, and of what is told of somebody whom no agent knows: "text Bob
    /// that I'm late" is about nobody's being late, "my cat knocked over my coffee" about no coffee.
    fn told_of_somebody(&self, text: &str, spoken: Languages) -> Option<Vec<String>> {
        let clause = text
            .split([',', '.', ';', '!', '?', ':', '\n'])
            .next()
            .unwrap_or_default();
        let words = spelled(text);
        let clause = spelled(clause);
        let (who, told) = match (words.as_slice(), clause.as_slice()) {
            ([_, who, that, told @ ..], _) if that == "that" => (who, told),
            (_, [own, who, told @ ..]) if is_possessive(own) && !text.contains(ASKS) && !wants(told) => {
                (who, told)
            }
            _ => return None,
        };
        let by = self.speaks_for(&Term::named(who, 1.0), spoken);
        let is_known = is_function_word(who) || by.iter().any(|(_, speaks)| *speaks >= HARDLY);
        (!is_known).then(|| told.to_vec())
    }

    fn speaks_for(&self, term: &Term, spoken: Languages) -> Rc<[(u32, f64)]> {
        let key = (term.text.clone(), spoken);
        if let Some(known) = self.words.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found = self.index.speaks_for(term, spoken, &mut self.work.borrow_mut());
        let found: Rc<[(u32, f64)]> = found.into();
        self.words.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    /// "Order" holds sentences together, but not where somebody has it in its name; "am I free between 9 and 11?" says nothing but
    /// that; a "weather report" is about the weather, and a "report on delivery" is a report.
    fn weigh(&self, terms: &mut [Term], spoken: Languages, is_question: bool) {
        let mut matter: Vec<&mut Term> = terms.iter_mut().filter(|term| term.is_matter()).collect();
        let mut unknown: Vec<&mut Term> = Vec::new();
        if matter.len() > 1 && matter.iter().all(|term| term.is_faint()) {
            // Of nothing but words that hold sentences together, the one that somebody has.
            let is_known = |term: &Term| {
                let by = self.speaks_for(term, spoken);
                !term.leads && by.iter().any(|(_, speaks)| *speaks >= HARDLY)
            };
            (matter, unknown) = matter.into_iter().partition(|term| is_known(term));
        }
        if let ([only], true) = (matter.as_mut_slice(), is_question)
            && !(only.begins && only.is_faint())
        {
            only.weight = 1.0;
            unknown.into_iter().for_each(Term::passes);
        }
        let (mut before, mut named) = (false, false);
        for term in terms {
            if term.specifies
                && self
                    .speaks_for(term, spoken)
                    .iter()
                    .all(|(_, speaks)| *speaks < HARDLY)
            {
                term.passes();
            }
            let names = self.index.named.contains_key(&term.text);
            if names && term.is_faint() {
                term.weight = 1.0;
            }
            if names && before && term.behind {
                term.weight *= SPECIFIED;
            }
            if named && term.is_topic && term.is_matter() {
                term.weight *= TOPIC;
            }
            named |= names && !term.is_topic;
            before = names;
        }
    }

    /// The types that most speaks for, the best first; equal ones by name.
    fn ranked(&self, scores: &[f64]) -> Vec<(f64, &'i AgentType)> {
        let mut ranked: Vec<(f64, &AgentType)> = Vec::with_capacity(NAMED + 1);
        for (score, agent_type) in scores.iter().copied().zip(&self.index.types) {
            let least = ranked.get(NAMED - 1).map_or(0.0, |(least, _)| *least);
            if score > least {
                let at = ranked.partition_point(|(known, _)| *known >= score);
                ranked.insert(at, (score, agent_type));
                ranked.truncate(NAMED);
            }
        }
        ranked
    }
}

/// Whether what is told of somebody says that something is wanted, or what something is: too little is told beside that.
fn wants(told: &[String]) -> bool {
    let wants = |word: &String| {
        let form = word.strip_suffix('s').unwrap_or(word);
        matches!(
            form,
            "need"
                | "want"
                | "ask"
                | "wonder"
                | "would"
                | "like"
                | "is"
                | "i"
                | "are"
                | "should"
                | "must"
                | "looking"
        )
    };
    told.len() < TOLD || told.iter().any(wants)
}

/// The best, where that is enough and no other comes close.
fn clearly<'a>(ranked: &[(f64, &'a AgentType)], least: f64) -> Option<(f64, &'a AgentType)> {
    let second = ranked.get(1).map_or(0.0, |(score, _)| *score);
    let best = ranked.first().copied();
    best.filter(|(best, _)| *best >= least && *best >= second * CLEARLY)
}

impl Scores {
    /// Without types for which nothing but words speaks that hold sentences together.
    fn firm(&self) -> Vec<f64> {
        let firm = self.all.iter().zip(&self.firm);
        firm.map(|(score, firm)| if *firm { *score } else { 0.0 })
            .collect()
    }

    /// What of a text speaks for nobody weighs against everybody.
    fn diluted(&self) -> Vec<f64> {
        self.all.iter().map(|score| score * self.left()).collect()
    }

    fn firm_and_diluted(&self) -> Vec<f64> {
        let left = self.left();
        self.firm().into_iter().map(|score| score * left).collect()
    }

    fn left(&self) -> f64 {
        WORDS / (WORDS + self.said)
    }
}

/// The places of the cards, of one type all, that a text speaks for most; all of them where nothing tells them apart.
pub(super) fn most_spoken_of(agents: &[AgentBrief], text: &str) -> Vec<usize> {
    if agents.len() < 2 {
        return (0..agents.len()).collect();
    }
    let cards: Vec<_> = agents.iter().map(card).enumerate().collect();
    let index = Index::of_cards(agents.len(), &cards);
    let scores = Reader::of(&index).scores(text);
    let best = scores.all.iter().copied().fold(0.0, f64::max);
    let fits = scores
        .all
        .iter()
        .enumerate()
        .filter(|(_, score)| **score * ALIKE >= best);
    fits.map(|(place, _)| place).collect()
}
