//! Refresh tokens: each is good once.

use http::StatusCode;
use serde_json::json;

use crate::fixture::{APP_CALLBACK, Browser, HORIZON, Idp, OTHER_SECRET, basic, claims, request_with};

#[tokio::test]
async fn a_refresh_token_is_exchanged_for_the_next() {
    let idp = Idp::start().await;
    let first = idp.tokens().await;
    idp.advance(700);
    assert_eq!(
        idp.introspect(first["access_token"].as_str().unwrap()).await,
        json!({"active": false})
    );
    let mut refresh = first["refresh_token"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        let answer = idp.refresh(&refresh).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let tokens = answer.json();
        let access = claims(&tokens["access_token"]);
        assert_eq!(
            (&access["aud"], &access["sub"]),
            (&HORIZON.into(), &"user-ada".into())
        );
        assert_eq!(tokens["scope"], first["scope"]);
        assert_eq!(
            idp.introspect(tokens["access_token"].as_str().unwrap()).await["active"],
            true
        );
        let next = tokens["refresh_token"].as_str().unwrap().to_owned();
        assert_ne!(next, refresh);
        refresh = next;
    }
}

#[tokio::test]
async fn a_refresh_token_that_comes_twice_ends_the_family() {
    let idp = Idp::start().await;
    let first = idp.tokens().await["refresh_token"].as_str().unwrap().to_owned();
    let second = idp.refresh(&first).await.json()["refresh_token"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(idp.introspect(&second).await["active"], true);
    for token in [&first, &second, &first] {
        let answer = idp.refresh(token).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert_eq!(answer.json()["error"], "invalid_grant");
    }
    assert_eq!(idp.introspect(&second).await["active"], false);
    // Another consent's tokens are not touched.
    assert!(idp.tokens().await["refresh_token"].is_string());
}

#[tokio::test]
async fn a_refresh_token_is_its_clients_and_its_tenants() {
    let idp = Idp::start().await;
    let refresh = idp.tokens().await["refresh_token"].as_str().unwrap().to_owned();
    let pairs = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.as_str()),
    ];
    let own = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.as_str()),
        ("client_id", "app"),
    ];
    for (path, authorization, pairs, expect) in [
        (
            "/acme/token",
            Some(basic("other", OTHER_SECRET)),
            &pairs[..],
            "unauthorized_client",
        ),
        ("/acme/token", None, &own[..], "invalid_grant"),
        (
            "/globex/token",
            Some(basic("host", crate::fixture::SECRET)),
            &pairs[..],
            "invalid_grant",
        ),
    ] {
        let answer = idp.post(path, authorization.as_deref(), pairs).await;
        assert_eq!(answer.json()["error"], expect, "{path}");
    }
    // None of them has used it up or ended it.
    assert_eq!(idp.refresh(&refresh).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_refresh_gives_no_more_than_was_agreed_to() {
    let idp = Idp::start().await;
    let mut refresh = idp.tokens().await["refresh_token"].as_str().unwrap().to_owned();
    for (name, value, expect) in [
        ("scope", "orders:write", "invalid_scope"),
        ("scope", "tasks orders:write", "invalid_scope"),
        ("scope", " ", "invalid_scope"),
        ("resource", "http://127.0.0.1:3000/a/other", "invalid_target"),
    ] {
        let pairs = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.as_str()),
            (name, value),
        ];
        let answer = idp.token(&pairs).await;
        assert_eq!(answer.json()["error"], expect, "{name}={value}");
    }
    let pairs = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.as_str()),
        ("scope", "tasks"),
        ("resource", HORIZON),
    ];
    let fewer = idp.token(&pairs).await.json();
    assert_eq!(claims(&fewer["access_token"])["scope"], "tasks");
    // The family keeps all of it.
    refresh = fewer["refresh_token"].as_str().unwrap().to_owned();
    let all = idp.refresh(&refresh).await.json();
    assert!(all["scope"].as_str().unwrap().contains("orders:read"));
}

#[tokio::test]
async fn a_family_ends_after_its_time_however_often_it_was_rotated() {
    let idp = Idp::start().await;
    let mut refresh = idp.tokens().await["refresh_token"].as_str().unwrap().to_owned();
    idp.advance(29 * 24 * 3600);
    refresh = idp.refresh(&refresh).await.json()["refresh_token"]
        .as_str()
        .unwrap()
        .to_owned();
    idp.advance(2 * 24 * 3600);
    assert_eq!(idp.refresh(&refresh).await.json()["error"], "invalid_grant");
}

#[tokio::test]
async fn revoking_ends_the_family_of_ones_own_tokens_only() {
    let idp = Idp::start().await;
    let refresh = idp.tokens().await["refresh_token"].as_str().unwrap().to_owned();
    let host = basic("host", crate::fixture::SECRET);
    let revoke = async |path: &str, authorization: Option<&str>, pairs: &[(&str, &str)]| {
        let answer = idp.post(path, authorization, pairs).await;
        assert_eq!(answer.status, StatusCode::OK, "{path} {}", answer.text);
    };
    let other = basic("other", OTHER_SECRET);
    revoke("/acme/revoke", Some(&other), &[("token", &refresh)]).await;
    revoke("/globex/revoke", Some(&host), &[("token", &refresh)]).await;
    revoke("/acme/revoke", None, &[("token", &refresh), ("client_id", "app")]).await;
    revoke("/acme/revoke", Some(&host), &[("token", "rubbish")]).await;
    assert_eq!(idp.introspect(&refresh).await["active"], true);

    let next = idp.refresh(&refresh).await.json()["refresh_token"]
        .as_str()
        .unwrap()
        .to_owned();
    // The token before the last one is the same family.
    revoke(
        "/acme/revoke",
        Some(&host),
        &[("token", &refresh), ("token_type_hint", "refresh_token")],
    )
    .await;
    assert_eq!(idp.introspect(&next).await["active"], false);
    assert_eq!(idp.refresh(&next).await.json()["error"], "invalid_grant");
    revoke("/acme/revoke", Some(&host), &[("token", &next)]).await;

    let answer = idp.post("/acme/revoke", Some(&host), &[]).await;
    assert_eq!(answer.json()["error"], "invalid_request");
    let answer = idp.post("/acme/revoke", None, &[("token", &next)]).await;
    assert_eq!(answer.json()["error"], "invalid_client");
    // An access token cannot be called back, and nobody is told otherwise.
    let access = idp.tokens().await["access_token"].as_str().unwrap().to_owned();
    let answer = idp.post("/acme/revoke", Some(&host), &[("token", &access)]).await;
    assert_eq!(answer.json()["error"], "unsupported_token_type");
}

#[tokio::test]
async fn a_public_clients_refresh_token_rotates_too() {
    let idp = Idp::start().await;
    let asked = request_with(&[
        ("client_id", "app"),
        ("redirect_uri", APP_CALLBACK),
        ("scope", "offline_access tasks"),
    ]);
    let code = Browser::default().agree(&idp, &asked).await.sent_back()["code"].clone();
    let pairs = [
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", code.as_str()),
        ("redirect_uri", APP_CALLBACK),
        ("code_verifier", crate::fixture::VERIFIER),
    ];
    let first = idp.post("/acme/token", None, &pairs).await.json();
    let refresh = |token: String| {
        let idp = &idp;
        async move {
            let pairs = [
                ("grant_type", "refresh_token"),
                ("client_id", "app"),
                ("refresh_token", token.as_str()),
            ];
            idp.post("/acme/token", None, &pairs).await
        }
    };
    let first = first["refresh_token"].as_str().unwrap().to_owned();
    let second = refresh(first.clone()).await.json()["refresh_token"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(refresh(first).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(refresh(second).await.status, StatusCode::BAD_REQUEST);
}
