//! The messages of a task as one question: what was asked first, with what later messages added or changed.

use words::DateOrder;

use crate::question::Question;

/// A question and the replies to what was asked back.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Conversation {
    /// The question with everything that later messages said of places, days, units and weather.
    pub(crate) question: Question,
    /// Later messages that may pick a place, oldest first.
    pub(crate) replies: Vec<String>,
}

impl Conversation {
    /// Puts a user's messages together, oldest first.
    pub(crate) fn read<'a>(messages: impl IntoIterator<Item = &'a str>, order: Option<DateOrder>) -> Self {
        let mut together = Self::default();
        for (index, text) in messages.into_iter().enumerate() {
            let said = Question::read(text, order);
            let question = &mut together.question;
            if index == 0 {
                *question = said;
                continue;
            }
            if !said.days.is_empty() {
                question.days = said.days;
                question.own_days = Vec::new();
                question.tonight = said.tonight;
            }
            if !said.wants.is_empty() {
                question.wants = said.wants;
                question.yes_no = said.yes_no;
                question.compare = said.compare;
            }
            question.units = said.units.over(question.units);
            question.limits.time = said.limits.time.or(question.limits.time.take());
            if question.places.is_empty() {
                question.places = said.places;
                question.own_days = said.own_days;
                question.more_places = said.more_places;
            } else {
                together.replies.push(text.to_owned());
            }
        }
        together
    }
}

/// Whether a reply says yes to a suggestion.
pub(crate) fn is_yes(reply: &str) -> bool {
    let lower = reply.to_lowercase();
    let first = lower
        .split(|letter: char| !letter.is_alphanumeric())
        .find(|word| !word.is_empty());
    matches!(
        first,
        Some("yes" | "yep" | "yeah" | "y" | "sure" | "ok" | "okay" | "right" | "correct" | "exactly" | "ja")
    )
}

#[cfg(test)]
mod tests {
    use words::When;

    use super::*;
    use crate::question::Want;

    #[test]
    fn later_messages_add_and_change() {
        let together = Conversation::read(
            [
                "Will it rain tomorrow?",
                "Springfield",
                "Illinois, and make it Sunday",
            ],
            None,
        );
        assert_eq!(together.question.places[0].text, "Springfield");
        assert_eq!(together.question.wants, [Want::Rain]);
        assert_eq!(
            together.question.days,
            [When::Weekday {
                day: chrono::Weekday::Sun,
                next: false
            }]
        );
        assert_eq!(together.replies, ["Illinois, and make it Sunday"]);
    }

    #[test]
    fn yes_in_its_forms() {
        for yes in ["yes", "Yes, please", "ok", "  sure!"] {
            assert!(is_yes(yes), "{yes}");
        }
        for no in ["no", "", "yesterday", "Oslo"] {
            assert!(!is_yes(no), "{no}");
        }
    }
}
