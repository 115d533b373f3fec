//! The language of a text, by its function words: what joins two requests in one language is a word of its own in another.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::phrases::words;

/// Languages, one bit each.
pub type Languages = u16;

/// The languages whose function words are known, by their codes.
const LANGUAGES: [&str; 12] = [
    "en", "de", "es", "fr", "it", "nl", "no", "sv", "da", "pt", "pl", "ru",
];

static FUNCTION_WORDS: LazyLock<HashMap<&'static str, Languages>> = LazyLock::new(|| {
    let mut known: HashMap<&str, Languages> = HashMap::new();
    for (number, code) in LANGUAGES.iter().enumerate() {
        for word in stop_words::lookup(code).into_iter().flatten() {
            *known.entry(word).or_insert(0) |= 1 << number;
        }
    }
    known
});

/// Those languages that most of a text's function words are of; none where it has none.
#[must_use]
pub fn language(text: &str) -> Languages {
    let mut counts = [0_u16; LANGUAGES.len()];
    for word in words(text) {
        let of = FUNCTION_WORDS.get(word.lower().as_str()).copied().unwrap_or(0);
        for (number, count) in counts.iter_mut().enumerate() {
            *count += of >> number & 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let spoken = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count == most && most > 0);
    spoken.fold(0, |all, (number, _)| all | 1 << number)
}

/// Whether a text of these languages may be of one, by its code; one of none may be of any.
#[must_use]
pub fn speaks(spoken: Languages, code: &str) -> bool {
    let number = LANGUAGES.iter().position(|known| *known == code);
    spoken == 0 || number.is_some_and(|number| spoken >> number & 1 == 1)
}

/// The languages that our own sentences are in.
const OURS: [&str; 5] = ["en", "de", "es", "fr", "ja"];

/// So many words tell a language.
const TELLING: usize = 3;

/// The language that whoever said this is answered in: that of the words, where they are of one alone of ours, else that of their locale.
#[must_use]
pub fn answered_in<'l>(said: &str, locale: Option<&'l str>) -> &'l str {
    if said.chars().any(|c| matches!(c, '\u{3041}'..='\u{30ff}')) {
        return "ja";
    }
    let wanted = locale.and_then(|locale| locale.split('-').next()).unwrap_or("en");
    // A number or two words are of any language.
    let told = words(said)
        .into_iter()
        .filter(|word| word.text.chars().all(char::is_alphabetic));
    let told: Vec<&str> = told.map(|word| word.text).collect();
    let spoken = if told.len() < TELLING {
        0
    } else {
        language(&told.join(" "))
    };
    let mut of = OURS.into_iter().filter(|code| speaks(spoken, code));
    match (of.next(), of.next()) {
        (Some(only), None) if !speaks(spoken, wanted) => only,
        _ => wanted,
    }
}

/// The same after all that somebody said, the oldest first: a "yes" or a number is of any language, and the one before it stays.
pub fn answered_after(said: impl Iterator<Item = String>, locale: Option<&str>) -> String {
    let language = said.fold(locale.unwrap_or("en"), |language, said| {
        answered_in(&said, Some(language))
    });
    language.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_texts_language_is_that_of_its_function_words() {
        for (code, text) in [
            ("en", "Where is my order?"),
            ("de", "Wo ist meine Bestellung?"),
            ("es", "¿Dónde está mi pedido?"),
            ("ru", "Где мой заказ?"),
        ] {
            let spoken = language(text);
            assert!(spoken != 0 && speaks(spoken, code), "{text}");
            assert_eq!(speaks(spoken, "en"), code == "en", "{text}");
        }
        assert!(language("Oslo") == 0 && speaks(0, "pl"));
    }

    #[test]
    fn whoever_writes_in_a_language_of_ours_is_answered_in_it() {
        for (said, locale, expected) in [
            ("Wo ist meine Bestellung?", None, "de"),
            ("Wo ist meine Bestellung?", Some("fr-CH"), "de"),
            ("Where is my order?", Some("de-DE"), "en"),
            ("¿Dónde está mi pedido?", Some("en-GB"), "es"),
            ("明日の天気は？", Some("en-GB"), "ja"),
            ("Oslo", Some("de-DE"), "de"),
            ("Oslo", None, "en"),
            ("7", None, "en"),
            ("1 2 3", Some("fr"), "fr"),
            ("Waar is mijn bestelling?", Some("nl"), "nl"),
            ("no", Some("es"), "es"),
        ] {
            assert_eq!(answered_in(said, locale), expected, "{said}");
        }
    }
}
