//! Times of a day in words: `from 2 to 4 pm`, `between 9 and 12`, `8-10`, `at 3`, `after 5 pm`.

use std::ops::Range;

use chrono::{NaiveTime, TimeDelta};
use words::text::{Kind as Piece, Word, before, lower, take_out};
use words::{DateOrder, Days, Time, When, days};

use super::Hours;

fn in_half(time: Time, half: u32) -> Option<NaiveTime> {
    NaiveTime::from_hms_opt(time.hour % 12 + half, time.minute, 0)
}

/// The time that is meant where nothing else says more.
pub(super) fn alone(time: Time, about: About) -> Option<NaiveTime> {
    let is_late = match about {
        About::Early => false,
        About::Late => time.hour < 12,
        // Nobody who says "at 3" and no more means the night.
        About::Unsaid => time.hour < 7,
    };
    match time.half {
        Some(half) => in_half(time, half),
        None if !time.exact && time.hour > 0 && is_late => in_half(time, 12),
        None => NaiveTime::from_hms_opt(time.hour % 24, time.minute, 0),
    }
}

/// From this time to that.
fn between(one: Time, other: Time, about: About) -> Option<Hours> {
    // "2 to 4 pm", "11 to 1 pm": the half of the day is said once, and the nearer one is meant.
    let (from, to) = match (one.half, other.half) {
        (None, Some(half)) if !one.exact => {
            let to = in_half(other, half)?;
            let same = in_half(one, half).filter(|same| *same < to);
            (same.or_else(|| in_half(one, 12 - half))?, to)
        }
        (Some(half), None) if !other.exact => {
            let from = in_half(one, half)?;
            let same = in_half(other, half).filter(|same| from < *same);
            (from, same.or_else(|| in_half(other, 12 - half))?)
        }
        _ => (alone(one, about)?, alone(other, about)?),
    };
    Some(Hours { from, to })
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
        let led = matches!(before(words, index), "from" | "between");
        let said = from.is_certain() || to.is_certain();
        // "From 5 to 9 July", and two numbers behind nothing that makes times of them.
        let is_date = dates.iter().any(|(at, _)| (index..end).contains(at));
        let has_day = dates.iter().any(|(at, _)| !(index..end).contains(at));
        if !said && (is_date || !(led || has_day)) {
            continue;
        }
        let Some(hours) = between(from, to, about) else {
            continue;
        };
        // The day between the two is read with the days.
        let own = words.iter_mut().take(end).skip(index);
        own.filter(|word| !is_near_day(word))
            .for_each(|word| word.kind = Piece::Gap);
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
fn certain(words: &[Word]) -> Vec<(Time, Range<usize>)> {
    let (mut found, mut index) = (Vec::new(), 0);
    while index < words.len() {
        match Time::at(words, index) {
            Some((time, end)) if time.is_certain() => {
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
    let joint = (first.end..last.start).find(|at| is_to(lower(words, *at)))?;
    let mut rest = words.to_vec();
    take_out(&mut rest, first.clone());
    take_out(&mut rest, last.clone());
    let mut found = days::take(&mut rest, order);
    // Nothing but little words between a time and its day.
    let is_near = |mut between: Range<usize>| {
        let little = |word: &Word| matches!(word.lower.as_str(), "on" | "at" | "from" | "the");
        between.all(|at| {
            rest.get(at)
                .is_none_or(|word| word.kind == Piece::Gap || little(word))
        })
    };
    let span = match found.mentions.as_slice() {
        [(at, one), (other, two)] if *at < joint && joint < *other && one.is_one() && two.is_one() => {
            let is_first = is_near(*at..first.start) || is_near(first.end..joint);
            let is_last = is_near(last.end..*other) && *other > last.start || is_near(joint + 1..last.start);
            (is_first && is_last).then(|| When::span(one.clone(), two.clone()))?
        }
        // "8 pm Saturday to Sunday 8 am"
        [(at, span @ When::Span(..))] if first.end <= *at && *at < joint => span.clone(),
        _ => return None,
    };
    let hours = Hours {
        from: alone(*from, about)?,
        to: alone(*to, about)?,
    };
    for (word, taken) in words.iter_mut().zip(rest) {
        word.kind = taken.kind;
    }
    take_out(words, joint..joint + 1);
    found.days = vec![span];
    Some((hours, found))
}

fn is_to(lower: &str) -> bool {
    matches!(
        lower,
        "to" | "till" | "til" | "until" | "through" | "-" | "–" | "—"
    )
}

/// Two times that begin at `index`, and where they end.
fn two_at(words: &[Word], index: usize) -> Option<(Time, Time, usize)> {
    // "8-10", "8am-9am"
    if let Some((from, to)) = lower(words, index).split_once('-')
        && let (Some(from), Some(to)) = (Time::of(from), Time::of(to))
    {
        return Some((from, to, index + 1));
    }
    let (from, next) = Time::at(words, index)?;
    // "From 23:30 tonight to 00:30"
    let is_day = |word: &&Word| word.kind == Piece::Gap || is_near_day(word);
    let next = next + words.iter().skip(next).take_while(is_day).count();
    let joint = lower(words, next);
    (is_to(joint) || joint == "and").then_some(())?;
    let gaps = words
        .iter()
        .skip(next + 1)
        .take_while(|word| word.kind == Piece::Gap);
    let (to, end) = Time::at(words, next + 1 + gaps.count())?;
    Some((from, to, end))
}

fn is_near_day(word: &Word) -> bool {
    matches!(word.lower.as_str(), "tonight" | "today" | "tomorrow")
}

/// Times that stand each behind its own word: `after 1 pm, done by 6 pm`, `before ten, from eight`. One alone leaves the other end
/// open: `after 5 pm`.
pub(super) fn take_apart(words: &mut [Word], about: About, order: Option<DateOrder>) -> Option<Hours> {
    let dates = days::take(&mut words.to_vec(), order).mentions;
    let behind = |leads: &[&str]| {
        (0..words.len()).find_map(|at| {
            let led = leads.contains(&lower(words, at));
            let (time, end) = Time::at(words, at + 1).filter(|_| led)?;
            let is_date = dates.iter().any(|(date, _)| (at + 1..end).contains(date));
            // "Not before 10" is the other way round.
            (!is_date && before(words, at) != "not").then_some((time, at..end))
        })
    };
    let (hours, taken) = match (behind(&["after", "from"]), behind(&["before", "by"])) {
        (Some((from, one)), Some((to, other))) => (between(from, to, about)?, vec![one, other]),
        (Some((from, one)), None) if lower(words, one.start) == "after" => {
            (Hours::until_midnight(alone(from, about)?), vec![one])
        }
        (None, Some((to, other))) if lower(words, other.start) == "before" => {
            (Hours::from_midnight(alone(to, about)?), vec![other])
        }
        _ => return None,
    };
    if hours.to <= hours.from && hours.to != NaiveTime::MIN {
        return None;
    }
    taken.into_iter().for_each(|range| take_out(words, range));
    Some(hours)
}

/// So long from then on.
pub(super) fn from(from: NaiveTime, minutes: u32) -> Hours {
    let to = from.overflowing_add_signed(TimeDelta::minutes(minutes.into())).0;
    Hours { from, to }
}
