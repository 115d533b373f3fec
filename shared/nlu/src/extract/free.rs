//! A value that is text of any kind, told by what people say around it.

use std::ops::Range;

use super::said::Said;
use super::takes::Takes;
use super::vocabulary::is_function_word;

/// Takes out the value; `None` where there are but words that ask.
pub(super) fn take(said: &mut Said<'_>, takes: &Takes, is_answer: bool) -> Option<String> {
    let open: Vec<usize> = said.open().collect();
    let left = Left {
        words: open.iter().map(|at| said.lower(*at)).collect(),
        takes,
    };
    let found = left.value(is_answer)?;
    let first = *open.get(found.start)?;
    let shown = open.iter().take(found.end).skip(found.start).zip(first..);
    let length = shown.take_while(|(open, at)| *open == at).count();
    let mut last = first + length;
    while last > first && takes.ends.contains(said.lower(last - 1)) {
        last -= 1;
    }
    let value = said.with_marks(first..last).to_owned();
    said.take(first..first + length);
    (!value.is_empty()).then_some(value)
}

/// Takes out "and email it to Bob": a clause that hands a result on.
pub(super) fn take_handed_on(said: &mut Said<'_>) -> Option<String> {
    let is_joint = |at: &usize| {
        let (verb, what) = (said.lower(at + 1), said.lower(at + 2));
        let hands_on = !is_function_word(verb) && is_function_word(what);
        said.lower(*at) == "and" && hands_on && said.lower(at + 3) == "to"
    };
    let joint = (1..said.len()).rev().find(is_joint)?;
    let clause = said.with_marks(joint + 1..said.len()).to_owned();
    said.take(joint..said.len());
    Some(clause)
}

/// The words that no other field took, in small letters.
struct Left<'t> {
    words: Vec<&'t str>,
    takes: &'t Takes,
}

impl Left<'_> {
    fn value(&self, is_answer: bool) -> Option<Range<usize>> {
        let all = 0..self.words.len();
        let found = self.behind_lead().or_else(|| match self.noun_at_end() {
            Some(noun) => self.before(noun),
            None => self.behind_asking(),
        });
        found.or_else(|| (is_answer && !all.clone().all(|at| self.is_little(at))).then_some(all))
    }

    /// "A report about whales"; "about whales".
    fn behind_lead(&self) -> Option<Range<usize>> {
        let leads = |at: &usize| self.takes.prepositions.contains(self.word(*at));
        let known = |at: &usize| {
            self.takes
                .leads
                .contains(&[at - 1, *at].map(|at| self.word(at).to_owned()))
        };
        let (end, mut behind) = (self.words.len(), 1..self.words.len());
        let lead = behind
            .clone()
            .find(known)
            .or_else(|| behind.find(|at| leads(at) && self.asks(at - 1)))
            .or_else(|| {
                (0..end)
                    .take_while(|at| self.is_little(*at) || self.asks(*at))
                    .find(leads)
            })?;
        (lead + 1 < end).then_some(lead + 1..end)
    }

    /// What people ask for, where that is said last: "an electric cars report, please".
    fn noun_at_end(&self) -> Option<usize> {
        let last = (0..self.words.len()).rev().find(|at| !self.is_little(*at));
        last.filter(|at| self.asks(*at))
    }

    /// What stands before it; nothing where an article is all: "Ich brauche einen Bericht".
    fn before(&self, noun: usize) -> Option<Range<usize>> {
        let is_value = |at: &usize| !self.is_little(*at) && !self.asks(*at);
        let first = (0..noun).find(is_value)?;
        noun.checked_sub(1).filter(is_value).map(|_| first..noun)
    }

    /// "Report: whales"; "an overview of the history of tea".
    fn behind_asking(&self) -> Option<Range<usize>> {
        let first = (0..self.words.len()).find(|at| !self.asks(*at) && !self.is_little(*at))?;
        let noun = (0..first).rev().find(|at| self.asks(*at))?;
        let lead = usize::from(noun + 1 < first);
        Some(noun + 1 + lead..self.words.len())
    }

    fn word(&self, at: usize) -> &str {
        self.words.get(at).copied().unwrap_or_default()
    }

    fn asks(&self, at: usize) -> bool {
        self.takes.asking.has(self.word(at))
    }

    fn is_little(&self, at: usize) -> bool {
        is_function_word(self.word(at)) || self.takes.ends.contains(self.word(at))
    }
}
