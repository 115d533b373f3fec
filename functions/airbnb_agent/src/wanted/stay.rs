//! From which day to which.

use chrono::{Datelike as _, Days, NaiveDate};
use words::text::{Word, lower};
use words::{Days as SaidDays, When};

use super::NIGHTS_MAX;

/// From so many days ahead on no stay may begin.
const AHEAD_MAX: i64 = 731;

const FROM_WHEN: &str = "From which day to which?";

/// The days that were said, each once: "New Year's Eve, just tonight". Of a day of departure and a number of nights, the first.
pub(super) fn days(words: &[Word], said: &SaidDays, nights: Option<u32>, today: NaiveDate) -> Vec<When> {
    let mut days: Vec<When> = Vec::new();
    for when in &said.days {
        let same =
            |known: &When| known.is_one() && when.is_one() && known.resolve(today) == when.resolve(today);
        if !days.iter().any(same) {
            days.push(when.clone());
        }
    }
    // "Over New Year, 31 December to 2 January": a day within a stay says no more.
    let stays = days.iter().filter(|when| matches!(when, When::Span(..)));
    let stays: Vec<NaiveDate> = stays.flat_map(|stay| stay.resolve(today)).collect();
    let single = days.iter().filter(|when| when.is_one()).count();
    let says_more = |when: &When| match when {
        // "A long weekend from the 11th to the 14th"
        When::Weekend { .. } => stays.is_empty() && single < 2,
        when => !when.is_one() || when.resolve(today).iter().any(|day| !stays.contains(day)),
    };
    days.retain(says_more);
    if let ([(at, last)], Some(nights)) = (said.mentions.as_slice(), nights)
        && leaves(words, *at)
        && let Some(last) = last.resolve(today).first().filter(|_| last.is_one())
        && let Some(first) = last.checked_sub_days(Days::new(nights.into()))
    {
        return vec![first.into()];
    }
    days
}

/// Whether the last day that was said is one of departure: `tonight, leaving on Saturday`.
pub(super) fn has_departure(words: &[Word], said: &SaidDays) -> bool {
    let last = said.mentions.last().filter(|_| said.mentions.len() > 1);
    last.is_some_and(|(at, _)| leaves(words, *at))
}

/// Whether a day is one of departure: `leaving on the 9th`.
fn leaves(words: &[Word], at: usize) -> bool {
    let mut before = (at.saturating_sub(3)..at).map(|before| lower(words, before));
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
            if start.is_one() =>
        {
            of_one(start, Some(*count), today)?
        }
        // "Two nights, Friday and Saturday"
        ([start, .., end], Some(nights)) if are_nights(days, nights, today) && end.is_one() => {
            of_one(start, Some(nights), today)?
        }
        ([start, end], None) if start.is_one() && end.is_one() => {
            of_one(&When::span(start.clone(), end.clone()), None, today)?
        }
        _ => return Err(FROM_WHEN.to_owned()),
    };
    let day = first.format("%-d %B %Y");
    match ((last - first).num_days(), (first - today).num_days()) {
        (_, ..=-1) => Err(format!("{day} is over. {FROM_WHEN}")),
        (_, AHEAD_MAX..) => Err(format!("{day} is too far ahead. {FROM_WHEN}")),
        (1..=NIGHTS_MAX, _) => Ok((first, last)),
        (..=0, _) => Err(format!("The stay begins on {day}. Until which day?")),
        (nights, _) => Err(format!(
            "That is {nights} nights; at most {NIGHTS_MAX} can be searched for. {FROM_WHEN}"
        )),
    }
}

/// Whether the days are so many nights, one after the other.
fn are_nights(days: &[When], nights: u32, today: NaiveDate) -> bool {
    let dates = days.iter().filter_map(|day| day.resolve(today).first().copied());
    let dates: Vec<NaiveDate> = dates.collect();
    let follows = |pair: &[NaiveDate]| matches!(pair, [one, next] if one.succ_opt() == Some(*next));
    usize::try_from(nights) == Ok(dates.len())
        && dates.len() == days.len()
        && days.iter().all(When::is_one)
        && dates.windows(2).all(follows)
}

fn of_one(when: &When, nights: Option<u32>, today: NaiveDate) -> Result<(NaiveDate, NaiveDate), String> {
    let when = &in_its_year(when);
    if let Some(question) = when.ask(today) {
        return Err(question);
    }
    let mut dates = ends(when, today);
    // A stay lies ahead: "12 October" said on the 24th is next year's.
    if dates.first().is_some_and(|first| *first < today) && is_yearless(when) {
        dates = ends(&next_year(when, today), today);
    }
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
        When::Span(first, last) => When::span(next_year(first, today), (**last).clone()),
        other => other.clone(),
    }
}

/// The days of it; of a span the first and the last alone, as spans are cut where they are long.
fn ends(when: &When, today: NaiveDate) -> Vec<NaiveDate> {
    let Some((first, last)) = when.ends(today) else {
        return when.resolve(today);
    };
    let is_name = |when: &When| matches!(when, When::Weekday { .. });
    let are_names = matches!(when, When::Span(first, last) if is_name(first) && is_name(last));
    // "Tuesday to Tuesday" is a week.
    let week = Days::new(if are_names && first == last { 7 } else { 0 });
    [Some(first), last.checked_add_days(week)]
        .into_iter()
        .flatten()
        .collect()
}

/// "28 February to 2 March 2028" begins in 2028, "30 December to 2 January 2028" the year before.
fn in_its_year(when: &When) -> When {
    let mut when = when.clone();
    if let When::Span(first, last) = &mut when
        && let When::Date {
            year: begins @ None,
            month,
            ..
        } = first.as_mut()
        && let When::Date {
            year: Some(year),
            month: last_month,
            ..
        } = last.as_ref()
    {
        *begins = Some(year - i32::from(*month > *last_month));
    }
    when
}
