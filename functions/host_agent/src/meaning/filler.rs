//! Words that say nothing by themselves: the library's stop words of the languages that people write here.

use std::collections::HashSet;
use std::sync::LazyLock;

const LANGUAGES: [&str; 8] = ["en", "de", "es", "fr", "no", "ja", "nl", "it"];

/// Words of the library's English list that a task may be about, beside those that any text may be about.
#[rustfmt::skip]
const CONTENT: &[&str] = &[
    "home", "ordered", "open", "opened", "case", "cases", "buy", "area", "areas", "place", "places", "world", "date", "index", "move",
    "sent", "interest", "line", "text", "point", "points", "cancel", "stop",
];

/// Little words that it has not, as people type them.
#[rustfmt::skip]
const MORE: &[&str] = &[
    "hows", "pls", "plz", "bitte", "favor", "hey", "lot", "check", "list", "current", "running", "user", "anywhere", "moment", "currently",
];

static ENGLISH: LazyLock<HashSet<&'static str>> = LazyLock::new(|| words_of("en").collect());
static EVERY: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| LANGUAGES.into_iter().flat_map(words_of).collect());

fn words_of(language: &str) -> impl Iterator<Item = &'static str> {
    let known = stop_words::lookup(language).unwrap_or_default().iter().copied();
    known
        .filter(|word| !CONTENT.contains(word) && !llm::is_content(word))
        .chain(MORE.iter().copied())
}

/// In English, in which tasks are spoken of in sentences.
pub(super) fn is_english(word: &str) -> bool {
    ENGLISH.contains(word)
}

/// In any of the languages.
pub(super) fn is_any(word: &str) -> bool {
    EVERY.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_words_are_told_from_what_a_task_may_be_about() {
        for word in [
            "the", "please", "how", "about", "my", "would", "s", "still", "instead",
        ] {
            assert!(is_english(word), "{word}");
        }
        for word in ["dir", "beaucoup", "todo", "mange", "für", "です"] {
            assert!(is_any(word), "{word}");
        }
        for word in ["order", "report", "whales", "research", "weather", "task"] {
            assert!(!is_any(word), "{word}");
        }
    }
}
