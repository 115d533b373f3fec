//! What a message asks for: places, days, units, and which weather. Pure; it knows no calendar day and no map, only
//! words. Reading never fails: what is not understood is left out.
//!
//! ```
//! use weather_agent::question::{Question, Want};
//! use words::When;
//!
//! let question = Question::read("Will it rain in Oslo and Bergen tomorrow?");
//! let places: Vec<&str> = question.places.iter().map(|place| place.text.as_str()).collect();
//! assert_eq!(places, ["Oslo", "Bergen"]);
//! assert_eq!(question.days, [When::In(1)]);
//! assert_eq!(question.wants, [Want::Rain]);
//! ```

mod units;
mod wants;

pub use units::Asked as AskedUnits;
pub use wants::Want;
use words::{Named, When, days, places, text};

/// Most characters of a message that are read.
const MAX_TEXT: usize = 2_000;

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
    /// It is about the coming night or evening.
    pub tonight: bool,
    /// The units that are asked for.
    pub units: AskedUnits,
    /// The weather that is asked for; none for weather in general.
    pub wants: Vec<Want>,
    /// It wants a yes or a no.
    pub yes_no: bool,
    /// It speaks of a forecast, so of more than one day.
    pub outlook: bool,
}

impl Question {
    /// Reads a message.
    #[must_use]
    pub fn read(said: &str) -> Self {
        let mut words = text::split(said, MAX_TEXT);
        text::mark_topic(&mut words, wants::is_weather);
        let (days, tonight) = days::take(&mut words);
        let units = units::take(&mut words);
        let mut places = places::find(&words);
        let more_places = places.len() > MAX_PLACES;
        places.truncate(MAX_PLACES);
        Self {
            places,
            more_places,
            days,
            tonight,
            units,
            wants: wants::find(&words),
            yes_no: wants::is_yes_no(&words),
            outlook: words
                .iter()
                .any(|word| matches!(word.lower.as_str(), "forecast" | "forecasts" | "outlook")),
        }
    }
}

#[cfg(test)]
mod tests;
