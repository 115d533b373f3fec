//! What is asked of a calendar, as data, and what to ask where that makes no sense.

use agent::Taken;
use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, TimeZone as _};
use chrono_tz::Tz;
use domain::{Timestamp, UserContext};
use nlu::Takes;
use serde::Deserialize;
use serde_json::{Value, json};
use words::When;

/// Most days that are looked at.
const DAYS_MAX: usize = 31;
/// The longest time that is looked for, in minutes: the longest day.
const MINUTES_MAX: u32 = 25 * 60;
/// How long something takes where nobody says so, in minutes.
const MINUTES: u32 = 60;

const ASK_KIND: &str =
    "Shall I say whether you are free then, what is on your calendar, or look for a free time?";
const ASK_DAYS: &str = "Which day, or which days?";
const ONLY_LOOKS: &str = "I only look at your calendar and change nothing in it. Shall I say whether you are free then, what is on, or \
                          look for a free time?";

/// What can be asked, the surest first, and what tells it: words, and `phrases` or a `{field}` that count before them.
const KINDS: [(&str, &str); 6] = [
    (
        "disconnect",
        "`disconnect` `unlink` `remove access` `revoke access` `end access` `remove your access` `revoke your access`",
    ),
    (
        "slot",
        "`{minutes}` `slot` `slots` `gap` `gaps` `opening` `openings` `find` `when can` `when could` `when am i free`",
    ),
    (
        "free",
        "busy available availability booked open time `can we` `could we`",
    ),
    (
        "change",
        "add book cancel create decline delete invite move postpone remove reschedule `schedule a`",
    ),
    (
        "events",
        "`what's on` `what is on` `what do i` `what did i` `what have i` `what time is` what what's whats which show list",
    ),
    (
        "events",
        "calendar calendar's meeting meetings appointment appointments event agenda diary schedule anything everything plans",
    ),
];

/// What the agent takes as data, as its card says it.
pub(crate) fn schema() -> Value {
    described(|_| "")
}

/// The same; a kind of question is described by what it is told by.
fn described(told: fn(&'static str) -> &'static str) -> Value {
    let kinds = KINDS.into_iter();
    let kinds = kinds.map(|(name, words)| json!({"const": name, "description": told(words)}));
    let mut kinds: Vec<Value> = kinds.collect();
    kinds.dedup();
    json!({
        "type": "object",
        "properties": {
            "ask": {"type": "string", "oneOf": kinds, "description": ASK_KIND},
            "days": {
                "type": "array", "minItems": 1, "maxItems": DAYS_MAX, "items": {"type": "string", "format": "day"},
                "description": ASK_DAYS,
            },
            "hours": {"type": "string", "format": "hours", "description": "From when to when on each day"},
            "minutes": {
                "type": "integer", "format": "duration", "minimum": 5, "maximum": MINUTES_MAX,
                "description": "How long a free time is to be, in minutes",
            },
            "timeZone": {"type": "string", "format": "time-zone", "description": "Whose clock it is by"},
        },
        "required": ["ask"],
        "additionalProperties": false,
    })
}

/// The same, as it is read from words.
#[must_use]
pub fn takes() -> Takes {
    Takes::new(&described(|words| words), &[]).abroad(include_str!("abroad.txt"))
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Whether the user is free.
    Free,
    /// What stands in the calendar.
    Events,
    /// When there is time for something.
    Slot,
    /// To change something, which nobody here does.
    Change,
    /// Nothing of the calendar: what was agreed to is taken back.
    Disconnect,
}

/// A part of each day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    /// From then.
    pub from: NaiveTime,
    /// Until then; midnight is the day's end.
    pub to: NaiveTime,
}

impl Hours {
    /// How long it is by a clock that goes on evenly.
    fn minutes(self) -> i64 {
        let minutes = (self.to - self.from).num_minutes();
        if minutes > 0 { minutes } else { minutes + 24 * 60 }
    }
}

/// A question that can be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What is asked.
    pub kind: Kind,
    /// The days, in order; at least one, unless it is about none.
    pub days: Vec<NaiveDate>,
    /// The part of each day; none for all of it.
    pub hours: Option<Hours>,
    /// How long the time is that is looked for, in minutes.
    pub minutes: u32,
    /// Whose clock it is by, where that is known.
    pub zone: Option<Tz>,
}

/// What to ask, and for which field.
pub type Ask = (&'static str, String);

/// The data, of the types that the schema has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    ask: Option<Kind>,
    days: Option<Vec<String>>,
    hours: Option<String>,
    minutes: Option<u32>,
    time_zone: Option<String>,
}

impl Wanted {
    /// What the data asks.
    ///
    /// # Errors
    /// The question to ask, where something is missing or makes no sense.
    pub fn of(taken: &Taken, user: &UserContext, now: Timestamp) -> Result<Self, Ask> {
        let ask_kind = || ("ask", ASK_KIND.to_owned());
        let data: Data = taken.typed().map_err(|_| ask_kind())?;
        // Nobody ends by "and on Thursday" what they agreed to.
        let is_recalled = taken.recalled.iter().any(|name| name == "ask");
        let kind = match data.ask.ok_or_else(ask_kind)? {
            Kind::Disconnect if is_recalled => return Err(ask_kind()),
            Kind::Change => return Err(("ask", ONLY_LOOKS.to_owned())),
            kind => kind,
        };
        let zone = data.time_zone.as_ref().or(user.time_zone.as_ref());
        let zone: Option<Tz> = zone.and_then(|zone| zone.parse().ok());
        let utc = DateTime::from_timestamp_millis(now.millis()).unwrap_or_default();
        let now = utc.with_timezone(&zone.unwrap_or(Tz::UTC));
        let minutes = data.minutes.unwrap_or(MINUTES);
        let hours = data.hours.as_deref().and_then(words::Hours::of_data);
        let hours = hours.map(|hours| Hours {
            from: hours.from,
            to: hours.to.unwrap_or_else(|| {
                let length = TimeDelta::minutes(minutes.into());
                hours.from.overflowing_add_signed(length).0
            }),
        });
        let said = data.days.unwrap_or_default();
        let mut days: Vec<When> = said.iter().filter_map(|day| When::of_data(day)).collect();
        // "Am I free at 5?", said before five.
        if days.is_empty() && hours.is_some_and(|hours| hours.from > now.time()) {
            days.push(When::In(0));
        }
        let days = match kind {
            Kind::Disconnect => Vec::new(),
            _ => dates(&days, now.date_naive())?,
        };
        let wanted = Self {
            kind,
            days,
            hours,
            minutes,
            zone,
        };
        if let Some(hours) = hours {
            if data.minutes.is_some() && hours.minutes() < i64::from(minutes) {
                let (from, to) = (hours.from.format("%H:%M"), hours.to.format("%H:%M"));
                return Err((
                    "hours",
                    format!(
                        "From {from} to {to} there are no {minutes} minutes. How long is it to take, or from when to when?"
                    ),
                ));
            }
            wanted.clear(hours)?;
        }
        Ok(wanted)
    }

    /// Asks where a time that was said is none on one of the days, or comes twice: their clock is changed then.
    fn clear(&self, hours: Hours) -> Result<(), Ask> {
        let zone = self.zone.unwrap_or(Tz::UTC);
        let over = Days::new(u64::from(hours.to <= hours.from));
        for first in &self.days {
            let last = first.checked_add_days(over).unwrap_or(*first);
            for (day, time) in [(*first, hours.from), (last, hours.to)] {
                // Midnight is where a day begins, whenever that is.
                let said = zone.from_local_datetime(&day.and_time(time));
                if time != NaiveTime::MIN && said.single().is_none() {
                    let (time, day) = (time.format("%H:%M"), day.format("%-d %B"));
                    return Err((
                        "hours",
                        format!(
                            "The clocks change on {day}, so that {time} is no time of its own there. From when to when?"
                        ),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The dates of the days, in order and each once.
fn dates(days: &[When], today: NaiveDate) -> Result<Vec<NaiveDate>, Ask> {
    // There may be more days between two than are told.
    let is_long = |day: &When| {
        let last = day.ends(today).map(|(_, last)| last);
        last > day.resolve(today).last().copied()
    };
    let mut dates: Vec<NaiveDate> = days.iter().flat_map(|day| day.resolve(today)).collect();
    dates.sort_unstable();
    dates.dedup();
    let (Some(first), Some(last)) = (dates.first(), dates.last()) else {
        return Err(("days", ASK_DAYS.to_owned()));
    };
    let most = i64::try_from(DAYS_MAX).unwrap_or(i64::MAX);
    if days.iter().any(is_long) || (*last - *first).num_days() >= most {
        let ask = format!("I look at {DAYS_MAX} days at most. From which day to which?");
        return Err(("days", ask));
    }
    Ok(dates)
}

#[cfg(test)]
mod tests;
