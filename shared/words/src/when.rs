//! Days as people name them, and what they are once "today" is known.

use chrono::{Datelike, Months, NaiveDate, TimeDelta, Weekday};

/// Most days that one name stands for.
pub const MAX_DAYS: usize = 31;

/// A day, or several, as people name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// So many days from today; negative for the past.
    In(i32),
    /// A run of days.
    Run {
        /// The first, in days from today.
        from: i32,
        /// How many.
        count: u32,
    },
    /// The coming day of this name, today included; `next`: that of next week.
    Weekday {
        /// Its name.
        day: Weekday,
        /// That of next week.
        next: bool,
    },
    /// What is left of this week's Saturday and Sunday; `next`: those of next week.
    Weekend {
        /// Those of next week.
        next: bool,
    },
    /// What is left of this week, up to Sunday; `next`: next week from Monday to Sunday.
    Week {
        /// Next week.
        next: bool,
    },
    /// A date; without a year the coming one.
    Date {
        /// The year, where given.
        year: Option<i32>,
        /// From 1 to 12.
        month: u32,
        /// From 1 to 31.
        day: u32,
    },
    /// The coming day of a month with this number.
    DayOfMonth(u32),
    /// A whole month; what is left of it where it is this one.
    Month(u32),
    /// What is left of this month, or the whole of one that is so many months ahead.
    MonthAhead(u32),
    /// The week of a day, from Monday to Sunday.
    WeekOf(Box<When>),
    /// From one day to another.
    Span(Box<When>, Box<When>),
    /// So many days later than another: a week from tomorrow, the day before Christmas.
    Later {
        /// How many; negative for earlier.
        days: i32,
        /// Than this one, the first of its days.
        than: Box<When>,
    },
    /// The last such day before today: last Friday, last Christmas.
    Past(Box<When>),
    /// The coming such day, where one of the last weeks could be meant as well: "will it rain on 3 December?"
    Ahead(Box<When>),
    /// Two numbers, either of which may be the month; no day until somebody says which.
    Unclear {
        /// What is written first, from 1 to 12.
        first: u32,
        /// What is written second, from 1 to 12.
        second: u32,
        /// The year, where given.
        year: Option<i32>,
    },
}

impl From<NaiveDate> for When {
    fn from(date: NaiveDate) -> Self {
        Self::Date {
            year: Some(date.year()),
            month: date.month(),
            day: date.day(),
        }
    }
}

impl When {
    /// Whether it is a single day.
    #[must_use]
    pub fn is_one(&self) -> bool {
        matches!(
            self,
            Self::In(_) | Self::Weekday { .. } | Self::Date { .. } | Self::DayOfMonth(_) | Self::Ahead(_)
        )
    }

    /// From one day to another.
    #[must_use]
    pub fn span(first: Self, last: Self) -> Self {
        Self::Span(Box::new(first), Box::new(last))
    }

    /// The same where it lies ahead: a date without a year, also at the beginning of a span, is the coming one.
    #[must_use]
    pub fn ahead(self) -> Self {
        match self {
            Self::Date { year: None, .. } => Self::Ahead(Box::new(self)),
            Self::Span(first, last) => Self::span(first.ahead(), *last),
            when => when,
        }
    }

    /// The first and the last day of a span as they were said, the last as seen from the first. It may be before it.
    #[must_use]
    pub fn ends(&self, today: NaiveDate) -> Option<(NaiveDate, NaiveDate)> {
        let Self::Span(first, last) = self else {
            return None;
        };
        let first = first.resolve(today).first().copied()?;
        Some((first, last.resolve(first).last().copied()?))
    }

    /// The same as data: a date such as `2026-12-04`, or from one to another, `2026-12-04/2026-12-06`; where it is so many days from
    /// today, `P1D` or `P0D/P4D`, since it is not today everywhere. `None` where there is no such day.
    #[must_use]
    pub fn to_data(&self, today: NaiveDate) -> Option<String> {
        let (first, last) = match self {
            Self::In(days) => return Some(from_today(*days)),
            Self::Run { from, count } => {
                let more = i32::try_from(count.saturating_sub(1)).unwrap_or(i32::MAX);
                (from_today(*from), from_today(from.saturating_add(more)))
            }
            when => {
                let days = when.resolve(today);
                let ends = (*days.first()?, *days.last()?);
                let (first, last) = when.ends(today).unwrap_or(ends);
                (first.to_string(), last.to_string())
            }
        };
        Some(if first == last {
            first
        } else {
            format!("{first}/{last}")
        })
    }

    /// Reads what [`When::to_data`] writes; `None` for anything else, and for an end before its beginning.
    #[must_use]
    pub fn of_data(text: &str) -> Option<Self> {
        let far = |text: &str| {
            let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
            let days = text.strip_prefix('P')?.strip_suffix('D')?;
            days.parse::<u16>().ok().map(|days| sign * i32::from(days))
        };
        match text.split_once('/') {
            None => far(text)
                .map(Self::In)
                .or_else(|| Some(text.parse::<NaiveDate>().ok()?.into())),
            Some((first, last)) => match (far(first), far(last)) {
                (Some(from), Some(last)) => {
                    let count = u32::try_from(last - from).ok()?.saturating_add(1);
                    Some(Self::Run { from, count })
                }
                _ => {
                    let (first, last) = (first.parse::<NaiveDate>().ok()?, last.parse::<NaiveDate>().ok()?);
                    (first <= last).then(|| Self::span(first.into(), last.into()))
                }
            },
        }
    }

    /// What to ask where it can be read in two ways, or is in no calendar.
    #[must_use]
    pub fn ask(&self, today: NaiveDate) -> Option<String> {
        match self {
            Self::Unclear { first, second, year } => {
                let date = |month, day| Self::Date {
                    year: *year,
                    month,
                    day,
                };
                let [one, other] =
                    [date(*second, *first), date(*first, *second)].map(|when| when.spelled(today));
                let year = year.map(|year| format!("/{year}")).unwrap_or_default();
                Some(format!("Is {first}/{second}{year} {one} or {other}?"))
            }
            Self::Span(first, last) => first.ask(today).or_else(|| last.ask(today)),
            Self::WeekOf(when) if matches!(**when, Self::Month(_)) => {
                Some("Which week of the month? Tell me its first day.".to_owned())
            }
            when if when.resolve(today).is_empty() => Some(match when.spelled(today) {
                day if day.is_empty() => "I know no such day. Which day do you mean?".to_owned(),
                day => format!("There is no {day}. Which day do you mean?"),
            }),
            _ => None,
        }
    }

    /// A date in words, be it in a calendar or not.
    fn spelled(&self, today: NaiveDate) -> String {
        match self {
            Self::Past(when) | Self::Ahead(when) => when.spelled(today),
            Self::Date { year, month, day } => {
                let month = NaiveDate::from_ymd_opt(today.year(), *month, 1)
                    .map(|first| first.format("%B").to_string());
                let year = year.map(|year| format!(" {year}")).unwrap_or_default();
                format!("{day} {}{year}", month.unwrap_or_default())
            }
            _ => String::new(),
        }
    }

    /// The days, in order; none where there is no such day (30 February). Never more than [`MAX_DAYS`].
    #[must_use]
    pub fn resolve(&self, today: NaiveDate) -> Vec<NaiveDate> {
        match self {
            Self::In(days) => shift(today, *days).into_iter().collect(),
            Self::Run { from, count } => run_after(today, *from, *count as usize),
            Self::Weekday { day, next } => {
                let ahead = match next {
                    true => 7 - today.weekday().num_days_from_monday() + day.num_days_from_monday(),
                    false => day.days_since(today.weekday()),
                };
                run_after(today, ahead, 1)
            }
            Self::Weekend { next } => {
                let passed = today.weekday().num_days_from_monday();
                match (next, passed) {
                    (true, _) => run_after(today, 12 - passed, 2),
                    (false, 6) => run(today, 1),
                    (false, _) => run_after(today, 5 - passed, 2),
                }
            }
            Self::Week { next } => {
                let left = 7 - today.weekday().num_days_from_monday();
                if *next {
                    run_after(today, left, 7)
                } else if left == 1 {
                    // For some a week begins on Sunday; and nobody asks for a week to hear of one day.
                    run(today, 8)
                } else {
                    run(today, left as usize)
                }
            }
            Self::Date { year, month, day } => date(today, *year, *month, *day).into_iter().collect(),
            Self::DayOfMonth(day) => {
                let month = |ahead| today.with_day(1)?.checked_add_months(Months::new(ahead));
                let months = (0..12).filter_map(|ahead| month(ahead)?.with_day(*day));
                months.filter(|date| *date >= today).take(1).collect()
            }
            Self::Month(month) => {
                let mut days = month_of(today.year() + i32::from(*month < today.month()), *month);
                days.retain(|day| *day >= today);
                days
            }
            Self::MonthAhead(months) => {
                let first = today
                    .with_day(1)
                    .and_then(|first| first.checked_add_months(Months::new(*months)));
                let days = first.map(|first| month_of(first.year(), first.month()));
                let days = days.into_iter().flatten();
                days.filter(|day| *day >= today).collect()
            }
            Self::WeekOf(when) => match when.resolve(today).first() {
                Some(day) => run(day.week(Weekday::Mon).first_day(), 7),
                None => Vec::new(),
            },
            Self::Unclear { .. } => Vec::new(),
            Self::Later { days, than } => {
                let from = than.resolve(today).first().copied();
                from.and_then(|from| shift(from, *days)).into_iter().collect()
            }
            Self::Past(when) => past(when, today),
            Self::Ahead(when) => ahead(when, today),
            Self::Span(first, last) => {
                let Some(first) = first.resolve(today).first().copied() else {
                    return Vec::new();
                };
                // "Friday to Monday": the end is named as seen from the beginning.
                let last = last.resolve(first).last().copied().unwrap_or(first);
                run(first, MAX_DAYS)
                    .into_iter()
                    .filter(|date| *date <= last.max(first))
                    .collect()
            }
        }
    }
}

/// So many days from today, as ISO 8601 writes a duration.
fn from_today(days: i32) -> String {
    let sign = if days < 0 { "-" } else { "" };
    format!("{sign}P{}D", days.unsigned_abs().min(u16::MAX.into()))
}

/// The days of a month.
fn month_of(year: i32, month: u32) -> Vec<NaiveDate> {
    let first = NaiveDate::from_ymd_opt(year, month, 1);
    let days = first
        .into_iter()
        .flat_map(|first| first.iter_days().take(MAX_DAYS));
    days.filter(|day| day.month() == month).collect()
}

/// The last of such days that is over.
fn past(when: &When, today: NaiveDate) -> Vec<NaiveDate> {
    let Some(yesterday) = today.pred_opt() else {
        return Vec::new();
    };
    let back = match when {
        When::Month(month) => return month_of(today.year() - i32::from(*month >= today.month()), *month),
        When::Weekday { .. } | When::Weekend { .. } | When::Week { .. } => 7,
        When::Date { year: None, .. } => 366,
        When::DayOfMonth(_) => 31,
        _ => return when.resolve(today),
    };
    // As somebody says it who stands so far back that the day still lies ahead.
    let mut from = yesterday.iter_days().rev().take(back);
    from.find_map(|from| {
        let days = when.resolve(from);
        let over = days.last().is_some_and(|last| *last < today) && days.first() >= Some(&from);
        over.then_some(days)
    })
    .unwrap_or_default()
}

/// The days as somebody means them who speaks of what is to come.
fn ahead(when: &When, today: NaiveDate) -> Vec<NaiveDate> {
    let When::Date {
        year: None,
        month,
        day,
    } = when
    else {
        return when.resolve(today);
    };
    coming(today, *month, *day).into_iter().collect()
}

/// The first such date from this day on.
fn coming(from: NaiveDate, month: u32, day: u32) -> Option<NaiveDate> {
    let years = (0..9).filter_map(|ahead| NaiveDate::from_ymd_opt(from.year() + ahead, month, day));
    years.filter(|date| *date >= from).min()
}

/// A date; without a year it is the coming one, or one of the last two months.
fn date(today: NaiveDate, year: Option<i32>, month: u32, day: u32) -> Option<NaiveDate> {
    if let Some(year) = year {
        return NaiveDate::from_ymd_opt(year, month, day);
    }
    coming(shift(today, -60).unwrap_or(today), month, day)
}

fn shift(date: NaiveDate, days: impl Into<i64>) -> Option<NaiveDate> {
    date.checked_add_signed(TimeDelta::try_days(days.into())?)
}

fn run(first: NaiveDate, count: usize) -> Vec<NaiveDate> {
    first.iter_days().take(count.min(MAX_DAYS)).collect()
}

fn run_after(today: NaiveDate, ahead: impl Into<i64>, count: usize) -> Vec<NaiveDate> {
    shift(today, ahead).map_or_else(Vec::new, |first| run(first, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Saturday.
    const TODAY: (i32, u32, u32) = (2026, 11, 21);

    fn check_on(today: (i32, u32, u32), when: When, expect: &str) {
        let today = NaiveDate::from_ymd_opt(today.0, today.1, today.2).unwrap();
        let days = when.resolve(today);
        let text = match days.as_slice() {
            [] => String::new(),
            [one] => one.to_string(),
            [first, .., last] => format!("{first}..{last}"),
        };
        assert_eq!(text, expect, "{when:?}");
        assert!(days.windows(2).all(|pair| pair[0].succ_opt() == Some(pair[1])));
    }

    fn check(when: When, expect: &str) {
        check_on(TODAY, when, expect);
    }

    fn date(month: u32, day: u32) -> When {
        When::Date {
            year: None,
            month,
            day,
        }
    }

    #[test]
    fn days_are_counted_from_today() {
        check(When::In(0), "2026-11-21");
        check(When::In(10), "2026-12-01");
        check(When::In(-1), "2026-11-20");
        let later = |days, than| When::Later {
            days,
            than: Box::new(than),
        };
        check(later(7, When::In(1)), "2026-11-29");
        check(later(i32::MAX, When::In(1)), "");
        check(later(-1, date(12, 25)), "2026-12-24");
        check(When::Run { from: 0, count: 5 }, "2026-11-21..2026-11-25");
        check(
            When::Run {
                from: 0,
                count: 4_000_000_000,
            },
            "2026-11-21..2026-12-21",
        );
        check(When::In(i32::MAX), "");
        check(When::In(i32::MIN), "");
    }

    #[test]
    fn weekdays_come_today_or_later() {
        let day = |day, next| When::Weekday { day, next };
        check(day(Weekday::Sat, false), "2026-11-21");
        check(day(Weekday::Sun, false), "2026-11-22");
        check(day(Weekday::Fri, false), "2026-11-27");
        check(day(Weekday::Mon, true), "2026-11-23");
        check(day(Weekday::Sun, true), "2026-11-29");
        check_on((2026, 11, 23), day(Weekday::Fri, true), "2026-12-04");
    }

    #[test]
    fn weeks_end_on_sunday() {
        check(When::WeekOf(Box::new(date(12, 9))), "2026-12-07..2026-12-13");
        check(When::MonthAhead(0), "2026-11-21..2026-11-30");
        check(When::MonthAhead(2), "2027-01-01..2027-01-31");
        check(When::Week { next: false }, "2026-11-21..2026-11-22");
        check(When::Week { next: true }, "2026-11-23..2026-11-29");
        check(When::Weekend { next: false }, "2026-11-21..2026-11-22");
        check(When::Weekend { next: true }, "2026-11-28..2026-11-29");
        check_on((2026, 11, 22), When::Weekend { next: false }, "2026-11-22");
        check_on(
            (2026, 11, 25),
            When::Weekend { next: false },
            "2026-11-28..2026-11-29",
        );
        check_on(
            (2026, 11, 22),
            When::Week { next: true },
            "2026-11-23..2026-11-29",
        );
    }

    #[test]
    fn dates_without_a_year_are_the_coming_ones() {
        check(date(12, 24), "2026-12-24");
        check(date(1, 3), "2027-01-03");
        check(date(11, 20), "2026-11-20");
        check(date(2, 29), "2028-02-29");
        check(date(2, 30), "");
        check(
            When::Date {
                year: Some(2025),
                month: 1,
                day: 1,
            },
            "2025-01-01",
        );
        check(When::DayOfMonth(24), "2026-11-24");
        check(When::DayOfMonth(3), "2026-12-03");
        check(When::DayOfMonth(31), "2026-12-31");
        check(When::DayOfMonth(0), "");
        check(When::Month(12), "2026-12-01..2026-12-31");
        check(When::Month(11), "2026-11-21..2026-11-30");
        check(When::Month(2), "2027-02-01..2027-02-28");
        check(When::Month(13), "");
    }

    #[test]
    fn a_week_that_ends_today_has_the_coming_one_with_it() {
        check_on(
            (2026, 11, 22),
            When::Week { next: false },
            "2026-11-22..2026-11-29",
        );
    }

    #[test]
    fn past_days_are_the_last_ones() {
        let past = |when| When::Past(Box::new(when));
        let friday = |next| When::Weekday {
            day: Weekday::Fri,
            next,
        };
        check(past(friday(false)), "2026-11-20");
        check(
            past(When::Weekday {
                day: Weekday::Sat,
                next: false,
            }),
            "2026-11-14",
        );
        check(past(date(12, 25)), "2025-12-25");
        check(past(date(11, 20)), "2026-11-20");
        check(past(When::Month(5)), "2026-05-01..2026-05-31");
        check(past(When::In(-1)), "2026-11-20");
        check(past(date(2, 30)), "");
    }

    #[test]
    fn what_is_to_come_is_never_over() {
        let ahead = |when| When::Ahead(Box::new(when));
        check(ahead(date(11, 20)), "2027-11-20");
        check(ahead(date(11, 21)), "2026-11-21");
        check(ahead(date(1, 3)), "2027-01-03");
        check(ahead(date(2, 30)), "");
        check(ahead(When::In(-1)), "2026-11-20");
    }

    #[test]
    fn spans_end_after_they_begin() {
        let day = |day| Box::new(When::Weekday { day, next: false });
        check(
            When::Span(day(Weekday::Mon), day(Weekday::Wed)),
            "2026-11-23..2026-11-25",
        );
        check(
            When::Span(day(Weekday::Fri), day(Weekday::Mon)),
            "2026-11-27..2026-11-30",
        );
        check(
            When::Span(Box::new(date(12, 22)), Box::new(date(12, 24))),
            "2026-12-22..2026-12-24",
        );
        check(
            When::Span(Box::new(date(12, 30)), Box::new(date(1, 2))),
            "2026-12-30..2027-01-02",
        );
    }
}
