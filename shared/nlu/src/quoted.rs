//! What somebody quotes: words to be translated, sent or looked at are what a request is about, and ask for nothing themselves.

use std::borrow::Cow;
use std::ops::Range;

/// Marks that open and close a quotation, in whatever language.
const PAIRS: [(char, char); 9] = [
    ('"', '"'),
    ('“', '”'),
    ('„', '“'),
    ('«', '»'),
    ('»', '«'),
    ('「', '」'),
    ('『', '』'),
    ('‘', '’'),
    ('\'', '\''),
];
/// What stands for a quotation where only the rest is read.
const LEFT_OUT: &str = "“…”";
/// A quotation of fewer words is a name, or stands out for another reason; of fewer words beside it, it is all that was said.
const WORDS_MIN: usize = 2;

/// Where quotations stand in a text, their marks included.
#[must_use]
pub fn quoted(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut unclosed: Vec<char> = Vec::new();
    let mut before: Option<char> = None;
    let mut from = 0;
    for (at, mark) in text.char_indices() {
        let last = before.replace(mark);
        if at < from {
            continue;
        }
        let pair = PAIRS.iter().find(|(open, _)| *open == mark);
        let Some((_, close)) = pair.filter(|_| !unclosed.contains(&mark)) else {
            continue;
        };
        // An apostrophe within a word is none of these.
        if is_apostrophe(*close) && last.is_some_and(char::is_alphanumeric) {
            continue;
        }
        let behind = at + mark.len_utf8();
        match closed(text, behind, *close) {
            Some(end) => {
                out.push(at..end);
                from = end;
            }
            None => unclosed.push(mark),
        }
    }
    out
}

/// The text with each quotation left out that is more than a name, where something is said beside it.
#[must_use]
pub fn unquoted(text: &str) -> Cow<'_, str> {
    let is_long = |place: &Range<usize>| {
        text.get(place.clone())
            .is_some_and(|said| words(said) >= WORDS_MIN)
    };
    let places: Vec<Range<usize>> = quoted(text).into_iter().filter(is_long).collect();
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut rest = String::with_capacity(text.len());
    let mut from = 0;
    for place in places {
        rest.push_str(text.get(from..place.start).unwrap_or_default());
        rest.push_str(LEFT_OUT);
        from = place.end;
    }
    rest.push_str(text.get(from..).unwrap_or_default());
    match words(&rest) >= WORDS_MIN {
        true => Cow::Owned(rest),
        false => Cow::Borrowed(text),
    }
}

/// Where a quotation ends that began before this place.
fn closed(text: &str, from: usize, close: char) -> Option<usize> {
    let rest = text.get(from..)?;
    let ends = |(at, _): &(usize, &str)| {
        let next = rest
            .get(at + close.len_utf8()..)
            .and_then(|rest| rest.chars().next());
        !is_apostrophe(close) || next.is_none_or(|next| !next.is_alphanumeric())
    };
    let (at, _) = rest.match_indices(close).find(ends)?;
    Some(from + at + close.len_utf8())
}

fn is_apostrophe(mark: char) -> bool {
    matches!(mark, '\'' | '’')
}

/// How many words; where a language writes none apart, how many letters.
fn words(text: &str) -> usize {
    let letters = text.split(|c: char| !c.is_alphanumeric());
    let count = |word: &str| match word.is_ascii() {
        true => usize::from(!word.is_empty()),
        false => 1 + word.chars().filter(|c| *c >= '\u{3000}').count(),
    };
    letters.map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_left_out_where_something_is_said_beside_it() {
        for (text, expect) in [
            (
                "how do I say \"two days late\" in Polish?",
                "how do I say “…” in Polish?",
            ),
            (
                "auf englisch: »Wir melden uns, sobald es geht.«",
                "auf englisch: “…”",
            ),
            ("ins Deutsche: „where is it?“ bitte", "ins Deutsche: “…” bitte"),
            (
                "「納期を延ばせますか」を英語にしてください",
                "“…”を英語にしてください",
            ),
            ("what's 'I'm on my way' in French", "what's “…” in French"),
            (
                "where's Ann's 5\" screen, and don't wait",
                "where's Ann's 5\" screen, and don't wait",
            ),
            ("is the \"blue\" room free", "is the \"blue\" room free"),
            ("\"where is my order?\"", "\"where is my order?\""),
            ("", ""),
        ] {
            assert_eq!(unquoted(text), expect, "{text}");
        }
    }

    #[test]
    fn a_mark_without_its_like_opens_nothing() {
        assert_eq!(quoted("a “b and „c and 'd"), []);
        assert_eq!(quoted(&"“".repeat(2_000)), []);
        assert_eq!(quoted("“a” «b»").len(), 2);
    }
}
