//! What a sentence says of a stay, as data: from when to when, for whom, and between which prices.

use chrono::NaiveDate;
use serde_json::{Map, Value, json};
use words::people::{self, HOW_MANY, Party};
use words::price::{self, Price};
use words::text::Word;
use words::{Days, days, stay};

use super::takes::{Slot, Takes};

/// What is read before days are.
pub(super) struct Stay {
    ask: Option<&'static str>,
    price: Option<Price>,
    nights: Option<u32>,
}

impl Stay {
    /// Takes a price and a number of nights out of the words of what was said.
    pub(super) fn take(said: &str, words: &mut [Word]) -> Self {
        Self {
            ask: people::unsure(said, words),
            price: price::take(words),
            nights: people::take_nights(words),
        }
    }

    /// Takes out who comes; all that is said as data, and a field of which it is not clear what is meant, with what to ask. What a
    /// field was before, and is no more by what is said, is `null`.
    pub(super) fn data(
        self,
        takes: &Takes,
        (words, time): (&mut [Word], &Days),
        (before, today): (&Map<String, Value>, NaiveDate),
    ) -> (Map<String, Value>, Option<(String, String)>) {
        let named = |part: &str| takes.named(|slot| matches!(slot, Slot::Stay(own) if *own == part));
        let told = |part: &str| before.get(named(part)?).filter(|value| !value.is_null());
        let day = |part: &str| told(part)?.as_str()?.parse::<NaiveDate>().ok();
        let known = day("arrival").filter(|_| day("departure").is_none() && told("nights").is_none());
        let stay = stay::read(words, time, self.nights, (known, today));
        let party = people::take(words);
        let is_unsaid = party == Party::default() && people::take_unsaid(words);
        let of = if self.ask == Some(HOW_MANY) {
            "adults"
        } else {
            "nights"
        };
        let unclear = (self.ask.map(|ask| (of, ask.to_owned())))
            .or_else(|| {
                Some((
                    "arrival",
                    stay.clone()
                        .err()
                        .or_else(|| days::misnamed(&time.named, today))?,
                ))
            })
            .or_else(|| is_unsaid.then(|| ("adults", HOW_MANY.to_owned())));
        let unclear = unclear.and_then(|(part, ask)| Some((named(part)?.to_owned(), ask)));
        let stay = stay.unwrap_or_default();
        let mut said = vec![
            ("arrival", json!(stay.first)),
            ("adults", json!(party.adults)),
            ("children", json!(party.children)),
            ("infants", json!(party.infants)),
        ];
        said.retain(|(_, value)| !value.is_null());
        if stay.last.is_some() || stay.nights.is_some() {
            said.extend([("departure", json!(stay.last)), ("nights", json!(stay.nights))]);
        }
        if let Some(price) = &self.price {
            said.extend([
                ("price-least", json!(price.least)),
                ("price-most", json!(price.most)),
                ("price-per", json!(if price.is_whole { "stay" } else { "night" })),
                ("price-currency", json!(price.currency)),
            ]);
        }
        let said = said.into_iter();
        (
            said.filter_map(|(part, value)| Some((named(part)?.to_owned(), value)))
                .collect(),
            unclear,
        )
    }
}
