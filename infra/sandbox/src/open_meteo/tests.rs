//! The two APIs over HTTP, in-process.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use domain::{ManualClock, Timestamp};
use serde_json::{Value, json};
use tower::ServiceExt;

async fn ask(path: &str) -> (StatusCode, Value) {
    let clock = Arc::new(ManualClock::new(
        Timestamp::parse("2026-11-21T22:30:00Z").unwrap(),
    ));
    let request = Request::get(path).body(Body::empty()).unwrap();
    let response = super::open_meteo(clock).oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

async fn refused(path: &str, reason: &str) {
    let (status, body) = ask(path).await;
    assert_eq!(
        (status, body),
        (
            StatusCode::BAD_REQUEST,
            json!({ "error": true, "reason": reason })
        ),
        "{path}"
    );
}

const OSLO: &str = "/v1/forecast?latitude=59.91273&longitude=10.74609&timezone=auto";

#[tokio::test]
async fn a_search_answers_in_the_services_words() {
    let (status, body) = ask("/v1/search?name=Oslo&count=1&language=en&format=json").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        body,
        json!({
            "results": [{
                "id": 3143244, "name": "Oslo", "latitude": 59.91273, "longitude": 10.74609, "elevation": 26.0,
                "feature_code": "PPLC", "country_code": "NO", "timezone": "Europe/Oslo", "population": 1_082_575,
                "country_id": 3144096, "country": "Norway", "admin1": "Oslo",
            }],
            "generationtime_ms": 0.1,
            "sandbox": true,
        })
    );
}

#[tokio::test]
async fn an_unknown_name_has_no_results_at_all() {
    for name in ["Qwertyville", "O", "", "%00", "%F0%9F%8C%A7"] {
        let (status, body) = ask(&format!("/v1/search?name={name}")).await;
        assert_eq!(
            (status, body),
            (
                StatusCode::OK,
                json!({ "generationtime_ms": 0.1, "sandbox": true })
            ),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_search_is_bounded() {
    let (_, body) = ask("/v1/search?name=san").await;
    assert_eq!(body["results"].as_array().unwrap().len(), 10);
    for count in ["0", "101", "-1", "many"] {
        refused(
            &format!("/v1/search?name=Oslo&count={count}"),
            "Parameter count must be between 1 and 100.",
        )
        .await;
    }
    refused("/v1/search", "Value required for key 'name'.").await;
}

#[tokio::test]
async fn a_forecast_has_columns_units_and_the_zone() {
    let (status, body) = ask(&format!(
        "{OSLO}&daily=weather_code,temperature_2m_max,precipitation_sum,snowfall_sum,wind_speed_10m_max\
         &temperature_unit=fahrenheit&wind_speed_unit=mph&precipitation_unit=inch\
         &start_date=2026-11-22&end_date=2026-11-24"
    ))
    .await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body["timezone"], "Europe/Oslo");
    assert_eq!(body["utc_offset_seconds"], 3600);
    assert_eq!(
        body["daily"]["time"],
        json!(["2026-11-22", "2026-11-23", "2026-11-24"])
    );
    assert_eq!(
        body["daily_units"],
        json!({
            "time": "iso8601", "weather_code": "wmo code", "temperature_2m_max": "°F", "precipitation_sum": "inch",
            "snowfall_sum": "inch", "wind_speed_10m_max": "mp/h",
        })
    );
    for column in [
        "weather_code",
        "temperature_2m_max",
        "precipitation_sum",
        "snowfall_sum",
        "wind_speed_10m_max",
    ] {
        assert_eq!(body["daily"][column].as_array().unwrap().len(), 3, "{column}");
    }
}

#[tokio::test]
async fn units_are_converted_not_only_named() {
    let wanted = "&daily=temperature_2m_max,wind_speed_10m_max,precipitation_sum&forecast_days=16";
    let (_, metric) = ask(&format!("{OSLO}{wanted}")).await;
    let (_, imperial) = ask(&format!(
        "{OSLO}{wanted}&temperature_unit=fahrenheit&wind_speed_unit=mph&precipitation_unit=inch"
    ))
    .await;
    let value = |body: &Value, column: &str, day: usize| body["daily"][column][day].as_f64().unwrap();
    for day in 0..16 {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 0.1, "{a} {b}");
        close(
            value(&metric, "temperature_2m_max", day) * 1.8 + 32.0,
            value(&imperial, "temperature_2m_max", day),
        );
        close(
            value(&metric, "wind_speed_10m_max", day) / 1.609,
            value(&imperial, "wind_speed_10m_max", day),
        );
        close(
            value(&metric, "precipitation_sum", day) / 25.4,
            value(&imperial, "precipitation_sum", day),
        );
    }
}

#[tokio::test]
async fn days_are_counted_by_the_places_own_calendar() {
    // It is 22:30 UTC: the next day has begun in Tokyo, not in Oslo.
    let (_, tokyo) =
        ask("/v1/forecast?latitude=35.6895&longitude=139.69&daily=weather_code&timezone=auto").await;
    assert_eq!(tokyo["daily"]["time"][0], "2026-11-22");
    assert_eq!(tokyo["utc_offset_seconds"], 9 * 3600);
    let (_, oslo) = ask(&format!("{OSLO}&daily=weather_code")).await;
    assert_eq!(oslo["daily"]["time"][0], "2026-11-21");
    assert_eq!(oslo["daily"]["time"].as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn questions_that_the_service_refuses() {
    let range = |dates: &str| format!("{OSLO}&daily=weather_code&{dates}");
    refused(
        &range("start_date=2026-11-22&end_date=2026-12-08"),
        "Parameter 'end_date' is out of allowed range from 2026-08-21 to 2026-12-07",
    )
    .await;
    refused(
        &range("start_date=2026-08-20&end_date=2026-11-22"),
        "Parameter 'start_date' is out of allowed range from 2026-08-21 to 2026-12-07",
    )
    .await;
    refused(
        &range("start_date=2026-11-23&end_date=2026-11-22"),
        "End-date must be larger or equals than start-date",
    )
    .await;
    refused(
        &range("start_date=2026-11-23"),
        "Both 'start_date' and 'end_date' must be set in the url",
    )
    .await;
    refused(
        &range("start_date=tomorrow&end_date=x"),
        "Invalid date format. Make sure to use 'YYYY-MM-DD'",
    )
    .await;
    refused(
        &range("forecast_days=17"),
        "Forecast days is invalid. Allowed range 0 to 16. Given 17.",
    )
    .await;
    refused("/v1/forecast?longitude=10", "Value required for key 'latitude'.").await;
    refused(
        "/v1/forecast?latitude=91&longitude=10",
        "Latitude must be in range of -90 to 90°. Given: 91.0.",
    )
    .await;
    refused(&format!("{OSLO}&timezone=Mars/Base"), "Invalid timezone").await;
    refused(
        &format!("{OSLO}&daily=mood"),
        "Cannot initialize ForecastVariableDaily from invalid String value mood for key daily",
    )
    .await;
    refused(
        &format!("{OSLO}&temperature_unit=kelvin"),
        "Cannot initialize TemperatureUnit from invalid String value kelvin for key temperature_unit",
    )
    .await;
}
