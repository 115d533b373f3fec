//! A text as words, of which those that are understood are taken out.

use std::ops::Range;

use words::phrases::{self, Word};

pub(super) struct Said<'t> {
    text: &'t str,
    words: Vec<Word<'t>>,
    lower: Vec<String>,
    taken: Vec<bool>,
}

impl<'t> Said<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let words = phrases::words(text);
        Self {
            text,
            lower: words.iter().map(Word::lower).collect(),
            taken: vec![false; words.len()],
            words,
        }
    }

    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// A word in small letters; nothing beyond the ends.
    pub(super) fn lower(&self, at: usize) -> &str {
        self.lower.get(at).map_or("", String::as_str)
    }

    /// A word as it is written.
    pub(super) fn text_of(&self, at: usize) -> &'t str {
        self.words.get(at).map_or("", |word| word.text)
    }

    /// What stands before a word, behind the one before.
    pub(super) fn gap(&self, at: usize) -> &'t str {
        let from = at.checked_sub(1).and_then(|before| self.words.get(before));
        let (from, to) = (from.map_or(0, |word| word.end), self.words.get(at));
        let to = to.map_or(self.text.len(), |word| word.start);
        self.text.get(from..to).unwrap_or_default()
    }

    /// Words as they are written, with what stands between them.
    pub(super) fn slice(&self, words: Range<usize>) -> &'t str {
        let first = self.words.get(words.start);
        let last = words.end.checked_sub(1).and_then(|last| self.words.get(last));
        let range = first.zip(last).map(|(first, last)| first.start..last.end);
        range.and_then(|range| self.text.get(range)).unwrap_or_default()
    }

    /// The same with the marks that belong to the last of them: "C++", but not a full stop.
    pub(super) fn with_marks(&self, words: Range<usize>) -> &'t str {
        let first = self
            .words
            .get(words.start)
            .map_or(self.text.len(), |first| first.start);
        let end = self
            .words
            .get(words.end)
            .map_or(self.text.len(), |next| next.start);
        let text = self.text.get(first..end).filter(|_| !words.is_empty());
        text.unwrap_or_default()
            .trim_end_matches(|c: char| c.is_whitespace() || ".,;:!?\"'–—-".contains(c))
    }

    /// The words that nothing took.
    pub(super) fn open(&self) -> impl Iterator<Item = usize> {
        let taken = self.taken.iter().enumerate();
        taken.filter(|(_, taken)| !**taken).map(|(at, _)| at)
    }

    pub(super) fn is_open(&self, at: usize) -> bool {
        self.taken.get(at) == Some(&false)
    }

    pub(super) fn take(&mut self, words: Range<usize>) {
        let taken = self.taken.iter_mut().take(words.end).skip(words.start);
        taken.for_each(|taken| *taken = true);
    }
}
