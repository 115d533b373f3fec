//! Numbers with their units.

use outbound::open_meteo::{Day, PrecipitationUnit, TemperatureUnit, Units, WindSpeedUnit};
use serde_json::{Value, json};

use crate::wmo;

/// Writes numbers in these units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown(pub(super) Units);

impl Shown {
    pub(super) fn units(self) -> Value {
        json!({
            "temperature": self.degrees(),
            "windSpeed": self.speed(),
            "precipitation": self.depth(),
            "snowfall": self.snow_depth(),
            "precipitationProbability": "%",
        })
    }

    fn degrees(self) -> &'static str {
        match self.0.temperature {
            TemperatureUnit::Celsius => "°C",
            TemperatureUnit::Fahrenheit => "°F",
        }
    }

    fn speed(self) -> &'static str {
        match self.0.wind_speed {
            WindSpeedUnit::Kmh => "km/h",
            WindSpeedUnit::Ms => "m/s",
            WindSpeedUnit::Mph => "mph",
            WindSpeedUnit::Kn => "knots",
        }
    }

    fn depth(self) -> &'static str {
        match self.0.precipitation {
            PrecipitationUnit::Mm => "mm",
            PrecipitationUnit::Inch => "inches",
        }
    }

    fn snow_depth(self) -> &'static str {
        match self.0.precipitation {
            PrecipitationUnit::Mm => "cm",
            PrecipitationUnit::Inch => "inches",
        }
    }

    /// In degrees Celsius, for the thresholds.
    pub(super) fn celsius(self, value: f64) -> f64 {
        match self.0.temperature {
            TemperatureUnit::Celsius => value,
            TemperatureUnit::Fahrenheit => (value - 32.0) / 1.8,
        }
    }

    /// In km/h, for the thresholds.
    pub(super) fn kmh(self, value: f64) -> f64 {
        match self.0.wind_speed {
            WindSpeedUnit::Kmh => value,
            WindSpeedUnit::Ms => value * 3.6,
            WindSpeedUnit::Mph => value * 1.609_344,
            WindSpeedUnit::Kn => value * 1.852,
        }
    }

    pub(super) fn temperature(self, value: f64) -> String {
        format!("{} {}", whole(value), self.degrees())
    }

    /// "2 to 6 °C"
    pub(super) fn temperatures(self, low: Option<f64>, high: Option<f64>) -> Option<String> {
        match (low, high) {
            (Some(low), Some(high)) if whole(low) != whole(high) => {
                Some(format!("{} to {}", whole(low), self.temperature(high)))
            }
            (low, high) => high.or(low).map(|value| self.temperature(value)),
        }
    }

    pub(super) fn precipitation(self, value: f64) -> String {
        format!("{} {}", self.amount(value), self.depth())
    }

    pub(super) fn snowfall(self, value: f64) -> String {
        format!("{} {}", self.amount(value), self.snow_depth())
    }

    fn amount(self, value: f64) -> String {
        match self.0.precipitation {
            PrecipitationUnit::Inch => format!("{value:.2}"),
            PrecipitationUnit::Mm if value < 10.0 => format!("{value:.1}"),
            PrecipitationUnit::Mm => whole(value),
        }
    }

    /// "80 % chance of rain (4.2 mm)"
    pub(super) fn wet(self, day: &Day) -> Option<String> {
        let what = if day.weather_code.is_some_and(wmo::is_snow) {
            "snow"
        } else {
            "rain"
        };
        let chance = day
            .precipitation_probability
            .map(|chance| format!("{} chance of {what}", percent(chance)));
        let amount = day
            .precipitation
            .filter(|amount| *amount > 0.0)
            .map(|_| match day.snowfall {
                Some(snowfall) if snowfall > 0.0 => self.snowfall(snowfall),
                _ => self.precipitation(day.precipitation.unwrap_or(0.0)),
            });
        match (chance, amount) {
            (Some(chance), Some(amount)) => Some(format!("{chance} ({amount})")),
            (Some(chance), None) => Some(chance),
            (None, Some(amount)) => Some(format!("{what} {amount}")),
            (None, None) => None,
        }
    }

    /// "wind up to 25 km/h from the south-west"
    pub(super) fn wind(self, day: &Day) -> Option<String> {
        let from = day
            .wind_direction
            .map(|degrees| format!(" from the {}", direction(degrees)))
            .unwrap_or_default();
        day.wind_speed
            .map(|speed| format!("wind up to {}{from}", self.wind_speed(speed)))
    }

    pub(super) fn wind_speed(self, value: f64) -> String {
        format!("{} {}", whole(value), self.speed())
    }
}

/// "80 %"
pub(super) fn percent(value: f64) -> String {
    format!("{} %", whole(value))
}

/// Without decimals, and without a minus in front of zero.
fn whole(value: f64) -> String {
    let rounded = value.round();
    format!("{:.0}", if rounded == 0.0 { 0.0 } else { rounded })
}

pub(super) fn direction(degrees: f64) -> &'static str {
    const NAMES: [&str; 8] = [
        "north",
        "north-east",
        "east",
        "south-east",
        "south",
        "south-west",
        "west",
        "north-west",
    ];
    let sector = (degrees.rem_euclid(360.0) / 45.0).round() as usize % NAMES.len();
    NAMES.get(sector).copied().unwrap_or("north")
}
