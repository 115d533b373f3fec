//! What a message asks for: places, days, units, and which weather. Pure; it knows no calendar day and no map, only
//! words. Reading never fails: what is not understood is left out.
//!
//! ```
//! use weather_agent::question::{Question, Want};
//! use words::When;
//!
//! let question = Question::read("Will it rain in Oslo and Bergen tomorrow?", None);
//! let places: Vec<&str> = question.places.iter().map(|place| place.text.as_str()).collect();
//! assert_eq!(places, ["Oslo", "Bergen"]);
//! assert_eq!(question.days, [When::In(1)]);
//! assert_eq!(question.wants, [Want::Rain]);
//! ```

mod limits;
mod units;
mod wants;

use std::sync::LazyLock;

use domain::READ_MAX;

pub use limits::BeyondForecast;
pub use units::Asked as AskedUnits;
pub use wants::{Compare, Want};
use words::{DateOrder, Days, Glossary, Named, When, days, places, related, text};

/// What weather is called in other languages.
static ABROAD: LazyLock<Glossary> = LazyLock::new(|| Glossary::of(include_str!("abroad.txt")));

/// Most places of one question.
pub const MAX_PLACES: usize = 8;

/// What a message asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// The places as they are written, in order; at most [`MAX_PLACES`].
    pub places: Vec<Named>,
    /// There were more places than are taken.
    pub more_places: bool,
    /// The days; none where no day is named.
    pub days: Vec<When>,
    /// The days of each place, where places have days of their own: "Oslo tomorrow and Bergen on Sunday".
    pub own_days: Vec<Vec<When>>,
    /// It is about the coming night or evening.
    pub tonight: bool,
    /// The units that are asked for.
    pub units: AskedUnits,
    /// The weather that is asked for; none for weather in general.
    pub wants: Vec<Want>,
    /// It wants a yes or a no.
    pub yes_no: bool,
    /// It wants nothing but the yes or the no.
    pub terse: bool,
    /// It asks which place has more of something.
    pub compare: Option<Compare>,
    /// It speaks of the weather as a whole.
    pub general: bool,
    /// It speaks of a forecast, so of more than one day.
    pub outlook: bool,
    /// What it asks for that no daily forecast has.
    pub limits: BeyondForecast,
}

impl Question {
    /// Reads a message; `order` is how its writer writes dates in numbers.
    #[must_use]
    pub fn read(said: &str, order: Option<DateOrder>) -> Self {
        let english = |word: &str| places::is_common(word) || wants::is_weather(word);
        let glossed = ABROAD.in_english(said, english);
        let mut words = text::split(glossed.as_deref().unwrap_or(said), READ_MAX);
        text::mark_topic(&mut words, wants::is_weather);
        let units = units::take(&mut words);
        let mut time = days::take(&mut words, order);
        related::count_on(&mut words, &mut time);
        related::up_to(&mut words, &mut time);
        let said = |any: &[&str]| words.iter().any(|word| any.contains(&word.lower.as_str()));
        let is_over = said(&["was", "were", "did"]);
        if is_over || said(&["will"]) {
            let dates = time.days.iter_mut();
            dates
                .chain(time.mentions.iter_mut().map(|(_, when)| when))
                .for_each(if is_over { put_back } else { put_ahead });
        }
        let mut places = places::find(&words);
        let more_places = places.len() > MAX_PLACES;
        places.truncate(MAX_PLACES);
        let (wants, compare) = (wants::find(&words), wants::compare(&words));
        Self {
            own_days: own_days(&places, &time),
            more_places,
            tonight: time.tonight,
            units,
            // "Is it warmer in Oslo or in Bergen?" wants a name.
            yes_no: wants::is_yes_no(&words) && (compare.is_none() || said(&["than"])),
            terse: said(&["yes"]) && said(&["no"]),
            compare,
            general: said(&["weather", "forecast", "forecasts", "outlook"]),
            outlook: said(&["forecast", "forecasts", "outlook"]),
            limits: limits::find(&words, &places, &time, wants.is_empty()),
            days: time.days,
            places,
            wants,
        }
    }
}

/// A day without a year that somebody speaks of as over.
fn put_back(when: &mut When) {
    if matches!(
        when,
        When::Date { year: None, .. } | When::Month(_) | When::Weekday { .. } | When::DayOfMonth(_)
    ) {
        *when = When::Past(Box::new(when.clone()));
    }
}

/// A date without a year that somebody speaks of as to come.
fn put_ahead(when: &mut When) {
    match when {
        When::Date { year: None, .. } => *when = When::Ahead(Box::new(when.clone())),
        When::Span(first, _) => put_ahead(first),
        _ => {}
    }
}

/// The days of each place, where places and days take turns: "Oslo tomorrow and Bergen on Sunday", "tomorrow in Oslo, on
/// Sunday in Bergen". None where the days are meant for all places.
fn own_days(places: &[Named], time: &Days) -> Vec<Vec<When>> {
    let mut order: Vec<(usize, Option<&When>)> = places.iter().map(|place| (place.at, None)).collect();
    order.extend(time.mentions.iter().map(|(at, when)| (*at, Some(when))));
    order.sort_by_key(|(at, _)| *at);
    let turns = order
        .chunk_by(|(_, one), (_, other)| one.is_some() == other.is_some())
        .collect::<Vec<_>>();
    if turns.len() < 4 || turns.len() % 2 == 1 {
        return Vec::new();
    }
    let pairs = turns.chunks(2).map(|pair| pair.concat());
    pairs
        .flat_map(|pair| {
            let days: Vec<When> = pair.iter().filter_map(|(_, when)| when.cloned()).collect();
            std::iter::repeat_n(days.clone(), pair.len() - days.len())
        })
        .collect()
}

#[cfg(test)]
mod tests;
