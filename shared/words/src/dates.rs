//! Calendar dates in words and numbers.

use chrono::Month;

use crate::order::DateOrder;
use crate::text::{self, Kind, Word, before, lower};
use crate::when::When;

/// A date that begins at `index`, with the number of words it takes.
pub(crate) fn at(words: &[Word], index: usize, order: Option<DateOrder>) -> Option<(When, usize)> {
    let word = words.get(index)?;
    if word.kind != Kind::Word {
        return None;
    }
    written_in_numbers(&word.lower)
        .map(|when| (when, 1))
        .or_else(|| slashed(words, index, order))
        .or_else(|| dotted_short(words, index))
        .or_else(|| day_then_month(words, index))
        .or_else(|| month_then_day(words, index))
        .or_else(|| feast(words, index))
}

/// `24th` where no month follows.
pub(crate) fn ordinal(word: &Word) -> Option<u32> {
    text::ordinal(&word.lower).filter(|day| (1..=31).contains(day))
}

/// The month of this name, from 1.
pub(crate) fn month(word: &Word) -> Option<u32> {
    let name = if word.lower == "sept" { "sep" } else { &word.lower };
    let month: Month = name.parse().ok()?;
    Some(month.number_from_month())
}

/// `2026-12-24`, `24.12.2026`, `24.12`
fn written_in_numbers(text: &str) -> Option<When> {
    let digits = |text: &str| {
        let number = text.parse::<u32>().ok().filter(|_| text.len() <= 4);
        number.filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let pieces: Vec<&str> = text.split(['-', '.']).collect();
    let lengths: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
    let numbers = pieces.into_iter().map(digits).collect::<Option<Vec<u32>>>()?;
    let year = |year: u32| i32::try_from(year).ok();
    match (numbers.as_slice(), lengths.as_slice(), text.contains('-')) {
        ([first, month, day], [4, ..], true) if *first >= 1900 && !text.contains('.') => {
            checked(year(*first), *month, *day)
        }
        ([day, month, last], [.., 4], false) => checked(year(*last), *month, *day),
        ([day, month], [_, 2], false) => checked(None, *month, *day),
        _ => None,
    }
}

/// `3/12`, `12/24/2026`: the day first or the month, as the region has it; where only one reading is a date, that one.
fn slashed(words: &[Word], index: usize, order: Option<DateOrder>) -> Option<(When, usize)> {
    let number = |index: usize| words.get(index).and_then(Word::number);
    let slash = |index: usize| words.get(index).is_some_and(|mark| mark.text == "/");
    let (first, second) = (number(index)?, number(index + 2).filter(|_| slash(index + 1))?);
    let year = number(index + 4).filter(|_| slash(index + 3));
    let year = year.and_then(|year| i32::try_from(if year < 100 { 2000 + year } else { year }).ok());
    let taken = if year.is_some() { 5 } else { 3 };
    let (day_first, month_first) = (checked(year, second, first), checked(year, first, second));
    let when = match (day_first, month_first, order) {
        (Some(when), None, _) | (None, Some(when), _) => when,
        (Some(when), Some(other), _) if when == other => when,
        (Some(when), Some(_), Some(DateOrder::DayFirst)) => when,
        (Some(_), Some(when), Some(DateOrder::MonthFirst)) => when,
        (Some(_), Some(_), None) => When::Unclear { first, second, year },
        (None, None, _) => return None,
    };
    Some((when, taken))
}

/// How dates are written here, as those say that can be read in one way alone: `28/12`.
pub(crate) fn order_of(words: &[Word]) -> Option<DateOrder> {
    let number = |index: usize| words.get(index).and_then(Word::number);
    let mut certain = (0..words.len()).filter_map(|index| {
        words.get(index + 1).filter(|mark| mark.text == "/")?;
        match (number(index)?, number(index + 2)?) {
            (13..=31, 1..=12) => Some(DateOrder::DayFirst),
            (1..=12, 13..=31) => Some(DateOrder::MonthFirst),
            _ => None,
        }
    });
    let first = certain.next()?;
    certain.all(|other| other == first).then_some(first)
}

/// `3.1.`, or `on 3.1`: one digit alone may be any number.
fn dotted_short(words: &[Word], index: usize) -> Option<(When, usize)> {
    let (day, month) = words.get(index)?.lower.split_once('.')?;
    let led = matches!(before(words, index), "on" | "am" | "den");
    if !led && lower(words, index + 1) != "." {
        return None;
    }
    checked(None, month.parse().ok()?, day.parse().ok()?).map(|when| (when, 1))
}

fn checked(year: Option<i32>, month: u32, day: u32) -> Option<When> {
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day);
    fits.then_some(When::Date { year, month, day })
}

/// One day of a month, or two: `24`, `24th`, `22-24`, `22 to 24`; with where they end.
fn days(words: &[Word], index: usize) -> Option<((u32, Option<u32>), usize)> {
    let one = |text: &str| {
        let number = text::ordinal(text).or_else(|| text.parse().ok().filter(|_| text.len() <= 2));
        number.filter(|day| (1..=31).contains(day))
    };
    let word = lower(words, index);
    if let Some((first, last)) = word.split_once('-') {
        return Some(((one(first)?, Some(one(last)?)), index + 1));
    }
    let last = words.get(index + 1).filter(|word| is_to(word));
    match last.and_then(|_| one(lower(words, index + 2))) {
        Some(last) => Some(((one(word)?, Some(last)), index + 3)),
        None => Some(((one(word)?, None), index + 1)),
    }
}

fn days_of(month: u32, days: (u32, Option<u32>), year: Option<i32>) -> When {
    let date = |day| When::Date { year, month, day };
    match days {
        (day, None) => date(day),
        (first, Some(last)) => When::span(date(first), date(last)),
    }
}

/// `24 December 2026`, `24th of December`, `22-24 November`, `22 to 24 November`
fn day_then_month(words: &[Word], index: usize) -> Option<(When, usize)> {
    let (days, next) = days(words, index)?;
    // "28 and 29 November"
    let is_listed = days.1.is_none() && words.get(next).is_some_and(|word| word.kind == Kind::And);
    if is_listed && let Some((When::Date { year, month, .. }, _)) = day_then_month(words, next + 1) {
        return Some((days_of(month, days, year), next - index));
    }
    let next = next + usize::from(lower(words, next) == "of");
    let month = month(words.get(next)?)?;
    let (year, next) = year(words, next + 1);
    Some((days_of(month, days, year), next - index))
}

/// `December 24`, `Dec 24th, 2026`, `November 22-24`
fn month_then_day(words: &[Word], index: usize) -> Option<(When, usize)> {
    let month = month(words.get(index)?)?;
    let first = index + 1 + usize::from(lower(words, index + 1) == "the");
    let (days, next) = match days(words, first)? {
        // "Nov 12 through 15", but neither "Dec 28 to 4 January" nor "Nov 12 to 3 pm".
        ((day, Some(_)), end) if end > first + 1 && words.get(end).is_some_and(owns_number) => {
            ((day, None), first + 1)
        }
        found => found,
    };
    let (year, next) = year(words, next);
    Some((days_of(month, days, year), next - index))
}

/// Whether the number before it is its own, an hour or a day of this month.
fn owns_number(word: &Word) -> bool {
    let of_a_clock = matches!(
        word.lower.as_str(),
        "am" | "pm" | "a.m." | "p.m." | "o'clock" | ":"
    );
    of_a_clock || month(word).is_some()
}

fn year(words: &[Word], index: usize) -> (Option<i32>, usize) {
    let comma = usize::from(words.get(index).is_some_and(|word| word.kind == Kind::Comma));
    let number = words
        .get(index + comma)
        .and_then(Word::number)
        .filter(|year| (1900..=2200).contains(year));
    match number.and_then(|year| i32::try_from(year).ok()) {
        Some(year) => (Some(year), index + comma + 1),
        None => (None, index),
    }
}

/// Days that have names.
fn feast(words: &[Word], index: usize) -> Option<(When, usize)> {
    let date = |month, day| checked(None, month, day);
    let joined = index
        .checked_sub(1)
        .is_some_and(|before| words.get(before).is_some_and(|word| word.kind == Kind::And));
    let named = (
        lower(words, index),
        lower(words, index + 1),
        lower(words, index + 2),
    );
    let (date, taken) = match named {
        ("christmas" | "xmas", "eve", _) => (date(12, 24), 2),
        ("christmas" | "xmas", "day", _) => (date(12, 25), 2),
        ("christmas" | "xmas", _, _) => (date(12, 25), 1),
        ("boxing", "day", _) => (date(12, 26), 2),
        ("new", "year's" | "years", "eve") => (date(12, 31), 3),
        ("new", "year's" | "years", "day") => (date(1, 1), 3),
        // The feast, not the turn of the year as in "between Christmas and New Year".
        ("new", "year", _) if words.get(index)?.is_capital() && !joined => (date(1, 1), 2),
        _ => return None,
    };
    Some((date?, taken))
}

/// What stands between the first and the last day.
pub(crate) fn is_to(word: &Word) -> bool {
    matches!(
        word.lower.as_str(),
        "to" | "till" | "til" | "until" | "through" | "thru" | "–" | "—"
    )
}
