//! The authorization code: the way through, and every way in which a code is not good.

use http::StatusCode;

use crate::fixture::{
    APP_CALLBACK, Browser, CALLBACK, CHALLENGE, HORIZON, ISSUER, Idp, OTHER_SECRET, SCOPE, SECRET, VERIFIER,
    basic, claims, part, request, request_with,
};

#[tokio::test]
async fn who_signs_in_at_the_tenants_own_page_is_asked_nothing_more() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let only = request_with(&[("scope", "openid profile"), ("resource", "")]);
    let page = browser.authorize(&idp, &only).await;
    let back = browser.sign_in(&idp, &page, "ada").await;
    assert!(back.sent_back().contains_key("code"), "{}", back.text);
    for (more, what) in [
        (
            &[("scope", "openid profile orders:read")][..],
            "more than who it is",
        ),
        (
            &[("scope", "openid"), ("prompt", "consent")],
            "a question that is asked for",
        ),
        (
            &[
                ("scope", "openid"),
                ("client_id", "app"),
                ("redirect_uri", APP_CALLBACK),
            ],
            "another application",
        ),
    ] {
        let page = browser.authorize(&idp, &request_with(more)).await;
        assert!(page.text.contains("value=\"allow\""), "{what}: {}", page.text);
    }
}

#[tokio::test]
async fn a_person_signs_in_agrees_and_the_host_gets_its_tokens() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let page = browser.authorize(&idp, &request()).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("<label for=\"password\">"), "{}", page.text);

    idp.advance(5);
    let page = browser.sign_in(&idp, &page, "ada").await;
    assert_eq!(page.status, StatusCode::OK);
    for words in ["See your orders", "Your assistant", "ada", HORIZON] {
        assert!(page.text.contains(words), "{words}: {}", page.text);
    }
    assert!(
        !page.text.contains("Change your orders"),
        "only what was asked for"
    );

    let back = browser.send(&idp, &page, "allow", &[]).await;
    assert_eq!(back.status, StatusCode::SEE_OTHER);
    assert!(back.location().as_str().starts_with(&format!("{CALLBACK}?")));
    let sent = back.sent_back();
    assert_eq!((sent["state"].as_str(), sent["iss"].as_str()), ("st-1", ISSUER));
    assert_eq!(sent.len(), 3, "{sent:?}");

    let answer = idp.redeem(&sent["code"]).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
    let tokens = answer.json();
    assert_eq!(tokens["token_type"], "Bearer");
    assert_eq!(tokens["expires_in"], 600);
    let mut scopes: Vec<&str> = tokens["scope"].as_str().unwrap().split(' ').collect();
    let mut asked: Vec<&str> = SCOPE.split(' ').collect();
    scopes.sort_unstable();
    asked.sort_unstable();
    assert_eq!(scopes, asked);

    let header = part(&tokens["access_token"], 0);
    assert_eq!(
        (&header["typ"], &header["alg"]),
        (&"at+jwt".into(), &"ES256".into())
    );
    let access = claims(&tokens["access_token"]);
    assert_eq!(access["iss"], ISSUER);
    assert_eq!(access["aud"], HORIZON, "exactly one audience");
    assert_eq!(access["sub"], "user-ada");
    assert_eq!(access["tenant_id"], "acme");
    assert_eq!(access["client_id"], "host");
    assert_eq!(
        access["exp"].as_i64().unwrap() - access["iat"].as_i64().unwrap(),
        600
    );
    assert!(access["jti"].is_string());

    let id = claims(&tokens["id_token"]);
    assert_eq!((&id["aud"], &id["nonce"]), (&"host".into(), &"no-1".into()));
    assert_eq!(id["auth_time"], access["auth_time"]);
    assert_eq!(
        (&id["name"], &id["preferred_username"]),
        (&"ada of acme".into(), &"ada".into())
    );
    assert_eq!(part(&tokens["id_token"], 0)["typ"], "JWT");
    assert!(tokens["refresh_token"].is_string());
}

#[tokio::test]
async fn only_what_was_asked_for_is_issued() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    for (scope, id, refresh) in [
        ("tasks", false, false),
        ("openid tasks", true, false),
        ("offline_access tasks", false, true),
    ] {
        let back = browser.agree(&idp, &request_with(&[("scope", scope)])).await;
        let tokens = idp.redeem(&back.sent_back()["code"]).await.json();
        assert_eq!(tokens.get("id_token").is_some(), id, "{scope}");
        assert_eq!(tokens.get("refresh_token").is_some(), refresh, "{scope}");
        // Without `profile` nobody's name is told.
        assert!(!id || claims(&tokens["id_token"]).get("name").is_none());
    }
    // To know who signed in, no resource is needed: the token is for the issuer.
    let back = browser
        .agree(
            &idp,
            &request_with(&[("scope", "openid profile"), ("resource", "")]),
        )
        .await;
    let tokens = idp.redeem(&back.sent_back()["code"]).await.json();
    assert_eq!(claims(&tokens["access_token"])["aud"], ISSUER);
}

#[tokio::test]
async fn a_code_that_comes_twice_takes_back_what_it_gave() {
    let idp = Idp::start().await;
    let code = Browser::default().code(&idp).await;
    let tokens = idp.redeem(&code).await.json();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    assert_eq!(idp.introspect(refresh).await["active"], true);

    let again = idp.redeem(&code).await;
    assert_eq!(again.status, StatusCode::BAD_REQUEST);
    assert_eq!(again.json()["error"], "invalid_grant");
    assert_eq!(idp.introspect(refresh).await["active"], false);
    let answer = idp.refresh(refresh).await;
    assert_eq!(
        (answer.status, &answer.json()["error"]),
        (StatusCode::BAD_REQUEST, &"invalid_grant".into())
    );
}

#[tokio::test]
async fn of_many_parallel_redemptions_none_keeps_a_refresh_token() {
    let idp = Idp::start().await;
    let code = Browser::default().code(&idp).await;
    let (a, b, c) = tokio::join!(idp.redeem(&code), idp.redeem(&code), idp.redeem(&code));
    let won: Vec<_> = [a, b, c]
        .into_iter()
        .filter(|answer| answer.status == StatusCode::OK)
        .collect();
    assert!(won.len() <= 1);
    for answer in won {
        let refresh = answer.json()["refresh_token"].as_str().unwrap().to_owned();
        assert_eq!(idp.introspect(&refresh).await["active"], false);
    }
}

#[tokio::test]
async fn a_code_lives_a_minute() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let code = browser.code(&idp).await;
    idp.advance(59);
    assert_eq!(idp.redeem(&code).await.status, StatusCode::OK);
    let code = browser.code(&idp).await;
    idp.advance(60);
    let answer = idp.redeem(&code).await;
    assert_eq!(
        (answer.status, &answer.json()["error"]),
        (StatusCode::BAD_REQUEST, &"invalid_grant".into())
    );
}

#[tokio::test]
async fn a_code_is_good_for_its_client_address_verifier_and_tenant_alone() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let host = basic("host", SECRET);
    let other = basic("other", OTHER_SECRET);
    let wrong_verifier = "a".repeat(43);
    let slash = format!("{CALLBACK}/");
    for (path, client, redirect_uri, verifier, resource) in [
        ("/acme/token", &other, CALLBACK, VERIFIER, HORIZON),
        (
            "/acme/token",
            &host,
            "http://127.0.0.1:3000/t/globex/callback",
            VERIFIER,
            HORIZON,
        ),
        ("/acme/token", &host, slash.as_str(), VERIFIER, HORIZON),
        ("/acme/token", &host, CALLBACK, wrong_verifier.as_str(), HORIZON),
        // The challenge itself, as if the method had been `plain`.
        ("/acme/token", &host, CALLBACK, CHALLENGE, HORIZON),
        ("/acme/token", &host, CALLBACK, "short", HORIZON),
        (
            "/acme/token",
            &host,
            CALLBACK,
            VERIFIER,
            "http://127.0.0.1:3000/a/other",
        ),
    ] {
        let code = browser.code(&idp).await;
        let pairs = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
            ("resource", resource),
        ];
        let answer = idp.post(path, Some(client), &pairs).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{pairs:?}");
        let expect = if resource == HORIZON {
            "invalid_grant"
        } else {
            "invalid_target"
        };
        assert_eq!(answer.json()["error"], expect, "{pairs:?}");
        // It is used up: whoever tried had it in wrong hands.
        assert_eq!(idp.redeem(&code).await.status, StatusCode::BAD_REQUEST);
    }
    // Another tenant does not know it, and does not use it up.
    let code = browser.code(&idp).await;
    let pairs = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    let answer = idp.post("/globex/token", Some(&host), &pairs).await;
    assert_eq!(answer.json()["error"], "invalid_grant");
    assert_eq!(idp.redeem(&code).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_public_client_proves_itself_by_its_verifier_alone() {
    let idp = Idp::start().await;
    let browser = Browser::default();
    let asked = request_with(&[
        ("client_id", "app"),
        ("redirect_uri", APP_CALLBACK),
        ("scope", "openid offline_access tasks"),
    ]);
    let back = browser.agree(&idp, &asked).await;
    let code = back.sent_back()["code"].clone();
    let pairs = [
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", code.as_str()),
        ("redirect_uri", APP_CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    let answer = idp.post("/acme/generate-token", None, &pairs).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let refresh = answer.json()["refresh_token"].as_str().unwrap().to_owned();
    let pairs = [
        ("grant_type", "refresh_token"),
        ("client_id", "app"),
        ("refresh_token", refresh.as_str()),
    ];
    assert_eq!(idp.post("/acme/token", None, &pairs).await.status, StatusCode::OK);
    // Anybody can say that it is that client, so the person is asked each time.
    let page = browser.authorize(&idp, &asked).await;
    assert!(page.text.contains("value=\"allow\""), "{}", page.text);
}
