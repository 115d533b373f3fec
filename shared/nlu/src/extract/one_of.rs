//! One of several choices, and what tells it: words beside others, or phrases alone.

use std::collections::HashSet;

use domain::READ_MAX;
use serde_json::Value;
use words::text;

use super::vocabulary::Vocabulary;

/// One of several choices.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OneOf {
    pub(super) value: Value,
    /// What it is called, where it is not read in a whole sentence.
    pub(super) vocabulary: Vocabulary,
    /// What it is told by, beside other words.
    pub(super) words: HashSet<String>,
    /// What it is told by alone, as words.
    pub(super) phrases: Vec<Vec<String>>,
    /// The field that tells it, where a value of that is said: `{minutes}`.
    pub(super) field: Option<String>,
}

impl OneOf {
    pub(super) fn of(value: &Value, told: &str) -> Option<Self> {
        let lower = |text: &str| -> Vec<String> {
            let words = text::split(text, READ_MAX).into_iter();
            words.map(|word| word.lower).collect()
        };
        let mut pieces = told.split('`').enumerate();
        let (mut words, mut phrases, mut field) = (HashSet::new(), Vec::new(), None);
        let name = value.as_str()?;
        match lower(name).as_slice() {
            [word] => _ = words.insert(word.clone()),
            name => phrases.push(name.to_vec()),
        }
        pieces.by_ref().for_each(|(at, piece)| match at % 2 {
            0 => words.extend(lower(piece)),
            _ => match piece.strip_prefix('{') {
                Some(name) => field = Some(name.trim_end_matches('}').to_owned()),
                None => phrases.push(lower(piece)),
            },
        });
        Some(Self {
            value: value.clone(),
            vocabulary: Vocabulary::of(name, told),
            words,
            phrases,
            field,
        })
    }
}
