//! Open-Meteo: places by name (geocoding API) and daily forecasts (forecast API). Both are open and keyless.
//!
//! The wire types are tolerant: fields that are absent, null or new are no fault. What a name means when several
//! places have it, and which day "tomorrow" is, are not decided here.

mod fold;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use http::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{CallError, Outbound, below};

pub use fold::fold;

/// The most results that one search may ask for.
pub const MAX_RESULTS: u8 = 100;

/// What a forecast tells of each day, in the API's words.
const DAILY: &str = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,\
precipitation_probability_max,snowfall_sum,wind_speed_10m_max,wind_gusts_10m_max,wind_direction_10m_dominant,\
sunshine_duration,uv_index_max,sunrise,sunset";

/// Where the two APIs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bases {
    /// In front of `/v1/search`.
    pub geocoding: Url,
    /// In front of `/v1/forecast`.
    pub forecast: Url,
}

impl Bases {
    /// Open-Meteo itself.
    ///
    /// # Errors
    /// Never, as long as the two constant texts are URLs.
    pub fn live() -> Result<Self, url::ParseError> {
        Ok(Self {
            geocoding: Url::parse("https://geocoding-api.open-meteo.com")?,
            forecast: Url::parse("https://api.open-meteo.com")?,
        })
    }

    /// Both APIs below one address, as the sandbox serves them.
    #[must_use]
    pub fn both(base: Url) -> Self {
        Self {
            geocoding: base.clone(),
            forecast: base,
        }
    }
}

/// The client of both APIs.
#[derive(Clone)]
pub struct OpenMeteo {
    outbound: Outbound,
    bases: Bases,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum OpenMeteoError {
    /// The service refused the question, in its own words; asking again does not help.
    #[error("Open-Meteo refused: {reason}")]
    Refused {
        /// The service's reason.
        reason: String,
    },
    /// The service could not be asked, or answered nonsense.
    #[error("Open-Meteo did not answer")]
    Call(#[source] CallError),
}

impl OpenMeteoError {
    /// True where the same question may be answered later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Refused { .. } => false,
            Self::Call(error) => error.is_retryable(),
        }
    }
}

/// One place that the geocoding API knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The place's GeoNames id.
    pub id: i64,
    /// Its name in the language asked for.
    pub name: String,
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// Metres above the sea.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elevation: Option<f64>,
    /// What it is, as GeoNames has it: `PPLC` a capital, `PPL` a town, `ADM1` a state, `PCLI` a country.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub feature_code: String,
    /// ISO 3166-1 alpha-2.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub country_code: String,
    /// The country's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub country: String,
    /// The first administrative level: a state, a region.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub admin1: String,
    /// The second administrative level: a county, a district.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub admin2: String,
    /// IANA name of its time zone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timezone: String,
    /// How many live there; 0 where unknown.
    #[serde(default)]
    pub population: u64,
}

/// What a search found, best first.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct PlacesFound {
    /// Absent on the wire when there is none.
    #[serde(default)]
    pub results: Vec<Place>,
    /// The answer is made up by a sandbox.
    #[serde(default)]
    pub sandbox: bool,
}

/// The unit of temperatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TemperatureUnit {
    /// °C
    #[default]
    Celsius,
    /// °F
    Fahrenheit,
}

/// The unit of wind speeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WindSpeedUnit {
    /// km/h
    #[default]
    Kmh,
    /// m/s
    Ms,
    /// mph
    Mph,
    /// Knots.
    Kn,
}

/// The unit of precipitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PrecipitationUnit {
    /// Millimetres; snow in centimetres.
    #[default]
    Mm,
    /// Inches, snow too.
    Inch,
}

/// The units of a forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Units {
    /// Of temperatures.
    pub temperature: TemperatureUnit,
    /// Of wind speeds.
    pub wind_speed: WindSpeedUnit,
    /// Of precipitation.
    pub precipitation: PrecipitationUnit,
}

/// A forecast to ask for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForecastQuery {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// The first day, by the place's own calendar.
    pub first: NaiveDate,
    /// The last day, by the place's own calendar.
    pub last: NaiveDate,
    /// The units.
    pub units: Units,
}

/// A forecast, day by day.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Forecast {
    /// What the place's clocks are ahead of UTC now.
    #[serde(default)]
    pub utc_offset_seconds: i32,
    /// IANA name of its time zone.
    #[serde(default)]
    pub timezone: String,
    /// The units of [`Forecast::daily`].
    #[serde(default)]
    pub daily_units: DailyUnits,
    /// The days, as parallel columns.
    pub daily: Daily,
    /// The answer is made up by a sandbox.
    #[serde(default)]
    pub sandbox: bool,
}

/// The units of a forecast as the service writes them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DailyUnits {
    /// `°C`, `°F`
    pub temperature_2m_max: String,
    /// `mm`, `inch`
    pub precipitation_sum: String,
    /// `cm`, `inch`
    pub snowfall_sum: String,
    /// `km/h`, `m/s`, `mp/h`, `kn`
    pub wind_speed_10m_max: String,
}

/// The days of a forecast, as parallel columns; `None` where the models do not reach.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Daily {
    /// The dates.
    pub time: Vec<NaiveDate>,
    /// WMO codes: the most severe weather of the day.
    pub weather_code: Vec<Option<f64>>,
    /// Highest temperatures.
    pub temperature_2m_max: Vec<Option<f64>>,
    /// Lowest temperatures.
    pub temperature_2m_min: Vec<Option<f64>>,
    /// Rain, showers and melted snow.
    pub precipitation_sum: Vec<Option<f64>>,
    /// Highest chance of precipitation, in per cent.
    pub precipitation_probability_max: Vec<Option<f64>>,
    /// Fresh snow.
    pub snowfall_sum: Vec<Option<f64>>,
    /// Strongest wind.
    pub wind_speed_10m_max: Vec<Option<f64>>,
    /// Strongest gusts.
    pub wind_gusts_10m_max: Vec<Option<f64>>,
    /// Where the wind comes from, in degrees.
    pub wind_direction_10m_dominant: Vec<Option<f64>>,
    /// Seconds of sunshine.
    pub sunshine_duration: Vec<Option<f64>>,
    /// Highest UV index.
    pub uv_index_max: Vec<Option<f64>>,
    /// When the sun rises, by the place's clocks: `2026-11-22T08:31`.
    pub sunrise: Vec<Option<String>>,
    /// When it sets.
    pub sunset: Vec<Option<String>>,
}

/// One day of a forecast, in the units that were asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Day {
    /// The date, by the place's own calendar.
    pub date: NaiveDate,
    /// WMO code: the most severe weather of the day.
    pub weather_code: Option<u8>,
    /// Highest temperature.
    pub temperature_max: Option<f64>,
    /// Lowest temperature.
    pub temperature_min: Option<f64>,
    /// Rain, showers and melted snow.
    pub precipitation: Option<f64>,
    /// Highest chance of precipitation, in per cent.
    pub precipitation_probability: Option<f64>,
    /// Fresh snow.
    pub snowfall: Option<f64>,
    /// Strongest wind.
    pub wind_speed: Option<f64>,
    /// Strongest gusts.
    pub wind_gusts: Option<f64>,
    /// Where the wind comes from, in degrees.
    pub wind_direction: Option<f64>,
    /// Hours of sunshine.
    pub sunshine_hours: Option<f64>,
    /// Highest UV index.
    pub uv_index: Option<f64>,
    /// When the sun rises and sets, by the place's clocks; `None` where it does not.
    pub sun: Option<(NaiveTime, NaiveTime)>,
}

impl Forecast {
    /// The columns as rows. Days of which nothing is known are left out.
    #[must_use]
    pub fn days(&self) -> Vec<Day> {
        let daily = &self.daily;
        let rows = daily.time.iter().enumerate().map(|(row, date)| {
            let at = |column: &[Option<f64>]| column.get(row).copied().flatten();
            Day {
                date: *date,
                weather_code: at(&daily.weather_code)
                    .filter(|code| (0.0..=99.0).contains(code))
                    .map(|code| code as u8),
                temperature_max: at(&daily.temperature_2m_max),
                temperature_min: at(&daily.temperature_2m_min),
                precipitation: at(&daily.precipitation_sum),
                precipitation_probability: at(&daily.precipitation_probability_max),
                snowfall: at(&daily.snowfall_sum),
                wind_speed: at(&daily.wind_speed_10m_max),
                wind_gusts: at(&daily.wind_gusts_10m_max),
                wind_direction: at(&daily.wind_direction_10m_dominant),
                sunshine_hours: at(&daily.sunshine_duration).map(|seconds| seconds / 3600.0),
                uv_index: at(&daily.uv_index_max),
                sun: time(*date, daily.sunrise.get(row))
                    .zip(time(*date, daily.sunset.get(row)))
                    .filter(|(rises, sets)| rises != sets),
            }
        });
        rows.filter(|day| day.weather_code.is_some() || day.temperature_max.is_some())
            .collect()
    }
}

/// The time of a column's moment, where that is on its day: beyond the polar circles the service writes others.
fn time(date: NaiveDate, moment: Option<&Option<String>>) -> Option<NaiveTime> {
    let moment = NaiveDateTime::parse_from_str(moment?.as_deref()?, "%Y-%m-%dT%H:%M").ok()?;
    (moment.date() == date).then(|| moment.time())
}

/// The service's words of refusal; any other answer has none of these fields.
#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    error: bool,
    #[serde(default)]
    reason: String,
}

impl OpenMeteo {
    /// A client over the guarded way out.
    #[must_use]
    pub fn new(outbound: Outbound, bases: Bases) -> Self {
        Self { outbound, bases }
    }

    /// Looks for places whose name begins with, or also is, `name`; best first. Two letters match whole names only,
    /// one letter nothing.
    ///
    /// # Errors
    /// [`OpenMeteoError`]. Finding nothing is no error.
    pub async fn search(&self, name: &str, count: u8) -> Result<PlacesFound, OpenMeteoError> {
        let mut url = below(&self.bases.geocoding, "v1/search");
        url.query_pairs_mut()
            .append_pair("name", name)
            .append_pair("count", &count.clamp(1, MAX_RESULTS).to_string())
            .append_pair("language", "en")
            .append_pair("format", "json");
        self.get(&url).await
    }

    /// The forecast for a range of days.
    ///
    /// # Errors
    /// [`OpenMeteoError::Refused`] for days that the service does not have, among others.
    pub async fn forecast(&self, query: &ForecastQuery) -> Result<Forecast, OpenMeteoError> {
        let mut url = below(&self.bases.forecast, "v1/forecast");
        url.query_pairs_mut()
            .append_pair("latitude", &query.latitude.to_string())
            .append_pair("longitude", &query.longitude.to_string())
            .append_pair("daily", DAILY)
            .append_pair("temperature_unit", &word(query.units.temperature))
            .append_pair("wind_speed_unit", &word(query.units.wind_speed))
            .append_pair("precipitation_unit", &word(query.units.precipitation))
            .append_pair("timezone", "auto")
            .append_pair("start_date", &query.first.to_string())
            .append_pair("end_date", &query.last.to_string());
        self.get(&url).await
    }

    async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, OpenMeteoError> {
        let (status, body) = self
            .outbound
            .request_json(Method::GET, url, None, None)
            .await
            .map_err(OpenMeteoError::Call)?;
        match Refusal::deserialize(&body) {
            // It says so whatever the status; without the words it is a fault of something in between.
            Ok(Refusal { error: true, reason }) if status < 500 && status != 429 => {
                Err(OpenMeteoError::Refused { reason })
            }
            _ if status != 200 => Err(OpenMeteoError::Call(CallError::Status(status))),
            // A list would pass for an object without fields.
            _ if !body.is_object() => Err(OpenMeteoError::Call(CallError::BadAnswer(
                "it is no JSON object".into(),
            ))),
            _ => T::deserialize(body)
                .map_err(|error| OpenMeteoError::Call(CallError::BadAnswer(error.to_string()))),
        }
    }
}

/// A unit as the API spells it.
fn word<T: Serialize>(unit: T) -> String {
    match serde_json::to_value(unit) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
