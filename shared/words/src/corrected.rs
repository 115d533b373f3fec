//! Who changes their mind within a message: "Paris.. no, in Lyon", "tomorrow, I mean Sunday".

use crate::phrases::{Word, words};

/// What takes back what stands before it, wherever a clause begins with it.
const TAKES_BACK: &[&[&str]] = &[
    &["i", "mean"],
    &["i", "meant"],
    &["or", "rather"],
    &["make", "that"],
    &["make", "it"],
    &["scratch", "that"],
    &["no", "wait"],
    &["wait", "no"],
    &["actually"],
    &["sorry"],
    &["correction"],
    &["ich", "meine"],
    &["ich", "meinte"],
    &["besser", "gesagt"],
    &["quiero", "decir"],
    &["perdón"],
    &["mejor", "dicho"],
    &["je", "veux", "dire"],
    &["pardon"],
    &["jeg", "mener"],
    &["jeg", "mente"],
    &["unnskyld"],
];

/// "Sorry for the trouble" takes nothing back.
const REASONS: &[&str] = &["for", "about", "für", "por", "pour"];

/// What does so where something stands behind it that is said instead: behind a mark, or with a preposition.
pub(crate) const NO: &[&str] = &["no", "nope", "nein", "non", "nei", "いや"];
const INSTEAD: &[&str] = &[
    "in", "on", "for", "to", "at", "en", "a", "à", "i", "på", "make", "not",
];

/// The text before the last change of mind, and what is said instead; `None` where nothing is taken back.
#[must_use]
pub fn corrected(text: &str) -> Option<(&str, &str)> {
    let words = words(text);
    let begins = |at: usize| {
        let end = at
            .checked_sub(1)
            .and_then(|before| words.get(before))
            .map(|word| word.end);
        let gap = |end: usize| text.get(end..words.get(at)?.start);
        end.and_then(gap)
            .is_some_and(|gap| gap.contains([',', '.', '…', '-', '–', '—', ';', '(', '!', '?', '\n']))
    };
    let (mut at, mut found) = (1, None);
    while at < words.len() {
        match words
            .get(at..)
            .filter(|_| begins(at))
            .and_then(|said| taken_back(text, said))
        {
            Some(behind) => {
                found = Some((at, behind));
                at += behind;
            }
            None => at += 1,
        }
    }
    let (at, behind) = found?;
    let (before, after) = (words.get(at - 1)?.end, words.get(at + behind)?.start);
    Some((text.get(..before)?, text.get(after..)?))
}

/// How many of these words take back what stands before them, one after the other: "No, sorry, I mean Lyon". Something stands behind.
fn taken_back(text: &str, said: &[Word<'_>]) -> Option<usize> {
    let mut length = takes_back(text, said)?;
    while let Some(more) = said.get(length..).and_then(|rest| takes_back(text, rest))
        && length + more < said.len()
    {
        length += more;
    }
    said.get(length).map(|_| length)
}

/// How many words at the beginning of these take back what stands before them.
fn takes_back(text: &str, said: &[Word<'_>]) -> Option<usize> {
    let lower = |at: usize| said.get(at).map(Word::lower).unwrap_or_default();
    let is = |way: &&&[&str]| way.iter().enumerate().all(|(at, word)| lower(at) == *word);
    match TAKES_BACK.iter().find(is) {
        Some([_]) if REASONS.contains(&lower(1).as_str()) => None,
        Some(way) => Some(way.len()),
        None => {
            let (no, next) = (said.first()?, said.get(1)?);
            let marked = text
                .get(no.end..next.start)?
                .contains([',', '.', '…', '-', '–', '—', '!']);
            let more = TAKES_BACK
                .iter()
                .any(|way| way.iter().enumerate().all(|(at, word)| lower(at + 1) == *word));
            let instead = marked || more || INSTEAD.contains(&next.lower().as_str());
            (NO.contains(&no.lower().as_str()) && instead).then_some(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a stack of its own, as a function's thread may have a small one.
    #[test]
    fn who_changes_their_mind_for_ever_is_followed_to_the_end() {
        let text = format!("Oslo, {}in Lyon", "no, sorry, I mean ".repeat(50_000));
        let read = std::thread::Builder::new()
            .stack_size(256 * 1024)
            .spawn(move || corrected(&text) == Some(("Oslo", "in Lyon")))
            .unwrap();
        assert!(read.join().unwrap());
    }

    #[test]
    fn the_last_change_of_mind_counts() {
        for (text, expect) in [
            (
                "weather in Paris.. no, in Lyon",
                Some(("weather in Paris", "in Lyon")),
            ),
            (
                "weather in Paris, no wait, Lyon",
                Some(("weather in Paris", "Lyon")),
            ),
            ("Oslo tomorrow – I mean Sunday", Some(("Oslo tomorrow", "Sunday"))),
            ("Oslo, sorry, Bergen", Some(("Oslo", "Bergen"))),
            (
                "rain in Rome? no, sorry, I meant Milan",
                Some(("rain in Rome", "Milan")),
            ),
            (
                "Wetter in Bonn, nein, in Köln",
                Some(("Wetter in Bonn", "in Köln")),
            ),
            (
                "tiempo en Madrid, perdón, en Toledo",
                Some(("tiempo en Madrid", "en Toledo")),
            ),
            ("météo à Nice, non, à Lyon", Some(("météo à Nice", "à Lyon"))),
            ("vær i Oslo, nei, i Bergen", Some(("vær i Oslo", "i Bergen"))),
            ("Oslo, actually make it Bergen", Some(("Oslo", "Bergen"))),
            ("will it be dry in Oslo, yes or no", None),
            ("rain in Oslo, no snow", None),
            ("is it cold in Oslo, no?", None),
            ("sorry, weather in Oslo", None),
            ("no, in Lyon", None),
            ("Oslo", None),
            ("", None),
        ] {
            assert_eq!(corrected(text), expect, "{text}");
        }
    }
}
