//! Verbs of deeds, as people of other languages say them.

/// "Cancel", "stop", "call off": the forms in which people ask for it in German, Spanish, French, Norwegian, Dutch and Italian.
#[rustfmt::skip]
pub const CANCELS_ABROAD: &[&str] = &[
    "storniere", "stoppe", "stopp", "beende", "brich", "cancela", "detén", "annule", "annulez", "arrête", "arrêtez", "avbryt",
    "stans", "annuleer", "annulla", "ferma",
];
