//! What calendars are called in other languages: the few words that say which kind of question it is.

use words::{Glossary, Language};

/// A language's words for being free, and for what stands in a calendar.
pub(super) fn topic(language: Language) -> Glossary {
    match language {
        Language::German => GERMAN,
        Language::Spanish => SPANISH,
        Language::French => FRENCH,
        Language::Norwegian => NORWEGIAN,
        Language::Swedish | Language::Dutch | Language::Italian | Language::Portuguese => &[],
        Language::Japanese => JAPANESE,
    }
}

#[rustfmt::skip]
const GERMAN: Glossary = &[
    ("frei", "free"), ("verfügbar", "free"), ("beschäftigt", "busy"), ("belegt", "busy"), ("zeit", "free"), ("kalender", "calendar"),
    ("termin", "appointment"), ("termine", "appointments"), ("besprechung", "meeting"), ("vor", "plans"), ("stunde", "hour"), ("eine stunde", "an hour"),
];

#[rustfmt::skip]
const SPANISH: Glossary = &[
    ("libre", "free"), ("disponible", "free"), ("ocupado", "busy"), ("ocupada", "busy"), ("calendario", "calendar"), ("agenda", "calendar"),
    ("cita", "appointment"), ("citas", "appointments"), ("reunión", "meeting"), ("reuniones", "meetings"), ("planes", "plans"), ("una hora", "an hour"),
];

#[rustfmt::skip]
const FRENCH: Glossary = &[
    ("libre", "free"), ("disponible", "free"), ("occupé", "busy"), ("occupée", "busy"), ("agenda", "calendar"), ("calendrier", "calendar"),
    ("rendez vous", "appointments"), ("réunion", "meeting"), ("réunions", "meetings"), ("prévu", "plans"), ("une heure", "an hour"),
];

#[rustfmt::skip]
const NORWEGIAN: Glossary = &[
    ("ledig", "free"), ("opptatt", "busy"), ("tid", "free"), ("kalenderen", "calendar"), ("kalender", "calendar"), ("avtale", "appointment"),
    ("avtaler", "appointments"), ("møte", "meeting"), ("møter", "meetings"), ("planer", "plans"), ("en time", "an hour"),
];

#[rustfmt::skip]
const JAPANESE: Glossary = &[
    ("空いて", "free"), ("空き時間", "slot"), ("暇", "free"), ("時間あり", "free"), ("予定", "plans"), ("予約", "appointment"), ("会議", "meeting"),
    ("打ち合わせ", "meeting"), ("カレンダー", "calendar"),
];
