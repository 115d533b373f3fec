//! The order of the parts of a prompt: "the weather in Oslo, then write a report on it" is two parts, of which the second waits
//! for the first and works on what it brings. No part depends on how another ends: that is no matter of order.

use words::is_possessive;
use words::phrases::words;

use super::terms::{ABOUT, is_little};

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
/// Words that make what follows depend on something.
const CONDITIONS: &[&str] = &["if", "unless", "wenn", "falls", "si", "hvis"];

/// Words behind which a question stands that is part of a sentence.
const WHETHER: &[&str] = &["whether", "if", "ob", "si", "se", "om", "czy"];

/// The question within a sentence that says nothing besides: "could you check whether I'm free".
pub(super) fn asked_whether(piece: &str) -> Option<&str> {
    let words = words(piece);
    let is_whether = |word: &words::phrases::Word<'_>| WHETHER.contains(&word.lower().as_str());
    let at = words.iter().position(is_whether).filter(|at| *at > 0)?;
    let mut before = words.get(..at)?.iter();
    let little = before.all(|word| is_little(&word.lower()));
    piece.get(words.get(at + 1)?.start..).filter(|_| little)
}

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

/// Whether a later part of a text depends on something: "…, and if it rains, …".
pub(super) fn has_condition(text: &str) -> bool {
    let clauses = text.split(['.', ',', ';', '!', '?', '\n']).skip(1);
    let lower = |clause: &str| {
        words(clause)
            .iter()
            .map(words::phrases::Word::lower)
            .collect::<Vec<_>>()
    };
    let joins = |word: &&String| matches!(word.as_str(), "and" | "but" | "or" | "then");
    let begins = |clause: &str| lower(clause).iter().find(|word| !joins(word)).cloned();
    let within = lower(text)
        .windows(2)
        .any(|pair| matches!(pair, [one, other] if joins(&one) && is_condition(other)));
    within || clauses.filter_map(begins).any(|word| is_condition(&word))
}

fn is_condition(word: &str) -> bool {
    CONDITIONS.contains(&word)
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

/// To whom a part says that what was brought is to go, where it says no more than that: "email it to Bob".
pub(super) fn handed_to(piece: &str) -> Option<&str> {
    let words = words(piece);
    let [_, that, to, whom, ..] = words.as_slice() else {
        return None;
    };
    let hands_on = THAT.contains(&that.lower().as_str()) && to.lower() == "to";
    piece.get(whom.start..).filter(|_| hands_on)
}

/// Words behind the verb that say for whom something is to be done, and what, in the languages that people write to us.
#[rustfmt::skip]
const FOR_ME: &[&str] = &["me", "us", "mir", "uns", "moi", "nous", "nos", "mi", "ci", "meg", "oss", "mig", "mij", "ons"];
#[rustfmt::skip]
const A_THING: &[&str] = &[
    "a", "an", "the", "some", "ein", "eine", "einen", "den", "die", "das", "un", "una", "une", "le", "la", "et", "en", "een", "um", "uma",
];

/// Whether a piece of a prompt is a request of its own by its form: a verb, and behind it for whom, or what: "sing me a song", "play a
/// song". What is only listed is none: "the weather in Oslo and Bergen", nor what something is to be written about.
pub(super) fn asks_alone(text: &str, piece: &Piece) -> bool {
    let lower = |text: &str| -> Vec<String> { words(text).iter().map(words::phrases::Word::lower).collect() };
    let said = lower(piece.of(text));
    let [verb, second, _, ..] = said.as_slice() else {
        return false;
    };
    let begins_small = piece.start == 0 || piece.of(text).trim_start().starts_with(char::is_lowercase);
    let is_verb = begins_small && !verb.starts_with(|c: char| c.is_ascii_digit());
    let before = text.get(..piece.start).unwrap_or_default();
    let has_topic = || lower(before).iter().any(|word| ABOUT.contains(&word.as_str()));
    let is = |list: &[&str]| list.contains(&second.as_str());
    let thing = || (is(A_THING) || is_possessive(second)) && !is_little(verb) && !has_topic();
    is_verb && (is(FOR_ME) || thing())
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
    fn a_condition_is_one_only_before_a_later_part() {
        for (text, expected) in [
            ("Weather in Oslo, and if it rains, find me a flat", true),
            ("Weather in Oslo and if it is dry a flat", true),
            ("Weather in Oslo. Unless it snows, find a flat", true),
            ("let me know if it rains in Oslo and find a flat", false),
            ("if it rains in Oslo tell me", false),
        ] {
            assert_eq!(has_condition(text), expected, "{text}");
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
