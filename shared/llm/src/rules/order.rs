//! The order of the parts of a prompt: "the weather in Oslo, then write a report on it" is two parts, of which the second waits
//! for the first and works on what it brings. No part depends on how another ends: that is no matter of order.

use words::phrases::words;

/// Words that put what follows behind what was said before.
const LATER: &[&str] = &[
    "then",
    "afterwards",
    "afterward",
    "finally",
    "dann",
    "danach",
    "después",
    "luego",
    "ensuite",
    "puis",
    "deretter",
    "etterpå",
    "poi",
    "daarna",
    "sedan",
    "depois",
    "potem",
    "потом",
];
/// The same, of more than one word, at the beginning of a part.
const LATER_TOO: &[[&str; 2]] = &[
    ["after", "that"],
    ["after", "this"],
    ["once", "done"],
    ["when", "done"],
    ["después", "de"],
    ["après", "cela"],
];
/// Words for when something is there, and for having got it.
const ONCE: &[&str] = &["once", "when", "sobald", "wenn", "cuando", "quand", "når"];
const GOT: &[&str] = &[
    "have", "got", "done", "finished", "ready", "know", "fertig", "hast", "listo", "tengas", "fini", "auras",
    "ferdig", "har",
];
/// What stands between them.
const WHO: &[&str] = &[
    "you",
    "it",
    "that",
    "this",
    "they",
    "these",
    "those",
    "both",
    "everything",
    "done",
    "finished",
    "ready",
    "du",
    "es",
    "das",
    "alles",
    "lo",
    "esté",
    "tu",
    "vous",
    "det",
    "den",
];
/// Most words of such a piece.
const ONCE_MAX: usize = 5;
/// Words that stand for what was brought.
const THAT: &[&str] = &[
    "it",
    "that",
    "this",
    "them",
    "these",
    "those",
    "both",
    "everything",
    "results",
    "result",
    "findings",
];
/// Words that such a one stands behind where it is what is worked on.
const BEHIND: &[&str] = &[
    "on",
    "about",
    "of",
    "from",
    "with",
    "using",
    "into",
    "summarize",
    "summarise",
    "translate",
];
/// A piece of a prompt: what stands between punctuation or joining words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) end: usize,
    /// A colon stands behind it.
    pub(super) colon: bool,
    /// Its sentence ends behind it.
    pub(super) closed: bool,
}

impl Piece {
    pub(super) fn of<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// The pieces without those that only say when the next one is to come: "After that, …".
pub(super) fn without_links(text: &str, mut pieces: Vec<Piece>) -> Vec<Piece> {
    let last = pieces.last().map(|piece| piece.start);
    pieces.retain(|piece| {
        let lower: Vec<String> = words(piece.of(text))
            .iter()
            .map(words::phrases::Word::lower)
            .collect();
        let links = leads(&lower) && lower.len() <= 2 || is_once(&lower) && lower.len() <= ONCE_MAX;
        !links || Some(piece.start) == last
    });
    pieces
}

/// Whether a word, in small letters, puts what follows behind what was said before.
pub(super) fn is_later(lower: &str) -> bool {
    LATER.contains(&lower)
}

/// Whether something begins with a word that puts it behind what was said before.
fn leads(words: &[String]) -> bool {
    match words {
        [one, other, ..] if LATER_TOO.contains(&[one.as_str(), other.as_str()]) => true,
        [one, ..] => LATER.contains(&one.as_str()) || is_once(words),
        [] => false,
    }
}

/// "Once you have that", "when it is done": a word for when, who or what has it, and soon behind that one for having got it.
/// "When do I have time" is a question.
fn is_once(words: &[String]) -> bool {
    let is = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let soon = words.get(1..).unwrap_or_default().iter().take(ONCE_MAX);
    matches!(words, [once, who, ..] if is(once, ONCE) && is(who, WHO))
        && soon.into_iter().any(|word| is(word, GOT))
}

/// What the pieces of one agent say of their order.
pub(super) struct Own {
    pub(super) is_later: bool,
    pub(super) refers: bool,
}

impl Own {
    /// Of the pieces at these places.
    pub(super) fn of(text: &str, pieces: &[Piece], own: &[usize]) -> Self {
        let first = own.first().copied().unwrap_or_default();
        let lower = |at: usize| -> Vec<String> {
            let piece = pieces.get(at).map_or("", |piece| piece.of(text));
            words(piece).iter().map(words::phrases::Word::lower).collect()
        };
        let begin = lower(first);
        // What parts the pieces is no part of them: "…, then …".
        let end = first
            .checked_sub(1)
            .and_then(|before| pieces.get(before))
            .map(|piece| piece.end);
        let start = pieces.get(first).map_or(0, |piece| piece.start);
        let gap = end.and_then(|end| text.get(end..start)).unwrap_or_default();
        let gap: Vec<String> = words(gap).iter().map(words::phrases::Word::lower).collect();
        Self {
            is_later: first > 0
                && (leads(&begin) || (0..gap.len()).any(|at| leads(gap.get(at..).unwrap_or_default()))),
            refers: first > 0 && own.iter().any(|at| refers(&lower(*at))),
        }
    }
}

/// Whether a part ends with a word for what was brought before it.
fn refers(words: &[String]) -> bool {
    let polite =
        |word: &&String| matches!(word.as_str(), "please" | "too" | "then" | "all" | "thanks" | "me");
    let mut rest = words.iter().rev().skip_while(polite);
    let that = rest.next().is_some_and(|word| THAT.contains(&word.as_str()));
    let behind = rest.find(|word| word.as_str() != "the");
    that && behind.is_some_and(|word| BEHIND.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_brought_is_meant_at_the_end_behind_a_word_that_works_on_it() {
        for (text, expected) in [
            ("write a report on it", true),
            ("a report about that, please", true),
            ("make a report of the results", true),
            ("summarise them", true),
            ("write a report on it all", true),
            ("write a report on whales", false),
            ("what is the status of that order", false),
            ("a flat for both", false),
            ("find it", false),
            ("", false),
        ] {
            let words: Vec<String> = words(text).iter().map(words::phrases::Word::lower).collect();
            assert_eq!(refers(&words), expected, "{text}");
        }
    }

    #[test]
    fn what_waits_for_something_is_told_from_a_question_for_a_time() {
        for (text, expected) in [
            ("once you have that", true),
            ("when it is done", true),
            ("sobald du das hast", true),
            ("when do I have time", false),
            ("when are we done", false),
            ("when it rains", false),
        ] {
            let words: Vec<String> = words(text).iter().map(words::phrases::Word::lower).collect();
            assert_eq!(is_once(&words), expected, "{text}");
        }
    }
}
