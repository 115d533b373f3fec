//! What weather is called in other languages.

use words::{Glossary, Language};

/// A language's words for the weather.
pub(super) fn topic(language: Language) -> Glossary {
    match language {
        Language::German => GERMAN,
        Language::Spanish => SPANISH,
        Language::French => FRENCH,
        Language::Norwegian => NORWEGIAN,
        Language::Swedish => SWEDISH,
        Language::Dutch => DUTCH,
        Language::Italian => ITALIAN,
        Language::Portuguese => PORTUGUESE,
        Language::Japanese => JAPANESE,
    }
}

#[rustfmt::skip]
const GERMAN: Glossary = &[
    ("wetter", "weather"), ("wettervorhersage", "forecast"), ("vorhersage", "forecast"), ("regnet", "rain"), ("regnen", "rain"), ("regen", "rain"),
    ("schneit", "snow"), ("schneien", "snow"), ("schnee", "snow"), ("trocken", "dry"), ("regenschirm", "umbrella"), ("schirm", "umbrella"),
    ("jacke", "jacket"), ("mantel", "coat"), ("sonne", "sun"), ("sonnig", "sunny"), ("scheint", ""), ("wind", "wind"), ("windig", "windy"),
    ("sturm", "storm"), ("gewitter", "thunderstorm"), ("warm", "warm"), ("heiß", "hot"), ("kalt", "cold"), ("frost", "frost"), ("grad", "degrees"),
    ("temperatur", "temperature"), ("nebel", "fog"), ("bewölkt", "cloudy"), ("wärmer", "warmer"), ("kälter", "colder"),
];

#[rustfmt::skip]
const SPANISH: Glossary = &[
    ("tiempo", "weather"), ("clima", "weather"), ("pronóstico", "forecast"), ("llover", "rain"), ("lloverá", "will it rain"), ("llueve", "does it rain"),
    ("lluvia", "rain"), ("nevar", "snow"), ("nevará", "will it snow"), ("nieva", "snow"), ("nieve", "snow"), ("paraguas", "umbrella"), ("abrigo", "coat"),
    ("chaqueta", "jacket"), ("sol", "sun"), ("soleado", "sunny"), ("viento", "wind"), ("tormenta", "storm"), ("calor", "hot"), ("frío", "cold"),
    ("grados", "degrees"), ("temperatura", "temperature"), ("niebla", "fog"), ("nublado", "cloudy"), ("seco", "dry"),
];

#[rustfmt::skip]
const FRENCH: Glossary = &[
    ("temps", "weather"), ("météo", "weather"), ("prévisions", "forecast"), ("pleuvoir", "rain"), ("pleuvra", "rain"), ("pleut", "rain"),
    ("pluie", "rain"), ("neiger", "snow"), ("neigera", "snow"), ("neige", "snow"), ("parapluie", "umbrella"), ("manteau", "coat"), ("veste", "jacket"),
    ("soleil", "sun"), ("ensoleillé", "sunny"), ("vent", "wind"), ("orage", "thunderstorm"), ("tempête", "storm"), ("chaud", "hot"), ("froid", "cold"),
    ("degrés", "degrees"), ("température", "temperature"), ("brouillard", "fog"), ("nuageux", "cloudy"), ("sec", "dry"),
];

#[rustfmt::skip]
const NORWEGIAN: Glossary = &[
    ("været", "weather"), ("vær", "weather"), ("værmelding", "forecast"), ("værmeldingen", "forecast"), ("regn", "rain"), ("regner", "rain"), ("regne", "rain"),
    ("snø", "snow"), ("snør", "snow"), ("tørt", "dry"), ("paraply", "umbrella"), ("jakke", "jacket"), ("frakk", "coat"), ("sol", "sun"), ("vind", "wind"),
    ("storm", "storm"), ("varmt", "warm"), ("kaldt", "cold"), ("frost", "frost"), ("grader", "degrees"), ("temperatur", "temperature"),
    ("temperaturen", "temperature"), ("tåke", "fog"), ("skyet", "cloudy"),
];

#[rustfmt::skip]
const SWEDISH: Glossary = &[
    ("vädret", "weather"), ("väder", "weather"), ("prognos", "forecast"), ("prognosen", "forecast"), ("regn", "rain"), ("regna", "rain"), ("regnar", "rain"), ("snö", "snow"),
    ("snöa", "snow"), ("snöar", "snow"), ("torrt", "dry"), ("paraply", "umbrella"), ("jacka", "jacket"), ("sol", "sun"), ("soligt", "sunny"), ("vind", "wind"), ("blåsigt", "windy"),
    ("storm", "storm"), ("varmt", "warm"), ("varmare", "warmer"), ("kallt", "cold"), ("kallare", "colder"), ("frost", "frost"), ("grader", "degrees"), ("temperatur", "temperature"),
    ("dimma", "fog"), ("molnigt", "cloudy"),
];

#[rustfmt::skip]
const DUTCH: Glossary = &[
    ("weer", "weather"), ("weerbericht", "forecast"), ("voorspelling", "forecast"), ("regen", "rain"), ("regenen", "rain"), ("regent", "rain"), ("sneeuw", "snow"), ("sneeuwen", "snow"),
    ("sneeuwt", "snow"), ("droog", "dry"), ("paraplu", "umbrella"), ("jas", "coat"), ("zon", "sun"), ("zonnig", "sunny"), ("wind", "wind"), ("waait", "wind"), ("waaien", "wind"),
    ("storm", "storm"), ("onweer", "thunderstorm"), ("warm", "warm"), ("warmer", "warmer"), ("heet", "hot"), ("koud", "cold"), ("kouder", "colder"), ("vriezen", "freeze"),
    ("graden", "degrees"), ("temperatuur", "temperature"), ("mist", "fog"), ("bewolkt", "cloudy"),
];

#[rustfmt::skip]
const ITALIAN: Glossary = &[
    ("tempo", "weather"), ("meteo", "weather"), ("previsioni", "forecast"), ("piovere", "rain"), ("pioverà", "will it rain"), ("piove", "rain"), ("pioggia", "rain"),
    ("nevicare", "snow"), ("nevicherà", "will it snow"), ("neve", "snow"), ("asciutto", "dry"), ("ombrello", "umbrella"), ("cappotto", "coat"), ("giacca", "jacket"), ("sole", "sun"),
    ("soleggiato", "sunny"), ("vento", "wind"), ("temporale", "thunderstorm"), ("caldo", "warm"), ("freddo", "cold"), ("gradi", "degrees"), ("temperatura", "temperature"),
    ("nebbia", "fog"), ("nuvoloso", "cloudy"),
];

#[rustfmt::skip]
const PORTUGUESE: Glossary = &[
    ("tempo", "weather"), ("clima", "weather"), ("previsão", "forecast"), ("chover", "rain"), ("choverá", "will it rain"), ("chove", "rain"), ("chuva", "rain"), ("nevar", "snow"),
    ("neva", "snow"), ("neve", "snow"), ("seco", "dry"), ("guarda chuva", "umbrella"), ("casaco", "coat"), ("sol", "sun"), ("ensolarado", "sunny"), ("vento", "wind"),
    ("tempestade", "storm"), ("trovoada", "thunderstorm"), ("calor", "hot"), ("quente", "warm"), ("frio", "cold"), ("graus", "degrees"), ("temperatura", "temperature"),
    ("nevoeiro", "fog"), ("nublado", "cloudy"),
];

#[rustfmt::skip]
const JAPANESE: Glossary = &[
    ("天気予報", "forecast"), ("天気", "weather"), ("雨", "rain"), ("雪", "snow"), ("晴れ", "sunny"), ("傘", "umbrella"), ("風", "wind"),
    ("気温", "temperature"), ("暑い", "hot"), ("寒い", "cold"), ("台風", "storm"), ("曇り", "cloudy"),
];
