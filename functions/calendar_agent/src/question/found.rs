//! The dates of the days that were said, once today is known.

use chrono::{Datelike as _, Days, NaiveDate, Weekday};
use words::When;

use super::Said;

/// The days that were said. Of several names of days each is the next behind the one before.
pub(super) fn resolved(said: &Said, today: NaiveDate) -> Vec<NaiveDate> {
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
    let names: Vec<Weekday> = said
        .days
        .iter()
        .filter_map(|when| match when {
            When::Weekday { day, .. } => Some(*day),
            _ => None,
        })
        .collect();
    let long = said
        .days
        .iter()
        .filter(|when| !matches!(when, When::Weekday { .. }));
    let days = long.flat_map(|when| when.resolve(today));
    days.filter(|day| names.contains(&day.weekday())).collect()
}

/// The whole of a month, as who looks back means it: this one, or the last of its name.
fn month_of(month: u32, today: NaiveDate) -> Vec<NaiveDate> {
    match today.with_day(1).filter(|_| month == today.month()) {
        Some(first) => first.iter_days().take_while(|day| day.month() == month).collect(),
        None => When::Past(Box::new(When::Month(month))).resolve(today),
    }
}

/// Whether a span of dates ends before it begins.
pub(super) fn is_reversed(day: &When, today: NaiveDate) -> bool {
    let When::Span(first, last) = day else {
        return false;
    };
    let said = |when: &When| when.resolve(today).first().copied();
    matches!(**last, When::Date { year: Some(_), .. }) && said(last) < said(first)
}

/// Whether there are more days between the two than are told.
pub(super) fn is_cut(day: &When, today: NaiveDate) -> bool {
    let When::Span(_, last) = day else {
        return false;
    };
    let days = day.resolve(today);
    let end = days
        .first()
        .and_then(|first| last.resolve(*first).last().copied());
    end > days.last().copied()
}
