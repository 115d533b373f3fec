//! Times of a day in words: `from 2 to 4 pm`, `between 9 and 12`, `8-10`, `at 3`, `after 5 pm`.

use std::ops::Range;

use chrono::{NaiveTime, TimeDelta};
use words::text::{Kind as Piece, Word};
use words::{DateOrder, Days, When, days};

use super::Hours;

/// A time as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Written {
    hour: u32,
    minute: u32,
    /// Which half of the day it says it is in, in hours; none where it is not said.
    half: Option<u32>,
    /// It cannot be meant otherwise: it has minutes, is `14h`, or is noon or midnight.
    exact: bool,
}

impl Written {
    fn of(text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let text = lower.trim_start_matches("at ").trim();
        let exact = |hour| Self {
            hour,
            minute: 0,
            half: None,
            exact: true,
        };
        match text {
            "noon" | "midday" => return Some(exact(12)),
            "midnight" => return Some(exact(0)),
            _ => {}
        }
        let plain = text.replace("a.m.", "am").replace("p.m.", "pm");
        let (number, half) = match (plain.strip_suffix("pm"), plain.strip_suffix("am")) {
            (Some(number), _) => (number, Some(12)),
            (_, Some(number)) => (number, Some(0)),
            _ => (plain.trim_end_matches("o'clock").trim_end_matches('h'), None),
        };
        let number = number.trim();
        let (hour, minute) = number
            .split_once([':', '.'])
            .map_or((number, None), |(hour, minute)| (hour, Some(minute)));
        if minute.is_some_and(|minute| minute.len() != 2) {
            return None;
        }
        let written = Self {
            hour: hour.parse().ok()?,
            minute: minute.map_or(Ok(0), str::parse).ok()?,
            half,
            exact: (minute.is_some() || plain.ends_with('h')) && half.is_none(),
        };
        let most = if half.is_some() { 12 } else { 24 };
        (written.hour <= most && written.minute < 60 && (half.is_none() || written.hour > 0))
            .then_some(written)
    }

    fn in_half(self, half: u32) -> Option<NaiveTime> {
        NaiveTime::from_hms_opt(self.hour % 12 + half, self.minute, 0)
    }

    /// The time that is meant where nothing else says more.
    fn alone(self, about: About) -> Option<NaiveTime> {
        let is_late = match about {
            About::Early => false,
            About::Late => self.hour < 12,
            // Nobody who says "at 3" and no more means the night.
            About::Unsaid => self.hour < 7,
        };
        match self.half {
            Some(half) => self.in_half(half),
            None if !self.exact && self.hour > 0 && is_late => self.in_half(12),
            None => NaiveTime::from_hms_opt(self.hour % 24, self.minute, 0),
        }
    }

    /// From this time to that.
    fn to(self, other: Self, about: About) -> Option<Hours> {
        let (from, to) = match (self.half, other.half) {
            // "2 to 4 pm", "11 to 1 pm": the half of the day is said once.
            (None, Some(half)) if !self.exact => {
                let to = other.in_half(half)?;
                let same = self.in_half(half)?;
                (if same < to { same } else { self.in_half(12 - half)? }, to)
            }
            (Some(half), None) if !other.exact => {
                let from = self.in_half(half)?;
                let same = other.in_half(half)?;
                (
                    from,
                    if from < same {
                        same
                    } else {
                        other.in_half(12 - half)?
                    },
                )
            }
            _ => (self.alone(about)?, other.alone(about)?),
        };
        Some(Hours { from, to })
    }
}

/// Which half of the day a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// The morning.
    Early,
    /// The afternoon or the evening.
    Late,
    /// It does not say.
    Unsaid,
}

/// What is said of a part of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// From then to then.
    Hours(Hours),
    /// Its end is no end of its beginning.
    Reversed(Hours),
}

/// Takes two times of a day out of the words.
pub(super) fn take_span(words: &mut [Word], about: About, order: Option<DateOrder>) -> Option<Span> {
    let dates = days::take(&mut words.to_vec(), order).mentions;
    for index in 0..words.len() {
        let Some((from, to, end)) = two_at(words, index) else {
            continue;
        };
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        let led = before.is_some_and(|word| matches!(word.lower.as_str(), "from" | "between"));
        let said = [from, to].iter().any(|time| time.exact || time.half.is_some());
        // "From 5 to 9 July", and two numbers behind nothing that makes times of them.
        let is_date = dates.iter().any(|(at, _)| (index..end).contains(at));
        let has_day = dates.iter().any(|(at, _)| !(index..end).contains(at));
        if !said && (is_date || !(led || has_day)) {
            continue;
        }
        let Some(hours) = from.to(to, about) else {
            continue;
        };
        // The day between the two is read with the days.
        let own = words.iter_mut().skip(index).take(end - index);
        for word in own.filter(|word| !is_near_day(word)) {
            word.kind = Piece::Gap;
        }
        // Over midnight goes what begins in the evening.
        let evening = NaiveTime::from_hms_opt(17, 0, 0)?;
        let noon = NaiveTime::from_hms_opt(12, 0, 0)?;
        let over = hours.from >= evening && hours.to <= noon;
        return Some(
            match hours.to > hours.from || over || hours.to == NaiveTime::MIN {
                true => Span::Hours(hours),
                false => Span::Reversed(hours),
            },
        );
    }
    None
}

/// How many times are told that cannot be meant otherwise.
pub(super) fn count(words: &[Word]) -> usize {
    certain(words).len()
}

/// The times that cannot be meant otherwise, each with its words.
fn certain(words: &[Word]) -> Vec<(Written, Range<usize>)> {
    let (mut found, mut index) = (Vec::new(), 0);
    while index < words.len() {
        match time_at(words, index) {
            Some((time, end)) if time.exact || time.half.is_some() => {
                found.push((time, index..end));
                index = end;
            }
            _ => index += 1,
        }
    }
    found
}

/// Takes a time of one day and a time of another out of the words, between which all is meant: `Saturday 8 pm to Sunday 8 am`,
/// `from 11 pm on 29 February to 1:30 am on 1 March`. The days come as one span.
pub(super) fn take_over_days(
    words: &mut [Word],
    about: About,
    order: Option<DateOrder>,
) -> Option<(Hours, Days)> {
    let times = certain(words);
    let [(from, first), (to, last)] = times.as_slice() else {
        return None;
    };
    let is_to = |at: &usize| {
        let joint = words.get(*at).map_or("", |word| word.lower.as_str());
        matches!(
            joint,
            "to" | "till" | "til" | "until" | "through" | "-" | "–" | "—"
        )
    };
    let joint = (first.end..last.start).find(is_to)?;
    let mut rest = words.to_vec();
    for at in first.clone().chain(last.clone()) {
        rest.get_mut(at)?.kind = Piece::Gap;
    }
    let mut found = days::take(&mut rest, order);
    // Nothing but little words between a time and its day.
    let is_near = |mut between: Range<usize>| {
        between.all(|at| {
            let little = |word: &Word| matches!(word.lower.as_str(), "on" | "at" | "from" | "the");
            rest.get(at)
                .is_none_or(|word| word.kind == Piece::Gap || little(word))
        })
    };
    let span = match found.mentions.as_slice() {
        [(at, one), (other, two)] if *at < joint && joint < *other && is_one(one) && is_one(two) => {
            let is_first = is_near(*at..first.start) || is_near(first.end..joint);
            let is_last = is_near(last.end..*other) && *other > last.start || is_near(joint + 1..last.start);
            (is_first && is_last).then(|| When::Span(Box::new(one.clone()), Box::new(two.clone())))?
        }
        // "8 pm Saturday to Sunday 8 am"
        [(at, span @ When::Span(..))] if first.end <= *at && *at < joint => span.clone(),
        _ => return None,
    };
    let hours = Hours {
        from: from.alone(about)?,
        to: to.alone(about)?,
    };
    for (word, taken) in words.iter_mut().zip(rest) {
        word.kind = taken.kind;
    }
    words.get_mut(joint)?.kind = Piece::Gap;
    found.days = vec![span];
    Some((hours, found))
}

fn is_one(when: &When) -> bool {
    matches!(
        when,
        When::In(_) | When::Weekday { .. } | When::Date { .. } | When::DayOfMonth(_)
    )
}

/// Two times that begin at `index`, and where they end.
fn two_at(words: &[Word], index: usize) -> Option<(Written, Written, usize)> {
    // "8-10", "8am-9am"
    if let Some((from, to)) = words.get(index)?.lower.split_once('-')
        && let (Some(from), Some(to)) = (Written::of(from), Written::of(to))
    {
        return Some((from, to, index + 1));
    }
    let (from, next) = time_at(words, index)?;
    // "From 23:30 tonight to 00:30"
    let is_day = |word: &&Word| word.kind == Piece::Gap || is_near_day(word);
    let next = next + words.iter().skip(next).take_while(is_day).count();
    let joint = words.get(next)?.lower.as_str();
    matches!(joint, "to" | "till" | "until" | "and" | "-" | "–").then_some(())?;
    let (to, end) = time_at(words, past_gaps(words, next + 1))?;
    Some((from, to, end))
}

fn is_near_day(word: &Word) -> bool {
    matches!(word.lower.as_str(), "tonight" | "today" | "tomorrow")
}

/// Times that stand each behind its own word: `after 1 pm, done by 6 pm`, `before ten, from eight`. One alone leaves the other end
/// open: `after 5 pm`.
pub(super) fn take_apart(words: &mut [Word], about: About, order: Option<DateOrder>) -> Option<Hours> {
    let dates = days::take(&mut words.to_vec(), order).mentions;
    let is = |at: usize, lower: &str| words.get(at).is_some_and(|word| word.lower == lower);
    let behind = |leads: &[&str]| {
        (0..words.len()).find_map(|at| {
            let led = leads.contains(&words.get(at)?.lower.as_str());
            let (time, end) = time_at(words, at + 1).filter(|_| led)?;
            let is_date = dates.iter().any(|(date, _)| (at + 1..end).contains(date));
            // "Not before 10" is the other way round.
            let is_not = at.checked_sub(1).is_some_and(|before| is(before, "not"));
            (!is_date && !is_not).then_some((time, at..end))
        })
    };
    let (hours, taken) = match (behind(&["after", "from"]), behind(&["before", "by"])) {
        (Some((from, one)), Some((to, other))) => (from.to(to, about)?, vec![one, other]),
        (Some((from, one)), None) if is(one.start, "after") => {
            (Hours::until_midnight(from.alone(about)?), vec![one])
        }
        (None, Some((to, other))) if is(other.start, "before") => {
            (Hours::from_midnight(to.alone(about)?), vec![other])
        }
        _ => return None,
    };
    if hours.to <= hours.from && hours.to != NaiveTime::MIN {
        return None;
    }
    for at in taken.into_iter().flatten() {
        if let Some(word) = words.get_mut(at) {
            word.kind = Piece::Gap;
        }
    }
    Some(hours)
}

fn past_gaps(words: &[Word], at: usize) -> usize {
    let gaps = words.iter().skip(at).take_while(|word| word.kind == Piece::Gap);
    at + gaps.count()
}

/// A time that begins at `index`, and where it ends.
fn time_at(words: &[Word], index: usize) -> Option<(Written, usize)> {
    let word = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    if let Some(found) = told(words, index) {
        return Some(found);
    }
    let first = words.get(index).filter(|word| word.kind == Piece::Word)?;
    let mut text = match first.count().filter(|hour| *hour <= 12) {
        Some(hour) if first.number().is_none() => hour.to_string(),
        _ => first.text.clone(),
    };
    let mut end = index + 1;
    if word(end) == ":" {
        text = format!("{text}:{}", word(end + 1));
        end += 2;
    }
    if matches!(word(end).to_lowercase().as_str(), "am" | "pm" | "a.m." | "p.m.") {
        text = format!("{text} {}", word(end));
        end += 1;
    }
    Some((Written::of(&text)?, end))
}

/// `half past nine`, `a quarter to five`, `ten past three`, with where it ends.
fn told(words: &[Word], index: usize) -> Option<(Written, usize)> {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let index = index + usize::from(lower(index) == "a" && lower(index + 1) == "quarter");
    let minutes = match (lower(index), lower(index + 1)) {
        ("half", "past") => 30,
        ("quarter", "past") => 15,
        ("quarter", "to") => 45,
        (_, "past") => words.get(index)?.count().filter(|minutes| *minutes < 60)?,
        _ => return None,
    };
    let (hour, end) = time_at(words, index + 2).filter(|(hour, _)| hour.minute == 0)?;
    let before = u32::from(lower(index + 1) == "to");
    let written = Written {
        // A quarter to one is past twelve.
        hour: if hour.hour < 1 + before {
            12
        } else {
            hour.hour - before
        },
        minute: minutes,
        ..hour
    };
    Some((written, end))
}

/// A time of the day as it is written: `5 pm`, `14:30`, `at 8`.
pub(super) fn clock(text: &str, about: About) -> Option<NaiveTime> {
    Written::of(text)?.alone(about)
}

/// So long from then on.
pub(super) fn from(from: NaiveTime, minutes: u32) -> Hours {
    let to = from.overflowing_add_signed(TimeDelta::minutes(minutes.into())).0;
    Hours { from, to }
}
