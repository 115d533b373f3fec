//! What the data of a message says: an object with `place`, `from`, `to`, `nights`, `guests`, `children`, `maxPrice`, `currency`.
//! Other fields are left alone; a field of another type than it should have is asked about.

use agent::data::{Fields, objects};
use chrono::{Days, NaiveDate};
use domain::{Message, clean};
use serde_json::{Value, json};
use words::{Currency, When};

use super::people::Party;
use super::price::PRICE_MAX;
use super::{GUESTS_MAX, NIGHTS_MAX, PLACE_MAX, Price, Said};

pub(super) fn read(message: &Message) -> Said {
    objects(message).fold(Said::default(), |mut said, fields| {
        let wrong = said.wrong.take();
        let mut said = said.then(fields_of(Fields::of(fields)));
        said.wrong = wrong.or(said.wrong);
        said
    })
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
            "currency": {"type": "string", "minLength": 3, "maxLength": 3, "description": "The ISO 4217 code of its currency"},
        },
        "additionalProperties": false,
    })
}

fn fields_of(mut fields: Fields<'_>) -> Said {
    const HOW_MANY: &str = "How many?";
    let place = fields.one("place", "it must be text. What should it be?", |value| {
        let name = value.as_str().filter(|name| name.chars().count() <= PLACE_MAX)?;
        let place = clean(name, PLACE_MAX);
        (!place.is_empty()).then_some(place)
    });
    let (first, last) = (fields.day("from"), fields.day("to"));
    let nights = fields.number("nights", 1..=NIGHTS_MAX as u32, HOW_MANY);
    // Two of first day, day of departure and nights say the third.
    let days: Vec<NaiveDate> = match (first, last, nights) {
        (None, Some(last), Some(nights)) => {
            let first = last.checked_sub_days(Days::new(nights.into()));
            vec![first.unwrap_or(last), last]
        }
        (None, Some(_), None) => {
            fields.wrong("to", "there is no `from` beside it. From which day?");
            Vec::new()
        }
        (first, last, _) => first.into_iter().chain(last).collect(),
    };
    if let (Some(first), Some(last), Some(nights)) = (first, last, nights)
        && (last - first).num_days() != i64::from(nights)
    {
        fields.wrong(
            "nights",
            "`from` and `to` say otherwise. From which day to which?",
        );
    }
    let currency = |value: &Value| Currency::from_code(&value.as_str()?.to_uppercase());
    Said {
        places: place.into_iter().collect(),
        nights: nights.filter(|_| days.len() < 2),
        days: days.into_iter().map(When::from).collect(),
        party: Party {
            adults: fields.number("guests", 1..=GUESTS_MAX, HOW_MANY),
            children: fields.number("children", 0..=GUESTS_MAX, HOW_MANY),
        },
        price: fields
            .number("maxPrice", 1..=PRICE_MAX, HOW_MANY)
            .map(Price::Night),
        currencies: fields
            .one(
                "currency",
                "it must be a code such as EUR. Which currency?",
                currency,
            )
            .into_iter()
            .collect(),
        wrong: fields.asked(),
        unread: false,
    }
}
