//! From which day to which somebody stays.

use chrono::{Days as Span, NaiveDate};

use crate::days::Days;
use crate::text::{Word, lower};
use crate::when::When;

const FROM_WHEN: &str = "From which day to which?";

/// What is said of a stay; anything may be missing, and the last day may be before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stay {
    /// The first day.
    pub first: Option<NaiveDate>,
    /// The day of departure.
    pub last: Option<NaiveDate>,
    /// How many nights, where they do not already make the last day.
    pub nights: Option<u32>,
}

/// Reads the days that were `said`, and taken out of the words, as a stay of so many nights. Where a first day is known, and no more, a
/// day alone is that of departure.
///
/// # Errors
/// The question to ask.
pub fn read(
    words: &[Word],
    said: &Days,
    nights: Option<u32>,
    (known, today): (Option<NaiveDate>, NaiveDate),
) -> Result<Stay, String> {
    let departs = leaves_last(words, said);
    let days = days(words, said, nights, today);
    // "Tonight and tomorrow night" are two.
    let nights = nights.or((said.tonight && !departs).then(|| u32::try_from(days.len()).unwrap_or(1)));
    let last = |first: NaiveDate, last: &When| {
        ends(&When::span(first.into(), last.clone()), today)
            .last()
            .copied()
    };
    let is_departure = known.is_some() || said.mentions.iter().all(|(at, _)| leaves(words, *at));
    let stay = match (days.as_slice(), nights) {
        ([], nights) => Stay {
            nights,
            ..Stay::default()
        },
        ([one], None) if one.is_one() && is_departure && one.ask(today).is_none() => Stay {
            last: last(known.unwrap_or(today), one),
            ..Stay::default()
        },
        // A length without a beginning.
        ([When::Run { from: 0, count }], None) => Stay {
            nights: Some(*count),
            ..Stay::default()
        },
        ([one], _) => of_one(one, nights, today)?,
        // "For three days from Friday".
        ([When::Run { from: 0, count }, start] | [start, When::Run { from: 0, count }], None)
            if start.is_one() =>
        {
            of_one(start, Some(*count), today)?
        }
        // "Two nights, Friday and Saturday"
        ([start, .., end], Some(nights)) if are_nights(&days, nights, today) && end.is_one() => {
            of_one(start, Some(nights), today)?
        }
        ([start, end], None) if start.is_one() && end.is_one() => {
            of_one(&When::span(start.clone(), end.clone()), None, today)?
        }
        _ => return Err(FROM_WHEN.to_owned()),
    };
    Ok(stay)
}

/// The days that were said, each once: "New Year's Eve, just tonight". Of a day of departure and a number of nights, the first.
fn days(words: &[Word], said: &Days, nights: Option<u32>, today: NaiveDate) -> Vec<When> {
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
        && let Some(first) = last.checked_sub_days(Span::new(nights.into()))
    {
        return vec![first.into()];
    }
    days
}

/// Whether the last day that was said is one of departure: `tonight, leaving on Saturday`.
fn leaves_last(words: &[Word], said: &Days) -> bool {
    let last = said.mentions.last().filter(|_| said.mentions.len() > 1);
    last.is_some_and(|(at, _)| leaves(words, *at))
}

/// Whether a day is one of departure: `leaving on the 9th`.
fn leaves(words: &[Word], at: usize) -> bool {
    let mut before = (at.saturating_sub(3)..at).map(|before| lower(words, before));
    before.any(|word| matches!(word, "leaving" | "departing" | "checkout"))
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

fn of_one(when: &When, nights: Option<u32>, today: NaiveDate) -> Result<Stay, String> {
    // A stay lies ahead: "12 October" said on the 24th is next year's.
    let when = &in_its_year(when).ahead();
    if let Some(question) = when.ask(today) {
        return Err(question);
    }
    let dates = ends(when, today);
    // A month without days.
    if matches!(when, When::Month(_)) {
        return Err(FROM_WHEN.to_owned());
    }
    let (Some(first), Some(last)) = (dates.first().copied(), dates.last().copied()) else {
        return Err(format!("There is no such day. {FROM_WHEN}"));
    };
    // People come for a weekend on Friday.
    let first = match when {
        When::Weekend { .. } if first > today && first < last => first.pred_opt().unwrap_or(first),
        _ => first,
    };
    let last = match nights {
        Some(nights) => first.checked_add_days(Span::new(nights.into())),
        None => Some(last).filter(|_| !when.is_one()),
    };
    Ok(Stay {
        first: Some(first),
        last,
        nights: None,
    })
}

/// The days of it; of a span the first and the last alone, as spans are cut where they are long.
fn ends(when: &When, today: NaiveDate) -> Vec<NaiveDate> {
    let Some((first, last)) = when.ends(today) else {
        return when.resolve(today);
    };
    let is_name = |when: &When| matches!(when, When::Weekday { .. });
    let are_names = matches!(when, When::Span(first, last) if is_name(first) && is_name(last));
    // "Tuesday to Tuesday" is a week.
    let week = Span::new(if are_names && first == last { 7 } else { 0 });
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
