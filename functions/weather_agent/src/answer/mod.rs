//! What the forecast says to the question: sentences for people, the same as data for programs.

mod dates;
mod numbers;
mod verdict;

use chrono::NaiveDate;
use outbound::open_meteo::{Day, Forecast, Place};
use serde_json::{Value, json};
use words::listed;

use crate::atlas;
use crate::question::{MAX_PLACES, Question, Want};
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
    /// No day that was asked for exists: 30 February.
    pub(crate) nonsense: bool,
}

/// Asks for the place.
pub(crate) fn ask_place() -> String {
    "Which place do you want the weather for? For example: “Oslo tomorrow”, or “Paris and Rome this weekend”."
        .into()
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
                guessed,
            } if !guessed || suggestion.is_some() => Some((asked.as_str(), suggestion.as_deref())),
            _ => None,
        })
        .collect();
    if unknown.is_empty() {
        return Some(ask_place());
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
    let shown = Shown(question.units.units());
    let mut lines: Vec<String> = places
        .iter()
        .flat_map(|place| place_lines(question, place, shown))
        .collect();
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
    (lines.join("\n"), data)
}

fn place_lines(question: &Question, place: &Answered, shown: Shown) -> Vec<String> {
    let mut lines = Vec::new();
    match place.days.as_slice() {
        [] => {}
        [day] => lines.push(one_day(question, place, day, shown)),
        days => {
            lines.push(several_days(question, place, days, shown));
            lines.extend(days.iter().map(|day| {
                let date = dates::long(day.date);
                format!("- {date}: {}", summary(day, shown, &[]))
            }));
        }
    }
    lines.extend(notes(place));
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
        sentences.push(format!("{}{detail}.", headed(question.yes_no, level, &clause)));
    }
    if sentences.is_empty() {
        return format!("{name} {when}: {}.", summary(day, shown, &[]));
    }
    let rest = summary(day, shown, &wants);
    if !rest.is_empty() {
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
                dates::several(&all)
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
        let when = dates::several(&same);
        sentences.push(format!(
            "{}.",
            headed(
                question.yes_no,
                level,
                &format!("{}{at} {when}", clause.unwrap_or_default())
            )
        ));
    }
    if sentences.is_empty() {
        return format!("{name} {}:", dates::several(&all));
    }
    sentences.join(" ")
}

fn headed(yes_no: bool, level: Level, clause: &str) -> String {
    match (yes_no, level) {
        (true, Level::Yes) => format!("Yes, {clause}"),
        (true, Level::Maybe) => format!("Perhaps: {clause}"),
        (true, Level::No) => format!("No, {clause}"),
        (false, _) => capitalized(clause),
    }
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
    let degrees = untold(&[Want::Temperature, Want::Cold, Want::Warm])
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

fn notes(place: &Answered) -> Vec<String> {
    let name = &place.wanted.place.name;
    let mut notes = Vec::new();
    if place.nonsense {
        notes.push("That day is in no calendar.".into());
    }
    let (past, ahead): (Vec<NaiveDate>, Vec<NaiveDate>) =
        place.outside.iter().partition(|date| **date < place.today);
    if !past.is_empty() {
        notes.push(format!(
            "I have forecasts only, not the weather of the past ({}).",
            dates::several(&past)
        ));
    }
    if !ahead.is_empty() {
        notes.push(format!(
            "I cannot tell yet about {name} {}: forecasts reach {HORIZON} days, to {}.",
            dates::several(&ahead),
            dates::long(place.horizon)
        ));
    }
    if !place.unknown.is_empty() {
        notes.push(format!(
            "The weather service has no data for {name} {}.",
            dates::several(&place.unknown)
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
        "sunshineHours": day.sunshine_hours.map(|hours| (hours * 10.0).round() / 10.0),
    })
}

#[cfg(test)]
mod tests;
