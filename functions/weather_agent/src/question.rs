//! What is asked for, as data: places, days, units, and which weather.

use agent::Taken;
use nlu::{Named, Takes};
use outbound::open_meteo::{PrecipitationUnit, TemperatureUnit, Units, WindSpeedUnit};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use words::When;

/// Most places of one question.
pub(crate) const MAX_PLACES: usize = 8;
/// Most days, or runs of days, of one question.
const DAYS_MAX: usize = 16;
/// Most characters of a place's name.
const PLACE_MAX: usize = 80;
/// Most kinds of weather of one question; who names more wants to know everything.
const MAX_WANTS: usize = 3;
/// Most pieces of a question that are repeated as not understood.
const REPEATED: usize = 3;
/// What is called so is told by no daily forecast.
const UNTOLD: [&str; 6] = ["humidity", "air pressure", "fog", "hail", "floods", "warnings"];

/// The question for the place.
pub(crate) const ASK_PLACE: &str = "Which place do you want the weather for? For example: “Oslo tomorrow”, or “Paris and Rome this weekend”.";

/// The choices of the fields, and what each is told by: words, and `phrases` alone. A manner is something beside the weather that
/// is asked for; all but a comparison are said to be not had.
const CHOICES: &str = include_str!("choices.txt");

/// What the agent takes as data, as its card says it.
pub(crate) fn schema() -> Value {
    described(|_| "")
}

/// The same; a choice is described by what it is told by.
fn described(told: fn(&'static str) -> &'static str) -> Value {
    let one_of = |field: &str| {
        let lines = CHOICES
            .lines()
            .filter_map(|line| line.strip_prefix(field)?.strip_prefix(": "));
        let choices = lines.filter_map(|line| {
            let (name, words) = line.split_once(':')?;
            Some(json!({"const": name, "description": told(words.trim())}))
        });
        json!({"type": "array", "items": {"oneOf": choices.collect::<Vec<_>>()}})
    };
    let places = json!({
        "type": "array", "items": {"type": "string", "format": "place", "minLength": 1, "maxLength": PLACE_MAX},
        "description": ASK_PLACE,
    });
    let days = json!({"type": "array", "maxItems": DAYS_MAX, "items": {"type": "string", "format": "day"}});
    let (part_places, part_days) = (json!({"type": "array"}), json!({"type": "array"}));
    json!({
        "type": "object",
        "properties": {
            "places": places,
            "days": days,
            "parts": {"type": "array", "items": {
                "type": "object", "properties": {"places": part_places, "days": part_days},
            }},
            "which": {"type": "array", "items": {"type": "string", "format": "answer"}, "description": "Of several places"},
            "time": {"type": "string", "format": "time"},
            "weather": one_of("weather"),
            "units": one_of("units"),
            "manner": one_of("manner"),
            "yesOrNo": {"enum": ["yes", "no", "only"], "format": "yes-no"},
        },
        "required": ["places"],
        "additionalProperties": false,
    })
}

/// The same, as it is read from words.
pub(crate) fn takes() -> Takes {
    Takes::new(&described(|words| words), &[]).abroad(include_str!("abroad.txt"))
}

/// Which weather a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Want {
    /// Whether it rains.
    Rain,
    /// Whether it stays dry.
    Dry,
    /// Whether an umbrella is needed.
    Umbrella,
    /// Whether it snows.
    Snow,
    /// How windy it is.
    Wind,
    /// Whether there is a storm.
    Storm,
    /// Whether the sun shines.
    Sun,
    /// Whether it is cold.
    Cold,
    /// Whether a jacket is needed.
    Jacket,
    /// Whether it is warm.
    Warm,
    /// Whether it freezes.
    Frost,
    /// How warm it is.
    Temperature,
    /// How strong the sun's UV is, and whether sunscreen is needed.
    Uv,
    /// When the sun rises.
    Sunrise,
    /// When it sets.
    Sunset,
}

/// What places are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Compare {
    /// The highest temperature.
    Warmer,
    /// The same, the other way round.
    Colder,
    /// How much falls.
    Wetter,
    /// The same, the other way round.
    Drier,
    /// The wind.
    Windier,
    /// The hours of sunshine.
    Sunnier,
}

/// What a question asks for that no daily forecast has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BeyondForecast {
    /// A time of the day, or a part of it, as it is written.
    pub(crate) time: Option<String>,
    /// It is about the hours, or about when something begins or ends.
    pub(crate) hours: bool,
    /// It is about this moment.
    pub(crate) now: bool,
    /// It is to be answered again and again.
    pub(crate) again: bool,
    /// Something is to be sent, or watched.
    pub(crate) watch: bool,
    /// Weather that daily forecasts do not tell of, as it is called.
    pub(crate) untold: Vec<String>,
    /// What could not be read at all.
    pub(crate) unread: Vec<String>,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Question {
    /// The places as they are written, in order; at most [`MAX_PLACES`].
    pub(crate) places: Vec<Named>,
    /// There were more places than are taken.
    pub(crate) more_places: bool,
    /// The days; none where no day is named.
    pub(crate) days: Vec<When>,
    /// The days of each place, where places have days of their own: "Oslo tomorrow and Bergen on Sunday".
    pub(crate) own_days: Vec<Vec<When>>,
    /// It is about the coming night or evening.
    pub(crate) tonight: bool,
    /// The units that are asked for.
    pub(crate) units: Units,
    /// The weather that is asked for; none for weather in general.
    pub(crate) wants: Vec<Want>,
    /// It wants a yes or a no.
    pub(crate) yes_no: bool,
    /// It wants nothing but the yes or the no.
    pub(crate) terse: bool,
    /// It asks which place has more of something.
    pub(crate) compare: Option<Compare>,
    /// It speaks of a forecast, so of more than one day.
    pub(crate) outlook: bool,
    /// What it asks for that no daily forecast has.
    pub(crate) limits: BeyondForecast,
}

impl Question {
    /// The question that the data asks.
    pub(crate) fn of(taken: &Taken) -> Self {
        let data = &taken.data;
        let is_said = |name: &str| !taken.recalled.iter().any(|recalled| recalled == name);
        let (weather, manner) = (texts(data, "weather"), texts(data, "manner"));
        let does = |what: &str| is_said("manner") && manner.contains(&what);
        let speaks = |of: &str| weather.contains(&of);
        let (wants, compare) = (wants(&weather), known(&weather).next());
        let mut places: Vec<Named> = Vec::new();
        let mut own_days: Vec<Vec<When>> = Vec::new();
        for part in data
            .get("parts")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
        {
            let (chain, days) = (named(texts(part, "places"), &taken.places), days(part));
            own_days.extend(chain.iter().map(|_| days.clone()));
            places.extend(chain);
        }
        if places.is_empty() {
            places = named(texts(data, "places"), &taken.places);
        }
        let more_places = places.len() > MAX_PLACES;
        places.truncate(MAX_PLACES);
        let time = data.get("time").and_then(Value::as_str);
        let untold: Vec<String> = UNTOLD
            .into_iter()
            .filter(|what| speaks(what))
            .map(str::to_owned)
            .collect();
        let general = speaks("weather") || speaks("outlook");
        let is_about = wants.is_empty() && untold.is_empty() && !general;
        let has_digit = |phrase: &String| phrase.contains(|letter: char| letter.is_ascii_digit());
        let unread = taken.unread.iter().filter(|phrase| is_about || has_digit(phrase));
        // When the sun rises is a matter of the day.
        let suns = wants
            .iter()
            .any(|want| matches!(want, Want::Sunrise | Want::Sunset));
        let yes_or_no = data.get("yesOrNo").and_then(Value::as_str);
        Self {
            more_places,
            own_days,
            days: days(data),
            tonight: time == Some("tonight"),
            units: units(texts(data, "units")),
            // "Is it warmer in Oslo or in Bergen?" wants a name.
            yes_no: matches!(yes_or_no, Some("yes" | "only")) && (compare.is_none() || does("than")),
            terse: yes_or_no == Some("only"),
            compare,
            outlook: speaks("outlook"),
            limits: BeyondForecast {
                time: time
                    .filter(|time| is_said("time") && !matches!(*time, "now" | "tonight"))
                    .map(str::to_owned),
                hours: does("hourly") && !suns,
                now: time == Some("now"),
                again: does("again"),
                watch: does("send"),
                unread: unread.take(REPEATED).cloned().collect(),
                untold,
            },
            places,
            wants,
        }
    }
}

/// What was said to questions back, with the places that it names.
pub(crate) fn replies(taken: &Taken) -> impl Iterator<Item = (&str, Vec<Named>)> {
    let replies = texts(&taken.data, "which").into_iter();
    replies.map(|reply| {
        let mut places = named(vec![reply], &taken.places);
        places.retain(|place| taken.places.iter().any(|said| said.text == place.text));
        (reply, places)
    })
}

fn texts<'d>(data: &'d Map<String, Value>, name: &str) -> Vec<&'d str> {
    let list = data.get(name).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

fn days(data: &Map<String, Value>) -> Vec<When> {
    texts(data, "days")
        .into_iter()
        .filter_map(When::of_data)
        .collect()
}

/// Those of the names that are this kind of thing's.
fn known<T: DeserializeOwned>(names: &[&str]) -> impl Iterator<Item = T> {
    names
        .iter()
        .filter_map(|name| serde_json::from_value(Value::from(*name)).ok())
}

fn wants(weather: &[&str]) -> Vec<Want> {
    let mut wants: Vec<Want> = Vec::new();
    for name in weather {
        let want = match *name {
            "warmer" | "colder" => Some(Want::Temperature),
            name => known(&[name]).next(),
        };
        wants.extend(want.filter(|want| !wants.contains(want)));
    }
    // "Do I need an umbrella, or will it stay dry" is one question.
    if wants.contains(&Want::Umbrella) {
        wants.retain(|want| !matches!(want, Want::Rain | Want::Dry));
    }
    if wants.len() > MAX_WANTS {
        wants.clear();
    }
    wants
}

/// The units of these names, metric where none is named.
fn units(names: Vec<&str>) -> Units {
    let mut units = Units::default();
    for name in names {
        match name {
            "celsius" | "metric" => units.temperature = TemperatureUnit::Celsius,
            "fahrenheit" | "imperial" => units.temperature = TemperatureUnit::Fahrenheit,
            _ => {}
        }
        match name {
            "kmh" | "metric" => units.wind_speed = WindSpeedUnit::Kmh,
            "mph" | "imperial" => units.wind_speed = WindSpeedUnit::Mph,
            "ms" => units.wind_speed = WindSpeedUnit::Ms,
            "knots" => units.wind_speed = WindSpeedUnit::Kn,
            _ => {}
        }
        match name {
            "mm" | "metric" => units.precipitation = PrecipitationUnit::Mm,
            "inches" | "imperial" => units.precipitation = PrecipitationUnit::Inch,
            _ => {}
        }
    }
    units
}

/// Each place, with what says where that is behind a comma; how surely it is one stands in what was `said`.
fn named(names: Vec<&str>, said: &[Named]) -> Vec<Named> {
    let parts = names.into_iter().flat_map(|name| {
        let parts = name.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.enumerate()
    });
    let surely = |text: &str| said.iter().rev().find(|place| place.text == text);
    let place = |(at, text): (usize, &str)| {
        let known = surely(text);
        Named {
            text: text.to_owned(),
            chained: at > 0,
            guessed: known.is_some_and(|known| known.guessed),
            loose: known.is_some_and(|known| known.loose),
            at: 0,
            words: text.split_whitespace().count(),
        }
    };
    parts.map(place).take(MAX_PLACES + 1).collect()
}

#[cfg(test)]
pub(crate) mod tests;
