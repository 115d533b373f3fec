//! What a question comes to before any forecast: the places that are wanted, and how far forecasts reach.

use outbound::open_meteo::Place;

/// How many days ahead there are forecasts, today included.
pub(crate) const HORIZON: u64 = 16;

/// A place that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    /// As it was asked for.
    pub(crate) asked: String,
    /// The place.
    pub(crate) place: Place,
    /// Well-known namesakes.
    pub(crate) others: Vec<Place>,
}

/// What became of a name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Slot {
    /// A place.
    One(Box<Wanted>),
    /// Several could be meant.
    Which {
        /// As it was asked for.
        asked: String,
        /// The places to ask about.
        listed: Vec<Place>,
        /// Others of the name.
        more: Vec<Place>,
    },
    /// No place has the name.
    Unknown {
        /// As it was asked for.
        asked: String,
        /// A place with a similar name.
        suggestion: Option<Box<Place>>,
        /// It may be no name at all.
        guessed: bool,
    },
}
