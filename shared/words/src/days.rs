//! Finds the days that a question names, and takes their words out of it.

use std::ops::Range;

use chrono::{Datelike as _, NaiveDate, Weekday};

use crate::clock::{self, Time};
use crate::dates;
use crate::order::DateOrder;
use crate::text::{Kind, Word, before, lower, take_out};
use crate::when::When;

/// Most days named in one question; more are no question.
const MAX_NAMES: usize = 16;

/// What a question says of time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Days {
    /// The days in order, each once.
    pub days: Vec<When>,
    /// Each mention of a day, with the number of its first word.
    pub mentions: Vec<(usize, When)>,
    /// The names of days that stand beside dates, which may be those of other days: "Friday 1 April".
    pub named: Vec<(Weekday, When)>,
    /// It is about the coming night.
    pub tonight: bool,
    /// A part of a day other than that, as it is written: `morning`.
    pub part: Option<String>,
    /// A time of the day, as it is written: `5 pm`.
    pub clock: Option<String>,
    /// The times of the day, each with the words that it was.
    pub times: Vec<(Time, Range<usize>)>,
    /// It is about this moment.
    pub now: bool,
}

/// What to ask about the first date that is not of the day whose name stands beside it ([`Days::named`]).
#[must_use]
pub fn misnamed(named: &[(Weekday, When)], today: NaiveDate) -> Option<String> {
    let first = |when: &When| when.resolve(today).first().copied();
    let mut dates = named.iter().filter_map(|(name, when)| Some((name, first(when)?)));
    let (_, date) = dates.find(|(name, date)| date.weekday() != **name)?;
    Some(
        date.format("%-d %B %Y is a %A. Which day do you mean?")
            .to_string(),
    )
}

/// Takes what is said of time out of the words. `order` says how numbers of dates are read; [`When::Unclear`] is what
/// cannot be read without.
pub fn take(words: &mut [Word], order: Option<DateOrder>) -> Days {
    let (clock, times) = clock::take(words);
    let mut found = Days {
        clock,
        times,
        ..Days::default()
    };
    // "28/12 … 2/1": the first says how the second is written.
    let order = order.or_else(|| dates::order_of(words));
    let mut index = 0;
    while index < words.len() {
        let Some((mut when, mut taken)) = at(words, index, order) else {
            index += 1;
            continue;
        };
        // "Monday to Wednesday", "between Friday and Sunday"
        let lead = index - usize::from(before(words, index) == "the");
        let between = before(words, lead) == "between";
        let joint = index + taken;
        let second = joint + 1 + usize::from(lower(words, joint + 1) == "the");
        if let Some(to) = words.get(joint)
            && (dates::is_to(to) || between && to.kind == Kind::And)
            && let Some((last, more)) = at(words, second, order)
        {
            found.named.extend(its_name(words, index, taken, &when));
            found.named.extend(its_name(words, second, more, &last));
            when = When::span(when, last);
            taken = second + more - index;
        }
        found.named.extend(its_name(words, index, taken, &when));
        for word in words.iter().skip(index).take(taken) {
            match word.lower.as_str() {
                "tonight" | "tonight's" | "tonite" | "evening" | "night" => found.tonight = true,
                "now" | "currently" | "moment" => found.now = true,
                part if is_part_of_day(part) => found.part = Some(part.to_owned()),
                _ => {}
            }
        }
        take_out(words, index..index + taken);
        if found.mentions.len() < MAX_NAMES {
            if !found.days.contains(&when) {
                found.days.push(when.clone());
            }
            found.mentions.push((index, when));
        }
        index += taken;
    }
    found
}

/// The name of a day that stands beside a date among `taken` words from `index` on: `Friday 1 April`, `today, Friday`.
fn its_name(words: &[Word], index: usize, taken: usize, when: &When) -> Option<(Weekday, When)> {
    let is_date = matches!(when, When::Date { .. } | When::DayOfMonth(_) | When::In(_));
    let mut own = words.iter().skip(index).take(taken).filter(|_| is_date);
    own.find_map(|word| weekday(word, false))
        .map(|day| (day, when.clone()))
}

/// A day that begins at `index`, with the number of words it takes.
fn at(words: &[Word], index: usize, order: Option<DateOrder>) -> Option<(When, usize)> {
    if words.get(index)?.kind != Kind::Word {
        return None;
    }
    let (when, taken) = dates::at(words, index, order)
        .or_else(|| near(words, index).map(|(when, taken)| (when, with_its_name(words, index, taken))))
        .or_else(|| over(words, index, order))
        .or_else(|| counted(words, index))
        .or_else(|| week(words, index, order))
        .or_else(|| named(words, index, order))
        .or_else(|| loose(words, index))?;
    let part = is_part_of_day(lower(words, index + taken));
    Some((when, taken + usize::from(part)))
}

/// Whether a word names a time: a part of a day, a day, a month, or a unit of the calendar.
#[must_use]
pub fn is_time(word: &Word) -> bool {
    let unit = matches!(word.lower.as_str(), "day" | "week" | "month" | "year");
    unit || is_part_of_day(&word.lower) || weekday(word, false).is_some() || dates::month(word).is_some()
}

fn is_part_of_day(lower: &str) -> bool {
    matches!(
        lower,
        "morning" | "afternoon" | "evening" | "night" | "noon" | "midday" | "lunchtime"
    )
}

/// `today`, `tomorrow`, `the day after tomorrow`, `this evening`, `yesterday`
fn near(words: &[Word], index: usize) -> Option<(When, usize)> {
    let window = (
        lower(words, index),
        lower(words, index + 1),
        lower(words, index + 2),
    );
    Some(match window {
        ("day", "after", "tomorrow") => (When::In(2), 3),
        ("day", "before", "yesterday") => (When::In(-2), 3),
        ("right", "now", _) => (When::In(0), 2),
        ("at", "the", "moment") => (When::In(0), 3),
        ("this", part, _) if is_part_of_day(part) => (When::In(0), 2),
        ("last", "night", _) => (When::In(-1), 2),
        ("last" | "past", "week" | "weekend", then) if then != "of" => (When::Run { from: -7, count: 7 }, 2),
        ("today" | "today's" | "tonight" | "tonight's" | "tonite" | "now" | "currently", _, _) => {
            (When::In(0), 1)
        }
        (tomorrow, _, _) if is_tomorrow(tomorrow) => (When::In(1), 1),
        ("overmorrow", _, _) => (When::In(2), 1),
        ("yesterday" | "yesterday's", _, _) => (When::In(-1), 1),
        _ => return None,
    })
}

/// Also as it is often mistyped.
fn is_tomorrow(lower: &str) -> bool {
    let typed = ["tomorrow", "tomorow", "tommorow", "tommorrow", "tmrw", "tmr"];
    typed.contains(&lower.trim_end_matches('s').trim_end_matches('\''))
}

/// The number of words of a day with its name behind a comma: `today, Friday`, but not `today, Friday and Sunday`.
fn with_its_name(words: &[Word], index: usize, taken: usize) -> usize {
    let piece = |at: usize| words.get(index + taken + at);
    let is = |at: usize, kind: Kind| piece(at).is_some_and(|word| word.kind == kind);
    let is_named = is(0, Kind::Comma) && piece(1).is_some_and(|word| weekday(word, false).is_some());
    let goes_on = is(2, Kind::Comma) || is(2, Kind::And) || piece(2).is_some_and(dates::is_to);
    if is_named && !goes_on { taken + 2 } else { taken }
}

/// `last Friday`, `last Christmas`, `last May`
fn over(words: &[Word], index: usize, order: Option<DateOrder>) -> Option<(When, usize)> {
    if lower(words, index) != "last" {
        return None;
    }
    let next = index + 1;
    let (when, taken) = dates::at(words, next, order)
        .or_else(|| weekday(words.get(next)?, true).map(|day| (When::Weekday { day, next: false }, 1)))
        .or_else(|| dates::month(words.get(next)?).map(|month| (When::Month(month), 1)))?;
    Some((When::Past(Box::new(when)), taken + 1))
}

/// `in 3 days`, `in a week`, `3 days from now`, `next 5 days`, `5-day`, `for two weeks`
fn counted(words: &[Word], index: usize) -> Option<(When, usize)> {
    let word = lower(words, index);
    if let Some(count) = word.strip_suffix("-day").or_else(|| word.strip_suffix("-days")) {
        return Some((run(count.parse().ok()?), 1));
    }
    let lead = usize::from(matches!(
        word,
        "in" | "within" | "next" | "coming" | "following" | "upcoming"
    ));
    let ahead = word == "in";
    let (count, after) = amount(words, index + lead)?;
    let length = match lower(words, after) {
        "day" | "days" | "nights" => 1,
        "week" | "weeks" | "week's" => 7,
        "fortnight" => 14,
        _ => return None,
    };
    let total = count.saturating_mul(length);
    let end = after + 1;
    let from_now = lower(words, end) == "from" && matches!(lower(words, end + 1), "now" | "today");
    let point = i32::try_from(total.min(100_000)).unwrap_or(100_000);
    if from_now {
        Some((When::In(point), end + 2 - index))
    } else if ahead {
        Some((When::In(point), end - index))
    } else if lead == 0 && matches!((word, length), ("a" | "an" | "one", 1)) {
        None // "a day" is no day
    } else {
        Some((run(total), end - index))
    }
}

fn run(count: u32) -> When {
    When::Run {
        from: 0,
        count: count.max(1),
    }
}

/// A number that begins at `index`, and where it ends.
fn amount(words: &[Word], index: usize) -> Option<(u32, usize)> {
    let window = (
        lower(words, index),
        lower(words, index + 1),
        lower(words, index + 2),
    );
    match window {
        ("a", "couple", "of") => Some((2, index + 3)),
        ("couple", "of", _) => Some((2, index + 2)),
        ("a", "few", _) => Some((3, index + 2)),
        ("few" | "several", _, _) => Some((3, index + 1)),
        ("a" | "an", _, _) => Some((1, index + 1)),
        _ => words.get(index)?.count().map(|count| (count, index + 1)),
    }
}

/// `this week`, `next week`, `this weekend`, `rest of the week`, `week of 9 December`, `next month`
fn week(words: &[Word], index: usize, order: Option<DateOrder>) -> Option<(When, usize)> {
    let window = (lower(words, index), lower(words, index + 1));
    Some(match window {
        ("week", "of") => {
            let day = index + 2 + usize::from(lower(words, index + 2) == "the");
            let of_month = || dates::month(words.get(day)?).map(|month| (When::Month(month), 1));
            let of_number = || Some((When::DayOfMonth(dates::ordinal(words.get(day)?)?), 1));
            let found = dates::at(words, day, order).or_else(of_month).or_else(of_number);
            let (when, taken) = found?;
            (When::WeekOf(Box::new(when)), day + taken - index)
        }
        ("this", "month") => (When::MonthAhead(0), 2),
        ("next", "month") => (When::MonthAhead(1), 2),
        ("next", "weekend") => (When::Weekend { next: true }, 2),
        ("this" | "coming", "weekend") => (When::Weekend { next: false }, 2),
        ("weekend" | "weekend's" | "weekends", _) => (When::Weekend { next: false }, 1),
        ("next", "week" | "week's") => (When::Week { next: true }, 2),
        ("this", "week" | "week's") => (When::Week { next: false }, 2),
        ("rest", "of") if matches!(lower(words, index + 3), "week") => (When::Week { next: false }, 4),
        ("coming" | "following" | "all" | "whole", "week") => (run(7), 2),
        ("coming" | "next" | "following", "days") => (run(3), 2),
        ("week" | "weekly", _) => (run(7), 1),
        ("fortnight", _) => (run(14), 1),
        _ => return None,
    })
}

/// `Sunday`, `next Friday`, `Sunday, 22 November`
fn named(words: &[Word], index: usize, order: Option<DateOrder>) -> Option<(When, usize)> {
    let lead = usize::from(matches!(lower(words, index), "next" | "this" | "coming" | "on"));
    let surely = lead == 1 || sibling(words, index);
    if let Some((first, last)) = words.get(index + lead)?.lower.split_once('-') {
        let part = |text: &str| weekday_of(text, true).map(|day| When::Weekday { day, next: false });
        return Some((When::span(part(first)?, part(last)?), lead + 1));
    }
    let day = weekday(words.get(index + lead)?, surely)?;
    let after = index + lead + 1;
    let the = words.get(after).map_or(0, |word| {
        usize::from(word.kind == Kind::Comma || word.lower == "the")
    });
    if let Some((date, taken)) = dates::at(words, after + the, order) {
        return Some((date, lead + 1 + the + taken));
    }
    // "Friday the 30th"
    if the > 0
        && let Some(date) = words.get(after + the).and_then(dates::ordinal)
    {
        return Some((When::DayOfMonth(date), lead + 1 + the + 1));
    }
    let next = lower(words, index) == "next";
    let named = When::Weekday { day, next };
    // "Saturday week"
    if lower(words, after) == "week" {
        let than = Box::new(named);
        return Some((When::Later { days: 7, than }, lead + 2));
    }
    Some((named, lead + 1))
}

/// `sun` is a day beside other days, such as in `sat and sun`.
fn sibling(words: &[Word], index: usize) -> bool {
    let word = |at: Option<usize>| words.get(at?);
    let other = |at| word(at).is_some_and(|word| weekday_of(&word.lower, false).is_some());
    let joined = |at| word(at).is_some_and(|word| word.kind != Kind::Word || dates::is_to(word));
    joined(index.checked_sub(1)) && other(index.checked_sub(2))
        || joined(Some(index + 1)) && other(Some(index + 2))
}

fn weekday(word: &Word, surely: bool) -> Option<Weekday> {
    let lower = word.lower.strip_suffix("'s").unwrap_or(&word.lower);
    weekday_of(lower, surely)
}

fn weekday_of(lower: &str, surely: bool) -> Option<Weekday> {
    match lower {
        "sun" if !surely => None,
        "tues" => Some(Weekday::Tue),
        "weds" => Some(Weekday::Wed),
        "thur" | "thurs" => Some(Weekday::Thu),
        lower if lower.ends_with("days") => lower.strip_suffix('s')?.parse().ok(),
        lower => lower.parse().ok(),
    }
}

/// `the 24th`, `in December`
fn loose(words: &[Word], index: usize) -> Option<(When, usize)> {
    let word = words.get(index)?;
    if let Some(day) = dates::ordinal(word) {
        return Some((When::DayOfMonth(day), 1));
    }
    let led = matches!(before(words, index), "in" | "during" | "this" | "next");
    let month = dates::month(word)?;
    let clear = word.lower.len() > 3 && !matches!(word.lower.as_str(), "march" | "may");
    (led || clear).then_some((When::Month(month), 1))
}
