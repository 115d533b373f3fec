//! Clients that prove themselves, tokens for clients themselves, introspection, userinfo, rotated keys.

use auth::{Algorithm, KeySet};
use domain::Tenant;
use http::header::AUTHORIZATION;
use http::{Request, StatusCode};
use serde_json::json;

use crate::fixture::{
    APP_CALLBACK, Answer, Browser, HORIZON, ISSUER, Idp, OTHER_SECRET, SECRET, basic, claims, part,
    request_with, shown,
};

const OWN: [(&str, &str); 2] = [("grant_type", "client_credentials"), ("resource", HORIZON)];

#[tokio::test]
async fn a_client_proves_itself_by_header_or_body_and_in_no_other_way() {
    let idp = Idp::start().await;
    let with = |more: &[(&'static str, &'static str)]| [&OWN[..], more].concat();
    let host = basic("host", SECRET);
    for (authorization, pairs) in [
        (Some(host.clone()), with(&[])),
        (Some(host.replacen("Basic", "basic", 1)), with(&[])),
        (Some(host.clone()), with(&[("client_id", "host")])),
        (None, with(&[("client_id", "host"), ("client_secret", SECRET)])),
    ] {
        let answer = idp.post("/acme/token", authorization.as_deref(), &pairs).await;
        assert_eq!(answer.status, StatusCode::OK, "{pairs:?} {}", answer.text);
    }
    for (authorization, pairs) in [
        (None, with(&[])),
        (None, with(&[("client_id", "host")])),
        (None, with(&[("client_id", "host"), ("client_secret", "wrong")])),
        (
            None,
            with(&[("client_id", "host"), ("client_secret", OTHER_SECRET)]),
        ),
        (None, with(&[("client_id", "nobody"), ("client_secret", SECRET)])),
        (None, with(&[("client_id", "app"), ("client_secret", "anything")])),
        (Some(basic("host", "wrong")), with(&[])),
        (Some(basic("host", "")), with(&[])),
        (Some(basic("", "")), with(&[])),
        (Some(basic("app", "")), with(&[])),
        (Some(format!("Bearer {SECRET}")), with(&[])),
        (Some("Basic".to_owned()), with(&[])),
        (Some("Basic \u{7f}".replace('\u{7f}', "%")), with(&[])),
    ] {
        for path in ["/acme/token", "/acme/introspect", "/acme/revoke"] {
            let answer = idp.post(path, authorization.as_deref(), &pairs).await;
            assert_eq!(
                answer.status,
                StatusCode::UNAUTHORIZED,
                "{path} {pairs:?} {}",
                answer.text
            );
            assert_eq!(answer.json()["error"], "invalid_client");
            assert!(answer.header("www-authenticate").starts_with("Basic "));
            assert_eq!(answer.header("cache-control"), "no-store");
        }
    }
    // Two ways at once, or two names, is nobody's mistake to guess at.
    for pairs in [
        with(&[("client_secret", SECRET)]),
        with(&[("client_id", "other")]),
    ] {
        let answer = idp.post("/acme/token", Some(&host), &pairs).await;
        assert_eq!(answer.json()["error"], "invalid_request");
    }
}

#[tokio::test]
async fn a_host_gets_a_token_of_its_own_for_tasks_alone() {
    let idp = Idp::start().await;
    let tokens = idp.token(&OWN).await.json();
    let access = claims(&tokens["access_token"]);
    assert_eq!(
        (&access["sub"], &access["client_id"]),
        (&"host".into(), &"host".into())
    );
    assert_eq!(
        (&access["scope"], &access["tenant_id"]),
        (&"tasks".into(), &"acme".into())
    );
    assert_eq!(access["aud"], HORIZON);
    assert!(access.get("auth_time").is_none());
    for name in ["refresh_token", "id_token"] {
        assert!(tokens.get(name).is_none(), "{name}");
    }
    for (pairs, expect) in [
        (vec![OWN[0]], "invalid_target"),
        (vec![OWN[0], OWN[1], OWN[1]], "invalid_target"),
        (vec![OWN[0], ("resource", "horizon")], "invalid_target"),
        (vec![OWN[0], OWN[1], ("scope", "orders:read")], "invalid_scope"),
        (vec![OWN[0], OWN[1], ("scope", "tasks openid")], "invalid_scope"),
        (vec![OWN[0], OWN[1], ("scope", "registry:admin")], "invalid_scope"),
        (vec![OWN[1]], "invalid_request"),
        (vec![("grant_type", "password"), OWN[1]], "unsupported_grant_type"),
        (vec![("grant_type", "implicit"), OWN[1]], "unsupported_grant_type"),
        (vec![OWN[0], OWN[0], OWN[1]], "invalid_request"),
        (vec![("grant_type", "authorization_code")], "invalid_request"),
        (vec![("grant_type", "refresh_token")], "invalid_request"),
        (
            vec![("grant_type", "refresh_token"), ("refresh_token", "rubbish")],
            "invalid_grant",
        ),
    ] {
        let answer = idp.token(&pairs).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{pairs:?}");
        assert_eq!(answer.json()["error"], expect, "{pairs:?}");
    }
    // A client that has not registered the grant, and one that cannot keep a secret.
    let answer = idp
        .post("/acme/token", Some(&basic("other", OTHER_SECRET)), &OWN)
        .await;
    assert_eq!(answer.json()["error"], "unauthorized_client");
    let answer = idp
        .post("/acme/token", None, &[OWN[0], OWN[1], ("client_id", "app")])
        .await;
    assert_eq!(answer.json()["error"], "unauthorized_client");
}

#[tokio::test]
async fn introspection_tells_clients_with_a_secret_of_their_own_tenants_tokens() {
    let idp = Idp::start().await;
    let tokens = idp.tokens().await;
    let (access, refresh, id) = (
        tokens["access_token"].as_str().unwrap(),
        tokens["refresh_token"].as_str().unwrap(),
        tokens["id_token"].as_str().unwrap(),
    );
    let told = idp.introspect(access).await;
    let said = claims(&tokens["access_token"]);
    for name in [
        "sub",
        "aud",
        "iss",
        "exp",
        "iat",
        "jti",
        "client_id",
        "scope",
        "tenant_id",
    ] {
        assert_eq!(told[name], said[name], "{name}");
    }
    assert_eq!(
        (&told["active"], &told["token_type"]),
        (&true.into(), &"Bearer".into())
    );
    assert_eq!(idp.introspect(refresh).await["sub"], "user-ada");

    let inactive = json!({"active": false});
    // An identity token is not for this, and rubbish is nothing.
    let forged = access.rsplit_once('.').unwrap().0.to_owned() + ".AAAA";
    for token in [id, "rubbish", "a.b.c", &forged, &"x".repeat(9_000)] {
        assert_eq!(idp.introspect(token).await, inactive);
    }
    // Another client sees the access token, which agents see too, but not the host's refresh token.
    let other = basic("other", OTHER_SECRET);
    let seen = async |path: &str, authorization: &str, token: &str| {
        idp.post(path, Some(authorization), &[("token", token)])
            .await
            .json()
    };
    assert_eq!(seen("/acme/introspect", &other, access).await["active"], true);
    assert_eq!(seen("/acme/introspect", &other, refresh).await, inactive);
    // The other tenant sees nothing at all, though the keys are the same.
    let host = basic("host", SECRET);
    for token in [access, refresh] {
        assert_eq!(seen("/globex/introspect", &host, token).await, inactive);
    }
    let answer = idp
        .post(
            "/acme/introspect",
            None,
            &[("token", access), ("client_id", "app")],
        )
        .await;
    assert_eq!(answer.json()["error"], "invalid_client");
    idp.advance(600);
    assert_eq!(idp.introspect(access).await, inactive, "to the second");
}

async fn userinfo(idp: &Idp, path: &str, token: Option<&str>) -> Answer {
    let mut request = Request::get(path);
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    idp.call(request.body(axum::body::Body::empty()).unwrap()).await
}

#[tokio::test]
async fn userinfo_says_who_it_is_as_far_as_that_was_asked_for() {
    let idp = Idp::start().await;
    let tokens = idp.tokens().await;
    let access = tokens["access_token"].as_str().unwrap();
    let answer = userinfo(&idp, "/acme/userinfo", Some(access)).await;
    let expect =
        json!({"sub": "user-ada", "tenant_id": "acme", "name": "ada of acme", "preferred_username": "ada"});
    assert_eq!(answer.json(), expect);
    assert_eq!(answer.header("cache-control"), "no-store");

    let own = idp.token(&OWN).await.json();
    let own = own["access_token"].as_str().unwrap();
    let id = tokens["id_token"].as_str().unwrap();
    for (path, token, status, error) in [
        ("/acme/userinfo", None, StatusCode::UNAUTHORIZED, "missing_token"),
        (
            "/acme/userinfo",
            Some("rubbish"),
            StatusCode::UNAUTHORIZED,
            "invalid_token",
        ),
        (
            "/acme/userinfo",
            Some(id),
            StatusCode::UNAUTHORIZED,
            "invalid_token",
        ),
        (
            "/globex/userinfo",
            Some(access),
            StatusCode::UNAUTHORIZED,
            "invalid_token",
        ),
        (
            "/acme/userinfo",
            Some(own),
            StatusCode::FORBIDDEN,
            "insufficient_scope",
        ),
    ] {
        let answer = userinfo(&idp, path, token).await;
        assert_eq!(answer.status, status, "{path} {}", answer.text);
        assert_eq!(answer.json()["error"], error);
        assert_eq!(answer.json()["challenge"], answer.header("www-authenticate"));
    }
    idp.advance(601);
    let answer = userinfo(&idp, "/acme/userinfo", Some(access)).await;
    assert!(answer.text.contains("token has expired"), "{}", answer.text);
    // Without `profile` there is no name.
    let asked = request_with(&[
        ("client_id", "app"),
        ("redirect_uri", APP_CALLBACK),
        ("scope", "openid"),
    ]);
    let code = Browser::default().agree(&idp, &asked).await.sent_back()["code"].clone();
    let pairs = [
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", code.as_str()),
        ("redirect_uri", APP_CALLBACK),
        ("code_verifier", crate::fixture::VERIFIER),
    ];
    let tokens = idp.post("/acme/token", None, &pairs).await.json();
    let answer = userinfo(&idp, "/acme/userinfo", tokens["access_token"].as_str()).await;
    assert_eq!(answer.json(), json!({"sub": "user-ada", "tenant_id": "acme"}));
}

#[tokio::test]
async fn a_rotated_key_signs_and_the_tokens_of_the_last_one_live_on() {
    let idp = Idp::start().await;
    let before = idp.tokens().await;
    let announced = idp.get("/acme/jwks.json").await.json();
    let kept = KeySet::rotated(&idp.kept, Algorithm::Rs256).unwrap();
    assert_ne!(shown(&kept), shown(&idp.kept));
    let idp = idp.started_with(KeySet::from_secret(&kept).unwrap());

    let after = idp.token(&OWN).await.json();
    assert_eq!(
        part(&after["access_token"], 0)["kid"],
        announced["keys"][1]["kid"]
    );
    for token in [&before, &after] {
        assert_eq!(
            idp.introspect(token["access_token"].as_str().unwrap()).await["active"],
            true
        );
    }
    assert_eq!(
        idp.get("/acme/jwks.json").await.json()["keys"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let algorithms = &idp.get("/acme/.well-known/openid-configuration").await.json()["id_token_signing_alg_values_supported"];
    assert_eq!(*algorithms, json!(["ES256", "RS256"]));
}

#[tokio::test]
async fn rs256_signs_where_it_is_configured_and_agents_take_the_tokens() {
    let idp = Idp::start_with(Algorithm::Rs256).await;
    let tokens = idp.tokens().await;
    assert_eq!(part(&tokens["access_token"], 0)["alg"], "RS256");
    assert_eq!(part(&tokens["id_token"], 0)["alg"], "RS256");
    assert_eq!(
        idp.introspect(tokens["access_token"].as_str().unwrap()).await["active"],
        true
    );
}

#[tokio::test]
async fn an_agent_that_trusts_the_issuer_takes_the_token() {
    let idp = Idp::start().await;
    let tokens = idp.tokens().await;
    let acme = Tenant::parse("acme").unwrap();
    let trusted = auth::TrustedIssuer {
        issuer: ISSUER.to_owned(),
        tenant: Some(acme.clone()),
        keys: idp.get("/acme/jwks.json").await.json()["keys"]
            .as_array()
            .unwrap()
            .clone(),
    };
    let verifier = auth::Verifier::new(HORIZON.to_owned(), vec![trusted]).unwrap();
    let now = domain::Clock::now(&*idp.clock);
    let verified = verifier
        .verify(tokens["access_token"].as_str().unwrap(), now)
        .unwrap();
    let caller = verified.caller(Some(&acme), "orders:read").unwrap();
    assert_eq!(caller.owner.as_str(), "user-ada");
    assert!(
        verifier
            .verify(tokens["id_token"].as_str().unwrap(), now)
            .is_err()
    );
}
