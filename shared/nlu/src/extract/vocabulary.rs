//! Words that are known in more than one form, and words that say nothing by themselves.

use std::collections::HashSet;
use std::sync::LazyLock;

/// The shortest word of a description that names something.
const NOUN_MIN: usize = 4;
/// How much of a longer word two forms of it share: "order" and "ordered", "delivery" and "deliveries".
const STEM_MIN: usize = 5;
/// How many letters an ending has at most.
const ENDING_MAX: usize = 3;

/// Words, each found in its other forms too.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Vocabulary(HashSet<String>);

impl Vocabulary {
    /// The words of a name, each of them, and of a description, the longer ones.
    pub(super) fn of(name: &str, description: &str) -> Self {
        let mut known = Self::default();
        known.extend(parts(name));
        known.extend(parts(description).filter(|word| word.chars().count() >= NOUN_MIN));
        known
    }

    /// Whether a word, in small letters, is one of them in its singular or plural.
    pub(super) fn has_noun(&self, lower: &str) -> bool {
        forms(lower).take(2).any(|form| self.0.contains(form))
    }

    pub(super) fn extend<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) {
        for word in words {
            let word = word.to_lowercase();
            self.0.extend(forms(&word).map(str::to_owned));
        }
    }

    /// Whether a word, in small letters, is one of them.
    pub(super) fn has(&self, lower: &str) -> bool {
        forms(lower).any(|form| self.0.contains(form))
    }
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
}

/// A word without its last letters, as far as that may be an ending.
fn forms(word: &str) -> impl Iterator<Item = &str> {
    let ends = word.char_indices().rev().take(ENDING_MAX).map(|(end, _)| end);
    let shorter = ends.enumerate().filter_map(|(cut, end)| {
        let form = word.get(..end)?;
        let least = if cut == 0 { NOUN_MIN } else { STEM_MIN };
        (form.chars().count() >= least).then_some(form)
    });
    std::iter::once(word).chain(shorter)
}

/// The languages whose function words are known.
const LANGUAGES: [&str; 10] = ["en", "de", "es", "fr", "it", "nl", "no", "sv", "pt", "pl"];

static FUNCTION_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let known = LANGUAGES.into_iter().filter_map(stop_words::lookup);
    known.flatten().copied().collect()
});

/// Whether a word, in small letters, holds sentences together and says nothing by itself, in one of ten languages.
#[must_use]
pub fn is_function_word(lower: &str) -> bool {
    FUNCTION_WORDS.contains(lower)
}
