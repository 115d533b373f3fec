//! The front before a router that knows nothing of it.

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{ALLOW, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::response::Html;
use axum::{Json, Router};
use domain::TraceParent;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use routes::Routes;
use serde_json::{Value, json};

use crate::support::{Log, ask, fronted, json};

fn router() -> Router {
    let unauthorized = async || (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")]);
    fronted(
        Routes::new()
            .get("/number/{n}", "", async |Path(n): Path<u8>| n.to_string())
            .post("/json", "", async |Json(value): Json<Value>| Json(value))
            .get("/own", "", async || {
                (StatusCode::CONFLICT, Json(json!({ "jsonrpc": "2.0" })))
            })
            .get("/page", "", async || (StatusCode::NOT_FOUND, Html("<p>gone")))
            .get("/closed", "", unauthorized)
            .get("/leak", "", async || {
                (StatusCode::BAD_GATEWAY, "table switchyard-tasks is away")
            })
            .get("/trace", "", async || TraceParent::current().unwrap().to_string())
            .get("/tenant", "", async || {
                tracing::Span::current().record("tenant.id", "acme");
            }),
    )
}

fn request(method: &str, path: &str) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .body(Body::empty())
        .unwrap()
}

async fn check(method: &str, path: &str, status: u16, error: &str) {
    let response = ask(&router(), request(method, path)).await;
    assert_eq!(response.status(), status, "{method} {path}");
    assert_eq!(
        response.headers().get(CONTENT_TYPE).unwrap(),
        "application/json",
        "{method} {path}"
    );
    let body = json(response).await;
    assert_eq!(body["error"], error, "{method} {path}");
    assert!(
        body["message"].as_str().is_some_and(|text| !text.is_empty()),
        "{method} {path}"
    );
}

#[tokio::test]
async fn what_the_framework_refuses_is_typed() {
    check("GET", "/nowhere", 404, "not_found").await;
    check("GET", "/", 404, "not_found").await;
    check("GET", "/number", 404, "not_found").await;
    check("GET", "/number/300", 400, "bad_request").await;
    check("GET", "/number/%ff", 400, "bad_request").await;
    check("DELETE", "/json", 405, "method_not_allowed").await;
    check("BREW", "/json", 405, "method_not_allowed").await;
    check("POST", "/json", 415, "unsupported_media_type").await;
    check("GET", "/closed", 401, "unauthorized").await;
}

#[tokio::test]
async fn who_opens_a_wrong_address_in_a_browser_reads_a_page() {
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    for (path, media) in [
        ("/nowhere", "text/html; charset=utf-8"),
        ("/own", "application/json"),
    ] {
        let mut request = request("GET", path);
        request.headers_mut().insert("accept", browser.parse().unwrap());
        let response = ask(&router(), request).await;
        assert_eq!(response.headers().get(CONTENT_TYPE).unwrap(), media, "{path}");
        assert!(response.status().is_client_error());
    }
}

#[tokio::test]
async fn the_headers_of_a_refusal_stay() {
    let response = ask(&router(), request("DELETE", "/json")).await;
    assert_eq!(response.headers().get(ALLOW).unwrap(), "POST");
    let response = ask(&router(), request("GET", "/closed")).await;
    assert_eq!(response.headers().get(WWW_AUTHENTICATE).unwrap(), "Bearer");
}

#[tokio::test]
async fn errors_that_have_a_form_keep_it() {
    let response = ask(&router(), request("GET", "/own")).await;
    assert_eq!(json(response).await, json!({ "jsonrpc": "2.0" }));
    let response = ask(&router(), request("GET", "/page")).await;
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        "<p>gone"
    );
}

#[tokio::test]
async fn a_server_error_tells_nothing_but_the_request_id() {
    let response = ask(&router(), request("GET", "/leak")).await;
    assert_eq!(response.status(), 502);
    let id = response
        .headers()
        .get("x-request-id")
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let expect = json!({ "error": "internal", "message": "Something went wrong here.", "requestId": id });
    assert_eq!(json(response).await, expect);
}

#[tokio::test]
async fn a_nested_front_keeps_its_refusals() {
    let outer = Router::new()
        .nest("/inner", router())
        .fallback(async || (StatusCode::NOT_FOUND, "outer"));
    let response = ask(&outer, request("GET", "/inner/nowhere")).await;
    assert_eq!(json(response).await["error"], "not_found");
    let response = ask(&outer, request("DELETE", "/inner/json")).await;
    assert_eq!(json(response).await["error"], "method_not_allowed");
    let response = ask(&outer, request("GET", "/inner/number/7")).await;
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn a_trace_goes_on_and_a_broken_one_starts_anew() {
    let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (sent, goes_on) in [(good, true), ("00-zz", false), ("", false)] {
        let mut request = request("GET", "/trace");
        request.headers_mut().insert("traceparent", sent.parse().unwrap());
        let response = ask(&router(), request).await;
        let seen =
            String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap();
        assert_eq!(seen == good, goes_on, "{sent}");
        assert!(TraceParent::parse(&seen).is_some(), "{seen}");
    }
}

#[tokio::test]
async fn a_request_id_of_the_client_is_not_believed() {
    let mut request = request("GET", "/page");
    request
        .headers_mut()
        .insert("x-request-id", "forged".parse().unwrap());
    let response = ask(&router(), request).await;
    assert_ne!(response.headers().get("x-request-id").unwrap(), "forged");
}

#[tokio::test]
async fn one_line_a_request_with_the_pattern_not_the_path() {
    let (log, _guard) = Log::start();
    let mut asked = request("GET", "/number/42");
    asked
        .headers_mut()
        .insert("authorization", "Bearer secret-token".parse().unwrap());
    ask(&router(), asked).await;
    ask(&router(), request("GET", "/tenant")).await;
    let lines = log.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let line = &lines[0];
    assert_eq!(line["message"], "request answered");
    assert_eq!(line["function"], "probe");
    assert_eq!(line["method"], "GET");
    assert_eq!(line["route"], "/number/{n}");
    assert_eq!(line["status"], 200);
    assert_eq!(line["duration_ms"], 0);
    assert_eq!(line["dynamodb_calls"], 0);
    assert!(line["request_id"].is_string());
    assert_eq!(line["span"]["trace_id"].as_str().unwrap().len(), 32);
    assert_eq!(lines[1]["span"]["tenant.id"], "acme");
    assert!(!log.text().contains("secret-token") && !log.text().contains("/number/42"));
}

#[tokio::test]
async fn the_line_counts_the_requests_to_the_database() {
    let (store, _database) = store_testing::start().await;
    let look = async move || {
        store
            .registry()
            .types()
            .await
            .map(|types| types.len().to_string())
            .unwrap()
    };
    let (log, _guard) = Log::start();
    let response = ask(
        &fronted(Routes::new().get("/types", "", look)),
        request("GET", "/types"),
    )
    .await;
    assert_eq!(response.status(), 200);
    let lines = log.lines();
    let line = lines
        .iter()
        .find(|line| line["message"] == "request answered")
        .unwrap();
    assert_eq!(line["dynamodb_calls"], 1);
}
