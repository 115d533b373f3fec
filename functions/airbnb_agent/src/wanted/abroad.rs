//! What rooms and those who stay in them are called in other languages.

use words::{Glossary, Language};

/// A language's words for guests and rooms, and its numbers of them.
pub(super) fn topic(language: Language) -> Glossary {
    match language {
        Language::German => GERMAN,
        Language::Spanish => SPANISH,
        Language::French => FRENCH,
        Language::Norwegian => NORWEGIAN,
        Language::Swedish | Language::Dutch | Language::Italian | Language::Portuguese => &[],
        Language::Japanese => &[],
    }
}

#[rustfmt::skip]
const GERMAN: Glossary = &[
    ("zimmer", "room"), ("wohnung", "flat"), ("unterkunft", "accommodation"), ("vom", "from"), ("zwei", "two"), ("drei", "three"),
    ("vier", "four"), ("erwachsene", "adults"), ("erwachsener", "adult"), ("kind", "child"), ("kinder", "children"),
    ("personen", "people"), ("nacht", "night"), ("nächte", "nights"),
];

#[rustfmt::skip]
const SPANISH: Glossary = &[
    ("apartamento", "flat"), ("piso", "flat"), ("habitación", "room"), ("alojamiento", "accommodation"), ("dos", "two"), ("tres", "three"),
    ("cuatro", "four"), ("adultos", "adults"), ("adulto", "adult"), ("niño", "child"), ("niña", "child"), ("niños", "children"),
    ("personas", "people"), ("noche", "night"), ("noches", "nights"),
];

#[rustfmt::skip]
const FRENCH: Glossary = &[
    ("appartement", "flat"), ("chambre", "room"), ("logement", "accommodation"), ("deux", "two"), ("trois", "three"), ("quatre", "four"),
    ("adultes", "adults"), ("adulte", "adult"), ("enfant", "child"), ("enfants", "children"), ("personnes", "people"),
    ("nuit", "night"), ("nuits", "nights"),
];

#[rustfmt::skip]
const NORWEGIAN: Glossary = &[
    ("leilighet", "flat"), ("rom", "room"), ("overnatting", "accommodation"), ("tre", "three"), ("fire", "four"), ("voksne", "adults"),
    ("voksen", "adult"), ("barn", "children"), ("personer", "people"), ("natt", "night"), ("netter", "nights"),
];
