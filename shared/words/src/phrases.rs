//! Phrases as they are written: for one who passes on what was said and does not act on it.

use chrono::{Month, Weekday};

/// A word of a text, with where it stands.
#[derive(Debug, Clone, Copy)]
pub struct Word<'a> {
    /// As it is written.
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The first of its sentence, where a capital says nothing.
    pub first: bool,
}

impl Word<'_> {
    /// Written like a name: a capital followed by small letters, not at the start of a sentence.
    #[must_use]
    pub fn is_name(&self) -> bool {
        let mut chars = self.text.chars();
        !self.first
            && chars.next().is_some_and(char::is_uppercase)
            && chars.next().is_some_and(char::is_lowercase)
            && !is_time(&self.text.to_lowercase())
            // The month, which is no time in small letters.
            && self.text != "May"
    }

    /// In small letters.
    #[must_use]
    pub fn lower(&self) -> String {
        self.text.to_lowercase()
    }
}

/// The words of a text.
#[must_use]
pub fn words(text: &str) -> Vec<Word<'_>> {
    let mut out: Vec<Word<'_>> = Vec::new();
    let mut start: Option<usize> = None;
    let mut first = true;
    let mut next_first = true;
    for (at, c) in text.char_indices().chain([(text.len(), '\n')]) {
        if c.is_alphanumeric() {
            if start.is_none() {
                start = Some(at);
                first = next_first;
                next_first = false;
            }
            continue;
        }
        if let Some(begun) = start.take()
            && let Some(word) = text.get(begun..at)
        {
            out.push(Word {
                text: word,
                start: begun,
                end: at,
                first,
            });
        }
        next_first |= matches!(c, '.' | '?' | '!' | ':' | '\n');
    }
    out
}

/// Whether a word, in small letters, says when. The month of May does not in small letters, nor do names that are cut short.
#[must_use]
pub fn is_time(word: &str) -> bool {
    match word {
        "today" | "tonight" | "tomorrow" | "yesterday" | "now" | "day" | "days" | "week" | "weeks"
        | "weekend" | "weekends" | "month" | "months" | "year" | "years" | "hour" | "hours" | "morning"
        | "afternoon" | "evening" | "night" | "noon" | "next" | "last" => true,
        name => name.len() > 3 && (name.parse::<Weekday>().is_ok() || name.parse::<Month>().is_ok()),
    }
}

/// Names of places: words written like names behind a preposition.
#[must_use]
pub fn places(text: &str) -> Vec<String> {
    let words = words(text);
    let mut out: Vec<String> = Vec::new();
    let mut open = false;
    let mut grows = false;
    for word in &words {
        if grows && word.is_name() {
            if let Some(place) = out.last_mut() {
                place.push(' ');
                place.push_str(word.text);
            }
        } else if open && word.is_name() {
            out.push(word.text.to_owned());
            grows = true;
        } else {
            grows = false;
        }
        open = matches!(
            word.lower().as_str(),
            "in" | "to" | "at" | "near" | "around" | "for" | "from" | "visit"
        );
    }
    out
}

/// Phrases that say when: "tomorrow", "next week", "on Friday".
#[must_use]
pub fn times(text: &str) -> Vec<String> {
    let words = words(text);
    let mut out: Vec<String> = Vec::new();
    let mut begun: Option<(usize, usize)> = None;
    for (at, word) in words.iter().enumerate() {
        let lower = word.lower();
        if is_time(&lower) {
            let before = at.checked_sub(1).and_then(|before| words.get(before));
            let linked = before.filter(|word| matches!(word.lower().as_str(), "on" | "this" | "at" | "in"));
            let own = linked.unwrap_or(word).start;
            begun = Some((begun.map_or(own, |(start, _)| start), word.end));
        } else if let Some((start, end)) = begun.take() {
            out.extend(text.get(start..end).map(str::to_owned));
        }
    }
    out.extend(
        begun
            .and_then(|(start, end)| text.get(start..end))
            .map(str::to_owned),
    );
    out
}
