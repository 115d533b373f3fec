//! Calendar dates in words and numbers.

use crate::order::DateOrder;
use crate::text::{Kind, Word};
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
    let digits = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|end| word.lower.strip_suffix(end))?;
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

/// The month of this name, from 1.
pub(crate) fn month(word: &Word) -> Option<u32> {
    const NAMES: [(&str, &str); 12] = [
        ("january", "jan"),
        ("february", "feb"),
        ("march", "mar"),
        ("april", "apr"),
        ("may", "may"),
        ("june", "jun"),
        ("july", "jul"),
        ("august", "aug"),
        ("september", "sep"),
        ("october", "oct"),
        ("november", "nov"),
        ("december", "dec"),
    ];
    let lower = word.lower.as_str();
    let found = NAMES
        .iter()
        .position(|(long, short)| lower == *long || lower == *short || lower == "sept" && *short == "sep");
    found.and_then(|index| u32::try_from(index + 1).ok())
}

/// `2026-12-24`, `24.12.2026`, `24.12`
fn written_in_numbers(text: &str) -> Option<When> {
    let digits = |text: &str, most: usize| {
        let plain = !text.is_empty() && text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit());
        if plain { text.parse::<u32>().ok() } else { None }
    };
    let dashed: Vec<&str> = text.split('-').collect();
    if let [year, month, day] = dashed.as_slice() {
        let year = digits(year, 4).filter(|year| *year >= 1900)?;
        return Some(checked(
            i32::try_from(year).ok(),
            digits(month, 2)?,
            digits(day, 2)?,
        ))
        .flatten();
    }
    let dotted: Vec<&str> = text.split('.').collect();
    match dotted.as_slice() {
        [day, month] if month.len() == 2 => checked(None, digits(month, 2)?, digits(day, 2)?),
        [day, month, year] if year.len() == 4 => checked(
            i32::try_from(digits(year, 4)?).ok(),
            digits(month, 2)?,
            digits(day, 2)?,
        ),
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
    let led = index
        .checked_sub(1)
        .and_then(|before| words.get(before))
        .is_some_and(|before| matches!(before.lower.as_str(), "on" | "am" | "den"));
    let closed = words.get(index + 1).is_some_and(|mark| mark.text == ".");
    if !led && !closed {
        return None;
    }
    checked(None, month.parse().ok()?, day.parse().ok()?).map(|when| (when, 1))
}

fn checked(year: Option<i32>, month: u32, day: u32) -> Option<When> {
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day);
    fits.then_some(When::Date { year, month, day })
}

/// One day of a month, or two with a dash between: `24`, `24th`, `22-24`.
fn days(word: &Word) -> Option<(u32, Option<u32>)> {
    let one = |text: &str| {
        let text = ["st", "nd", "rd", "th"]
            .iter()
            .find_map(|end| text.strip_suffix(end))
            .unwrap_or(text);
        if text.len() > 2 {
            None
        } else {
            text.parse().ok().filter(|day| (1..=31).contains(day))
        }
    };
    match word.lower.split_once('-') {
        None => Some((one(&word.lower)?, None)),
        Some((first, last)) => Some((one(first)?, Some(one(last)?))),
    }
}

fn days_of(month: u32, days: (u32, Option<u32>), year: Option<i32>) -> When {
    let date = |day| When::Date { year, month, day };
    match days {
        (day, None) => date(day),
        (first, Some(last)) => When::Span(Box::new(date(first)), Box::new(date(last))),
    }
}

/// `24 December 2026`, `24th of December`, `22-24 November`, `22 to 24 November`
fn day_then_month(words: &[Word], index: usize) -> Option<(When, usize)> {
    let mut day = days(words.get(index)?)?;
    let mut next = index + 1;
    if day.1.is_none()
        && words.get(next).is_some_and(is_to)
        && let Some((last, None)) = words.get(next + 1).and_then(days)
        && words.get(next + 2).and_then(month).is_some()
    {
        day.1 = Some(last);
        next += 2;
    }
    if words.get(next)?.lower == "of" {
        next += 1;
    }
    let month = month(words.get(next)?)?;
    next += 1;
    let (year, next) = year(words, next);
    Some((days_of(month, day, year), next - index))
}

/// `December 24`, `Dec 24th, 2026`, `November 22-24`
fn month_then_day(words: &[Word], index: usize) -> Option<(When, usize)> {
    let month = month(words.get(index)?)?;
    let the = usize::from(words.get(index + 1).is_some_and(|word| word.lower == "the"));
    let mut day = days(words.get(index + 1 + the)?)?;
    let mut next = index + 2 + the;
    // "Nov 12 through 15", but not "Dec 28 to 4 January".
    if day.1.is_none()
        && words.get(next).is_some_and(is_to)
        && let Some((last, None)) = words.get(next + 1).and_then(days)
        && words.get(next + 2).and_then(self::month).is_none()
        && words.get(next + 2).is_none_or(|after| !is_of_a_clock(after))
    {
        day.1 = Some(last);
        next += 2;
    }
    let (year, next) = year(words, next);
    Some((days_of(month, day, year), next - index))
}

/// Whether a number before it is an hour.
fn is_of_a_clock(word: &Word) -> bool {
    matches!(
        word.text.to_lowercase().as_str(),
        "am" | "pm" | "a.m." | "p.m." | "o'clock" | ":"
    )
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
    let lower = |offset: usize| words.get(index + offset).map_or("", |word| word.lower.as_str());
    let date = |month, day| When::Date {
        year: None,
        month,
        day,
    };
    match (lower(0), lower(1), lower(2)) {
        ("christmas" | "xmas", "eve", _) => Some((date(12, 24), 2)),
        ("christmas" | "xmas", "day", _) => Some((date(12, 25), 2)),
        ("christmas" | "xmas", _, _) => Some((date(12, 25), 1)),
        ("boxing", "day", _) => Some((date(12, 26), 2)),
        ("new", "year's" | "years", "eve") => Some((date(12, 31), 3)),
        ("new", "year's" | "years", "day") => Some((date(1, 1), 3)),
        // The feast, not the turn of the year as in "between Christmas and New Year".
        ("new", "year", _) if words.get(index)?.is_capital() && !is_joined(words, index) => {
            Some((date(1, 1), 2))
        }
        _ => None,
    }
}

fn is_joined(words: &[Word], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| words.get(before));
    before.is_some_and(|word| word.kind == Kind::And)
}

/// What stands between the first and the last day.
pub(crate) fn is_to(word: &Word) -> bool {
    matches!(
        word.lower.as_str(),
        "to" | "till" | "til" | "until" | "through" | "thru" | "–" | "—"
    )
}
