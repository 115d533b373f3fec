//! The messages of a task as one question: what was asked first, with what later messages added or changed.

use words::DateOrder;

use crate::question::Question;
use crate::said::Said;

/// Longest correction, in words, in which an unknown word is taken for a place.
const INSTEAD_MAX: usize = 2;

/// A question and the replies to what was asked back.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Conversation {
    /// The question with everything that later messages said of places, days, units and weather.
    pub(crate) question: Question,
    /// Later messages that may pick a place, oldest first.
    pub(crate) replies: Vec<String>,
    /// What to ask first: the newest message has data that cannot be read.
    pub(crate) wrong: Option<String>,
}

impl Conversation {
    /// Puts a user's messages together, oldest first.
    pub(crate) fn read(messages: &[Said], order: Option<DateOrder>) -> Self {
        let mut together = Self::default();
        for (index, Said { text, data }) in messages.iter().enumerate() {
            let (text, instead) = correction(text, order);
            let said = Question::read(text, order);
            if index == 0 {
                together.question = said;
            } else {
                let places = together.question.places.is_empty();
                together.take(said, places);
                if !places {
                    together.replies.push(text.to_owned());
                }
            }
            if let Some(instead) = instead {
                let places = !instead.places.is_empty();
                if places {
                    together.replies.clear();
                }
                together.take(instead, places);
            }
            if data.has_places() {
                together.replies.clear();
            }
            data.put_into(&mut together.question);
            together.wrong = data.wrong().map(str::to_owned);
        }
        together
    }

    /// What a later message says counts; its places only where they are `wanted`.
    fn take(&mut self, said: Question, places: bool) {
        let question = &mut self.question;
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
        if places {
            question.places = said.places;
            question.own_days = said.own_days;
            question.more_places = said.more_places;
        }
    }

    /// Whether it names no place.
    pub(crate) fn lacks_place(&self) -> bool {
        self.question.places.is_empty()
    }

    /// Whether it says no more than a place: "and in Bergen?"
    pub(crate) fn is_place_alone(&self) -> bool {
        let said = &self.question;
        let says_when = !said.days.is_empty() || said.limits.time.is_some();
        !said.places.is_empty() && !says_when && said.wants.is_empty() && !said.general && !said.outlook
    }

    /// The same question as before about other places; places that had days of their own have left those behind.
    pub(crate) fn instead_of(self, earlier: Self) -> Self {
        let said = self.question;
        Self {
            question: Question {
                places: said.places,
                more_places: said.more_places,
                own_days: Vec::new(),
                compare: None,
                ..earlier.question
            },
            ..self
        }
    }

    /// The same as a follow-up: of what an earlier question of the same context said, what this one leaves out is meant still.
    pub(crate) fn after(self, earlier: Self) -> Self {
        let (said, mut question) = (self.question, earlier.question);
        if !said.days.is_empty() {
            question.days = said.days;
            question.own_days = Vec::new();
            question.tonight = said.tonight;
        }
        // "And the weather tomorrow?" asks for all of it, "and tomorrow?" for the same as before.
        if !said.wants.is_empty() || said.general {
            question.wants = said.wants;
            question.yes_no = said.yes_no;
            question.compare = said.compare;
        }
        question.terse = said.terse;
        question.general = said.general;
        question.outlook = said.outlook;
        question.units = said.units.over(question.units);
        question.limits = said.limits;
        Self {
            question,
            replies: [earlier.replies, self.replies].concat(),
            wrong: self.wrong,
        }
    }
}

/// A message without what it takes back itself, and what it says instead: "Paris.. no, in Lyon".
fn correction(text: &str, order: Option<DateOrder>) -> (&str, Option<Question>) {
    let Some((before, behind)) = words::corrected(text) else {
        return (text, None);
    };
    let instead = Question::read(behind, order);
    // "Sorry for the trouble" names no place, though nobody knows "trouble".
    let short = behind.split_whitespace().count() <= INSTEAD_MAX;
    let says = !instead.days.is_empty() || instead.places.iter().any(|place| short || !place.guessed);
    match says {
        true => (before, Some(instead)),
        false => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use words::When;

    use super::*;
    use crate::question::Want;

    #[test]
    fn later_messages_add_and_change() {
        let together = Conversation::read(
            &[
                "Will it rain tomorrow?",
                "Springfield",
                "Illinois, and make it Sunday",
            ]
            .map(Said::from),
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
    fn who_changes_their_mind_gets_what_was_said_last() {
        for (text, places, days) in [
            ("weather in Paris.. no, in Lyon", "Lyon", 0),
            ("will it rain in Oslo tomorrow, I mean in Bergen", "Bergen", 1),
            ("Oslo tomorrow, sorry, Bergen", "Bergen", 1),
            ("weather in Oslo, make that Sunday", "Oslo", 1),
            ("weather in Oslo tomorrow, sorry for the trouble", "Oslo", 1),
            ("snow in Bonn, actually Köln and Aachen", "Köln|Aachen", 0),
            ("is it dry in Oslo, yes or no", "Oslo", 0),
        ] {
            let together = Conversation::read(&[Said::from(text)], None);
            let named: Vec<&str> = together
                .question
                .places
                .iter()
                .map(|place| place.text.as_str())
                .collect();
            assert_eq!(
                (named.join("|").as_str(), together.question.days.len()),
                (places, days),
                "{text}"
            );
        }
    }

    #[test]
    fn a_follow_up_means_what_it_leaves_out_as_before() {
        let read = |text: &str| Conversation::read(&[Said::from(text)], None);
        for (earlier, text, days, wants) in [
            (
                "Will it rain in Lyon tomorrow?",
                "and is it windy there?",
                1,
                &[Want::Wind][..],
            ),
            (
                "Will it rain in Lyon tomorrow?",
                "what about Sunday?",
                1,
                &[Want::Rain],
            ),
            ("Will it rain in Lyon?", "and the weather on Sunday", 1, &[]),
            (
                "weather in Lyon",
                "will it snow there at the weekend?",
                1,
                &[Want::Snow],
            ),
        ] {
            let together = read(text).after(read(earlier)).question;
            assert_eq!(together.places[0].text, "Lyon", "{text}");
            assert_eq!(
                (together.days.len(), together.wants.as_slice()),
                (days, wants),
                "{text}"
            );
        }
    }
}
