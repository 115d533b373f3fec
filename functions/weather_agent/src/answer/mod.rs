//! What the forecast says to the question: sentences for people, the same as data for programs.

mod compare;
mod dates;
mod limits;
mod numbers;
mod verdict;

use std::cmp::Ordering;

use chrono::NaiveDate;
use outbound::open_meteo::{Day, Forecast, Place};
use serde_json::{Value, json};
use words::listed;

use crate::atlas;
use crate::question::{ASK_PLACE, MAX_PLACES, Question, Want};
use crate::wanted::{HORIZON, Slot, Wanted};
use crate::wmo;
use numbers::Shown;
use verdict::{Level, Verdict};

/// What there is to say of one place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answered {
    /// The place, and how it was asked for.
    pub(crate) wanted: Wanted,
    /// The forecast; `None` where no day lies within reach.
    pub(crate) forecast: Option<Forecast>,
    /// Today, by the place's own calendar.
    pub(crate) today: NaiveDate,
    /// The last day that a forecast reaches.
    pub(crate) horizon: NaiveDate,
    /// The days that were asked for.
    pub(crate) days: Vec<Day>,
    /// Days within reach that the service told nothing of.
    pub(crate) unknown: Vec<NaiveDate>,
    /// Days out of reach.
    pub(crate) outside: Vec<NaiveDate>,
    /// How the date there compares with the user's, where that is of interest.
    pub(crate) date_there: Ordering,
}

/// Asks back where a place is ambiguous, or none is known at all.
pub(crate) fn ask_back(slots: &[Slot]) -> Option<String> {
    let which = slots.iter().find_map(|slot| match slot {
        Slot::Which { asked, listed, .. } => Some((asked, listed)),
        _ => None,
    });
    if let Some((asked, listed)) = which {
        let lines = listed
            .iter()
            .enumerate()
            .map(|(index, place)| format!("{}. {}", index + 1, atlas::label(place)));
        let lines = lines.collect::<Vec<_>>().join("\n");
        return Some(format!(
            "Several places are called “{asked}”. Which one do you mean?\n{lines}"
        ));
    }
    if slots.iter().any(|slot| matches!(slot, Slot::One(_))) {
        return None;
    }
    let unknown: Vec<(&str, Option<&Place>)> = slots
        .iter()
        .filter_map(|slot| match slot {
            Slot::Unknown {
                asked,
                suggestion,
                guessed: false,
                ..
            } => Some((asked.as_str(), suggestion.as_deref())),
            _ => None,
        })
        .collect();
    if unknown.is_empty() {
        // What may be no name at all is not told to be none.
        let guess = slots.iter().find_map(|slot| match slot {
            Slot::Unknown { suggestion, .. } => suggestion.as_deref(),
            _ => None,
        });
        return Some(match guess {
            Some(place) => format!("Do you mean {}? {ASK_PLACE}", atlas::label(place)),
            None => ASK_PLACE.to_owned(),
        });
    }
    let sentences = unknown
        .into_iter()
        .map(|(asked, suggestion)| no_such_place(asked, suggestion));
    Some(format!(
        "{} Which place do you mean?",
        sentences.collect::<Vec<_>>().join(" ")
    ))
}

fn no_such_place(asked: &str, suggestion: Option<&Place>) -> String {
    match suggestion {
        Some(place) => format!(
            "I know no place called “{asked}”; did you mean {}?",
            atlas::label(place)
        ),
        None => format!("I know no place called “{asked}”."),
    }
}

/// The answer in words and as data.
pub(crate) fn compose(
    question: &Question,
    places: &[Answered],
    unknown: &[(String, Option<Place>)],
) -> (String, Value) {
    let shown = Shown(question.units);
    let mut question = question.clone();
    let limits = limits::sentences(&question.limits).join(" ");
    let mut lines = Vec::new();
    if let Some(compare) = question.compare
        && let Some(sentence) = compare::sentence(compare, question.yes_no, places, shown)
    {
        lines.push(sentence);
        question.wants.clear();
    }
    // A question gets its answer first; who asked for something that is not there hears that first.
    let answered = question.yes_no || !question.wants.is_empty() || !lines.is_empty();
    if !answered && !limits.is_empty() {
        lines.push(limits.clone());
    }
    lines.extend(
        places
            .iter()
            .flat_map(|place| place_lines(&question, place, shown)),
    );
    if answered && !limits.is_empty() {
        lines.push(limits);
    }
    lines.extend(
        unknown
            .iter()
            .map(|(asked, suggestion)| no_such_place(asked, suggestion.as_ref())),
    );
    if question.more_places {
        lines.push(format!(
            "I took only the first {MAX_PLACES} places of your question."
        ));
    }
    let sandbox = places
        .iter()
        .any(|place| place.forecast.as_ref().is_some_and(|forecast| forecast.sandbox));
    if sandbox {
        lines.push("(sandbox data)".into());
    }
    let data = json!({
        "source": "Open-Meteo",
        "sandbox": sandbox,
        "units": shown.units(),
        "places": places.iter().map(place_data).collect::<Vec<_>>(),
        "unknown": unknown.iter().map(|(asked, suggestion)| json!({
            "asked": asked, "suggestion": suggestion.as_ref().map(atlas::label),
        })).collect::<Vec<_>>(),
    });
    (words::in_lines(&lines), data)
}

fn place_lines(question: &Question, place: &Answered, shown: Shown) -> Vec<String> {
    let mut lines = Vec::new();
    match place.days.as_slice() {
        [] => {}
        [day] => lines.push(one_day(question, place, day, shown)),
        days if question.terse && !question.wants.is_empty() => {
            lines.push(several_days(question, place, days, shown));
        }
        days => {
            lines.push(several_days(question, place, days, shown));
            lines.extend(days.iter().map(|day| {
                let date = dates::long(day.date, place.today);
                format!("- {date}: {}", summary(day, shown, &[]))
            }));
        }
    }
    lines.extend(notes(question, place));
    lines
}

/// What the question wants to know; how cold or warm it gets is a matter of degrees unless it wants a yes or a no.
fn wants(question: &Question) -> Vec<Want> {
    let mut wants: Vec<Want> = Vec::new();
    for want in &question.wants {
        let want = match want {
            Want::Cold | Want::Warm if !question.yes_no => Want::Temperature,
            want => *want,
        };
        if !wants.contains(&want) {
            wants.push(want);
        }
    }
    wants
}

/// "Yes, rain is likely in Oslo tomorrow (Sunday 22 November): 80 % chance, about 4 mm. Light rain, 2 to 6 °C, …"
fn one_day(question: &Question, place: &Answered, day: &Day, shown: Shown) -> String {
    let when = dates::one(day.date, place.today, question.tonight);
    let name = &place.wanted.place.name;
    let mut sentences = Vec::new();
    let wants = wants(question);
    for (index, want) in wants.iter().enumerate() {
        let Verdict {
            level,
            clause,
            detail,
        } = verdict::of(*want, day, shown);
        let clause = if index == 0 {
            format!("{clause} in {name} {when}")
        } else {
            clause
        };
        let detail = if detail.is_empty() {
            String::new()
        } else {
            format!(": {detail}")
        };
        let head = headed(question.yes_no, *want, level, &clause);
        sentences.push(format!("{head}{detail}."));
    }
    if sentences.is_empty() {
        return format!("{name} {when}: {}.", summary(day, shown, &[]));
    }
    let rest = summary(day, shown, &wants);
    if !rest.is_empty() && !question.terse {
        sentences.push(format!("{}.", capitalized(&rest)));
    }
    sentences.join(" ")
}

/// "Yes, rain is likely in Oslo on Sunday 22 and Monday 23 November:"
fn several_days(question: &Question, place: &Answered, days: &[Day], shown: Shown) -> String {
    let name = &place.wanted.place.name;
    let all: Vec<NaiveDate> = days.iter().map(|day| day.date).collect();
    let mut sentences = Vec::new();
    for (index, want) in wants(question).into_iter().enumerate() {
        let verdicts: Vec<(NaiveDate, Verdict)> = days
            .iter()
            .map(|day| (day.date, verdict::of(want, day, shown)))
            .collect();
        let at = if index == 0 {
            format!(" in {name}")
        } else {
            String::new()
        };
        if want == Want::Temperature {
            sentences.push(capitalized(&format!(
                "{}{at} {}.",
                verdict::range(days, shown),
                dates::several(&all, place.today)
            )));
            continue;
        }
        if matches!(want, Want::Uv | Want::Sunrise | Want::Sunset) {
            let each = verdicts.iter().map(|(date, verdict)| {
                format!("{} {}", verdict.clause, dates::one(*date, place.today, false))
            });
            sentences.push(capitalized(&format!(
                "{}{at}.",
                listed(&each.collect::<Vec<_>>(), "and")
            )));
            continue;
        }
        let level = verdicts
            .iter()
            .map(|(_, verdict)| verdict.level)
            .max()
            .unwrap_or(Level::No);
        let same: Vec<NaiveDate> = verdicts
            .iter()
            .filter(|(_, verdict)| verdict.level == level)
            .map(|(date, _)| *date)
            .collect();
        // Of the days that decide, the one with most to say.
        let clause = verdicts
            .iter()
            .find(|(_, verdict)| verdict.level == level)
            .map(|(_, verdict)| verdict.clause.clone());
        let when = dates::several(&same, place.today);
        sentences.push(format!(
            "{}.",
            headed(
                question.yes_no,
                want,
                level,
                &format!("{}{at} {when}", clause.unwrap_or_default())
            )
        ));
    }
    if sentences.is_empty() {
        let overview = verdict::overview(days, shown);
        return format!("{name} {}: {overview}:", dates::several(&all, place.today));
    }
    sentences.join(" ")
}

/// A question that wants a yes or a no gets one first, as far as it goes.
fn headed(yes_no: bool, want: Want, level: Level, clause: &str) -> String {
    let head = match (level, want) {
        _ if !yes_no => return capitalized(clause),
        (Level::Unknown, _) => return capitalized(clause),
        (Level::Yes, _) => "Yes,",
        (Level::No, _) => "No,",
        (Level::Maybe, Want::Umbrella | Want::Jacket) => "Yes, to be safe:",
        (Level::Maybe, Want::Dry) => "Yes, probably, but",
        (Level::Maybe, Want::Sun) => "Yes, partly:",
        (Level::Maybe, Want::Rain | Want::Snow | Want::Storm | Want::Frost) => "No, probably not, but",
        (Level::Maybe, _) => "No, not really:",
    };
    format!("{head} {clause}")
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// "light rain, 2 to 6 °C, 80 % chance of rain (4 mm), wind up to 25 km/h from the south-west", without what was told.
fn summary(day: &Day, shown: Shown, told: &[Want]) -> String {
    let untold = |wants: &[Want]| !told.iter().any(|want| wants.contains(want));
    let sky = day.weather_code.and_then(wmo::words).map(str::to_owned);
    let degrees = untold(&[Want::Temperature, Want::Cold, Want::Jacket, Want::Warm])
        .then(|| shown.temperatures(day.temperature_min, day.temperature_max));
    let wet = untold(&[Want::Rain, Want::Dry, Want::Umbrella]).then(|| shown.wet(day));
    let wind = untold(&[Want::Wind]).then(|| shown.wind(day));
    let parts = [Some(sky), degrees, wet, wind];
    parts
        .into_iter()
        .flatten()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

fn notes(question: &Question, place: &Answered) -> Vec<String> {
    let name = &place.wanted.place.name;
    let mut notes = Vec::new();
    match place.date_there {
        Ordering::Equal => {}
        other => {
            let word = if other == Ordering::Greater {
                "already"
            } else {
                "still"
            };
            let date = dates::long(place.today, place.today);
            notes.push(format!("In {name} it is {word} {date}."));
        }
    }
    notes.extend(limits::week_ends(&question.days, place.today));
    let (past, ahead): (Vec<NaiveDate>, Vec<NaiveDate>) =
        place.outside.iter().partition(|date| **date < place.today);
    if !past.is_empty() {
        notes.push(format!(
            "I have forecasts only for {name}, not the weather of the past ({}).",
            dates::several(&past, place.today)
        ));
    }
    if !ahead.is_empty() {
        notes.push(format!(
            "I cannot tell yet about {name} {}: forecasts reach {HORIZON} days, to {}.",
            dates::several(&ahead, place.today),
            dates::long(place.horizon, place.today)
        ));
    }
    if !place.unknown.is_empty() {
        notes.push(format!(
            "The weather service has no data for {name} {}.",
            dates::several(&place.unknown, place.today)
        ));
    }
    let others: Vec<String> = place.wanted.others.iter().map(atlas::label).collect();
    if !others.is_empty() {
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let label = atlas::label(&place.wanted.place);
        notes.push(format!(
            "This is {label}; there is also {}.",
            listed(&others, "and")
        ));
    } else if place.wanted.told_apart {
        notes.push(format!("This is {}.", atlas::label(&place.wanted.place)));
    } else if atlas::is_part_of(&place.wanted.asked, &place.wanted.place) {
        notes.push(format!(
            "I took “{}” to be {}.",
            place.wanted.asked,
            atlas::label(&place.wanted.place)
        ));
    }
    if atlas::is_region(&place.wanted.place) {
        notes.push(format!("{name} is large: this is the weather at its centre."));
    }
    notes
}

fn place_data(place: &Answered) -> Value {
    let found = &place.wanted.place;
    json!({
        "asked": place.wanted.asked,
        "name": found.name,
        "admin1": found.admin1,
        "country": found.country,
        "countryCode": found.country_code,
        "latitude": found.latitude,
        "longitude": found.longitude,
        "timezone": place.forecast.as_ref().map(|forecast| forecast.timezone.as_str()),
        "today": place.today,
        "days": place.days.iter().map(day_data).collect::<Vec<_>>(),
        "outOfReach": place.outside,
        "alternatives": place.wanted.others.iter().map(atlas::label).collect::<Vec<_>>(),
    })
}

fn day_data(day: &Day) -> Value {
    json!({
        "date": day.date,
        "weatherCode": day.weather_code,
        "summary": day.weather_code.and_then(wmo::words),
        "temperatureMax": day.temperature_max,
        "temperatureMin": day.temperature_min,
        "precipitation": day.precipitation,
        "precipitationProbability": day.precipitation_probability,
        "snowfall": day.snowfall,
        "windSpeedMax": day.wind_speed,
        "windGustsMax": day.wind_gusts,
        "windDirection": day.wind_direction,
        "uvIndexMax": day.uv_index,
        "sunrise": day.sun.map(|(rises, _)| rises.format("%H:%M").to_string()),
        "sunset": day.sun.map(|(_, sets)| sets.format("%H:%M").to_string()),
        "sunshineHours": day.sunshine_hours.map(|hours| (hours * 10.0).round() / 10.0),
    })
}

#[cfg(test)]
mod tests;
