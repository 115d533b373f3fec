//! What somebody asks of a calendar: data is read before words, and what neither says is asked for.
//!
//! ```
//! use calendar_agent::question::{Kind, Reading};
//! use domain::{Message, MessageId, Part, Timestamp, UserContext};
//!
//! let now = Timestamp::from_millis(1_796_000_000_000); // a Monday, 30 November 2026
//! let said = Message::user(MessageId::derived("m"), vec![Part::text("Am I free on Friday afternoon?")]);
//! let wanted = Reading::of(&UserContext::default(), now).read(&[&said]).unwrap();
//! assert_eq!((wanted.kind, wanted.days[0].to_string().as_str()), (Kind::Free, "2026-12-04"));
//! ```

mod clocks;
mod data;
mod found;
mod hours;
mod length;
mod unread;
mod words_of;

use chrono::{DateTime, Datelike as _, Days, NaiveDate, NaiveTime, TimeZone as _, Weekday};
use chrono_tz::Tz;
use domain::{Message, Timestamp, UserContext};
use words::{DateOrder, When};

pub(crate) use data::schema;

/// Most days that are looked at.
const DAYS_MAX: i64 = 31;
/// The longest time that is looked for, in minutes: the longest day.
const MINUTES_MAX: u32 = 25 * 60;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whether the user is free.
    Free,
    /// What stands in the calendar.
    Events,
    /// When there is time for something.
    Slot,
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
    fn from_midnight(to: NaiveTime) -> Self {
        Self {
            from: NaiveTime::MIN,
            to,
        }
    }

    fn until_midnight(from: NaiveTime) -> Self {
        Self {
            from,
            to: NaiveTime::MIN,
        }
    }

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
    /// The hours are when it begins on the first day and ends on the last, and all between is meant.
    pub through: bool,
    /// How long the time is that is looked for, in minutes.
    pub minutes: u32,
    /// Whose clock it is by, where that was said.
    pub zone: Option<Tz>,
    /// It is to be a time for somebody else too, whose calendar nobody sees.
    pub with_others: bool,
}

impl Wanted {
    fn disconnect() -> Self {
        Self {
            kind: Kind::Disconnect,
            days: Vec::new(),
            hours: None,
            through: false,
            minutes: 0,
            zone: None,
            with_others: false,
        }
    }

    /// The part of one of the days; none for all of it.
    #[must_use]
    pub fn hours_of(&self, day: NaiveDate) -> Option<Hours> {
        let hours = self.hours?;
        let is_first = self.days.first() == Some(&day);
        let is_last = self.days.last() == Some(&day);
        match (self.through, is_first, is_last) {
            (false, ..) | (_, true, true) => Some(hours),
            (_, true, false) => Some(Hours::until_midnight(hours.from)),
            // What ends at midnight has nothing of the last day.
            (_, false, true) => Some(Hours::from_midnight(hours.to)),
            (_, false, false) => None,
        }
    }
}

/// What was said so far; anything may be missing.
#[derive(Debug, Clone, PartialEq, Default)]
struct Said {
    kind: Option<Kind>,
    days: Vec<When>,
    /// The names of days beside dates.
    named: Vec<(Weekday, When)>,
    /// The week of the day that is named.
    is_week: bool,
    /// The names of days are those of the longer time beside them.
    within: bool,
    hours: Option<Hours>,
    /// The hours are those of the first and the last day.
    through: bool,
    minutes: Option<u32>,
    zone: Option<Tz>,
    with_others: bool,
    /// It is about what was.
    past: bool,
    /// What cannot be read.
    wrong: Option<String>,
}

impl Said {
    /// What was said later counts.
    fn then(self, later: Self) -> Self {
        let dated = !later.days.is_empty();
        Self {
            kind: later.kind.or(self.kind),
            through: if later.hours.is_some() {
                later.through
            } else {
                self.through
            },
            hours: later.hours.or(self.hours),
            minutes: later.minutes.or(self.minutes),
            named: if dated { later.named } else { self.named },
            is_week: if dated { later.is_week } else { self.is_week },
            within: if dated { later.within } else { self.within },
            days: if dated { later.days } else { self.days },
            zone: later.zone.or(self.zone),
            with_others: self.with_others || later.with_others,
            past: self.past || later.past,
            wrong: later.wrong,
        }
    }
}

/// How messages are read: whose today it is, and how dates are written there.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    now: DateTime<chrono::Utc>,
    zone: Option<Tz>,
    order: Option<DateOrder>,
}

impl Reading {
    /// As this user says things, now.
    #[must_use]
    pub fn of(user: &UserContext, now: Timestamp) -> Self {
        Self {
            now: DateTime::from_timestamp_millis(now.millis()).unwrap_or_default(),
            zone: user.time_zone.as_deref().and_then(|zone| zone.parse().ok()),
            order: user.locale.as_deref().and_then(DateOrder::of),
        }
    }

    /// What the messages of a user ask, the oldest first.
    ///
    /// # Errors
    /// The question to ask, where something is missing or makes no sense.
    pub fn read(&self, said: &[&Message]) -> Result<Wanted, String> {
        let month = self.now.with_timezone(&self.zone.unwrap_or(Tz::UTC)).month();
        let read = |text: &str| words_of::read(text, self.order, month);
        let together = said.iter().fold(Said::default(), |before, message| {
            let text = message.text_to_read();
            let words = match words::corrected(&text) {
                Some((first, instead)) => read(first).then(read(instead)),
                None => read(&text),
            };
            // What data say, words do not change.
            let data = data::read(message);
            before.then(if data == Said::default() {
                words
            } else {
                words.then(data)
            })
        });
        self.wanted(together)
    }

    fn wanted(&self, mut said: Said) -> Result<Wanted, String> {
        if let Some(wrong) = said.wrong {
            return Err(wrong);
        }
        if said.kind == Some(Kind::Disconnect) {
            return Ok(Wanted::disconnect());
        }
        let zone = said.zone.or(self.zone);
        let now = self.now.with_timezone(&zone.unwrap_or(Tz::UTC));
        let today = now.date_naive();
        // "Am I free at 5?", said before five.
        if said.days.is_empty() && said.hours.is_some_and(|hours| hours.from > now.time()) {
            said.days.push(When::In(0));
        }
        let (Some(kind), false) = (said.kind, said.days.is_empty()) else {
            return Err(missing(said.kind.is_some(), !said.days.is_empty()));
        };
        let mut days = found::dates(&said, today)?;
        let (Some(first), Some(last)) = (days.first(), days.last()) else {
            return Err("I know no such day. Which day do you mean?".to_owned());
        };
        if (*last - *first).num_days() >= DAYS_MAX {
            return Err(too_many());
        }
        // Over one midnight goes the time of the first day.
        if said.through && days.len() == 2 && said.hours.is_some_and(|hours| hours.to <= hours.from) {
            days.truncate(1);
            said.through = false;
        }
        let is_one = days.len() == 1;
        let wanted = Wanted {
            kind,
            days,
            hours: said.hours,
            through: said.through && !is_one,
            minutes: said.minutes.unwrap_or(60),
            zone,
            with_others: said.with_others,
        };
        if let Some(hours) = said.hours {
            if said.through && is_one && hours.to <= hours.from {
                return Err("That ends before it begins. From when to when?".to_owned());
            }
            clear(&wanted, hours)?;
        }
        Ok(wanted)
    }
}

/// Asks where a time that was said is none on one of the days, or comes twice: their clock is changed then.
fn clear(wanted: &Wanted, hours: Hours) -> Result<(), String> {
    let zone = wanted.zone.unwrap_or(Tz::UTC);
    let over = Days::new(u64::from(hours.to <= hours.from));
    let each = wanted.days.iter();
    let each = each.map(|day| (*day, day.checked_add_days(over).unwrap_or(*day)));
    let ends = wanted.days.first().copied().zip(wanted.days.last().copied());
    let spans: Vec<(NaiveDate, NaiveDate)> = match wanted.through {
        true => ends.into_iter().collect(),
        false => each.collect(),
    };
    for (first, last) in spans {
        for (day, time) in [(first, hours.from), (last, hours.to)] {
            // Midnight is where a day begins, whenever that is.
            let said = zone.from_local_datetime(&day.and_time(time));
            if time != NaiveTime::MIN && said.single().is_none() {
                let (time, day) = (time.format("%H:%M"), day.format("%-d %B"));
                return Err(format!(
                    "The clocks change on {day}, so that {time} is no time of its own there. From when to when?"
                ));
            }
        }
    }
    Ok(())
}

fn too_many() -> String {
    format!("I look at {DAYS_MAX} days at most. From which day to which?")
}

/// What to ask where something is missing.
fn missing(kind: bool, days: bool) -> String {
    match (kind, days) {
        (true, _) => "Which day, or which days?",
        (false, true) => {
            "Shall I say whether you are free then, what is on your calendar, or look for a free time?"
        }
        (false, false) => {
            "What shall I look up in your calendar, and for which day: whether you are free, what is on, or a free time?"
        }
    }
    .to_owned()
}

#[cfg(test)]
mod tests;
