//! What somebody wants, as data: a place, days, guests, prices; and what to ask where that is missing or makes no sense.

mod namesakes;

use agent::Taken;
use chrono::{DateTime, Days, NaiveDate};
use chrono_tz::Tz;
use domain::{Timestamp, UserContext, clean};
use nlu::{InputSchema, Takes};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use words::price::PRICE_MAX;
use words::text::unlinked;
use words::{Currency, currencies};

use namesakes::Namesakes;

/// Most characters of a place's name, and of a wish.
const PLACE_MAX: usize = 80;
/// Most wishes.
const WISHES_MAX: usize = 8;
/// Most guests and nights of a search.
const GUESTS_MAX: u32 = 16;
const NIGHTS_MAX: i64 = 30;
/// From so many days ahead on no stay may begin.
const AHEAD_MAX: i64 = 731;

const ASK_PLACE: &str = "In which place are you looking for somewhere to stay?";
const FROM_WHEN: &str = "From which day to which?";

/// What an accommodation is asked about, so that it is no part of a place's name.
const TOPIC: &str = "flat flats apartment apartments room rooms house houses home homes studio hotel hotels hostel cabin villa \
    single airbnb accommodation lodging place stay bed beds cottage ryokan care price starting arriving leaving checkout";
/// The order that a list can be wanted in, and what one of it is called.
const CHEAPEST: &str = "cheapest";
const PICKS: [&str; 5] = ["first one", "second one", "third one", "fourth one", "fifth one"];

/// The schema of the data, as the card publishes it.
pub(crate) fn schema() -> Value {
    let number = |format: &str, (least, most): (u32, u32), told: &str| json!({"type": "integer", "format": format, "minimum": least, "maximum": most, "description": told});
    let nights = u32::try_from(NIGHTS_MAX).unwrap_or(u32::MAX);
    let wish = json!({"type": "string", "format": "rest", "maxLength": PLACE_MAX});
    json!({
        "type": "object",
        "properties": {
            "place": {"type": "string", "format": "place", "minLength": 1, "maxLength": PLACE_MAX, "description": ASK_PLACE},
            "from": {"type": "string", "format": "arrival", "description": FROM_WHEN},
            "to": {"type": "string", "format": "departure", "description": "The day of departure"},
            "nights": number("nights", (1, nights), "How many nights, where the day of departure is not said"),
            "guests": number("adults", (1, GUESTS_MAX), "How many adults"),
            "children": number("children", (0, GUESTS_MAX), "How many children"),
            "infants": number("infants", (0, GUESTS_MAX), "How many infants"),
            "pets": number("pets", (0, GUESTS_MAX), "Pets"),
            "minPrice": number("price-least", (1, PRICE_MAX), "The least price"),
            "maxPrice": number("price-most", (1, PRICE_MAX), "The highest price"),
            "per": {"enum": ["night", "stay"], "format": "price-per", "description": "What prices are for; a night by default"},
            "currency": {
                "type": "string", "format": "price-currency", "minLength": 1, "maxLength": PLACE_MAX,
                "description": "The currency of the prices, such as EUR",
            },
            "order": {"enum": [CHEAPEST], "description": "The order of the list"},
            "pick": {"enum": PICKS, "description": "One of the list before"},
            "wishes": {
                "type": "array", "maxItems": WISHES_MAX, "items": wish,
                "description": "What else it should have, such as a kitchen",
            },
        },
        "required": ["place"],
        "additionalProperties": false,
    })
}

/// The same, as it is read from words.
#[must_use]
pub fn takes() -> Takes {
    let takes = Takes::new(&schema(), &[]);
    takes.about(TOPIC).abroad(include_str!("abroad.txt"))
}

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// What was said.
    #[serde(flatten)]
    pub said: Said,
    /// The country, where that alone tells the place from others of its name.
    country: Option<String>,
    /// The first day.
    pub first: NaiveDate,
    /// The day of departure.
    pub last: NaiveDate,
    /// The codes of the currencies that prices may be in.
    pub currencies: Vec<String>,
}

/// A question, with what its answer may fill in.
pub type Ask = (String, InputSchema);

/// The data, of the types that the schema has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Said {
    /// Where.
    pub place: String,
    from: Option<NaiveDate>,
    to: Option<NaiveDate>,
    nights: Option<u32>,
    guests: Option<u32>,
    /// How many children.
    pub children: u32,
    /// How many babies.
    pub infants: u32,
    /// How many pets.
    pub pets: u32,
    min_price: Option<u32>,
    max_price: Option<u32>,
    per: String,
    currency: Option<String>,
    /// The order of the list.
    pub order: Option<String>,
    pick: Option<String>,
    /// What else it should have.
    pub wishes: Vec<String>,
}

impl Wanted {
    /// What the data wants. `ours` is the currency of the prices, where that is known.
    ///
    /// # Errors
    /// The question to ask, where something is missing or makes no sense.
    pub fn of(
        taken: &Taken,
        (user, now): (&UserContext, Timestamp),
        ours: Option<Currency>,
    ) -> Result<Self, Ask> {
        let schema = InputSchema::of(&schema()).unwrap_or_default();
        let ask = |field: &str, question: &str| (question.to_owned(), schema.of_fields(&[field]));
        let mut said: Said = taken.typed().map_err(|_| ask("place", ASK_PLACE))?;
        let zone: Option<Tz> = user.time_zone.as_deref().and_then(|zone| zone.parse().ok());
        let utc = DateTime::from_timestamp_millis(now.millis()).unwrap_or_default();
        let today = utc.with_timezone(&zone.unwrap_or(Tz::UTC)).date_naive();
        said.place = clean(&said.place, PLACE_MAX);
        // They are repeated where no place has them.
        said.wishes
            .iter_mut()
            .for_each(|wish| *wish = clean(&unlinked(wish), PLACE_MAX));
        if said.place.is_empty() {
            return Err(ask("place", ASK_PLACE));
        }
        let which = Namesakes::of(&said.place);
        let home = which.as_ref().and_then(|which| which.at_home(zone?));
        let country = match (&which, home) {
            (Some(which), None) => {
                let (question, choices) = which.question();
                let schema = one_of("place", &question, &choices).unwrap_or_default();
                return Err((question, schema));
            }
            (_, country) => country.map(str::to_owned),
        };
        let (first, last) = said
            .stay(today)
            .map_err(|(fields, question)| (question, schema.of_fields(fields)))?;
        let all = said.guests().saturating_add(said.children);
        if all.saturating_add(said.infants) > GUESTS_MAX {
            return Err(ask(
                "guests",
                &format!("For how many guests, from 1 to {GUESTS_MAX}?"),
            ));
        }
        let is_priced = said.min_price.or(said.max_price).is_some();
        let meant = |name: &str| {
            let code = Currency::from_code(&name.to_uppercase());
            code.map_or_else(|| currencies(name), |code| vec![code])
        };
        let told = said.currency.as_deref().filter(|_| is_priced).map(meant);
        let told = match (told, ours) {
            (Some(told), _) if told.is_empty() => {
                return Err(ask("currency", "currency must be a code such as EUR."));
            }
            (Some(told), Some(ours)) if !told.contains(&ours) => return Err(in_other_money(ours)),
            (Some(told), _) => told,
            (None, ours) => ours.into_iter().filter(|_| is_priced).collect(),
        };
        // Of a list of before nobody wants the same one of the next.
        if taken.recalled.iter().any(|name| name == "pick") {
            said.pick = None;
        }
        Ok(Self {
            said,
            country,
            first,
            last,
            currencies: told.iter().map(|currency| currency.code().to_owned()).collect(),
        })
    }

    /// Where, so that no other place can be meant: "Toledo, Spain".
    pub(crate) fn whole_place(&self) -> String {
        let country = self.country.as_ref();
        country.map_or_else(
            || self.said.place.clone(),
            |country| format!("{}, {country}", self.said.place),
        )
    }

    /// How many nights.
    #[must_use]
    pub fn nights(&self) -> i64 {
        (self.last - self.first).num_days()
    }

    /// The least price of the whole stay.
    #[must_use]
    pub fn least(&self) -> Option<i64> {
        self.said.min_price.map(|price| self.of_stay(price))
    }

    /// The highest price of the whole stay.
    #[must_use]
    pub fn most(&self) -> Option<i64> {
        self.said.max_price.map(|price| self.of_stay(price))
    }

    fn of_stay(&self, price: u32) -> i64 {
        i64::from(price) * if self.said.per == "stay" { 1 } else { self.nights() }
    }

    /// Whether prices may be meant in this currency, which nobody may know.
    pub(crate) fn is_price_for(&self, currency: Option<Currency>) -> bool {
        let code = currency.map_or("", |currency| currency.code());
        self.currencies.is_empty() || self.currencies.iter().any(|one| one == code)
    }
}

impl Said {
    /// How many adults.
    #[must_use]
    pub fn guests(&self) -> u32 {
        self.guests.unwrap_or(1)
    }

    /// The number of one of the list before, from 0.
    #[must_use]
    pub fn pick(&self) -> Option<usize> {
        let pick = self.pick.as_ref()?;
        PICKS.iter().position(|known| known == pick)
    }

    /// The first day and the day of departure; two of first day, day of departure and nights say the third.
    fn stay(&self, today: NaiveDate) -> Result<(NaiveDate, NaiveDate), (&'static [&'static str], String)> {
        let days: &[&str] = if self.nights.is_some() {
            &["from"]
        } else {
            &["from", "to"]
        };
        let nights = self.nights.map(|nights| Days::new(nights.into()));
        let first = self.from.or_else(|| self.to?.checked_sub_days(nights?));
        let Some(first) = first else {
            return Err(match self.to.is_some() || nights.is_some() {
                true => (&["from"], "From which day?".to_owned()),
                false => (days, FROM_WHEN.to_owned()),
            });
        };
        let last = self
            .to
            .or_else(|| first.checked_add_days(nights?))
            .unwrap_or(first);
        if self
            .nights
            .is_some_and(|nights| (last - first).num_days() != i64::from(nights))
        {
            let told = "nights is not how many there are from the first day to the last.";
            return Err((days, format!("{told} {FROM_WHEN}")));
        }
        let day = first.format("%-d %B %Y");
        match ((last - first).num_days(), (first - today).num_days()) {
            (_, ..=-1) => Err((days, format!("{day} is over. {FROM_WHEN}"))),
            (_, AHEAD_MAX..) => Err((days, format!("{day} is too far ahead. {FROM_WHEN}"))),
            (1..=NIGHTS_MAX, _) => Ok((first, last)),
            (..=0, _) => Err((&["to"], format!("The stay begins on {day}. Until which day?"))),
            (nights, _) => {
                let told = format!("That is {nights} nights; at most {NIGHTS_MAX} can be searched for.");
                Err((days, format!("{told} {FROM_WHEN}")))
            }
        }
    }
}

/// The question about a price in money of which the service knows nothing.
fn in_other_money(ours: Currency) -> Ask {
    let code = ours.code();
    let question =
        format!("Prices here are in {code}. How much may it be at most in {code}, or is there no limit?");
    let schema = json!({
        "type": "object",
        "properties": {
            "maxPrice": {"type": "integer", "minimum": 1, "maximum": PRICE_MAX, "description": "The highest price"},
            "currency": {"enum": [code]},
        },
        "required": ["maxPrice"],
    });
    (question, InputSchema::of(&schema).unwrap_or_default())
}

/// What of a question is one of several, each with what tells it.
fn one_of(field: &str, question: &str, choices: &[(String, String)]) -> Option<InputSchema> {
    let choices = choices
        .iter()
        .map(|(value, told)| json!({"const": value, "description": told}));
    let choices: Vec<Value> = choices.collect();
    let asked = json!({"type": "string", "oneOf": choices, "description": question});
    InputSchema::of(&json!({"type": "object", "properties": {field: asked}, "required": [field]}))
}

#[cfg(test)]
mod tests;
