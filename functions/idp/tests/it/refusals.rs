//! Authorization requests that are refused: on a page while nobody can be trusted, by redirect afterwards.

use http::StatusCode;

use crate::fixture::{
    APP_CALLBACK, Browser, CALLBACK, ISSUER, Idp, VERIFIER, encoded, request, request_with,
};

#[tokio::test]
async fn nobody_is_sent_to_an_address_that_is_not_registered_to_the_letter() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let variations = [
        String::new(),
        format!("{CALLBACK}/"),
        format!("{CALLBACK}?x=1"),
        format!("{CALLBACK}#x"),
        format!("{CALLBACK}/../evil"),
        CALLBACK.to_uppercase(),
        CALLBACK.replace("http:", "https:"),
        CALLBACK.replace("127.0.0.1", "localhost"),
        CALLBACK.replace("127.0.0.1:3000", "127.0.0.1:3001"),
        CALLBACK.replace("127.0.0.1:3000", "127.0.0.1:3000@evil.example"),
        CALLBACK.replace("127.0.0.1", "127.0.0.1.evil.example"),
        CALLBACK.replace("/acme", "/globex"),
        CALLBACK.replace("callback", "callbac%6B"),
        format!(" {CALLBACK}"),
        APP_CALLBACK.to_owned(),
        "https://evil.example/".to_owned(),
        "javascript:alert(1)".to_owned(),
        "//evil.example".to_owned(),
    ];
    for uri in &variations {
        let answer = browser
            .authorize(&idp, &request_with(&[("redirect_uri", uri)]))
            .await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{uri}");
        assert!(answer.headers.get("location").is_none(), "{uri}");
        assert!(answer.text.contains("This link does not work"), "{uri}");
        assert!(!answer.text.contains("evil"), "{uri}");
    }
    for changed in [
        request_with(&[("client_id", "")]),
        request_with(&[("client_id", "nobody")]),
        request_with(&[("client_id", "HOST")]),
        request_with(&[("client_id", &"x".repeat(10_000))]),
    ] {
        let answer = browser.authorize(&idp, &changed).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert!(answer.headers.get("location").is_none());
    }
    for name in ["client_id", "redirect_uri"] {
        let mut twice = request();
        twice.push((
            name,
            twice.iter().find(|(known, _)| *known == name).unwrap().1.clone(),
        ));
        let answer = browser.authorize(&idp, &twice).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{name} twice");
        assert!(answer.headers.get("location").is_none());
    }
}

#[tokio::test]
async fn whatever_else_is_wrong_is_told_to_the_client() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let long = "x".repeat(3_000);
    let cases: Vec<(Vec<(&'static str, &str)>, &str)> = vec![
        (vec![("response_type", "")], "invalid_request"),
        (vec![("response_type", "token")], "unsupported_response_type"),
        (
            vec![("response_type", "code id_token")],
            "unsupported_response_type",
        ),
        (vec![("response_mode", "fragment")], "invalid_request"),
        (vec![("response_mode", "form_post")], "invalid_request"),
        (
            vec![("code_challenge", ""), ("code_challenge_method", "")],
            "invalid_request",
        ),
        (vec![("code_challenge", "")], "invalid_request"),
        // Left out it means `plain`, and neither is spoken here.
        (vec![("code_challenge_method", "")], "invalid_request"),
        (vec![("code_challenge_method", "plain")], "invalid_request"),
        (
            vec![("code_challenge_method", "plain"), ("code_challenge", VERIFIER)],
            "invalid_request",
        ),
        (vec![("code_challenge_method", "s256")], "invalid_request"),
        (vec![("code_challenge", "short")], "invalid_request"),
        (vec![("code_challenge", &long)], "invalid_request"),
        (vec![("scope", "")], "invalid_scope"),
        (vec![("scope", "tasks registry:admin")], "invalid_scope"),
        (vec![("scope", "tasks nonsense")], "invalid_scope"),
        (vec![("resource", "")], "invalid_target"),
        (vec![("resource", "horizon")], "invalid_target"),
        (vec![("resource", "ftp://127.0.0.1/a/horizon")], "invalid_target"),
        (
            vec![("resource", "http://127.0.0.1/a/horizon#x")],
            "invalid_target",
        ),
        (
            vec![("resource", "http://user@127.0.0.1/a/horizon")],
            "invalid_target",
        ),
        (vec![("nonce", &long)], "invalid_request"),
        (vec![("max_age", "soon")], "invalid_request"),
        (vec![("max_age", "-1")], "invalid_request"),
        (vec![("prompt", "create")], "invalid_request"),
        (vec![("prompt", "none login")], "invalid_request"),
        (vec![("prompt", "none")], "login_required"),
        (vec![("request", "e30.e30.")], "request_not_supported"),
        (
            vec![("request_uri", "https://evil.example/")],
            "request_uri_not_supported",
        ),
        // The client `other` has a list, and may not do everything.
        (
            vec![
                ("client_id", "other"),
                ("resource", "http://127.0.0.1/a/x"),
                ("scope", "tasks"),
            ],
            "invalid_target",
        ),
        (
            vec![("client_id", "other"), ("scope", "orders:write")],
            "invalid_scope",
        ),
    ];
    for (changes, expect) in cases {
        let answer = browser.authorize(&idp, &request_with(&changes)).await;
        assert_eq!(answer.status, StatusCode::FOUND, "{changes:?} {}", answer.text);
        assert!(answer.location().as_str().starts_with(CALLBACK), "{changes:?}");
        let sent = answer.sent_back();
        assert_eq!(sent["error"], expect, "{changes:?}");
        assert_eq!(
            (sent["state"].as_str(), sent["iss"].as_str()),
            ("st-1", ISSUER),
            "{changes:?}"
        );
        assert!(!sent.contains_key("code"));
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    for (name, expect) in [
        ("resource", "invalid_target"),
        ("scope", "invalid_request"),
        ("code_challenge", "invalid_request"),
        ("state", "invalid_request"),
    ] {
        let mut twice = request();
        twice.push((name, "http://127.0.0.1:3000/a/horizon".to_owned()));
        let answer = browser.authorize(&idp, &twice).await;
        assert_eq!(answer.sent_back()["error"], expect, "{name} twice");
    }
    // A state that is too long is refused and not echoed.
    let answer = browser.authorize(&idp, &request_with(&[("state", &long)])).await;
    let sent = answer.sent_back();
    assert_eq!(
        (sent["error"].as_str(), sent.contains_key("state")),
        ("invalid_request", false)
    );
}

#[tokio::test]
async fn a_request_is_checked_once_more_when_the_form_comes() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let page = browser.authorize(&idp, &request()).await;
    let page = browser.sign_in(&idp, &page, "ada").await;
    let token = page
        .text
        .split_once("name=\"form\" value=\"")
        .unwrap()
        .1
        .split_once('"')
        .unwrap()
        .0;
    let evil = request_with(&[("redirect_uri", "https://evil.example/")]);
    let path = format!("/acme/authorize?{}", encoded(&evil));
    let body = encoded(&[("step", "allow"), ("form", token)]);
    let answer = browser.call(&idp, http::Method::POST, &path, Some(body)).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(answer.headers.get("location").is_none());
}

#[tokio::test]
async fn a_redirect_uris_own_query_stays() {
    let idp = Idp::start().await;
    let asked = request_with(&[
        ("client_id", "other"),
        ("redirect_uri", "https://other.example/cb?fixed=1"),
        ("scope", "tasks"),
    ]);
    let sent = Browser::default().agree(&idp, &asked).await.sent_back();
    assert_eq!(sent["fixed"], "1");
    assert!(sent.contains_key("code"));
}
