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

mod data;
mod namesakes;
mod people;
mod price;
mod stay;
mod unread;

use std::sync::LazyLock;

use chrono::{DateTime, NaiveDate};
use chrono_tz::Tz;
use domain::{Message, READ_MAX, Timestamp, UserContext, clean};
use serde::{Deserialize, Serialize};
use words::{Currency, DateOrder, Glossary, Named, When, days, places, text};

pub(crate) use data::schema;
use namesakes::Namesakes;
use people::Party;

/// What rooms and those who stay in them are called in other languages.
static ABROAD: LazyLock<Glossary> = LazyLock::new(|| Glossary::of(include_str!("wanted/abroad.txt")));

/// Most characters of a place's name.
const PLACE_MAX: usize = 80;
/// Most guests and nights of a search.
const GUESTS_MAX: u32 = 16;
const NIGHTS_MAX: i64 = 30;

/// What an accommodation is asked about, so that it is no part of a place's name.
const TOPIC: &str = "flat flats apartment apartments room rooms house houses home homes studio hotel hotels hostel cabin villa \
    single airbnb accommodation lodging place stay bed beds cottage ryokan care price starting arriving leaving checkout";

fn is_topic(lower: &str) -> bool {
    TOPIC.split(' ').any(|topic| topic == lower)
}

const NOT_ALL_READ: &str =
    "I cannot read all of that. From which day to which, for how many guests, and up to which price?";

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Where, as it was said.
    pub place: String,
    /// The country, where that alone tells the place from others of its name.
    #[serde(default)]
    country: Option<String>,
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
    /// The codes of the currencies that it may be in.
    #[serde(default)]
    pub currencies: Vec<String>,
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
    /// Where, so that no other place can be meant: "Toledo, Spain".
    pub(crate) fn whole_place(&self) -> String {
        let country = self.country.as_ref();
        country.map_or_else(
            || self.place.clone(),
            |country| format!("{}, {country}", self.place),
        )
    }

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

    /// Whether the highest price may be meant in this currency, which nobody may know.
    pub(crate) fn is_price_for(&self, currency: Option<Currency>) -> bool {
        let code = currency.map_or("", |currency| currency.code());
        self.currencies.is_empty() || self.currencies.iter().any(|one| one == code)
    }
}

/// What was said so far; anything may be missing.
#[derive(Debug, Clone, PartialEq, Default)]
struct Said {
    places: Vec<String>,
    days: Vec<When>,
    nights: Option<u32>,
    party: Party,
    price: Option<Price>,
    /// Those that the price may be in; none where that was not said.
    currencies: Vec<Currency>,
    /// What cannot be read.
    wrong: Option<String>,
    /// Something of the words is left over.
    unread: bool,
}

impl Said {
    /// What was said later counts; a single day behind a single day is the day of departure.
    fn then(self, later: Self) -> Self {
        let is_departure = |first: &When, last: &When| {
            self.nights.or(later.nights).is_none() && first.is_one() && last.is_one()
        };
        let days = match (self.days.as_slice(), later.days.as_slice()) {
            ([first], [last]) if is_departure(first, last) => vec![first.clone(), last.clone()],
            (days, []) | (_, days) => days.to_vec(),
        };
        let nights = later.nights.or(self.nights.filter(|_| later.days.len() < 2));
        Self {
            days,
            nights,
            wrong: later.wrong.clone(),
            unread: later.unread,
            ..later.over(self)
        }
    }

    /// The same with what `words` say of what the data leaves open.
    fn or(self, words: Self) -> Self {
        let dated = !self.days.is_empty();
        let nights = self.nights.or(words.nights.filter(|_| self.days.len() < 2));
        let wrong = self.wrong.clone().or(words.wrong.clone().filter(|_| !dated));
        Self {
            nights,
            wrong,
            ..self.over(words)
        }
    }

    /// The same with what `other` says of what is open.
    fn over(self, other: Self) -> Self {
        let is_told = self.price.is_some() || !self.currencies.is_empty();
        Self {
            places: one_or(self.places, other.places),
            days: one_or(self.days, other.days),
            currencies: if is_told {
                self.currencies
            } else {
                other.currencies
            },
            nights: self.nights.or(other.nights),
            party: Party {
                adults: self.party.adults.or(other.party.adults),
                children: self.party.children.or(other.party.children),
            },
            price: self.price.or(other.price),
            wrong: self.wrong.or(other.wrong),
            unread: self.unread || other.unread,
        }
    }
}

/// How messages are read: whose today it is, how dates are written there, and which currency the prices are in.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    today: NaiveDate,
    zone: Option<Tz>,
    order: Option<DateOrder>,
    currency: Option<Currency>,
}

impl Reading {
    /// As this user says things, now.
    #[must_use]
    pub fn of(user: &UserContext, now: Timestamp) -> Self {
        let zone: Option<Tz> = user.time_zone.as_deref().and_then(|zone| zone.parse().ok());
        let now = DateTime::from_timestamp_millis(now.millis()).unwrap_or_default();
        Self {
            today: now.with_timezone(&zone.unwrap_or(Tz::UTC)).date_naive(),
            zone,
            order: user.locale.as_deref().and_then(DateOrder::of),
            currency: None,
        }
    }

    /// The same where prices are in this currency, so that another is asked about.
    #[must_use]
    pub fn priced_in(self, currency: Option<Currency>) -> Self {
        Self { currency, ..self }
    }

    /// What the messages of a user want, the oldest first.
    ///
    /// # Errors
    /// The question to ask, where something is missing or makes no sense.
    pub fn read(&self, said: &[&Message]) -> Result<Wanted, String> {
        let mut together = Said::default();
        for (index, message) in said.iter().enumerate() {
            let asked = self.wanted(together.clone()).err().unwrap_or_default();
            let is_priced = Some(&asked) == self.in_other_money(&together).as_ref();
            let (mut text, data) = (message.text_to_read(), data::read(message));
            // A number alone is what was asked for, "no" is no highest price.
            let alone = people::number_alone(&text);
            if is_priced && words::yes_or_no(&text) == Some(false) {
                together.price = None;
                text.clear();
            } else if is_priced {
                text = format!("at most {text}");
            }
            let mut words = match words::corrected(&text) {
                Some((before, instead)) => self.words(before, index > 0).then(self.words(instead, true)),
                None => self.words(&text, index > 0),
            };
            words.unread &= alone.is_none();
            let which = namesakes(&together).filter(|which| asked.starts_with(&which.question()));
            if let Some(which) = which {
                match which.picked(&text) {
                    Some(place) => words.places = vec![place],
                    // "The bigger one" is no place's name.
                    None => words.places.retain(|place| place.starts_with(char::is_uppercase)),
                }
            }
            match (alone, together.price) {
                (Some(_), _) if asked == people::HOW_MANY => {
                    words.party.adults = words.party.adults.or(alone)
                }
                (Some(most), Some(Price::Stay(_))) if is_priced => words.price = Some(Price::Stay(most)),
                _ => {}
            }
            together = together.then(data.or(words));
        }
        self.wanted(together)
    }

    /// What words say. In a `reply` a name is taken for a place that nothing speaks for but that it is asked for.
    fn words(&self, said: &str, reply: bool) -> Said {
        let known = |word: &str| places::is_common(word) || is_topic(word);
        let english = ABROAD.in_english(said, known);
        let said = price::spelled(english.as_deref().unwrap_or(said));
        let mut words = text::split(&said, READ_MAX);
        let unsure = people::unsure(&said, &words);
        text::mark_topic(&mut words, is_topic);
        let (price, currencies) = price::take(&mut words).unzip();
        let nights = people::take_nights(&mut words);
        let time = days::take(&mut words, self.order);
        let departs = stay::has_departure(&words, &time);
        let days = stay::days(&words, &time, nights, self.today);
        let party = people::take(&mut words);
        let unsaid = party == Party::default() && people::take_unsaid(&mut words);
        let mut named: Vec<String> = Vec::new();
        let found = places::find(&words);
        let unread = unread::is_any(&words, &found, &time.mentions);
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
            party,
            price,
            currencies: currencies.unwrap_or_default(),
            wrong: unsure
                .map(str::to_owned)
                .or_else(|| days::misnamed(&time.named, self.today))
                .or_else(|| unsaid.then(|| people::HOW_MANY.to_owned())),
            unread,
        }
    }

    /// The question about a price in money of which the service knows nothing.
    fn in_other_money(&self, said: &Said) -> Option<String> {
        let ours = self.currency.filter(|_| said.price.is_some())?;
        let is_other = !said.currencies.is_empty() && !said.currencies.contains(&ours);
        is_other.then(|| {
            let code = ours.code();
            format!("Prices here are in {code}. How much may it be at most in {code}, or is there no limit?")
        })
    }

    fn wanted(&self, said: Said) -> Result<Wanted, String> {
        if let Some(wrong) = said.wrong {
            return Err(wrong);
        }
        let which = namesakes(&said);
        let country = which.as_ref().and_then(|which| which.at_home(self.zone?));
        let place = match said.places.as_slice() {
            [] => Err("In which place are you looking for somewhere to stay?".to_owned()),
            [place] => match which {
                Some(which) if country.is_none() => Err(which.question()),
                _ => Ok(place.clone()),
            },
            several => Err(format!("One place at a time: {}?", words::listed(several, "or"))),
        };
        let stay = stay::read(&said.days, said.nights, self.today);
        let (place, (first, last)) = match (place, stay) {
            (Ok(place), Ok(stay)) => (place, stay),
            // Both at once, where nothing is known yet.
            (Err(where_to), Err(when)) => return Err(format!("{where_to} {when}")),
            (Err(question), Ok(_)) | (Ok(_), Err(question)) => return Err(question),
        };
        let guests = said.party.adults.unwrap_or(1);
        let children = said.party.children.unwrap_or(0);
        if guests == 0 || guests.saturating_add(children) > GUESTS_MAX {
            return Err(format!("For how many guests, from 1 to {GUESTS_MAX}?"));
        }
        if said.unread {
            return Err(NOT_ALL_READ.to_owned());
        }
        if let Some(question) = self.in_other_money(&said) {
            return Err(question);
        }
        let priced = said.price.is_some();
        let told = one_or(self.currency.into_iter().collect(), said.currencies);
        let told = told.iter().filter(|_| priced);
        Ok(Wanted {
            place,
            country: country.map(str::to_owned),
            first,
            last,
            guests,
            children,
            currencies: told.map(|currency| currency.code().to_owned()).collect(),
            price: said.price,
        })
    }
}

/// What was said, or what was said before where that is nothing.
fn one_or<T>(own: Vec<T>, other: Vec<T>) -> Vec<T> {
    if own.is_empty() { other } else { own }
}

/// The places of the name that was said, where several bear it.
fn namesakes(said: &Said) -> Option<Namesakes> {
    match said.places.as_slice() {
        [place] => Namesakes::of(place),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
