//! The day after one that was spoken of.

use chrono::Weekday;
use pure_rust_locales::en_US::LC_TIME::DAY;

use crate::phrases::{Word, words};

/// "The day after", "and what about the next day?": whether a text asks for the day after the one that was spoken of, and for
/// nothing else.
#[must_use]
pub fn is_day_after(text: &str) -> bool {
    let lower: Vec<String> = words(text).iter().map(Word::lower).collect();
    let leads = |word: &&str| {
        matches!(
            *word,
            "and" | "or" | "then" | "also" | "now" | "what" | "how" | "about" | "on" | "for" | "the"
        )
    };
    let rest: Vec<&str> = lower.iter().map(String::as_str).skip_while(leads).collect();
    matches!(
        rest.as_slice(),
        ["day", "after"] | ["day", "after", "that"] | ["next" | "following", "day"]
    )
}

/// A question with its one day put a day later; without a day today is meant. `None` where that day is not to be told from its
/// words alone.
#[must_use]
pub fn a_day_later(question: &str) -> Option<String> {
    const THE_DAY_AFTER: [&str; 4] = ["the", "day", "after", "tomorrow"];
    let all = words(question);
    let replaced = |range: &[Word<'_>], with: &str| {
        let (first, last) = (range.first()?, range.last()?);
        let (before, after) = (question.get(..first.start)?, question.get(last.end..)?);
        Some(format!("{before}{with}{after}"))
    };
    let is_after = |said: &&[Word<'_>]| said.iter().map(Word::lower).eq(THE_DAY_AFTER);
    if let Some(after) = all.windows(THE_DAY_AFTER.len()).find(is_after) {
        return replaced(after, "in 3 days");
    }
    // "In 3 days"
    let counted = all.windows(3).find_map(|said| match said {
        [one, count, days] if one.lower() == "in" && days.lower() == "days" => {
            Some((count, count.text.parse::<u32>().ok()?))
        }
        _ => None,
    });
    if let Some((count, days)) = counted {
        return replaced(&[*count], &days.checked_add(1)?.to_string());
    }
    let mut days = all.iter().filter_map(|word| Some((word, later(&word.lower())?)));
    match (days.next(), days.next()) {
        (None, _) if crate::phrases::times(question).is_empty() => {
            let question = question.trim_end_matches(['?', '!', '.', ' ']);
            Some(format!("{question} tomorrow"))
        }
        (Some((word, later)), None) => replaced(&[*word], later),
        _ => None,
    }
}

/// The word for the day after.
fn later(day: &str) -> Option<&'static str> {
    match day {
        "yesterday" => Some("today"),
        "today" | "tonight" => Some("tomorrow"),
        "tomorrow" => Some("the day after tomorrow"),
        day if day.len() > 5 => {
            let day: Weekday = day.parse().ok()?;
            let at = usize::try_from(day.succ().num_days_from_sunday()).ok()?;
            DAY.get(at).copied()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_after_is_the_one_behind_what_was_asked() {
        for (question, expected) in [
            (
                "Weather in Oslo tomorrow",
                Some("Weather in Oslo the day after tomorrow"),
            ),
            (
                "Will it rain in Oslo tonight?",
                Some("Will it rain in Oslo tomorrow?"),
            ),
            (
                "Weather in Oslo the day after tomorrow?",
                Some("Weather in Oslo in 3 days?"),
            ),
            ("Weather in Oslo in 3 days", Some("Weather in Oslo in 4 days")),
            ("Snow in Bergen on Sunday?", Some("Snow in Bergen on Monday?")),
            ("Weather in Oslo?", Some("Weather in Oslo tomorrow")),
            ("Weather in Oslo on 24 December", None),
            ("Friday or Saturday in Oslo", None),
        ] {
            assert_eq!(a_day_later(question).as_deref(), expected, "{question}");
        }
        for asks in [
            "and the day after?",
            "the day after?",
            "What about the next day",
            "and the following day",
        ] {
            assert!(is_day_after(asks), "{asks}");
        }
        for other in [
            "the day after tomorrow",
            "and in Bergen?",
            "after",
            "the next day in Rome",
            "",
        ] {
            assert!(!is_day_after(other), "{other}");
        }
    }
}
