//! What a sentence says of time, as data: days, a part of each day, how long something takes, whose clock it is by.

use chrono::{DateTime, Datelike as _, NaiveDate};
use domain::{Timestamp, UserContext};
use words::hours::{self, Part};
use words::text::{Kind, Word};
use words::{DateOrder, Days, Hours, When, days, length, related};

use super::left::{self, Read};
use super::takes::{Slot, Takes};
use super::zone;

/// Most characters of what is not read that are repeated.
const REPEATED_MAX: usize = 80;

/// What is said of time.
pub(super) struct Timed {
    /// The days, and where they stand.
    pub(super) time: Days,
    /// The days as data.
    pub(super) days: Vec<String>,
    pub(super) hours: Option<Hours>,
    pub(super) minutes: Option<i64>,
    /// The name of a zone.
    pub(super) zone: Option<&'static str>,
    /// The first field of which it is not clear what is meant, and what to ask.
    pub(super) unclear: Option<(String, String)>,
}

/// The day that a moment is by a user's clock.
#[must_use]
pub fn day_of(now: Timestamp, user: &UserContext) -> NaiveDate {
    Clock::of(now, user).today
}

/// How time is read: whose today it is, and how dates are written there.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) today: NaiveDate,
    pub(super) order: Option<DateOrder>,
}

impl Clock {
    /// That of a user.
    pub(super) fn of(now: Timestamp, user: &UserContext) -> Self {
        let utc = DateTime::from_timestamp_millis(now.millis()).unwrap_or_default();
        let zone = user.time_zone.as_deref();
        let zone = zone.and_then(|zone| zone.parse::<chrono_tz::Tz>().ok());
        Self {
            today: zone.map_or(utc.date_naive(), |zone| utc.with_timezone(&zone).date_naive()),
            order: user.locale.as_deref().and_then(DateOrder::of),
        }
    }

    /// Takes what is said of time out of the words, as far as there are fields for it. `said` is the text that the words are of, with
    /// what it is in English where it is in another language.
    pub(super) fn take(self, words: &mut [Word], takes: &Takes, said: (&str, Option<&str>)) -> Timed {
        let others: Vec<bool> = words.iter().map(|word| word.kind == Kind::Gap).collect();
        let zone = takes.named(|slot| matches!(slot, Slot::Zone));
        let zone = zone.and_then(|_| zone::take(words));
        let minutes = takes.named(|slot| matches!(slot, Slot::Length));
        let minutes = minutes.and_then(|_| length::take(words));
        let mut time = match takes.is_of_stays() {
            true => days::take(words, self.order),
            false => self.days(words),
        };
        let takes_hours = takes.named(|slot| matches!(slot, Slot::Hours));
        let part = takes_hours.and_then(|_| hours::take(words, &time));
        let hours = self.hours(part, &mut time);
        let within = related::within(words, &time, self.today);
        let written = within.as_ref().map_or_else(
            || self.written(&in_turn(&time.days, self.today)),
            |days| days.iter().map(NaiveDate::to_string).collect(),
        );
        let is_never = within.as_ref().is_some_and(Vec::is_empty);
        let takes_days = takes.named(|slot| matches!(slot, Slot::Days));
        let of_days = || Some((takes_days?, self.ask(&time, is_never)?));
        let of_hours = || Some((takes_hours?, hours.as_ref().err()?.clone()));
        let left = || {
            let field = if part.is_some() {
                takes_hours?
            } else {
                takes_hours.and(takes_days)?
            };
            let read = Read {
                mentions: &time.mentions,
                others: &others,
                within: within.is_some(),
            };
            let left = left::first(words, &read, said)?;
            let left: String = left.chars().take(REPEATED_MAX).collect();
            let ask = format!("I cannot read “{left}” there. Which day or days, and from when to when?");
            Some((field, ask))
        };
        let unclear = of_days().or_else(of_hours).or_else(left);
        Timed {
            unclear: unclear.map(|(field, ask)| (field.to_owned(), ask)),
            days: written,
            hours: hours.ok().flatten(),
            minutes,
            zone: zone.map(|zone| zone.name()),
            time,
        }
    }

    /// Days as data.
    pub(super) fn written(self, days: &[When]) -> Vec<String> {
        days.iter().filter_map(|when| when.to_data(self.today)).collect()
    }

    /// Takes out the days, as the tense has them.
    fn days(self, words: &mut [Word]) -> Days {
        let mut time = days::take(words, self.order);
        related::count_on(words, &mut time);
        related::up_to(words, &mut time);
        related::before(words, &mut time);
        let says = |any: &[&str]| words.iter().any(|word| any.contains(&word.lower.as_str()));
        let is_over = says(&["was", "were", "did"]);
        if is_over || says(&["will"]) {
            let mentions = time.mentions.iter_mut().map(|(_, when)| when);
            time.days
                .iter_mut()
                .chain(mentions)
                .for_each(|when| match is_over {
                    true => put_back(when, self.today),
                    false => *when = when.clone().ahead(),
                });
        }
        time
    }

    /// The part of each day; of a night between two days the first of them.
    ///
    /// # Errors
    /// What to ask, where it is none.
    fn hours(self, part: Option<Part>, time: &mut Days) -> Result<Option<Hours>, String> {
        match part {
            None => Ok(None),
            Some(Part::Daily(hours)) => Ok(Some(hours)),
            Some(Part::Over(hours)) => {
                let days = time.days.iter();
                let mut days: Vec<NaiveDate> = days.flat_map(|when| when.resolve(self.today)).collect();
                days.sort_unstable();
                days.dedup();
                match days.as_slice() {
                    [first, last] if first.succ_opt() == Some(*last) && hours.to <= Some(hours.from) => {
                        time.days = vec![(*first).into()];
                        Ok(Some(hours))
                    }
                    _ => Err("I look at the same hours of each day. From when to when?".to_owned()),
                }
            }
            Some(Part::Reversed { from, to }) => Err(format!(
                "{} is not after {}. From when to when?",
                to.format("%H:%M"),
                from.format("%H:%M")
            )),
            Some(Part::Several) => Err("From when to when, and on which day?".to_owned()),
        }
    }

    /// What to ask about the days; `is_never` where there is none of the names that are said.
    fn ask(self, time: &Days, is_never: bool) -> Option<String> {
        let reversed = |when: &When| {
            let (first, last) = when.ends(self.today)?;
            (last < first).then(|| "That ends before it begins. From which day to which?".to_owned())
        };
        let mut days = time.days.iter();
        days.find_map(|when| when.ask(self.today).or_else(|| reversed(when)))
            .or_else(|| days::misnamed(&time.named, self.today))
            .or_else(|| is_never.then(|| "I know no such day. Which day do you mean?".to_owned()))
    }
}

/// A day without a year that somebody speaks of as over; of this month what is over.
fn put_back(when: &mut When, today: NaiveDate) {
    match when {
        When::Month(month) if *month == today.month() => {
            let count = today.day();
            let from = 1 - i32::try_from(count).unwrap_or_default();
            *when = When::Run { from, count };
        }
        When::Date { year: None, .. } | When::Month(_) | When::Weekday { .. } | When::DayOfMonth(_) => {
            *when = When::Past(Box::new(when.clone()));
        }
        _ => {}
    }
}

/// The days, of whose names each is the next behind the one before: "Thursday or Tuesday".
fn in_turn(days: &[When], today: NaiveDate) -> Vec<When> {
    let is_name = |when: &When| matches!(when, When::Weekday { .. });
    let mut turns = days.to_vec();
    for (turn, pair) in turns.iter_mut().skip(1).zip(days.windows(2)) {
        if let [one, other] = pair
            && is_name(one)
            && is_name(other)
            && other.resolve(today) < one.resolve(today)
        {
            let than = Box::new(other.clone());
            *turn = When::Later { days: 7, than };
        }
    }
    turns
}
