//! `GET /v1/forecast`: daily forecasts, sixteen days ahead.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use chrono::{DateTime, Days, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeDelta, TimeZone, Utc};
use chrono_tz::{OffsetName, Tz};
use domain::Clock;
use serde_json::{Map, Value, json};

use super::weather::{self, Weather};
use super::{Refusal, gazetteer};

/// How far back a range of dates may begin.
const PAST: u64 = 92;
/// How far ahead it may end, counted in UTC; the clocks that are ahead of UTC so have their sixteen days.
const AHEAD: u64 = 16;

type Parameters = HashMap<String, String>;

/// Answers a forecast as the service does.
pub(super) async fn forecast(
    State(clock): State<Arc<dyn Clock>>,
    Query(query): Query<Parameters>,
) -> Result<Json<Value>, Refusal> {
    let latitude: f64 = number(&query, "latitude")?;
    let longitude: f64 = number(&query, "longitude")?;
    if !(-90.0..=90.0).contains(&latitude) {
        return Err(Refusal::new(format!(
            "Latitude must be in range of -90 to 90°. Given: {latitude:?}."
        )));
    }
    if !(-180.0..=180.0).contains(&longitude) {
        return Err(Refusal::new(format!(
            "Longitude must be in range of -180 to 180°. Given: {longitude:?}."
        )));
    }
    let units = Units::read(&query)?;
    let columns = columns(&query)?;
    let zone = match query.get("timezone").map(String::as_str) {
        None => Tz::GMT,
        Some("auto") => gazetteer::zone_of(latitude, longitude),
        Some(name) => name.parse().map_err(|_| Refusal::new("Invalid timezone"))?,
    };
    let now: DateTime<Utc> = DateTime::from_timestamp_millis(clock.now().millis()).unwrap_or_default();
    let local = now.with_timezone(&zone);
    let (first, last) = range(&query, local.date_naive(), now.date_naive())?;

    let elevation = gazetteer::elevation_of(latitude, longitude);
    let mut answer = json!({
        // The real service answers for the nearest point of its grid.
        "latitude": (latitude * 50.0).round() / 50.0,
        "longitude": (longitude * 50.0).round() / 50.0,
        "generationtime_ms": 0.1,
        "utc_offset_seconds": local.offset().fix().local_minus_utc(),
        "timezone": zone.name(),
        "timezone_abbreviation": local.offset().abbreviation().unwrap_or(zone.name()),
        "elevation": elevation,
        "sandbox": true,
    });
    if let (Value::Object(answer), false) = (&mut answer, columns.is_empty()) {
        let dates: Vec<NaiveDate> = first.iter_days().take_while(|date| *date <= last).collect();
        let days: Vec<Weather> = dates
            .iter()
            .map(|date| weather::weather(latitude, longitude, elevation, *date))
            .collect();
        let mut names = Map::from_iter([("time".to_owned(), json!("iso8601"))]);
        let mut daily = Map::from_iter([("time".to_owned(), json!(dates))]);
        for column in columns {
            names.insert(column.name().into(), column.unit(units).into());
            daily.insert(
                column.name().into(),
                days.iter()
                    .zip(&dates)
                    .map(|(day, date)| column.value(day, Noon::of(longitude, zone, *date), units))
                    .collect(),
            );
        }
        answer.insert("daily_units".into(), names.into());
        answer.insert("daily".into(), daily.into());
    }
    Ok(Json(answer))
}

/// When the sun stands highest, by a place's clocks.
#[derive(Clone, Copy)]
struct Noon(NaiveDateTime);

impl Noon {
    fn of(longitude: f64, zone: Tz, date: NaiveDate) -> Self {
        let midday = date.and_time(NaiveTime::MIN) + TimeDelta::hours(12);
        let ahead = zone.offset_from_utc_datetime(&midday).fix().local_minus_utc();
        // The earth turns a degree in four minutes.
        Self(midday - TimeDelta::seconds((longitude * 240.0) as i64) + TimeDelta::seconds(i64::from(ahead)))
    }

    fn rises(self, daylight: f64) -> String {
        self.moment(-daylight / 2.0, daylight)
    }

    fn sets(self, daylight: f64) -> String {
        self.moment(daylight / 2.0, daylight)
    }

    /// Where the sun neither rises nor sets, both are midnight.
    fn moment(self, seconds: f64, daylight: f64) -> String {
        let moment = match daylight {
            0.0 | 86_400.0.. => self.0.date().and_time(NaiveTime::MIN),
            _ => self.0 + TimeDelta::seconds(seconds as i64),
        };
        moment.format("%Y-%m-%dT%H:%M").to_string()
    }
}

fn number<T: FromStr>(query: &Parameters, name: &str) -> Result<T, Refusal> {
    let text = query.get(name).ok_or_else(|| Refusal::missing(name))?;
    text.trim()
        .parse()
        .map_err(|_| Refusal::new(format!("Value of type 'Float' required for key '{name}'.")))
}

/// The range of days asked for: dates, or a number of days around today.
fn range(
    query: &Parameters,
    today: NaiveDate,
    utc_today: NaiveDate,
) -> Result<(NaiveDate, NaiveDate), Refusal> {
    let date = |name: &str| match query.get(name) {
        None => Ok(None),
        Some(text) => NaiveDate::parse_from_str(text, "%Y-%m-%d")
            .map(Some)
            .map_err(|_| Refusal::new("Invalid date format. Make sure to use 'YYYY-MM-DD'")),
    };
    match (date("start_date")?, date("end_date")?) {
        (Some(first), Some(last)) => {
            for name in ["forecast_days", "past_days"] {
                if query.contains_key(name) {
                    let reason =
                        format!("Parameter '{name}' is mutually exclusive with 'start_date' and 'end_date'");
                    return Err(Refusal::new(reason));
                }
            }
            if last < first {
                return Err(Refusal::new("End-date must be larger or equals than start-date"));
            }
            let (earliest, latest) = (utc_today - Days::new(PAST), utc_today + Days::new(AHEAD));
            for (name, date) in [("start_date", first), ("end_date", last)] {
                if date < earliest || date > latest {
                    let reason =
                        format!("Parameter '{name}' is out of allowed range from {earliest} to {latest}");
                    return Err(Refusal::new(reason));
                }
            }
            Ok((first, last))
        }
        (None, None) => {
            let ahead = days(query, "forecast_days", "Forecast days", 7, AHEAD)?;
            let past = days(query, "past_days", "Past days", 0, PAST)?;
            // No days at all would end the range before it begins.
            Ok((today - Days::new(past), today + Days::new(ahead) - Days::new(1)))
        }
        _ => Err(Refusal::new(
            "Both 'start_date' and 'end_date' must be set in the url",
        )),
    }
}

fn days(query: &Parameters, name: &str, called: &str, default: u64, most: u64) -> Result<u64, Refusal> {
    match query.get(name) {
        None => Ok(default),
        Some(text) => match text.parse::<u64>() {
            Ok(days) if days <= most => Ok(days),
            _ => Err(Refusal::new(format!(
                "{called} is invalid. Allowed range 0 to {most}. Given {text}."
            ))),
        },
    }
}

#[derive(Clone, Copy)]
struct Units {
    temperature: &'static str,
    wind: &'static str,
    precipitation: &'static str,
}

impl Units {
    fn read(query: &Parameters) -> Result<Self, Refusal> {
        let pick = |name: &str, kind: &str, known: &[(&str, &'static str)]| match query.get(name) {
            None => Ok(known.first().map_or("", |(_, unit)| unit)),
            Some(text) => known
                .iter()
                .find(|(word, _)| word == text)
                .map(|(_, unit)| *unit)
                .ok_or_else(|| {
                    Refusal::new(format!(
                        "Cannot initialize {kind} from invalid String value {text} for key {name}"
                    ))
                }),
        };
        Ok(Self {
            temperature: pick(
                "temperature_unit",
                "TemperatureUnit",
                &[("celsius", "°C"), ("fahrenheit", "°F")],
            )?,
            wind: pick(
                "wind_speed_unit",
                "WindspeedUnit",
                &[("kmh", "km/h"), ("ms", "m/s"), ("mph", "mp/h"), ("kn", "kn")],
            )?,
            precipitation: pick(
                "precipitation_unit",
                "PrecipitationUnit",
                &[("mm", "mm"), ("inch", "inch")],
            )?,
        })
    }

    fn temperature(self, celsius: f64) -> f64 {
        if self.temperature == "°F" {
            rounded(celsius * 1.8 + 32.0, 10.0)
        } else {
            celsius
        }
    }

    fn wind(self, kmh: f64) -> f64 {
        let factor = match self.wind {
            "m/s" => 1.0 / 3.6,
            "mp/h" => 1.0 / 1.609_344,
            "kn" => 1.0 / 1.852,
            _ => 1.0,
        };
        rounded(kmh * factor, 10.0)
    }

    fn inches(self, value: f64, per_inch: f64) -> f64 {
        if self.precipitation == "inch" {
            rounded(value / per_inch, 1000.0)
        } else {
            value
        }
    }
}

fn rounded(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}

/// A daily variable that the sandbox has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Code,
    Max,
    Min,
    Precipitation,
    Probability,
    Snowfall,
    Wind,
    Gusts,
    Direction,
    Sunshine,
    Uv,
    Sunrise,
    Sunset,
}

const COLUMNS: [(Column, &str); 13] = [
    (Column::Code, "weather_code"),
    (Column::Max, "temperature_2m_max"),
    (Column::Min, "temperature_2m_min"),
    (Column::Precipitation, "precipitation_sum"),
    (Column::Probability, "precipitation_probability_max"),
    (Column::Snowfall, "snowfall_sum"),
    (Column::Wind, "wind_speed_10m_max"),
    (Column::Gusts, "wind_gusts_10m_max"),
    (Column::Direction, "wind_direction_10m_dominant"),
    (Column::Sunshine, "sunshine_duration"),
    (Column::Uv, "uv_index_max"),
    (Column::Sunrise, "sunrise"),
    (Column::Sunset, "sunset"),
];

fn columns(query: &Parameters) -> Result<Vec<Column>, Refusal> {
    let names = query.get("daily").map(String::as_str).unwrap_or_default();
    names
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| {
            let known = COLUMNS
                .iter()
                .find(|(_, known)| *known == name)
                .map(|(column, _)| *column);
            known.ok_or_else(|| {
                let reason = format!(
                    "Cannot initialize ForecastVariableDaily from invalid String value {name} for key daily"
                );
                Refusal::new(reason)
            })
        })
        .collect()
}

impl Column {
    fn name(self) -> &'static str {
        COLUMNS
            .iter()
            .find(|(column, _)| *column == self)
            .map_or("", |(_, name)| name)
    }

    fn unit(self, units: Units) -> &'static str {
        match self {
            Self::Code => "wmo code",
            Self::Max | Self::Min => units.temperature,
            Self::Precipitation => units.precipitation,
            Self::Probability => "%",
            Self::Snowfall if units.precipitation == "inch" => "inch",
            Self::Snowfall => "cm",
            Self::Wind | Self::Gusts => units.wind,
            Self::Direction => "°",
            Self::Sunshine => "s",
            Self::Uv => "",
            Self::Sunrise | Self::Sunset => "iso8601",
        }
    }

    fn value(self, day: &Weather, noon: Noon, units: Units) -> Value {
        match self {
            Self::Code => json!(day.code),
            Self::Max => json!(units.temperature(day.temperature_max)),
            Self::Min => json!(units.temperature(day.temperature_min)),
            Self::Precipitation => json!(units.inches(day.precipitation, 25.4)),
            Self::Probability => json!(day.probability as i64),
            Self::Snowfall => json!(units.inches(day.snowfall, 2.54)),
            Self::Wind => json!(units.wind(day.wind)),
            Self::Gusts => json!(units.wind(day.gusts)),
            Self::Direction => json!(day.wind_direction as i64),
            Self::Sunshine => json!(day.sunshine),
            Self::Uv => json!(day.uv_index),
            Self::Sunrise => json!(noon.rises(day.daylight)),
            Self::Sunset => json!(noon.sets(day.daylight)),
        }
    }
}
