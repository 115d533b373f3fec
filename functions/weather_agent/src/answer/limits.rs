//! What a question asked for and does not get, said beside what it gets.

use chrono::{Datelike, NaiveDate, Weekday};
use words::{When, listed};

use super::dates;
use crate::question::BeyondForecast;

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

/// "This week" on its last day.
pub(super) fn week_ends(days: &[When], today: NaiveDate) -> Option<String> {
    let last = today + chrono::Days::new(7);
    let this_week = days.contains(&When::span(today.into(), last.into()));
    (this_week && today.weekday() == Weekday::Sun).then(|| {
        format!(
            "This week ends today, so the coming one is here too, to {}.",
            dates::long(last, today)
        )
    })
}
