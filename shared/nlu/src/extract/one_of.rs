//! One of several choices, and what tells it: words beside others, or phrases alone.

use std::collections::HashSet;

use domain::READ_MAX;
use serde_json::Value;
use words::text;

/// One of several choices.
#[derive(Debug, Clone)]
pub(super) struct OneOf {
    pub(super) value: Value,
    /// What it is told by, beside other words.
    pub(super) words: HashSet<String>,
    /// What it is told by alone, as words.
    pub(super) phrases: Vec<Vec<String>>,
}

impl OneOf {
    pub(super) fn of(value: &Value, told: &str) -> Option<Self> {
        let lower = |text: &str| -> Vec<String> {
            let words = text::split(text, READ_MAX).into_iter();
            words.map(|word| word.lower).collect()
        };
        let mut pieces = told.split('`').enumerate();
        let (mut words, mut phrases) = (HashSet::new(), Vec::new());
        match lower(value.as_str()?).as_slice() {
            [word] => _ = words.insert(word.clone()),
            name => phrases.push(name.to_vec()),
        }
        pieces.by_ref().for_each(|(at, piece)| match at % 2 {
            0 => words.extend(lower(piece)),
            _ => phrases.push(lower(piece)),
        });
        let value = value.clone();
        Some(Self {
            value,
            words,
            phrases,
        })
    }
}
