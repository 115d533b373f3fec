//! Rubbish at every route: a typed 4xx, nothing stored.

use http::StatusCode;
use serde_json::json;

use crate::fixture::Registry;

#[tokio::test]
async fn rubbish_gets_a_typed_refusal_and_leaves_nothing() {
    let registry = Registry::start().await;
    let admin = registry.admin();
    let deep = "[".repeat(200_000);
    let bodies: Vec<Vec<u8>> = [
        "",
        "{",
        "null",
        "[]",
        "7",
        "\"x\"",
        "{}",
        "{\"cardUrl\":7}",
        "{\"cardUrl\":\"\"}",
        "{\"cardUrl\":\"https://a.example/\",\"tags\":\"type:x\"}",
        "{\"cardUrl\":\"https://a.example/\",\"tags\":[\"nocolon\"]}",
        "{\"cardUrl\":\"https://a.example/\",\"tenant\":\"A#B\"}",
        "{\"cardUrl\":\"https://a.example/\",\"tenants\":\"acme\"}",
        "{\"scope\":7}",
        "{\"scope\":\"\\u0000\"}",
        deep.as_str(),
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([b"\xff\xfe\x00".to_vec()])
    .collect();
    for body in &bodies {
        for (method, path) in [("POST", "/agents"), ("PUT", "/types/weather")] {
            let answer = registry.raw(method, path, Some(&admin), body.clone()).await;
            assert_eq!(
                answer.status,
                StatusCode::BAD_REQUEST,
                "{method} {path} {}",
                answer.body
            );
            assert_eq!(answer.body["error"], "invalid_request");
        }
    }
    let many: Vec<String> = (0..21).map(|n| format!("n:{n}")).collect();
    let answer = registry
        .call(
            "POST",
            "/agents",
            &admin,
            json!({"cardUrl": "https://a.example/", "tags": many}),
        )
        .await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let long = format!("https://a.example/{}", "x".repeat(3_000));
    let answer = registry
        .call("POST", "/agents", &admin, json!({"cardUrl": long}))
        .await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);

    let huge = vec![b' '; 10 * 1024 * 1024];
    let answer = registry.raw("POST", "/agents", Some(&admin), huge).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(answer.body["error"].is_string(), "{}", answer.body);

    for (method, path, status) in [
        ("GET", "/agents?tag=x".to_owned(), StatusCode::BAD_REQUEST),
        ("GET", "/agents?tag=%00:%00".to_owned(), StatusCode::BAD_REQUEST),
        ("GET", "/agents?tenant=A%00".to_owned(), StatusCode::BAD_REQUEST),
        ("GET", "/agents?limit=-1".to_owned(), StatusCode::BAD_REQUEST),
        ("GET", "/agents?cursor=%ff".to_owned(), StatusCode::BAD_REQUEST),
        (
            "GET",
            format!("/agents?{}", "tag=a:b&".repeat(5_000)),
            StatusCode::BAD_REQUEST,
        ),
        (
            "GET",
            format!("/agents/{}", "x".repeat(10_000)),
            StatusCode::NOT_FOUND,
        ),
        ("GET", "/agents/%00".to_owned(), StatusCode::NOT_FOUND),
        ("GET", "/agents/%ff%fe".to_owned(), StatusCode::BAD_REQUEST),
        ("GET", "/nothing".to_owned(), StatusCode::NOT_FOUND),
        ("PATCH", "/agents".to_owned(), StatusCode::METHOD_NOT_ALLOWED),
        ("BREW", "/types".to_owned(), StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let answer = registry.raw(method, &path, Some(&admin), Vec::new()).await;
        let path: String = path.chars().take(60).collect();
        assert_eq!(answer.status, status, "{method} {path} {}", answer.body);
        assert!(
            answer.body["error"].is_string(),
            "{method} {path} {}",
            answer.body
        );
    }
    assert_eq!(
        registry.get("/agents", &admin).await.body,
        json!({"agents": [], "types": {}})
    );
}
