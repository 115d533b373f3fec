//! What is said at the end, in words and as data.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use chrono_tz::Tz;
use domain::{Artifact, Part, clean};
use outbound::google_calendar::{Event, Events, FreeBusy, Moment};
use serde_json::{Value, json};

use crate::question::{Hours, Kind, Wanted};
use crate::times::{Span, at_a_quarter, gaps, joined, of_day};

/// Most characters of a title.
const TITLE_MAX: usize = 120;
/// Most events that are told.
const EVENTS_MAX: usize = 100;
/// Most free times that are told, altogether and of a day.
const SLOTS_MAX: usize = 6;
const SLOTS_OF_A_DAY: usize = 2;
/// When people meet where nothing else is said.
const DAYTIME: (u32, u32) = (8, 18);

/// An answer as it grows.
struct Told {
    lines: Vec<String>,
    data: Value,
    sandbox: bool,
}

impl Told {
    fn artifact(mut self, wanted: &Wanted, zone: Tz) -> Artifact {
        self.lines.push(format!("Times are those of {}.", zone.name()));
        if wanted.kind == Kind::Slot {
            self.lines.push("I looked at your calendar alone.".to_owned());
        }
        if self.sandbox {
            self.lines
                .push("This is a sandbox: the calendar is made up.".to_owned());
        }
        if let Value::Object(fields) = &mut self.data {
            fields.insert("timeZone".to_owned(), zone.name().into());
            fields.insert("sandbox".to_owned(), self.sandbox.into());
        }
        let parts = vec![Part::text(words::in_lines(&self.lines)), Part::data(self.data)];
        Artifact::new("calendar", parts).named("Calendar")
    }
}

/// What was done, in words alone.
pub(crate) fn said(text: &str) -> Artifact {
    Artifact::new("calendar", vec![Part::text(text)]).named("Calendar")
}

/// Whether the user is free, or when.
pub(crate) fn free_busy(wanted: &Wanted, zone: Tz, found: &FreeBusy, now: DateTime<Utc>) -> Artifact {
    let busy = found.busy.iter().map(|busy| Span {
        from: busy.start,
        to: busy.end,
    });
    let busy = joined(busy.collect());
    let told = match wanted.kind {
        Kind::Slot => slots(wanted, zone, &busy, now),
        _ => free(wanted, zone, &busy),
    };
    Told {
        sandbox: found.sandbox,
        ..told
    }
    .artifact(wanted, zone)
}

fn free(wanted: &Wanted, zone: Tz, busy: &[Span]) -> Told {
    let mut lines = Vec::new();
    let mut data = Vec::new();
    for day in &wanted.days {
        let within = of_day(*day, wanted.hours, zone);
        let taken: Vec<Span> = busy.iter().filter_map(|span| span.and(within)).collect();
        let hours = wanted.hours.map_or(String::new(), |hours| {
            format!(" from {} to {}", clock(hours.from), clock(hours.to))
        });
        let when = format!("{}{hours}", date(*day));
        lines.push(match taken.as_slice() {
            [] => format!("You are free on {when}."),
            [all] if *all == within => format!("You are busy on {when}."),
            some => {
                let times: Vec<String> = some.iter().map(|span| times(*span, zone)).collect();
                format!(
                    "On {when} you are busy {}, and otherwise free.",
                    words::listed(&times, "and")
                )
            }
        });
        let taken: Vec<Value> = taken.iter().map(|span| spanned(*span, zone)).collect();
        data.push(json!({"date": day, "free": taken.is_empty(), "busy": taken}));
    }
    Told {
        lines,
        data: json!({"ask": "free", "days": data}),
        sandbox: false,
    }
}

fn slots(wanted: &Wanted, zone: Tz, busy: &[Span], now: DateTime<Utc>) -> Told {
    let at = |hour| NaiveTime::from_hms_opt(hour, 0, 0).unwrap_or_default();
    let hours = wanted.hours.unwrap_or(Hours {
        from: at(DAYTIME.0),
        to: at(DAYTIME.1),
    });
    let length = i64::from(wanted.minutes);
    let mut found: Vec<Span> = Vec::new();
    for day in &wanted.days {
        let within = of_day(*day, Some(hours), zone);
        let gaps = gaps(within, busy).into_iter().filter_map(|gap| {
            let from = at_a_quarter(gap.from.max(now));
            let slot = Span {
                from,
                to: from + chrono::TimeDelta::minutes(length),
            };
            (slot.to <= gap.to).then_some(slot)
        });
        found.extend(gaps.take(SLOTS_OF_A_DAY));
    }
    found.truncate(SLOTS_MAX);
    let range = format!("{} to {}", clock(hours.from), clock(hours.to));
    let days = match wanted.days.as_slice() {
        [one] => format!("on {}", date(*one)),
        [first, .., last] => format!("between {} and {}", date(*first), date(*last)),
        [] => String::new(),
    };
    let lines = match found.as_slice() {
        [] => vec![format!("You have no {length} minutes free {days}, from {range}.")],
        found => {
            let head = format!("You have {length} minutes free {days}, for example:");
            let line = |slot: &Span| {
                let day = slot.from.with_timezone(&zone).date_naive();
                format!("- {}, {}", date(day), times(*slot, zone))
            };
            std::iter::once(head).chain(found.iter().map(line)).collect()
        }
    };
    let listed: Vec<Value> = found.iter().map(|span| spanned(*span, zone)).collect();
    Told {
        lines,
        data: json!({"ask": "slot", "minutes": length, "slots": listed}),
        sandbox: false,
    }
}

/// What stands in the calendar, by this clock.
pub(crate) fn events(wanted: &Wanted, zone: Tz, found: &Events) -> Artifact {
    let on: Vec<&Event> = found.items.iter().filter(|event| event.is_on()).collect();
    let mut lines = Vec::new();
    let mut data = Vec::new();
    let mut left = EVENTS_MAX;
    for day in &wanted.days {
        let within = of_day(*day, wanted.hours, zone);
        let mut told: Vec<(bool, DateTime<Utc>, String, Value)> = on
            .iter()
            .filter_map(|event| told_on(event, *day, within, zone))
            .collect();
        told.sort_by_key(|(timed, from, ..)| (*timed, *from));
        if told.is_empty() {
            lines.push(format!("Nothing stands in your calendar on {}.", date(*day)));
            continue;
        }
        lines.push(format!("{}:", date(*day)));
        for (_, _, line, value) in told {
            if left > 0 {
                left -= 1;
                lines.push(format!("- {line}"));
                data.push(value);
            }
        }
    }
    if left == 0 || found.cut {
        lines.push("There is more; ask for fewer days to see it.".to_owned());
    }
    Told {
        lines,
        data: json!({"ask": "events", "events": data}),
        sandbox: found.sandbox,
    }
    .artifact(wanted, zone)
}

/// An event on a day: whether it has a time, when it begins, its line, and its data.
fn told_on(
    event: &Event,
    day: NaiveDate,
    within: Span,
    zone: Tz,
) -> Option<(bool, DateTime<Utc>, String, Value)> {
    let title = title(event);
    match (event.start()?, event.end()?) {
        (Moment::Date(from), Moment::Date(to)) => {
            (from <= day && day < to.max(from.succ_opt()?)).then(|| {
                let value = json!({"title": title, "date": day, "allDay": true, "busy": event.is_busy()});
                (false, within.from, format!("all day: {title}"), value)
            })
        }
        (Moment::DateTime(from), Moment::DateTime(to)) => {
            let span = Span { from, to };
            // What takes no time is at its beginning.
            let on = span.and(within).is_some() || (from == to && within.from <= from && from < within.to);
            on.then(|| {
                let (start, end) = (shown(from, zone), shown(to, zone));
                let value = json!({"title": title, "start": start, "end": end, "busy": event.is_busy()});
                (true, from, format!("{}: {title}", times(span, zone)), value)
            })
        }
        _ => None,
    }
}

/// A title is written by whoever invites: one line, and no address in it that anybody could follow.
fn title(event: &Event) -> String {
    let text = clean(
        &words::text::unlinked(event.summary.as_deref().unwrap_or_default()),
        TITLE_MAX,
    );
    match text.is_empty() {
        true => "(no title)".to_owned(),
        false => text,
    }
}

fn spanned(span: Span, zone: Tz) -> Value {
    json!({"start": shown(span.from, zone), "end": shown(span.to, zone)})
}

fn shown(moment: DateTime<Utc>, zone: Tz) -> String {
    moment.with_timezone(&zone).to_rfc3339()
}

/// From when to when, by this clock; another day is named.
fn times(span: Span, zone: Tz) -> String {
    let (from, to) = (span.from.with_timezone(&zone), span.to.with_timezone(&zone));
    let over = to.date_naive() != from.date_naive() && to.time() != NaiveTime::MIN;
    let last = if over {
        format!("{} on {}", clock(to.time()), date(to.date_naive()))
    } else {
        clock(to.time())
    };
    match from == to {
        true => clock(from.time()),
        false => format!("{}–{last}", clock(from.time())),
    }
}

fn clock(time: NaiveTime) -> String {
    time.format("%H:%M").to_string()
}

fn date(day: NaiveDate) -> String {
    day.format("%A %-d %B %Y").to_string()
}
