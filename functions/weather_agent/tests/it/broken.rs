//! An upstream that is down, refuses, or talks nonsense.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use domain::{ManualClock, Timestamp};
use weather_agent::{Reply, Trouble};

use crate::bench::{Bench, NOW, serve};

const OSLO: &str =
    r#"{"results":[{"id":1,"name":"Oslo","latitude":59.9,"longitude":10.7,"country_code":"NO"}]}"#;

/// What a question comes to where searches and forecasts are answered so.
async fn outcome(search: (u16, &'static str), forecast: (u16, &'static str)) -> Result<Reply, Trouble> {
    let answer = |(status, body): (u16, &'static str)| {
        axum::routing::get(async move || (StatusCode::from_u16(status).unwrap(), body))
    };
    let router = Router::new()
        .route("/sandbox/open-meteo/v1/search", answer(search))
        .route("/sandbox/open-meteo/v1/forecast", answer(forecast));
    let clock = Arc::new(ManualClock::new(Timestamp::parse(NOW).unwrap()));
    Bench::over(serve(router).await, clock)
        .reply(&["Oslo tomorrow"])
        .await
        .0
}

#[tokio::test]
async fn an_upstream_that_is_down_may_work_later() {
    for status in [500, 502, 503, 429] {
        let result = outcome((status, "{}"), (200, "{}")).await;
        assert!(
            matches!(&result, Err(Trouble::Later(reason)) if reason.contains("cannot be reached")),
            "{result:?}"
        );
        let result = outcome((200, OSLO), (status, r#"{"error":true,"reason":"limit"}"#)).await;
        assert!(matches!(&result, Err(Trouble::Later(_))), "{status} {result:?}");
    }
    let clock = Arc::new(ManualClock::new(Timestamp::parse(NOW).unwrap()));
    let nobody = Bench::over("http://127.0.0.1:1/".parse().unwrap(), clock)
        .reply(&["Oslo"])
        .await
        .0;
    assert!(matches!(&nobody, Err(Trouble::Later(_))), "{nobody:?}");
}

#[tokio::test]
async fn a_refusal_is_final_and_told() {
    let body = r#"{"error":true,"reason":"Latitude must be in range of -90 to 90°."}"#;
    for status in [400, 200] {
        let result = outcome((200, OSLO), (status, body)).await;
        assert!(
            matches!(&result, Err(Trouble::Never(reason)) if reason.contains("Latitude must be")),
            "{result:?}"
        );
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
        assert!(matches!(&result, Err(Trouble::Never(_))), "{body} {result:?}");
    }
    for body in ["{}", r#"{"daily":{"time":["not a date"]}}"#] {
        let result = outcome((200, OSLO), (200, body)).await;
        assert!(matches!(&result, Err(Trouble::Never(_))), "{body} {result:?}");
    }
}

#[tokio::test]
async fn missing_values_are_left_out() {
    let body = r#"{"utc_offset_seconds":3600,"timezone":"Europe/Oslo","daily_units":{},"unheard_of":{"x":1},
        "daily":{"time":["2026-11-21","2026-11-22"],"temperature_2m_max":[1.0,4.4],"weather_code":[3,null]}}"#;
    match outcome((200, OSLO), (200, body)).await.unwrap() {
        Reply::Answer { text, data } => {
            assert_eq!(text, "Oslo tomorrow (Sunday 22 November): 4 °C.");
            assert_eq!(data["sandbox"], false);
        }
        other => panic!("{other:?}"),
    }
    let empty = r#"{"daily":{"time":["2026-11-22"],"temperature_2m_max":[null],"weather_code":[null]}}"#;
    match outcome((200, OSLO), (200, empty)).await.unwrap() {
        Reply::Answer { text, .. } => {
            assert_eq!(
                text,
                "The weather service has no data for Oslo on Sunday 22 November."
            );
        }
        other => panic!("{other:?}"),
    }
}
