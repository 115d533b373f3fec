//! What the data of a message says: an object with `place`, `from`, `to`, `nights`, `guests`, `children`, `maxPrice`. Other
//! fields are left alone; a field of another type than it should have is asked about.

use chrono::{Datelike as _, NaiveDate};
use domain::{Message, PartContent, clean};
use serde_json::{Map, Value};
use words::When;

use super::{GUESTS_MAX, NIGHTS_MAX, PLACE_MAX, Price, Said};

pub(super) fn read(message: &Message) -> Said {
    let mut said = Said::default();
    for part in &message.parts {
        if let PartContent::Data(Value::Object(fields)) = &part.content {
            said = said.then(Fields { fields, wrong: None }.read());
        }
    }
    said
}

/// An object's fields, and the first of them that cannot be read.
struct Fields<'a> {
    fields: &'a Map<String, Value>,
    wrong: Option<String>,
}

impl Fields<'_> {
    fn read(mut self) -> Said {
        let place = self.one("place", "it must be text. What should it be?", |value| {
            let place = clean(value.as_str()?, PLACE_MAX);
            (!place.is_empty()).then_some(place)
        });
        let days = ["from", "to"]
            .map(|name| self.one(name, "it must be a day such as 2026-12-04. Which day?", date));
        let nights = self.number("nights", (1, NIGHTS_MAX.unsigned_abs()));
        let guests = self.number("guests", (1, GUESTS_MAX.into()));
        let children = self.number("children", (0, GUESTS_MAX.into()));
        let price = self.number("maxPrice", (1, 1_000_000));
        Said {
            places: place.into_iter().collect(),
            days: days.into_iter().flatten().collect(),
            nights,
            guests,
            children,
            price: price.map(Price::Night),
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

    fn number(&mut self, name: &str, (least, most): (u64, u64)) -> Option<u32> {
        let must = format!("it must be a whole number from {least} to {most}. How many?");
        self.one(name, &must, |value| {
            let number = value.as_u64().filter(|number| (least..=most).contains(number))?;
            u32::try_from(number).ok()
        })
    }
}

fn date(value: &Value) -> Option<When> {
    let date = value.as_str()?.parse::<NaiveDate>().ok()?;
    Some(When::Date {
        year: Some(date.year()),
        month: date.month(),
        day: date.day(),
    })
}
