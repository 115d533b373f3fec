//! What a question asked for and does not get, said beside what it gets.

use chrono::{Datelike, NaiveDate, Weekday};
use words::{When, listed};

use super::dates;
use crate::question::{BeyondForecast, Question};

/// What daily forecasts have.
const TOLD: &str = "temperature, rain, snow, wind, sunshine, UV index, sunrise and sunset";

/// A sentence for each thing that is not had or not understood.
pub(super) fn sentences(limits: &BeyondForecast) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(time) = &limits.time {
        said.push(format!(
            "I have whole days only, not {time}: this is about the whole day."
        ));
    } else if limits.hours {
        said.push("I have whole days only, no hours.".to_owned());
    } else if limits.now {
        said.push("I have forecasts of whole days, not the weather of this moment.".to_owned());
    }
    if !limits.untold.is_empty() {
        said.push(format!(
            "I have no {}, only {TOLD}.",
            listed(&limits.untold, "or")
        ));
    }
    if !limits.unread.is_empty() {
        let quoted: Vec<String> = limits.unread.iter().map(|phrase| format!("“{phrase}”")).collect();
        said.push(format!(
            "I can make nothing of {}: I only know {TOLD}.",
            listed(&quoted, "and")
        ));
    }
    if limits.watch {
        said.push(
            "I cannot send e-mail or messages, nor watch the weather: I answer when I am asked.".to_owned(),
        );
    }
    if limits.again {
        said.push("I cannot do this regularly, every day for example: I answer when I am asked.".to_owned());
    }
    said
}

/// Asks which day is meant, where one can be read in two ways or is in no calendar.
pub(crate) fn ask_day(question: &Question, today: NaiveDate) -> Option<String> {
    let own = question.own_days.iter().flatten();
    question.days.iter().chain(own).find_map(|when| match when {
        When::Unclear { first, second, year } => {
            let date = |month, day| When::Date {
                year: *year,
                month,
                day,
            };
            let [one, other] =
                [date(*second, *first), date(*first, *second)].map(|when| spelled(&when, today));
            let year = year.map(|year| format!("/{year}")).unwrap_or_default();
            Some(format!("Is {first}/{second}{year} {one} or {other}?"))
        }
        when if when.resolve(today).is_empty() => Some(match spelled(when, today) {
            day if day.is_empty() => "I know no such day. Which day do you mean?".to_owned(),
            day => format!("There is no {day}. Which day do you mean?"),
        }),
        _ => None,
    })
}

/// A date in words, be it in a calendar or not.
fn spelled(when: &When, today: NaiveDate) -> String {
    match when {
        When::Past(when) | When::Ahead(when) => spelled(when, today),
        When::Date { year, month, day } => {
            let month =
                NaiveDate::from_ymd_opt(today.year(), *month, 1).map(|first| first.format("%B").to_string());
            let year = year.map(|year| format!(" {year}")).unwrap_or_default();
            format!("{day} {}{year}", month.unwrap_or_default())
        }
        When::Span(first, last) => {
            let bad = if first.resolve(today).is_empty() {
                first
            } else {
                last
            };
            spelled(bad, today)
        }
        _ => String::new(),
    }
}

/// "This week" on its last day.
pub(super) fn week_ends(days: &[When], today: NaiveDate) -> Option<String> {
    let this_week = days.contains(&When::Week { next: false });
    (this_week && today.weekday() == Weekday::Sun).then(|| {
        let last = today + chrono::Days::new(7);
        format!(
            "This week ends today, so the coming one is here too, to {}.",
            dates::long(last, today)
        )
    })
}
