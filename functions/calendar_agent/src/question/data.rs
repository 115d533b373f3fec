//! What the data of a message says: an object with `ask` (`free`, `events`, `slot`, `disconnect`), `from`, `to`, `fromTime`, `toTime`,
//! `minutes`, `timeZone`. Other fields are left alone; a field of another type than it should have is asked about.

use chrono::{Datelike as _, NaiveDate, NaiveTime};
use chrono_tz::Tz;
use domain::{Message, PartContent};
use serde_json::{Map, Value};
use words::When;

use super::{DAYS_MAX, Hours, Kind, MINUTES_MAX, Said, too_many};

pub(super) fn read(message: &Message) -> Said {
    let objects = message.parts.iter().filter_map(|part| match &part.content {
        PartContent::Data(Value::Object(fields)) => Some(fields),
        _ => None,
    });
    objects.fold(Said::default(), |said, fields| {
        said.then(Fields { fields, wrong: None }.read())
    })
}

/// An object's fields, and the first of them that cannot be read.
struct Fields<'a> {
    fields: &'a Map<String, Value>,
    wrong: Option<String>,
}

impl Fields<'_> {
    fn read(mut self) -> Said {
        let kind = self.one("ask", "it must be free, events, slot or disconnect. Which?", kind);
        let day = "it must be a day such as 2026-12-04. Which day?";
        let (from, to) = (self.one("from", day, date), self.one("to", day, date));
        let time = "it must be a time such as 14:30. Which time?";
        let begins = self.one("fromTime", time, clock);
        let ends = self.one("toTime", time, clock);
        let minutes = self.one(
            "minutes",
            "it must be a number from 5 to 1500. How long?",
            |value| {
                let minutes = u32::try_from(value.as_u64()?).ok()?;
                (5..=MINUTES_MAX).contains(&minutes).then_some(minutes)
            },
        );
        let zone = self.one(
            "timeZone",
            "it must be a name such as Europe/Oslo. Which?",
            |value| value.as_str()?.parse::<Tz>().ok(),
        );
        let wrong = from.zip(to).and_then(|(from, to)| {
            let days = (to - from).num_days();
            let before = (days < 0).then(|| "`to` is before `from`. From which day to which?".to_owned());
            before.or_else(|| (days >= DAYS_MAX).then(too_many))
        });
        self.wrong = self.wrong.or(wrong);
        let days = match (from, to) {
            (Some(from), Some(to)) => vec![When::Span(Box::new(when(from)), Box::new(when(to)))],
            (one, other) => one.or(other).map(when).into_iter().collect(),
        };
        Said {
            kind,
            days,
            named: Vec::new(),
            is_week: false,
            within: false,
            through: false,
            hours: begins.or(ends).map(|_| Hours {
                from: begins.unwrap_or(NaiveTime::MIN),
                to: ends.unwrap_or(NaiveTime::MIN),
            }),
            minutes,
            zone,
            with_others: false,
            past: false,
            wrong: self.wrong,
        }
    }

    fn one<T>(&mut self, name: &str, must: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let value = self.fields.get(name).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() && self.wrong.is_none() {
            self.wrong = Some(format!("I cannot read `{name}`: {must}"));
        }
        read
    }
}

fn kind(value: &Value) -> Option<Kind> {
    Some(match value.as_str()? {
        "free" => Kind::Free,
        "events" => Kind::Events,
        "slot" => Kind::Slot,
        "disconnect" => Kind::Disconnect,
        _ => return None,
    })
}

fn date(value: &Value) -> Option<NaiveDate> {
    value.as_str()?.parse().ok()
}

fn when(date: NaiveDate) -> When {
    When::Date {
        year: Some(date.year()),
        month: date.month(),
        day: date.day(),
    }
}

fn clock(value: &Value) -> Option<NaiveTime> {
    NaiveTime::parse_from_str(value.as_str()?, "%H:%M").ok()
}
