//! Days that are told by another day: "a week from tomorrow", "until Friday".

use crate::days::Days;
use crate::text::{Kind, Word};
use crate::when::When;

/// Reads days that are counted from another: "a week from tomorrow", "two days after Christmas". For whoever asks about days; of a
/// stay the same words say how long it is.
pub fn count_on(words: &mut [Word], found: &mut Days) {
    let mut related: Vec<(usize, When)> = Vec::new();
    for (at, when) in std::mem::take(&mut found.mentions) {
        let link = at.checked_sub(1);
        let counted = match related.last() {
            Some((first, When::Run { from: 0, count })) if is_one(&when) && is_amount(words, *first) => {
                let link = link.filter(|link| is_word(words, *link, &["from", "after"]));
                let link = link.filter(|link| is_read(words, (*first, *link)));
                link.map(|link| (link, *count))
            }
            _ => None,
        };
        match (counted, related.last_mut()) {
            (Some((link, days)), Some((_, run))) => {
                words
                    .iter_mut()
                    .skip(link)
                    .take(1)
                    .for_each(|word| word.kind = Kind::Gap);
                let than = Box::new(when);
                *run = When::Later { days, than };
            }
            _ => related.push((at, when)),
        }
    }
    put(found, related);
}

/// Reads a day as the last of those that begin today where it stands behind an "until".
pub fn up_to(words: &mut [Word], found: &mut Days) {
    let related = std::mem::take(&mut found.mentions);
    let related = related.into_iter().map(|(at, when)| {
        let link = at.checked_sub(1);
        let link = link.filter(|link| {
            is_one(&when) && is_word(words, *link, &["until", "till", "til", "through", "thru"])
        });
        let Some(link) = link else { return (at, when) };
        words
            .iter_mut()
            .skip(link)
            .take(1)
            .for_each(|word| word.kind = Kind::Gap);
        (at, When::Span(Box::new(When::In(0)), Box::new(when)))
    });
    let related = related.collect();
    put(found, related);
}

/// Reads "before Friday" as from today to the day before. Call it behind [`crate::days::take`].
pub fn before(words: &mut [Word], found: &mut Days) {
    let related = std::mem::take(&mut found.mentions).into_iter().map(|(at, when)| {
        let link = at.checked_sub(1);
        let link = link.filter(|link| is_one(&when) && is_word(words, *link, &["before"]));
        // "The day before Christmas Eve"
        let counts = |link: usize| {
            let counted = link.checked_sub(1).and_then(|before| words.get(before));
            counted.is_some_and(crate::days::is_time)
        };
        let Some(link) = link.filter(|link| !counts(*link)) else {
            return (at, when);
        };
        words
            .iter_mut()
            .skip(link)
            .take(1)
            .for_each(|word| word.kind = Kind::Gap);
        let last = When::DayBefore(Box::new(when));
        (at, When::Span(Box::new(When::In(0)), Box::new(last)))
    });
    let related = related.collect();
    put(found, related);
}

fn put(found: &mut Days, mentions: Vec<(usize, When)>) {
    found.days = Vec::new();
    for (_, when) in &mentions {
        if !found.days.contains(when) {
            found.days.push(when.clone());
        }
    }
    found.mentions = mentions;
}

/// Whether it is a single day.
fn is_one(when: &When) -> bool {
    matches!(
        when,
        When::In(_) | When::Weekday { .. } | When::Date { .. } | When::DayOfMonth(_) | When::Ahead(_)
    )
}

/// Whether a run of days that begins with this word is an amount of time: "a week", and neither "the next week" nor "for a week".
fn is_amount(words: &[Word], first: usize) -> bool {
    let lasts = |at: usize| {
        let during = [
            "for",
            "over",
            "during",
            "within",
            "in",
            "next",
            "coming",
            "following",
            "upcoming",
        ];
        words
            .get(at)
            .is_some_and(|word| during.contains(&word.lower.as_str()))
    };
    !lasts(first) && !first.checked_sub(1).is_some_and(lasts)
}

fn is_word(words: &[Word], at: usize, any: &[&str]) -> bool {
    let word = words.get(at).filter(|word| word.kind == Kind::Word);
    word.is_some_and(|word| any.contains(&word.lower.as_str()))
}

/// Whether all words between these two were read.
fn is_read(words: &[Word], (first, link): (usize, usize)) -> bool {
    let between = words.iter().take(link).skip(first);
    between.into_iter().all(|word| word.kind == Kind::Gap)
}

#[cfg(test)]
mod tests {
    use chrono::Weekday;

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
