//! The day after one that was spoken of.

use chrono::Weekday;

use crate::phrases::words;

/// "The day after", "and what about the next day?": whether a text asks for the day after the one that was spoken of, and for
/// nothing else.
#[must_use]
pub fn is_day_after(text: &str) -> bool {
    let lower: Vec<String> = words(text).iter().map(crate::phrases::Word::lower).collect();
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
    const THE_DAY_AFTER: &str = "the day after tomorrow";
    let lower = question.to_lowercase();
    // Small letters of other languages may be longer than their capitals.
    let same_places = lower.len() == question.len();
    if let Some(at) = lower.find(THE_DAY_AFTER).filter(|_| same_places) {
        return replaced(question, at..at + THE_DAY_AFTER.len(), "in 3 days");
    }
    let all = words(question);
    if let Some([_, count, _]) = all.windows(3).find(|said| is_in_days(said)) {
        let later = count.text.parse::<u32>().ok()?.checked_add(1)?;
        return replaced(question, count.start..count.end, &later.to_string());
    }
    let days: Vec<_> = all
        .iter()
        .filter_map(|word| Some((word, later(&word.lower())?)))
        .collect();
    match days.as_slice() {
        [] if crate::phrases::times(question).is_empty() => Some(format!(
            "{} tomorrow",
            question.trim_end_matches(['?', '!', '.', ' '])
        )),
        [(word, later)] => replaced(question, word.start..word.end, later),
        _ => None,
    }
}

fn is_in_days(said: &[crate::phrases::Word<'_>]) -> bool {
    let [one, count, days] = said else { return false };
    one.lower() == "in" && count.text.bytes().all(|c| c.is_ascii_digit()) && days.lower() == "days"
}

fn replaced(text: &str, range: std::ops::Range<usize>, with: &str) -> Option<String> {
    Some(format!(
        "{}{with}{}",
        text.get(..range.start)?,
        text.get(range.end..)?
    ))
}

/// The word for the day after.
fn later(day: &str) -> Option<String> {
    Some(match day {
        "yesterday" => "today".to_owned(),
        "today" | "tonight" => "tomorrow".to_owned(),
        "tomorrow" => "the day after tomorrow".to_owned(),
        day if day.len() > 5 => {
            let day: Weekday = day.parse().ok()?;
            let names = [
                "Monday",
                "Tuesday",
                "Wednesday",
                "Thursday",
                "Friday",
                "Saturday",
                "Sunday",
            ];
            let at = usize::try_from(day.succ().num_days_from_monday()).ok()?;
            (*names.get(at)?).to_owned()
        }
        _ => return None,
    })
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
