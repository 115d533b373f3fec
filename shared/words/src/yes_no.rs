//! Whether an answer begins with a yes or a no.

use crate::corrected::NO;

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
