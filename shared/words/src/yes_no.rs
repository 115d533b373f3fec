//! Whether an answer begins with a yes or a no, and whether a question wants one.

use crate::corrected::NO;
use crate::text::Word;

const YES: [&str; 11] = [
    "yes", "yep", "yeah", "y", "sure", "ok", "okay", "right", "correct", "exactly", "ja",
];

/// Yes or no, by the first word; `None` where it is neither.
#[must_use]
pub fn yes_or_no(reply: &str) -> Option<bool> {
    let lower = reply.to_lowercase();
    let first = lower
        .split(|letter: char| !letter.is_alphanumeric())
        .find(|word| !word.is_empty())?;
    match first {
        yes if YES.contains(&yes) => Some(true),
        no if NO.contains(&no) => Some(false),
        _ => None,
    }
}

/// Whether the words want a yes or a no: "Will it …", "An umbrella?", but neither "Will you tell me …" nor "How cold
/// will it …".
#[must_use]
pub fn asks_yes_no(words: &[Word]) -> bool {
    let lower: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
    let mut pairs = lower.iter().zip(lower.iter().skip(1).chain([&""]));
    let first = pairs.find_map(|(word, next)| match *word {
        "what" | "what's" | "how" | "how's" | "when" | "which" | "show" | "give" => Some(false),
        "if" | "whether" => Some(true),
        "will" | "is" | "are" | "do" | "does" | "should" | "can" | "could" | "would" | "shall" | "any"
        | "isn't" | "won't" => (*next != "you").then_some(true),
        _ => None,
    });
    first.unwrap_or_else(|| lower.contains(&"?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_and_no_in_their_forms() {
        for yes in ["yes", "Yes, please", "ok", "  sure!"] {
            assert_eq!(yes_or_no(yes), Some(true), "{yes}");
        }
        for no in ["no", "No, thank you", "nein"] {
            assert_eq!(yes_or_no(no), Some(false), "{no}");
        }
        for neither in ["", "yesterday", "Oslo", "north"] {
            assert_eq!(yes_or_no(neither), None, "{neither}");
        }
    }
}
