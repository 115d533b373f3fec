//! Dates as people say them.

use chrono::{Datelike, NaiveDate};
use words::listed;

/// "Sunday 22 November"; with the year where it is not this one.
pub(super) fn long(date: NaiveDate, today: NaiveDate) -> String {
    // Around the new year nobody takes January for the one that is over.
    if (date - today).num_days().abs() < 180 {
        date.format("%A %-d %B").to_string()
    } else {
        date.format("%A %-d %B %Y").to_string()
    }
}

/// One day as seen from today: "tomorrow (Sunday 22 November)", "on Friday 27 November".
pub(super) fn one(date: NaiveDate, today: NaiveDate, tonight: bool) -> String {
    let long = long(date, today);
    match (date - today).num_days() {
        0 if tonight => format!("tonight ({long}, the whole day)"),
        0 => format!("today ({long})"),
        1 => format!("tomorrow ({long})"),
        _ => format!("on {long}"),
    }
}

/// Several days: "on Sunday 22 and Monday 23 November", "from Monday 23 to Sunday 29 November".
pub(super) fn several(dates: &[NaiveDate], today: NaiveDate) -> String {
    let (Some(first), Some(last)) = (dates.first(), dates.last()) else {
        return String::new();
    };
    let in_a_row = dates
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.succ_opt() == Some(*b)));
    if dates.len() > 2 && in_a_row {
        return format!("from {} to {}", short(*first, *last, today), long(*last, today));
    }
    let names: Vec<String> = dates
        .iter()
        .map(|date| {
            if date == last {
                long(*date, today)
            } else {
                short(*date, *last, today)
            }
        })
        .collect();
    format!("on {}", listed(&names, "and"))
}

/// Without the month where a later date of the same month follows.
fn short(date: NaiveDate, later: NaiveDate, today: NaiveDate) -> String {
    if (date.year(), date.month()) == (later.year(), later.month()) {
        date.format("%A %-d").to_string()
    } else {
        long(date, today)
    }
}
