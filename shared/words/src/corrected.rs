//! Who changes their mind within a message: "Paris.. no, in Lyon", "tomorrow, I mean Sunday".

use crate::phrases::{Word, words};

/// What takes back what stands before it, wherever a clause begins with it.
const TAKES_BACK: &str = "i mean, i meant, or rather, make that, make it, scratch that, no wait, wait no, actually, sorry, \
    correction, ich meine, ich meinte, besser gesagt, quiero decir, perdón, mejor dicho, je veux dire, pardon, jeg mener, jeg mente, \
    unnskyld";

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
        let (before, word) = (words.get(at.checked_sub(1)?)?, words.get(at)?);
        let gap = text.get(before.end..word.start)?;
        Some(gap.contains([',', '.', '…', '-', '–', '—', ';', '(', '!', '?', '\n']))
    };
    let (mut at, mut found) = (1, None);
    while let Some(said) = words.get(at..).filter(|said| !said.is_empty()) {
        let behind = begins(at)
            .filter(|begins| *begins)
            .and_then(|_| taken_back(text, said));
        found = behind.map(|behind| (at, behind)).or(found);
        at += behind.unwrap_or(1);
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
    let is_reason = |word: &Word<'_>| REASONS.contains(&word.lower().as_str());
    match way(said) {
        Some(1) if said.get(1).is_some_and(is_reason) => None,
        Some(length) => Some(length),
        None => {
            let (no, next) = (said.first()?, said.get(1)?);
            let gap = text.get(no.end..next.start)?;
            let marked = gap.contains([',', '.', '…', '-', '–', '—', '!']);
            let instead = marked || way(said.get(1..)?).is_some() || INSTEAD.contains(&next.lower().as_str());
            (NO.contains(&no.lower().as_str()) && instead).then_some(1)
        }
    }
}

/// How many words of these are a way to take something back.
fn way(said: &[Word<'_>]) -> Option<usize> {
    let lower: Vec<String> = said.iter().take(3).map(Word::lower).collect();
    let ways = TAKES_BACK
        .split(", ")
        .map(|way| way.split(' ').collect::<Vec<_>>());
    let mut said =
        ways.filter(|way| lower.len() >= way.len() && way.iter().zip(&lower).all(|(way, said)| way == said));
    said.next().map(|way| way.len())
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
