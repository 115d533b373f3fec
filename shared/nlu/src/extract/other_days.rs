//! Whether what a language model wrote to an agent, as data or in words, is of other days than its user named: a wrong day there would be
//! answered as if it had been asked for.

use std::collections::BTreeSet;

use chrono::{Days, NaiveDate};
use domain::{READ_MAX, Timestamp, UserContext, to_read};
use serde_json::Value;
use words::{When, days, text};

use super::timed::Clock;

/// Most dates of data that are looked at.
const DATES_MAX: usize = 32;

/// Whether all days of the data, or of a text, are others than those that a user named. Where the user named none that can be read, or
/// the data has none, nobody can say so.
#[must_use]
pub fn other_days(said: &str, data: &Value, (now, user): (Timestamp, &UserContext)) -> bool {
    let clock = Clock::of(now, user);
    let named = named(said, &clock);
    if named.iter().any(|when| matches!(when, When::Unclear { .. })) {
        return false;
    }
    let named: BTreeSet<NaiveDate> = named.iter().flat_map(|when| when.resolve(clock.today)).collect();
    let mut dates = Vec::new();
    gather(data, &clock, &mut dates);
    !named.is_empty() && !dates.is_empty() && dates.iter().all(|date| !named.contains(date))
}

/// The days that are named in words.
fn named(said: &str, clock: &Clock) -> Vec<When> {
    let said = to_read(said);
    let glossed = words::when_in_english(said);
    let said = glossed.as_deref().unwrap_or(said);
    days::take(&mut text::split(said, READ_MAX), clock.order).days
}

/// The dates in strings of data, alone or from one to another, also as days from today, or in words.
fn gather(data: &Value, clock: &Clock, dates: &mut Vec<NaiveDate>) {
    match data {
        Value::String(text) => {
            let room = DATES_MAX.saturating_sub(dates.len());
            let date = |part: &str| match part.strip_prefix('P').and_then(|days| days.strip_suffix('D')) {
                Some(days) => clock.today.checked_add_days(Days::new(days.parse().ok()?)),
                None => part.get(..10)?.parse().ok(),
            };
            let written: Vec<NaiveDate> = text.split('/').filter_map(date).take(room).collect();
            match written.is_empty() {
                true => {
                    let said = named(text, clock).into_iter();
                    dates.extend(said.flat_map(|when| when.resolve(clock.today)).take(room));
                }
                false => dates.extend(written),
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, clock, dates)),
        Value::Object(fields) => fields.values().for_each(|field| gather(field, clock, dates)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_of_another_day_than_was_named_is_told_from_data_of_that_day() {
        // Thursday, 26 November 2026, 23:30 UTC: in Oslo it is Friday already.
        let now = Timestamp::from_millis(1_795_735_800_000);
        let oslo = UserContext {
            time_zone: Some("Europe/Oslo".to_owned()),
            ..UserContext::default()
        };
        for (said, data, expected) in [
            ("Rain in Oslo tomorrow?", json!({"from": "2026-11-27"}), true),
            ("Rain in Oslo tomorrow?", json!({"from": "2026-11-28"}), false),
            (
                "Rain in Oslo tomorrow?",
                json!({"day": ["P1D"], "place": "Oslo"}),
                false,
            ),
            ("Rain in Oslo tomorrow?", json!({"day": ["P0D"]}), true),
            ("Rain in Oslo tomorrow?", json!({"place": "Oslo"}), false),
            ("Rain in Oslo?", json!({"from": "2026-11-27"}), false),
            (
                "Three nights from Saturday",
                json!({"stay": {"from": "2026-11-28", "to": "2026-12-01"}}),
                false,
            ),
            ("On Saturday", json!({"days": "2026-11-26/2026-11-27"}), true),
            ("On 3/4", json!({"days": "2026-11-27"}), false),
            (
                "Wie wird das Wetter am Montag?",
                json!("Will it rain in Wien tomorrow?"),
                true,
            ),
            (
                "Wie wird das Wetter am Montag?",
                json!("The weather in Wien on Monday"),
                false,
            ),
            (
                "Wie wird das Wetter am Montag?",
                json!("The weather in Wien"),
                false,
            ),
            (
                "tomorrow",
                json!({"from": "2026-11-27T10:00:00Z", "n": 1, "to": "é2026-11-2"}),
                true,
            ),
        ] {
            assert_eq!(other_days(said, &data, (now, &oslo)), expected, "{said} {data}");
        }
    }
}
