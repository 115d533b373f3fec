//! What the data of a message says: an object with `ask` (`free`, `events`, `slot`, `disconnect`), `from`, `to`, `fromTime`, `toTime`,
//! `minutes`, `timeZone`. Other fields are left alone; a field of another type than it should have is asked about.

use agent::data::{Fields, objects};
use chrono::NaiveTime;
use chrono_tz::Tz;
use domain::Message;
use serde_json::{Value, json};
use words::When;

use super::{DAYS_MAX, Hours, Kind, MINUTES_MAX, Said, too_many};

pub(super) fn read(message: &Message) -> Said {
    objects(message).fold(Said::default(), |said, fields| {
        said.then(fields_of(Fields::of(fields)))
    })
}

/// The schema of the data, as the card publishes it. Who wants to disconnect says so in words.
pub(crate) fn schema() -> Value {
    let day = |which: &str| json!({"type": "string", "format": "date", "description": which});
    let time = |which: &str| json!({"type": "string", "minLength": 4, "maxLength": 5, "description": which});
    let asks =
        "Whether the user is free, what is on, a free time for something, or to disconnect the calendar";
    json!({
        "type": "object",
        "properties": {
            "ask": {"type": "string", "enum": ["free", "events", "slot"], "description": asks},
            "from": day("The first day"),
            "to": day("The last day; as from where there is none"),
            "fromTime": time("From then on each day, such as 14:30"),
            "toTime": time("Until then on each day, such as 16:00"),
            "minutes": {"type": "integer", "minimum": 5, "maximum": MINUTES_MAX, "description": "How long a free time is to be"},
            "timeZone": {"type": "string", "minLength": 1, "maxLength": 64, "description": "Whose clock it is by, such as Europe/Oslo"},
        },
        "additionalProperties": false,
    })
}

fn fields_of(mut fields: Fields<'_>) -> Said {
    let kind = fields.one("ask", "it must be free, events, slot or disconnect. Which?", kind);
    let (from, to) = (fields.day("from"), fields.day("to"));
    let time = "it must be a time such as 14:30. Which time?";
    let begins = fields.one("fromTime", time, clock);
    let ends = fields.one("toTime", time, clock);
    let minutes = fields.number("minutes", 5..=MINUTES_MAX, "How long?");
    let zone = |value: &Value| value.as_str()?.parse::<Tz>().ok();
    let zone = fields.one("timeZone", "it must be a name such as Europe/Oslo. Which?", zone);
    let wrong = from.zip(to).and_then(|(from, to)| match (to - from).num_days() {
        ..0 => Some("`to` is before `from`. From which day to which?".to_owned()),
        DAYS_MAX.. => Some(too_many()),
        _ => None,
    });
    Said {
        kind,
        days: match (from, to) {
            (Some(from), Some(to)) => vec![When::span(from.into(), to.into())],
            (one, other) => one.or(other).map(When::from).into_iter().collect(),
        },
        hours: begins.or(ends).map(|_| Hours {
            from: begins.unwrap_or(NaiveTime::MIN),
            to: ends.unwrap_or(NaiveTime::MIN),
        }),
        minutes,
        zone,
        wrong: fields.asked().or(wrong),
        ..Said::default()
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

fn clock(value: &Value) -> Option<NaiveTime> {
    NaiveTime::parse_from_str(value.as_str()?, "%H:%M").ok()
}
