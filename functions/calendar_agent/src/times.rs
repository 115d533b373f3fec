//! Days and hours as moments, by a clock that may go forward or back meanwhile.

use chrono::{DateTime, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone as _, Utc};
use chrono_tz::Tz;

use crate::question::Hours;

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: DateTime<Utc>,
    pub(crate) to: DateTime<Utc>,
}

impl Span {
    /// What both have in common.
    pub(crate) fn and(self, other: Self) -> Option<Self> {
        let (from, to) = (self.from.max(other.from), self.to.min(other.to));
        (from < to).then_some(Self { from, to })
    }
}

/// A day by this clock, or a part of it: 23 to 25 hours, as the clock goes.
pub(crate) fn of_day(day: NaiveDate, hours: Option<Hours>, zone: Tz) -> Span {
    let next = day.checked_add_days(Days::new(1)).unwrap_or(day);
    let (from, to) = match hours {
        None => (day.and_time(NaiveTime::MIN), next.and_time(NaiveTime::MIN)),
        Some(hours) if hours.to <= hours.from => (day.and_time(hours.from), next.and_time(hours.to)),
        Some(hours) => (day.and_time(hours.from), day.and_time(hours.to)),
    };
    Span {
        from: moment(from, zone),
        to: moment(to, zone),
    }
}

/// The moment at which a clock shows this; the first one where it does so twice, and the next where it never does.
fn moment(shown: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    // No clock was ever put forward by more than a day.
    let shown = (0..=96).map(|quarter| shown + TimeDelta::minutes(15 * quarter));
    let mut moments = shown.filter_map(|shown| zone.from_local_datetime(&shown).earliest());
    // Beyond the calendar's end every moment is as good.
    let found = moments.next().map(|moment| moment.with_timezone(&Utc));
    found.unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Of these spans in order, what is left of `within`.
pub(crate) fn gaps(within: Span, busy: &[Span]) -> Vec<Span> {
    let mut gaps = Vec::new();
    let mut from = within.from;
    for span in busy.iter().filter_map(|span| span.and(within)) {
        if span.from > from {
            gaps.push(Span { from, to: span.from });
        }
        from = from.max(span.to);
    }
    if from < within.to {
        gaps.push(Span { from, to: within.to });
    }
    gaps
}

/// Spans that touch or overlap as one, in order.
pub(crate) fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| span.from);
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.from <= last.to => last.to = last.to.max(span.to),
            _ => joined.push(span),
        }
    }
    joined
}

/// The moment, or the next at which a quarter of an hour begins.
pub(crate) fn at_a_quarter(moment: DateTime<Utc>) -> DateTime<Utc> {
    const QUARTER: i64 = 15 * 60;
    let over = moment.timestamp().rem_euclid(QUARTER);
    match over {
        0 => moment,
        over => moment + TimeDelta::seconds(QUARTER - over),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(span: Span) -> i64 {
        (span.to - span.from).num_minutes()
    }

    fn day(year: i32, month: u32, day: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(year, month, day).unwrap()
    }

    #[test]
    fn days_are_as_long_as_the_clock_makes_them() {
        let oslo = Tz::Europe__Oslo;
        for (date, hours) in [
            (day(2026, 3, 29), 23),
            (day(2026, 10, 25), 25),
            (day(2026, 11, 24), 24),
        ] {
            assert_eq!(minutes(of_day(date, None, oslo)), hours * 60, "{date}");
        }
        // Where midnight is left out the day begins at one.
        let beirut = of_day(day(2026, 3, 29), None, Tz::Asia__Beirut);
        assert_eq!(minutes(beirut), 23 * 60);
        let night = Hours {
            from: NaiveTime::from_hms_opt(2, 30, 0).unwrap(),
            to: NaiveTime::from_hms_opt(3, 30, 0).unwrap(),
        };
        assert_eq!(minutes(of_day(day(2026, 3, 29), Some(night), oslo)), 30);
        assert_eq!(minutes(of_day(day(2026, 10, 25), Some(night), oslo)), 120);
    }

    #[test]
    fn what_is_left_between_busy_spans() {
        let whole = of_day(day(2026, 11, 24), None, Tz::UTC);
        let span = |from: i64, to: i64| Span {
            from: whole.from + TimeDelta::hours(from),
            to: whole.from + TimeDelta::hours(to),
        };
        let busy = joined(vec![
            span(9, 10),
            span(-2, 1),
            span(9, 12),
            span(12, 13),
            span(23, 30),
        ]);
        assert_eq!(busy, [span(-2, 1), span(9, 13), span(23, 30)]);
        assert_eq!(gaps(whole, &busy), [span(1, 9), span(13, 23)]);
        assert_eq!(gaps(whole, &[span(0, 24)]), []);
        assert_eq!(
            at_a_quarter(span(9, 10).from + TimeDelta::minutes(1)),
            span(9, 10).from + TimeDelta::minutes(15)
        );
    }
}
