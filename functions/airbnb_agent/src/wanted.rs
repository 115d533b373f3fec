//! What somebody wants: a place, days, guests, a price. Data is read before words; what neither says is asked for.
//!
//! ```
//! use airbnb_agent::wanted::Reading;
//! use domain::{Message, MessageId, Part, Timestamp, UserContext};
//!
//! let now = Timestamp::from_millis(1_796_000_000_000); // a Monday, 30 November 2026
//! let said = Message::user(MessageId::derived("m"), vec![Part::text("A flat in Oslo for two, Friday to Sunday, under 120 a night")]);
//! let wanted = Reading::of(&UserContext::default(), now).read(&[&said]).unwrap();
//! assert_eq!((wanted.place.as_str(), wanted.guests), ("Oslo", 2));
//! assert_eq!((wanted.first.to_string().as_str(), wanted.nights()), ("2026-12-04", 2));
//! ```

mod abroad;
mod data;
mod people;
mod price;
mod stay;

use chrono::{DateTime, NaiveDate};
use chrono_tz::Tz;
use domain::{Message, Timestamp, UserContext, clean};
use serde::{Deserialize, Serialize};
use words::{DateOrder, Named, When, days, places, text};

pub(crate) use data::schema;

/// Most characters of a message that are read.
const TEXT_MAX: usize = 2_000;
/// Most characters of a place's name.
const PLACE_MAX: usize = 80;
/// Most guests and nights of a search.
const GUESTS_MAX: u32 = 16;
const NIGHTS_MAX: i64 = 30;

/// What an accommodation is asked about, so that it is no part of a place's name.
const TOPIC: [&str; 32] = [
    "flat",
    "flats",
    "apartment",
    "apartments",
    "room",
    "rooms",
    "house",
    "houses",
    "home",
    "homes",
    "studio",
    "hotel",
    "hotels",
    "hostel",
    "cabin",
    "villa",
    "single",
    "airbnb",
    "accommodation",
    "lodging",
    "place",
    "stay",
    "bed",
    "beds",
    "cottage",
    "ryokan",
    "care",
    "price",
    "starting",
    "arriving",
    "leaving",
    "checkout",
];

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Where, as it was said.
    pub place: String,
    /// The first day.
    pub first: NaiveDate,
    /// The day of departure.
    pub last: NaiveDate,
    /// How many adults.
    pub guests: u32,
    /// How many children.
    pub children: u32,
    /// The highest price.
    price: Option<Price>,
}

/// A highest price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Price {
    /// Of a night.
    Night(u32),
    /// Of the stay.
    Stay(u32),
}

impl Wanted {
    /// How many nights.
    #[must_use]
    pub fn nights(&self) -> i64 {
        (self.last - self.first).num_days()
    }

    /// The highest price of the whole stay.
    #[must_use]
    pub fn most(&self) -> Option<i64> {
        self.price.map(|price| match price {
            Price::Night(price) => i64::from(price) * self.nights(),
            Price::Stay(price) => i64::from(price),
        })
    }
}

/// What was said so far; anything may be missing.
#[derive(Debug, Clone, PartialEq, Default)]
struct Said {
    places: Vec<String>,
    days: Vec<When>,
    nights: Option<u32>,
    guests: Option<u32>,
    children: Option<u32>,
    price: Option<Price>,
    /// What of the data cannot be read.
    wrong: Option<String>,
}

impl Said {
    /// What was said later counts; a single day behind a single day is the day of departure.
    fn then(self, later: Self) -> Self {
        let days = match (self.days.as_slice(), later.days.as_slice()) {
            (days, []) => days.to_vec(),
            ([first], [last])
                if self.nights.or(later.nights).is_none() && stay::is_one(first) && stay::is_one(last) =>
            {
                vec![first.clone(), last.clone()]
            }
            (_, days) => days.to_vec(),
        };
        Self {
            places: if later.places.is_empty() {
                self.places
            } else {
                later.places
            },
            nights: later.nights.or(self.nights.filter(|_| later.days.len() < 2)),
            days,
            guests: later.guests.or(self.guests),
            children: later.children.or(self.children),
            price: later.price.or(self.price),
            wrong: later.wrong,
        }
    }

    /// The same with what `words` say of what the data leaves open.
    fn or(self, words: Self) -> Self {
        let dated = !self.days.is_empty();
        Self {
            places: if self.places.is_empty() {
                words.places
            } else {
                self.places
            },
            nights: self.nights.or(words.nights.filter(|_| self.days.len() < 2)),
            days: if dated { self.days } else { words.days },
            guests: self.guests.or(words.guests),
            children: self.children.or(words.children),
            price: self.price.or(words.price),
            wrong: self.wrong.or(words.wrong.filter(|_| !dated)),
        }
    }
}

/// How messages are read: whose today it is, and how dates are written there.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    today: NaiveDate,
    order: Option<DateOrder>,
}

impl Reading {
    /// As this user says things, now.
    #[must_use]
    pub fn of(user: &UserContext, now: Timestamp) -> Self {
        let zone: Tz = user
            .time_zone
            .as_deref()
            .and_then(|zone| zone.parse().ok())
            .unwrap_or(Tz::UTC);
        let now = DateTime::from_timestamp_millis(now.millis()).unwrap_or_default();
        Self {
            today: now.with_timezone(&zone).date_naive(),
            order: user.locale.as_deref().and_then(DateOrder::of),
        }
    }

    /// What the messages of a user want, the oldest first.
    ///
    /// # Errors
    /// The question to ask, where something is missing or makes no sense.
    pub fn read(&self, said: &[&Message]) -> Result<Wanted, String> {
        let mut together = Said::default();
        for (index, message) in said.iter().enumerate() {
            let text = message.text();
            let data = data::read(message);
            let words = match words::corrected(&text) {
                Some((before, instead)) => self.words(before, index > 0).then(self.words(instead, true)),
                None => self.words(&text, index > 0),
            };
            // A number alone is what was asked for.
            let alone = people::number_alone(&text).filter(|_| {
                self.wanted(together.clone())
                    .is_err_and(|asked| asked == people::HOW_MANY)
            });
            together = together.then(data.or(Said {
                guests: words.guests.or(alone),
                ..words
            }));
        }
        self.wanted(together)
    }

    /// What words say. In a `reply` a name is taken for a place that nothing speaks for but that it is asked for.
    fn words(&self, said: &str, reply: bool) -> Said {
        let said: String = said.chars().take(TEXT_MAX).collect();
        let known = |word: &str| places::is_common(word) || TOPIC.contains(&word);
        let said = words::in_english(&said, abroad::topic, known).unwrap_or(said);
        let said = price::spelled(&said);
        let mut words = text::split(&said, TEXT_MAX);
        let unsure = people::unsure(&said, &words);
        text::mark_topic(&mut words, |word| TOPIC.contains(&word));
        let price = price::take(&mut words);
        let nights = people::take_nights(&mut words);
        let time = days::take(&mut words, self.order);
        let departs = stay::has_departure(&words, &time);
        let days = stay::days(&words, &time, nights, self.today);
        let (guests, children) = people::take(&mut words);
        let unsaid = guests.is_none() && children.is_none() && people::take_unsaid(&mut words);
        let mut named: Vec<String> = Vec::new();
        let found = places::find(&words);
        // "Vilnius from Friday": who begins with a name means it.
        let is_meant = |place: &Named| reply || !place.guessed || place.at == 0;
        for place in found.into_iter().filter(is_meant) {
            match named.last_mut() {
                // "Paris, Texas", but not "Prague, arriving".
                Some(last) if place.chained && place.text.starts_with(char::is_uppercase) => {
                    *last = format!("{last}, {}", place.text);
                }
                Some(_) if place.chained => {}
                _ => named.push(place.text),
            }
        }
        Said {
            places: named.iter().map(|name| clean(name, PLACE_MAX)).collect(),
            // "Tonight and tomorrow night" are two.
            nights: nights.or((time.tonight && !departs).then(|| u32::try_from(days.len()).unwrap_or(1))),
            days,
            guests,
            children,
            price,
            wrong: unsure
                .map(str::to_owned)
                .or_else(|| {
                    let date = days::misnamed(&time.named, self.today)?;
                    let question = date.format("%-d %B %Y is a %A. Which day do you mean?");
                    Some(question.to_string())
                })
                .or_else(|| unsaid.then(|| people::HOW_MANY.to_owned())),
        }
    }

    fn wanted(&self, said: Said) -> Result<Wanted, String> {
        if let Some(wrong) = said.wrong {
            return Err(wrong);
        }
        let place = match said.places.as_slice() {
            [] => Err("In which place are you looking for somewhere to stay?".to_owned()),
            [place] => Ok(place.clone()),
            several => Err(format!("One place at a time: {}?", words::listed(several, "or"))),
        };
        let stay = stay::read(&said.days, said.nights, self.today);
        let (place, (first, last)) = match (place, stay) {
            (Ok(place), Ok(stay)) => (place, stay),
            // Both at once, where nothing is known yet.
            (Err(where_to), Err(when)) => return Err(format!("{where_to} {when}")),
            (Err(question), Ok(_)) | (Ok(_), Err(question)) => return Err(question),
        };
        let guests = said.guests.unwrap_or(1);
        let children = said.children.unwrap_or(0);
        if guests == 0 || guests.saturating_add(children) > GUESTS_MAX {
            return Err(format!("For how many guests, from 1 to {GUESTS_MAX}?"));
        }
        Ok(Wanted {
            place,
            first,
            last,
            guests,
            children,
            price: said.price,
        })
    }
}

#[cfg(test)]
mod tests;
