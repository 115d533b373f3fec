//! An upstream that is down, refuses, or talks nonsense.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use domain::{ManualClock, Timestamp};
use serde_json::Value;
use url::Url;

use crate::bench::{Bench, NOW, answer, serve, told};

const OSLO: &str =
    r#"{"results":[{"id":1,"name":"Oslo","latitude":59.9,"longitude":10.7,"country_code":"NO"}]}"#;

/// What a question comes to where searches and forecasts are answered so.
async fn outcome(search: (u16, &'static str), forecast: (u16, &'static str)) -> Value {
    let answer = |(status, body): (u16, &'static str)| {
        axum::routing::get(async move || (StatusCode::from_u16(status).unwrap(), body))
    };
    let router = Router::new()
        .route("/sandbox/open-meteo/v1/search", answer(search))
        .route("/sandbox/open-meteo/v1/forecast", answer(forecast));
    tomorrow_in_oslo(serve(router).await).await
}

/// The task of a question over this service; what may work later was tried until it was given up.
async fn tomorrow_in_oslo(base: Url) -> Value {
    let clock = Arc::new(ManualClock::new(Timestamp::parse(NOW).unwrap()));
    Bench::over(base, clock).await.task(&["Oslo tomorrow"]).await
}

fn assert_later(task: &Value) {
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task:#}");
    assert!(told(task).contains("cannot be reached at the moment"), "{task:#}");
}

fn assert_never(task: &Value, why: &str) {
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task:#}");
    assert!(told(task).contains(why), "{task:#}");
}

#[tokio::test]
async fn an_upstream_that_is_down_may_work_later() {
    for status in [500, 502, 503, 429] {
        let result = outcome((status, "{}"), (200, "{}")).await;
        assert_later(&result);
        let result = outcome((200, OSLO), (status, r#"{"error":true,"reason":"limit"}"#)).await;
        assert_later(&result);
    }
    let nobody = tomorrow_in_oslo("http://127.0.0.1:1/".parse().unwrap()).await;
    assert_later(&nobody);
}

#[tokio::test]
async fn a_refusal_is_final_and_told() {
    let body = r#"{"error":true,"reason":"Latitude must be in range of -90 to 90°."}"#;
    for status in [400, 200] {
        let result = outcome((200, OSLO), (status, body)).await;
        assert_never(&result, "Latitude must be");
    }
}

#[tokio::test]
async fn nonsense_is_no_answer() {
    for body in [
        "",
        "[]",
        "null",
        "<html>",
        r#"{"results":7}"#,
        r#"{"results":[{"id":"x"}]}"#,
    ] {
        let result = outcome((200, body), (200, "{}")).await;
        assert_never(&result, "cannot be used");
    }
    for body in ["{}", r#"{"daily":{"time":["not a date"]}}"#] {
        let result = outcome((200, OSLO), (200, body)).await;
        assert_never(&result, "cannot be used");
    }
}

#[tokio::test]
async fn missing_values_are_left_out() {
    let body = r#"{"utc_offset_seconds":3600,"timezone":"Europe/Oslo","daily_units":{},"unheard_of":{"x":1},
        "daily":{"time":["2026-11-21","2026-11-22"],"temperature_2m_max":[1.0,4.4],"weather_code":[3,null]}}"#;
    let (text, data) = answer(&outcome((200, OSLO), (200, body)).await);
    assert_eq!(text, "Oslo tomorrow (Sunday 22 November): 4 °C.");
    assert_eq!(data["sandbox"], false);
    let empty = r#"{"daily":{"time":["2026-11-22"],"temperature_2m_max":[null],"weather_code":[null]}}"#;
    let (text, _) = answer(&outcome((200, OSLO), (200, empty)).await);
    let expect = "The weather service has no data for Oslo on Sunday 22 November.";
    assert_eq!(text, expect);
}
