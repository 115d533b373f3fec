//! What a question comes to before any forecast: the places that are wanted, and how far forecasts reach.

use outbound::open_meteo::Place;
use words::When;

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
    /// It was told from its namesakes: "Paris, Texas".
    pub(crate) told_apart: bool,
    /// Days of its own; none where it shares those of the question.
    pub(crate) days: Vec<When>,
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
        /// Days of its own.
        days: Vec<When>,
    },
    /// No place has the name.
    Unknown {
        /// As it was asked for.
        asked: String,
        /// A place with a similar name.
        suggestion: Option<Box<Place>>,
        /// It may be no name at all.
        guessed: bool,
        /// Days of its own.
        days: Vec<When>,
    },
}
