//! The dates of the days that were said, once today is known.

use chrono::{Datelike as _, Days, NaiveDate, Weekday};
use words::When;

use super::{Said, too_many};

/// The dates of the days that were said, in order.
///
/// # Errors
/// The question to ask, where they make no sense.
pub(super) fn dates(said: &Said, today: NaiveDate) -> Result<Vec<NaiveDate>, String> {
    let is_any = |is: &dyn Fn(&When) -> bool| said.days.iter().any(is);
    if let Some(question) = said.days.iter().find_map(|day| day.ask(today)) {
        return Err(question);
    }
    // There are more days between the two than are told.
    let end = |day: &When| day.ends(today).map(|(_, last)| last);
    if is_any(&|day| end(day) > day.resolve(today).last().copied()) {
        return Err(too_many());
    }
    if let Some(question) = words::days::misnamed(&said.named, today) {
        return Err(question);
    }
    if is_any(&|day| day.ends(today).is_some_and(|(first, last)| last < first)) {
        return Err("That ends before it begins. From which day to which?".to_owned());
    }
    if said.is_week && is_any(&|day| matches!(day, When::Month(_))) {
        return Err("Which week of the month? Tell me its first day.".to_owned());
    }
    let mut days = resolved(said, today);
    days.sort_unstable();
    days.dedup();
    Ok(days)
}

/// The days that were said. Of several names of days each is the next behind the one before.
fn resolved(said: &Said, today: NaiveDate) -> Vec<NaiveDate> {
    let mut days: Vec<NaiveDate> = Vec::new();
    for when in &said.days {
        let mut found = match when {
            When::Month(month) if said.past => month_of(*month, today),
            when => when.resolve(today),
        };
        if let (When::Weekday { .. }, Some(last), [day]) = (when, days.last(), found.as_mut_slice())
            && *day < *last
            // "This weekend, Saturday and Sunday"
            && !days.contains(day)
        {
            *day = day.checked_add_days(Days::new(7)).unwrap_or(*day);
        }
        days.append(&mut found);
    }
    if said.within {
        return within(said, today);
    }
    match (said.is_week, days.as_slice()) {
        (true, [day]) => day.week(Weekday::Mon).first_day().iter_days().take(7).collect(),
        _ => days,
    }
}

/// Of a longer time the days of the names that stand beside it.
fn within(said: &Said, today: NaiveDate) -> Vec<NaiveDate> {
    let is_name = |when: &&When| matches!(when, When::Weekday { .. });
    let (names, long): (Vec<&When>, Vec<&When>) = said.days.iter().partition(is_name);
    let is_named = |day: &NaiveDate| {
        names
            .iter()
            .any(|name| matches!(name, When::Weekday { day: named, .. } if *named == day.weekday()))
    };
    let days = long.into_iter().flat_map(|when| when.resolve(today));
    days.filter(is_named).collect()
}

/// The whole of a month, as who looks back means it: this one, or the last of its name.
fn month_of(month: u32, today: NaiveDate) -> Vec<NaiveDate> {
    match today.with_day(1).filter(|_| month == today.month()) {
        Some(first) => first.iter_days().take_while(|day| day.month() == month).collect(),
        None => When::Past(Box::new(When::Month(month))).resolve(today),
    }
}
