//! A place and a day, and nothing else.

use crate::lists::{is_connector, preposition};
use crate::text::{Kind, Word};
use crate::{days, places, text};

/// Longest text that is read; a place and a day are short.
const MAX_TEXT: usize = 120;

/// Whether a text is a place and a day and nothing else: "Oslo tomorrow", "Rome and Paris on Friday?". It asks for nothing;
/// whoever answers such a text has to know what is asked of places and days.
#[must_use]
pub fn is_place_and_day(said: &str) -> bool {
    if said.chars().count() > MAX_TEXT {
        return false;
    }
    let mut words = text::split(said, MAX_TEXT);
    if days::take(&mut words, None).days.is_empty() {
        return false;
    }
    let named = places::find(&words);
    let links = |word: &Word| preposition(&word.lower).is_some() || is_connector(&word.lower);
    let rest = words
        .iter()
        .enumerate()
        .filter(|(at, _)| !named.iter().any(|place| place.has(*at)));
    let mut rest =
        rest.filter(|(_, word)| word.kind == Kind::Word && word.lower.contains(char::is_alphanumeric));
    !named.is_empty() && rest.all(|(_, word)| links(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_and_a_day_alone_are_told_from_questions() {
        for said in [
            "Oslo tomorrow",
            "rome friday",
            "Stavanger weekend?",
            "Tomorrow in Bergen",
            "Paris and Rome on Saturday",
            "new york next week",
            "for Oslo tomorrow",
        ] {
            assert!(is_place_and_day(said), "{said}");
        }
        for said in [
            "",
            "Oslo",
            "tomorrow",
            "on Friday",
            "24 December",
            "a flight to Rome on Friday",
            "What time is it in Tokyo tomorrow?",
            "Who won the game in Chicago on Friday?",
            "weather in Oslo tomorrow",
            "meeting friday",
            "How is my report today?",
        ] {
            assert!(!is_place_and_day(said), "{said}");
        }
        assert!(!is_place_and_day(&"Oslo tomorrow ".repeat(20)));
    }
}
