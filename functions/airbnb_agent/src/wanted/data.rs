//! What the data of a message says: an object with `place`, `from`, `to`, `nights`, `guests`, `children`, `maxPrice`. Other
//! fields are left alone; a field of another type than it should have is asked about.

use chrono::{Datelike as _, Days, NaiveDate};
use domain::{Message, PartContent, clean};
use serde_json::{Map, Value, json};
use words::When;

use super::price::PRICE_MAX;
use super::{GUESTS_MAX, NIGHTS_MAX, PLACE_MAX, Price, Said};

pub(super) fn read(message: &Message) -> Said {
    let mut said = Said::default();
    for part in &message.parts {
        if let PartContent::Data(Value::Object(fields)) = &part.content {
            let wrong = said.wrong.take();
            said = said.then(Fields { fields, wrong }.read());
        }
    }
    said
}

/// The schema of the data, as the card publishes it.
pub(crate) fn schema() -> Value {
    let day = |which: &str| json!({"type": "string", "format": "date", "description": which});
    let number = |least: u32, most: u32| json!({"type": "integer", "minimum": least, "maximum": most});
    let mut price = number(1, PRICE_MAX);
    if let Some(fields) = price.as_object_mut() {
        fields.insert("description".to_owned(), "The highest price of a night".into());
    }
    json!({
        "type": "object",
        "properties": {
            "place": {"type": "string", "minLength": 1, "maxLength": PLACE_MAX, "description": "One place, such as Oslo"},
            "from": day("The first day"),
            "to": day("The day of departure"),
            "nights": number(1, NIGHTS_MAX.try_into().unwrap_or(u32::MAX)),
            "guests": number(1, GUESTS_MAX),
            "children": number(0, GUESTS_MAX),
            "maxPrice": price,
        },
        "additionalProperties": false,
    })
}

/// An object's fields, and the first of them that cannot be read.
struct Fields<'a> {
    fields: &'a Map<String, Value>,
    wrong: Option<String>,
}

impl Fields<'_> {
    fn read(mut self) -> Said {
        let place = self.one("place", "it must be text. What should it be?", |value| {
            let name = value.as_str().filter(|name| name.chars().count() <= PLACE_MAX)?;
            let place = clean(name, PLACE_MAX);
            (!place.is_empty()).then_some(place)
        });
        let days =
            ["from", "to"].map(|name| self.one(name, "it must be a day such as 2026-12-04. Which day?", day));
        let nights = self.number("nights", (1, NIGHTS_MAX.unsigned_abs()));
        let (days, nights) = self.stay(days, nights);
        let guests = self.number("guests", (1, GUESTS_MAX.into()));
        let children = self.number("children", (0, GUESTS_MAX.into()));
        let price = self.number("maxPrice", (1, PRICE_MAX.into()));
        Said {
            places: place.into_iter().collect(),
            days,
            nights,
            guests,
            children,
            price: price.map(Price::Night),
            wrong: self.wrong,
        }
    }

    /// Two of first day, day of departure and nights say the third.
    fn stay(&mut self, days: [Option<NaiveDate>; 2], nights: Option<u32>) -> (Vec<When>, Option<u32>) {
        let (days, nights) = match (days, nights) {
            ([None, Some(last)], Some(nights)) => (
                vec![
                    last.checked_sub_days(Days::new(nights.into())).unwrap_or(last),
                    last,
                ],
                None,
            ),
            ([None, Some(_)], None) => {
                self.wrong("to", "there is no `from` beside it. From which day?");
                (Vec::new(), None)
            }
            ([Some(first), Some(last)], Some(nights)) => {
                if (last - first).num_days() != i64::from(nights) {
                    self.wrong(
                        "nights",
                        "`from` and `to` say otherwise. From which day to which?",
                    );
                }
                (vec![first, last], None)
            }
            (days, nights) => (days.into_iter().flatten().collect(), nights),
        };
        (days.into_iter().map(date).collect(), nights)
    }

    /// The first thing that is wrong counts.
    fn wrong(&mut self, name: &str, must: &str) {
        self.wrong
            .get_or_insert_with(|| format!("I cannot read `{name}`: {must}"));
    }

    fn one<T>(&mut self, name: &str, must: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let value = self.fields.get(name).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            self.wrong(name, must);
        }
        read
    }

    fn number(&mut self, name: &str, (least, most): (u64, u64)) -> Option<u32> {
        let must = format!("it must be a whole number from {least} to {most}. How many?");
        self.one(name, &must, |value| {
            let number = value.as_u64().filter(|number| (least..=most).contains(number))?;
            u32::try_from(number).ok()
        })
    }
}

fn day(value: &Value) -> Option<NaiveDate> {
    value.as_str()?.parse().ok()
}

fn date(date: NaiveDate) -> When {
    When::Date {
        year: Some(date.year()),
        month: date.month(),
        day: date.day(),
    }
}
