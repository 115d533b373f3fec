//! Days that are told by another day: "a week from tomorrow", "until Friday".

use chrono::{Datelike as _, NaiveDate, Weekday};

use crate::days::Days;
use crate::text::{Kind, Word, before as word_before, lower, take_out};
use crate::when::When;

/// Reads days that are counted from another: "a week from tomorrow", "two days after Christmas". For whoever asks about days; of a
/// stay the same words say how long it is.
pub fn count_on(words: &mut [Word], found: &mut Days) {
    let mut related: Vec<(usize, When)> = Vec::new();
    for (at, when) in std::mem::take(&mut found.mentions) {
        let link = at.checked_sub(1).filter(|_| when.is_one());
        let link = link.filter(|link| is_word(words, *link, &["from", "after"]));
        let counted = match (related.last(), link) {
            (Some((first, When::Run { from: 0, count })), Some(link))
                if is_amount(words, *first) && is_read(words, (*first, link)) =>
            {
                i32::try_from(*count).ok()
            }
            _ => None,
        };
        match (counted, related.last_mut()) {
            (Some(days), Some((_, run))) => {
                take_out(words, at - 1..at);
                let than = Box::new(when);
                *run = When::Later { days, than };
            }
            _ => related.push((at, when)),
        }
    }
    found.mentions = related;
    settle(found);
}

/// Reads a day as the last of those that begin today where it stands behind an "until".
pub fn up_to(words: &mut [Word], found: &mut Days) {
    behind(
        words,
        found,
        &["until", "till", "til", "through", "thru"],
        |_, when| Some(When::span(When::In(0), when)),
    );
}

/// Reads "before Friday" as from today to the day before. Call it behind [`crate::days::take`].
pub fn before(words: &mut [Word], found: &mut Days) {
    behind(words, found, &["before"], |counted, when| {
        // "The day before Christmas Eve"
        let than = Box::new(when);
        let last = When::Later { days: -1, than };
        (!counted.is_some_and(crate::days::is_time)).then(|| When::span(When::In(0), last))
    });
}

/// Reads each single day behind one of these words, which is taken out, as something else. `read` gets the word before the link.
fn behind(
    words: &mut [Word],
    found: &mut Days,
    links: &[&str],
    read: impl Fn(Option<&Word>, When) -> Option<When>,
) {
    for (at, when) in &mut found.mentions {
        let link = at
            .checked_sub(1)
            .filter(|link| when.is_one() && is_word(words, *link, links));
        let Some(link) = link else { continue };
        let before = link.checked_sub(1).and_then(|before| words.get(before));
        if let Some(other) = read(before, when.clone()) {
            *when = other;
            take_out(words, link..*at);
        }
    }
    settle(found);
}

/// The days where names of days are those of a longer time beside them: "Tuesday next week", "Fridays in June".
#[must_use]
pub fn within(words: &[Word], found: &Days, today: NaiveDate) -> Option<Vec<NaiveDate>> {
    let name = |when: &When| match when {
        When::Weekday { day, .. } => Some(*day),
        _ => None,
    };
    let is_long = |when: &When| {
        matches!(
            when,
            When::Week { .. }
                | When::Weekend { .. }
                | When::Month(_)
                | When::MonthAhead(_)
                | When::Run { .. }
        )
    };
    // "Monday or next week" are both.
    let is_joined = |at: &usize| {
        at.checked_sub(1)
            .and_then(|at| words.get(at))
            .is_some_and(|word| word.kind == Kind::And)
    };
    let is_both = found.mentions.windows(2).any(|pair| match pair {
        [(_, one), (at, other)] => is_long(one) != is_long(other) && is_joined(at),
        _ => false,
    });
    let (long, names): (Vec<&When>, Vec<&When>) = found.days.iter().partition(|when| is_long(when));
    let names: Option<Vec<Weekday>> = names.into_iter().map(name).collect();
    let names = names.filter(|names| !names.is_empty() && !is_both)?;
    let [long] = long.as_slice() else {
        return None;
    };
    let mut days = long.resolve(today);
    days.retain(|day| names.contains(&day.weekday()));
    Some(days)
}

/// The days as their mentions are now.
fn settle(found: &mut Days) {
    found.days = Vec::new();
    for (_, when) in &found.mentions {
        if !found.days.contains(when) {
            found.days.push(when.clone());
        }
    }
}

/// Whether a run of days that begins with this word is an amount of time: "a week", and neither "the next week" nor "for a week".
fn is_amount(words: &[Word], first: usize) -> bool {
    let lasts = |lower: &str| {
        matches!(
            lower,
            "for" | "over" | "during" | "within" | "in" | "next" | "coming" | "following" | "upcoming"
        )
    };
    !lasts(lower(words, first)) && !lasts(word_before(words, first))
}

fn is_word(words: &[Word], at: usize, any: &[&str]) -> bool {
    any.contains(&crate::text::open(words, at))
}

/// Whether all words between these two were read.
fn is_read(words: &[Word], (first, link): (usize, usize)) -> bool {
    let between = words.iter().take(link).skip(first);
    between.into_iter().all(|word| word.kind == Kind::Gap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{days, text};

    fn read(said: &str, until: bool) -> Vec<When> {
        let mut words = text::split(said, 200);
        let mut found = days::take(&mut words, None);
        match until {
            true => up_to(&mut words, &mut found),
            false => count_on(&mut words, &mut found),
        }
        assert_eq!(found.mentions.len(), found.days.len(), "{said}: {found:?}");
        found.days
    }

    #[test]
    fn names_of_days_are_those_of_a_longer_time_beside_them() {
        let saturday = NaiveDate::from_ymd_opt(2026, 11, 21).unwrap();
        for (said, days) in [
            ("Tuesday next week", Some(vec![24])),
            ("every Sunday in November", Some(vec![22, 29])),
            ("Monday this week", Some(vec![])),
            ("Monday or next week", None),
            ("Monday and Tuesday", None),
            ("next week", None),
        ] {
            let mut words = text::split(said, 200);
            let found = days::take(&mut words, None);
            let read = within(&words, &found, saturday);
            let read: Option<Vec<u32>> = read.map(|days| days.iter().map(|day| day.day()).collect());
            assert_eq!(read, days, "{said}");
        }
    }

    #[test]
    fn a_day_is_counted_from_another() {
        let later = |days, than| {
            vec![When::Later {
                days,
                than: Box::new(than),
            }]
        };
        let friday = When::Weekday {
            day: Weekday::Fri,
            next: false,
        };
        assert_eq!(read("a week from tomorrow", false), later(7, When::In(1)));
        assert_eq!(
            read("weather in Oslo two weeks from Friday", false),
            later(14, friday.clone())
        );
        assert_eq!(read("3 days after tomorrow?", false), later(3, When::In(1)));
        for (said, days) in [
            ("for a week from tomorrow", 2),
            ("the next two weeks from Friday", 2),
            ("a week and tomorrow", 2),
            ("a week from now", 1),
            ("a week from Friday to Sunday", 2),
        ] {
            let read = read(said, false);
            assert_eq!(read.len(), days, "{said}: {read:?}");
            assert!(!matches!(read.as_slice(), [When::Later { .. }]), "{said}");
        }
        assert_eq!(
            read("until Friday", true),
            vec![When::Span(Box::new(When::In(0)), Box::new(friday.clone()))]
        );
        let span = When::Span(Box::new(When::In(1)), Box::new(friday.clone()));
        assert_eq!(read("tomorrow until Friday", true), vec![span]);
        assert_eq!(read("on Friday", true), vec![friday]);
    }
}
