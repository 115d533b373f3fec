//! What the data of a message says: an object with `place`, `from`, `to`, `nights`, `guests`, `children`, `maxPrice`, `currency`.
//! Other fields are left alone; a field of another type than it should have is asked about.

use std::sync::LazyLock;

use agent::data::objects;
use chrono::{Days, NaiveDate};
use domain::{Message, clean};
use nlu::InputSchema;
use serde_json::{Map, Value, json};
use words::{Currency, When};

use super::people::Party;
use super::price::PRICE_MAX;
use super::{GUESTS_MAX, NIGHTS_MAX, PLACE_MAX, Price, Said};

static SCHEMA: LazyLock<InputSchema> = LazyLock::new(|| InputSchema::of(&schema()).unwrap_or_default());

pub(super) fn read(message: &Message) -> Said {
    objects(message).fold(Said::default(), |mut said, fields| {
        let wrong = said.wrong.take();
        let mut said = said.then(fields_of(fields));
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

fn fields_of(fields: &Map<String, Value>) -> Said {
    // What does not fit is told, and the rest is kept.
    let told = |name: &str| {
        let value = fields.get(name).filter(|value| !value.is_null())?;
        let alone = Map::from_iter([(name.to_owned(), value.clone())]);
        SCHEMA.misfit_of_fields(&alone).is_none().then_some(value)
    };
    let number = |name: &str| u32::try_from(told(name)?.as_u64()?).ok();
    let day = |name: &str| told(name)?.as_str()?.parse::<NaiveDate>().ok();
    let place = told("place")
        .and_then(Value::as_str)
        .map(|name| clean(name, PLACE_MAX));
    let code = told("currency").and_then(Value::as_str);
    let currency = code.and_then(|code| Currency::from_code(&code.to_uppercase()));
    let (first, last, nights) = (day("from"), day("to"), number("nights"));
    // Two of first day, day of departure and nights say the third.
    let days: Vec<NaiveDate> = match (first, last, nights) {
        (None, Some(last), Some(nights)) => {
            let first = last.checked_sub_days(Days::new(nights.into()));
            vec![first.unwrap_or(last), last]
        }
        (None, Some(_), None) => Vec::new(),
        (first, last, _) => first.into_iter().chain(last).collect(),
    };
    let others = || match (first, last, nights) {
        _ if place.as_ref().is_some_and(String::is_empty) => Some("place must be a name."),
        _ if code.is_some() && currency.is_none() => Some("currency must be a code such as EUR."),
        (None, Some(_), None) => Some("to is there, and from is not. From which day?"),
        (Some(first), Some(last), Some(nights)) if (last - first).num_days() != i64::from(nights) => {
            Some("nights is not how many there are from the first day to the last. From which day to which?")
        }
        _ => None,
    };
    let misfit = SCHEMA
        .misfit_of_fields(fields)
        .or_else(|| others().map(str::to_owned));
    Said {
        places: place.into_iter().collect(),
        nights: nights.filter(|_| days.len() < 2),
        days: days.into_iter().map(When::from).collect(),
        party: Party {
            adults: number("guests"),
            children: number("children"),
        },
        price: number("maxPrice").map(Price::Night),
        currencies: currency.into_iter().collect(),
        wrong: misfit.map(|misfit| format!("I cannot read your data: {misfit}")),
        unread: false,
    }
}
