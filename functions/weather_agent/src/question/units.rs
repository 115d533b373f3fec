//! Finds the units that a question asks for, and takes their words out of it.

use outbound::open_meteo::{PrecipitationUnit, TemperatureUnit, Units, WindSpeedUnit};

use words::text::{self, Word};

/// The units that are asked for; what is not asked for is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    /// Of temperatures.
    pub temperature: Option<TemperatureUnit>,
    /// Of wind speeds.
    pub wind_speed: Option<WindSpeedUnit>,
    /// Of precipitation.
    pub precipitation: Option<PrecipitationUnit>,
}

impl Asked {
    /// All that is metric.
    pub const METRIC: Self = Self {
        temperature: Some(TemperatureUnit::Celsius),
        wind_speed: Some(WindSpeedUnit::Kmh),
        precipitation: Some(PrecipitationUnit::Mm),
    };
    /// All that is imperial.
    pub const IMPERIAL: Self = Self {
        temperature: Some(TemperatureUnit::Fahrenheit),
        wind_speed: Some(WindSpeedUnit::Mph),
        precipitation: Some(PrecipitationUnit::Inch),
    };

    /// What is asked for, metric where nothing is.
    #[must_use]
    pub fn units(self) -> Units {
        Units {
            temperature: self.temperature.unwrap_or_default(),
            wind_speed: self.wind_speed.unwrap_or_default(),
            precipitation: self.precipitation.unwrap_or_default(),
        }
    }

    /// What is asked for here, and beyond that what was asked for before.
    #[must_use]
    pub fn over(self, before: Self) -> Self {
        Self {
            temperature: self.temperature.or(before.temperature),
            wind_speed: self.wind_speed.or(before.wind_speed),
            precipitation: self.precipitation.or(before.precipitation),
        }
    }
}

/// Whether a word is left of a unit.
pub(super) fn is_unit(lower: &str) -> bool {
    lower.starts_with('°') || matches!(lower, "c" | "f")
}

/// Takes the units out of the words.
pub(super) fn take(words: &mut [Word]) -> Asked {
    let mut asked = Asked::default();
    let mut index = 0;
    while index < words.len() {
        let taken = at(words, index, &mut asked);
        text::take_out(words, index..index + taken);
        index += taken.max(1);
    }
    asked
}

/// Reads a unit that begins at `index`; the number of words it takes.
fn at(words: &[Word], index: usize, asked: &mut Asked) -> usize {
    let lower = |index| text::lower(words, index);
    let of_degrees = matches!(text::before(words, index), "in" | "degrees" | "deg" | "°");
    let (imperial, metric) = (Asked::IMPERIAL, Asked::METRIC);
    let temperature = |unit| Asked {
        temperature: Some(unit),
        ..Asked::default()
    };
    let wind = |unit| Asked {
        wind_speed: Some(unit),
        ..Asked::default()
    };
    let precipitation = |unit| Asked {
        precipitation: Some(unit),
        ..Asked::default()
    };
    let (unit, taken) = match (lower(index), lower(index + 1), lower(index + 2)) {
        ("imperial" | "us" | "american", "units" | "unit" | "system", _) => (imperial, 2),
        ("imperial", _, _) => (imperial, 1),
        ("metric", "units" | "unit" | "system", _) => (metric, 2),
        ("metric", _, _) => (metric, 1),
        ("fahrenheit" | "farenheit" | "fahrenheits" | "°f", _, _) => {
            (temperature(TemperatureUnit::Fahrenheit), 1)
        }
        ("celsius" | "centigrade" | "celcius" | "°c", _, _) => (temperature(TemperatureUnit::Celsius), 1),
        ("f", _, _) if of_degrees => (temperature(TemperatureUnit::Fahrenheit), 1),
        ("c", _, _) if of_degrees => (temperature(TemperatureUnit::Celsius), 1),
        ("mph", _, _) => (wind(WindSpeedUnit::Mph), 1),
        ("miles", "per", "hour") => (wind(WindSpeedUnit::Mph), 3),
        ("kmh" | "kph", _, _) => (wind(WindSpeedUnit::Kmh), 1),
        ("km", "/", "h") | ("kilometers" | "kilometres", "per", "hour") => (wind(WindSpeedUnit::Kmh), 3),
        ("m", "/", "s") | ("meters" | "metres", "per", "second") => (wind(WindSpeedUnit::Ms), 3),
        ("knots" | "knot" | "kts" | "kn", _, _) => (wind(WindSpeedUnit::Kn), 1),
        ("inches" | "inch", _, _) => (precipitation(PrecipitationUnit::Inch), 1),
        ("mm" | "millimeters" | "millimetres" | "cm", _, _) => (precipitation(PrecipitationUnit::Mm), 1),
        _ => return 0,
    };
    *asked = unit.over(*asked);
    taken
}
