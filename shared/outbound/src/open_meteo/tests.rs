//! The wire formats as the service has them.

use serde_json::json;

use super::*;

#[test]
fn a_search_answer_is_read() {
    let found: PlacesFound = serde_json::from_value(json!({
        "results": [{
            "id": 3143244, "name": "Oslo", "latitude": 59.91273, "longitude": 10.74609, "elevation": 26.0,
            "feature_code": "PPLC", "country_code": "NO", "admin1_id": 3143242, "admin2_id": 6453366,
            "timezone": "Europe/Oslo", "population": 580000, "country_id": 3144096, "country": "Norway",
            "admin1": "Oslo", "admin2": "Oslo", "postcodes": ["0010"]
        }, { "id": 1, "name": "Os", "latitude": 60.2, "longitude": 5.5 }],
        "generationtime_ms": 0.7
    }))
    .unwrap();
    assert_eq!(found.results[0].admin1, "Oslo");
    assert_eq!(found.results[1].population, 0);
    assert!(!found.sandbox);
    let nothing: PlacesFound = serde_json::from_value(json!({ "generationtime_ms": 0.7 })).unwrap();
    assert_eq!(nothing, PlacesFound::default());
}

#[test]
fn a_forecast_is_read_as_days() {
    let forecast: Forecast = serde_json::from_value(json!({
        "latitude": 59.91, "longitude": 10.74, "generationtime_ms": 0.1, "utc_offset_seconds": 3600,
        "timezone": "Europe/Oslo", "timezone_abbreviation": "GMT+1", "elevation": 26.0,
        "daily_units": { "time": "iso8601", "weather_code": "wmo code", "temperature_2m_max": "°C" },
        "daily": {
            "time": ["2026-11-22", "2026-11-23", "2026-11-24"],
            "weather_code": [61, 3, null],
            "temperature_2m_max": [4.2, null, null],
            "precipitation_probability_max": [80],
            "sunshine_duration": [3600.0, 0.0, null]
        }
    }))
    .unwrap();
    assert_eq!(forecast.daily_units.temperature_2m_max, "°C");
    let days = forecast.days();
    // The third day is beyond what the models reach.
    assert_eq!(days.len(), 2);
    assert_eq!(
        (days[0].weather_code, days[0].sunshine_hours),
        (Some(61), Some(1.0))
    );
    assert_eq!(
        (days[1].temperature_max, days[1].precipitation_probability),
        (None, None)
    );
}

#[test]
fn units_are_spelled_as_the_service_does() {
    assert_eq!(word(TemperatureUnit::Fahrenheit), "fahrenheit");
    assert_eq!(word(WindSpeedUnit::Kmh), "kmh");
    assert_eq!(word(WindSpeedUnit::Kn), "kn");
    assert_eq!(word(PrecipitationUnit::Inch), "inch");
}

#[test]
fn addresses_go_below_their_base() {
    for (base, expect) in [
        (
            "https://api.open-meteo.com",
            "https://api.open-meteo.com/v1/forecast",
        ),
        (
            "http://127.0.0.1:3000/sandbox/open-meteo",
            "http://127.0.0.1:3000/sandbox/open-meteo/v1/forecast",
        ),
        (
            "http://127.0.0.1:3000/sandbox/open-meteo/",
            "http://127.0.0.1:3000/sandbox/open-meteo/v1/forecast",
        ),
    ] {
        assert_eq!(below(&base.parse().unwrap(), "v1/forecast").as_str(), expect);
    }
    assert!(Bases::live().is_ok());
}
