//! From which day to which.

use chrono::{Datelike as _, Days, NaiveDate};
use words::text::Word;
use words::{When, days as text_days};

use super::NIGHTS_MAX;

/// How far ahead a stay may begin, in days.
const AHEAD_MAX: i64 = 730;

const FROM_WHEN: &str = "From which day to which?";

/// Whether it is a single day.
pub(super) fn is_one(when: &When) -> bool {
    matches!(
        when,
        When::In(_) | When::Weekday { .. } | When::Date { .. } | When::DayOfMonth(_)
    )
}

/// The days that were said, each once: "New Year's Eve, just tonight". Of a day of departure and a number of nights, the first.
pub(super) fn days(
    words: &[Word],
    said: &text_days::Days,
    nights: Option<u32>,
    today: NaiveDate,
) -> Vec<When> {
    let mut days: Vec<When> = Vec::new();
    for when in &said.days {
        let same =
            |known: &When| is_one(known) && is_one(when) && known.resolve(today) == when.resolve(today);
        if !days.iter().any(same) {
            days.push(when.clone());
        }
    }
    // "Over New Year, 31 December to 2 January": a day within a stay says no more.
    let stays: Vec<NaiveDate> = days
        .iter()
        .filter(|when| matches!(when, When::Span(..)))
        .flat_map(|stay| stay.resolve(today))
        .collect();
    let single = days.iter().filter(|when| is_one(when)).count();
    let says_more = |when: &When| match when {
        // "A long weekend from the 11th to the 14th"
        When::Weekend { .. } => stays.is_empty() && single < 2,
        when => !is_one(when) || when.resolve(today).iter().any(|day| !stays.contains(day)),
    };
    days.retain(says_more);
    if let ([(at, last)], Some(nights)) = (said.mentions.as_slice(), nights)
        && leaves(words, *at)
        && let Some(last) = last.resolve(today).first().filter(|_| is_one(last))
        && let Some(first) = last.checked_sub_days(Days::new(nights.into()))
    {
        return vec![When::Date {
            year: Some(first.year()),
            month: first.month(),
            day: first.day(),
        }];
    }
    days
}

/// Whether the last day that was said is one of departure: `tonight, leaving on Saturday`.
pub(super) fn has_departure(words: &[Word], said: &text_days::Days) -> bool {
    let last = said.mentions.last().filter(|_| said.mentions.len() > 1);
    last.is_some_and(|(at, _)| leaves(words, *at))
}

/// Whether a day is one of departure: `leaving on the 9th`.
fn leaves(words: &[Word], at: usize) -> bool {
    let before = (1..=3).filter_map(|back| words.get(at.checked_sub(back)?));
    let mut before = before.map(|word| word.lower.as_str());
    before.any(|word| matches!(word, "leaving" | "departing" | "checkout"))
}

/// The first day and the day of departure.
///
/// # Errors
/// The question to ask.
pub(super) fn read(
    days: &[When],
    nights: Option<u32>,
    today: NaiveDate,
) -> Result<(NaiveDate, NaiveDate), String> {
    let (first, last) = match (days, nights) {
        ([], Some(_)) => return Err("From which day?".to_owned()),
        ([], None) => return Err(FROM_WHEN.to_owned()),
        ([one], _) => of_one(one, nights, today)?,
        // "For three days from Friday".
        ([When::Run { from: 0, count }, start] | [start, When::Run { from: 0, count }], None)
            if is_one(start) =>
        {
            of_one(start, Some(*count), today)?
        }
        // "Two nights, Friday and Saturday"
        ([start, .., end], Some(nights)) if are_nights(days, nights, today) && is_one(end) => {
            of_one(start, Some(nights), today)?
        }
        ([start, end], None) if is_one(start) && is_one(end) => {
            let span = When::Span(Box::new(start.clone()), Box::new(end.clone()));
            of_one(&span, None, today)?
        }
        _ => return Err(FROM_WHEN.to_owned()),
    };
    let nights = (last - first).num_days();
    if first < today {
        return Err(format!("{} is over. {FROM_WHEN}", first.format("%-d %B %Y")));
    }
    if (first - today).num_days() > AHEAD_MAX {
        return Err(format!(
            "{} is too far ahead. {FROM_WHEN}",
            first.format("%-d %B %Y")
        ));
    }
    match nights {
        1..=NIGHTS_MAX => Ok((first, last)),
        ..=0 => Err(format!(
            "The stay begins on {}. Until which day?",
            first.format("%-d %B %Y")
        )),
        _ => Err(format!(
            "That is {nights} nights; at most {NIGHTS_MAX} can be searched for. {FROM_WHEN}"
        )),
    }
}

/// Whether the days are so many nights, one after the other.
fn are_nights(days: &[When], nights: u32, today: NaiveDate) -> bool {
    let dates: Vec<NaiveDate> = days
        .iter()
        .filter_map(|day| day.resolve(today).first().copied())
        .collect();
    usize::try_from(nights) == Ok(dates.len())
        && dates.len() == days.len()
        && days.iter().all(is_one)
        && dates
            .windows(2)
            .all(|pair| matches!(pair, [one, next] if one.succ_opt() == Some(*next)))
}

fn of_one(when: &When, nights: Option<u32>, today: NaiveDate) -> Result<(NaiveDate, NaiveDate), String> {
    let when = &in_its_year(when);
    let dates = match unclear(when) {
        Some((first, second)) => {
            return Err(format!(
                "Which day is {first}/{second}? Please write the month's name."
            ));
        }
        None => ends(when, today),
    };
    // A stay lies ahead: "12 October" said on the 24th is next year's.
    let dates = match dates.first().is_some_and(|first| *first < today) && is_yearless(when) {
        true => ends(&next_year(when, today), today),
        false => dates,
    };
    match when {
        // A length without a beginning, and a month without days.
        When::Run { from: 0, .. } => return Err("From which day?".to_owned()),
        When::Month(_) => return Err(FROM_WHEN.to_owned()),
        _ => {}
    }
    let (Some(first), Some(last)) = (dates.first().copied(), dates.last().copied()) else {
        return Err(format!("There is no such day. {FROM_WHEN}"));
    };
    // People come for a weekend on Friday.
    let first = match when {
        When::Weekend { .. } if first > today && first < last => first.pred_opt().unwrap_or(first),
        _ => first,
    };
    match nights {
        Some(nights) => Ok((first, first + Days::new(u64::from(nights.min(10_000))))),
        None => Ok((first, last)),
    }
}

fn is_yearless(when: &When) -> bool {
    match when {
        When::Date { year, .. } => year.is_none(),
        When::Span(first, last) => is_yearless(first) && is_yearless(last),
        _ => false,
    }
}

fn next_year(when: &When, today: NaiveDate) -> When {
    match when {
        When::Date { month, day, .. } => When::Date {
            year: Some(today.year() + 1),
            month: *month,
            day: *day,
        },
        When::Span(first, last) => When::Span(Box::new(next_year(first, today)), last.clone()),
        other => other.clone(),
    }
}

/// The days of it; of a span the first and the last alone, as spans are cut where they are long.
fn ends(when: &When, today: NaiveDate) -> Vec<NaiveDate> {
    let When::Span(first_said, last) = when else {
        return when.resolve(today);
    };
    let first = first_said.resolve(today).first().copied();
    let same = matches!(
        (&**first_said, &**last),
        (When::Weekday { .. }, When::Weekday { .. })
    );
    let last = first.and_then(|first| last.resolve(first).last().copied());
    // "Tuesday to Tuesday" is a week.
    let last = match same && first == last {
        true => last.and_then(|last| last.checked_add_days(Days::new(7))),
        false => last,
    };
    first.into_iter().chain(last).collect()
}

/// The two numbers of a date of which nobody knows which is the month.
fn unclear(when: &When) -> Option<(u32, u32)> {
    match when {
        When::Unclear { first, second, .. } => Some((*first, *second)),
        When::Span(first, last) => unclear(first).or_else(|| unclear(last)),
        _ => None,
    }
}

/// "28 February to 2 March 2028" begins in 2028, "30 December to 2 January 2028" the year before.
fn in_its_year(when: &When) -> When {
    if let When::Span(first, last) = when
        && let (
            When::Date {
                year: None,
                month,
                day,
            },
            When::Date {
                year: Some(year),
                month: to_month,
                ..
            },
        ) = (first.as_ref(), last.as_ref())
    {
        let first = When::Date {
            year: Some(year - i32::from(month > to_month)),
            month: *month,
            day: *day,
        };
        return When::Span(Box::new(first), last.clone());
    }
    when.clone()
}
