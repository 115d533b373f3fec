//! WMO weather codes (table 4677, as Open-Meteo uses it) in words.

/// What a code means; `None` for a code that Open-Meteo does not use.
pub(crate) fn words(code: u8) -> Option<&'static str> {
    Some(match code {
        0 => "clear sky",
        1 => "mainly clear",
        2 => "partly cloudy",
        3 => "overcast",
        45 => "fog",
        48 => "freezing fog",
        51 => "light drizzle",
        53 => "drizzle",
        55 => "dense drizzle",
        56 | 57 => "freezing drizzle",
        61 => "light rain",
        63 => "moderate rain",
        65 => "heavy rain",
        66 | 67 => "freezing rain",
        71 => "light snow",
        73 => "moderate snow",
        75 => "heavy snow",
        77 => "snow grains",
        80 => "light showers",
        81 => "showers",
        82 => "violent showers",
        85 | 86 => "snow showers",
        95 => "thunderstorms",
        96 | 99 => "thunderstorms with hail",
        _ => return None,
    })
}

/// Rain, drizzle, showers or thunderstorms.
pub(crate) fn is_rain(code: u8) -> bool {
    matches!(code, 51..=67 | 80..=82 | 95..=99)
}

/// Snow of any kind.
pub(crate) fn is_snow(code: u8) -> bool {
    matches!(code, 71..=77 | 85 | 86)
}

/// Thunder.
pub(crate) fn is_thunder(code: u8) -> bool {
    matches!(code, 95..=99)
}
