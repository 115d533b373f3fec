//! Every route against every kind of bad token.

use std::time::Duration;

use http::StatusCode;

use crate::fixture::{By, Registry};

const ROUTES: [(&str, &str, &str); 8] = [
    ("GET", "/agents", "registry:read"),
    ("POST", "/agents", "registry:write"),
    (
        "GET",
        "/agents/00000000-0000-4000-8000-000000000000",
        "registry:read",
    ),
    (
        "DELETE",
        "/agents/00000000-0000-4000-8000-000000000000",
        "registry:write",
    ),
    (
        "POST",
        "/agents/00000000-0000-4000-8000-000000000000/check",
        "registry:write",
    ),
    ("GET", "/types", "registry:read"),
    ("PUT", "/types/weather", "registry:admin"),
    ("DELETE", "/types/weather", "registry:admin"),
];

#[tokio::test]
async fn no_route_answers_without_a_good_token() {
    let registry = Registry::start().await;
    let old = registry.token(By::Acme, &["registry:read", "registry:write"]);
    registry.clock.advance(Duration::from_secs(3_600));
    let other = registry.token_for(
        By::Acme,
        &["registry:read", "registry:write"],
        "https://other.example",
    );
    let small = registry.token(By::Acme, &["tasks"]);
    let no_admin = registry.token(By::Platform, &["registry:read", "registry:write"]);
    for (method, path, scope) in ROUTES {
        for (token, status, error, word) in [
            (None, StatusCode::UNAUTHORIZED, "missing_token", ""),
            (
                Some("rubbish"),
                StatusCode::UNAUTHORIZED,
                "invalid_token",
                "not valid",
            ),
            (
                Some(other.as_str()),
                StatusCode::UNAUTHORIZED,
                "invalid_token",
                "",
            ),
            (
                Some(old.as_str()),
                StatusCode::UNAUTHORIZED,
                "invalid_token",
                "token has expired",
            ),
            (
                Some(small.as_str()),
                StatusCode::FORBIDDEN,
                "insufficient_scope",
                scope,
            ),
            (
                Some(no_admin.as_str()),
                StatusCode::FORBIDDEN,
                "insufficient_scope",
                "registry:admin",
            ),
        ] {
            let answer = registry.raw(method, path, token, b"{}".to_vec()).await;
            assert_eq!(answer.status, status, "{method} {path} {}", answer.body);
            assert_eq!(answer.body["error"], error, "{method} {path}");
            let challenge = answer.challenge.unwrap();
            assert!(challenge.contains(word), "{method} {path} {challenge}");
            assert_eq!(
                answer.body["challenge"],
                challenge.as_str(),
                "repeated in the body"
            );
        }
    }
}
