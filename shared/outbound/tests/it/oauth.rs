//! The client side of OAuth against servers that behave, refuse, lie, or are away.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{ExposeSecret, Timestamp};
use outbound::oauth::{
    AuthorizationAsk, CodeExchange, Dialect, OAuthClient, OAuthError, OAuthRefusal, Provider, Refresh,
    ServerMetadata, TokenKind,
};
use outbound::{CallError, Outbound};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};
use wiremock::matchers::{any, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::outbound;

fn client() -> OAuthClient {
    OAuthClient {
        id: "host:1".into(),
        secret: "s e+cret".into(),
    }
}

fn provider() -> Provider {
    Provider {
        issuer: "https://idp.example/acme".into(),
        dialect: Dialect::Standard,
        sign_in: Default::default(),
        client: client(),
    }
}

fn google() -> Provider {
    Provider {
        dialect: Dialect::Google,
        sign_in: Default::default(),
        ..provider()
    }
}

fn scopes(list: &[&str]) -> Vec<String> {
    list.iter().map(|scope| (*scope).to_owned()).collect()
}

fn metadata(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
    })
}

async fn server_with(place: &str, body: impl Fn(&str) -> Value) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(path(place))
        .respond_with(ResponseTemplate::new(200).set_body_json(body(&server.uri())))
        .mount(&server)
        .await;
    server
}

async fn answering(answer: ResponseTemplate) -> (MockServer, Url) {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let url = server.uri().parse().unwrap();
    (server, url)
}

async fn exchanged(answer: ResponseTemplate) -> Result<outbound::oauth::Tokens, OAuthError> {
    let (_server, url) = answering(answer).await;
    let exchange = CodeExchange {
        code: &"c".into(),
        verifier: &"v".into(),
        redirect_uri: "https://chat.example/callback",
        resource: "https://agents.example/a",
    };
    outbound().exchange_code(&url, &provider(), exchange).await
}

#[tokio::test]
async fn metadata_are_found_at_every_well_known_place() {
    for place in [
        "/idp/acme/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server/idp/acme",
        "/idp/acme/.well-known/oauth-authorization-server",
    ] {
        let server = server_with(place, |uri| metadata(&format!("{uri}/idp/acme"))).await;
        let issuer = format!("{}/idp/acme", server.uri());
        let found = outbound().server_metadata(&issuer).await.unwrap();
        assert_eq!(
            found.token_endpoint.as_str(),
            format!("{issuer}/token"),
            "{place}"
        );
        assert!(!found.iss_in_answer);
    }
    for place in [
        "/.well-known/oauth-protected-resource/a/x",
        "/a/x/.well-known/oauth-protected-resource",
    ] {
        let server = server_with(
            place,
            |uri| json!({"resource": format!("{uri}/a/x"), "authorization_servers": ["https://idp.example"]}),
        )
        .await;
        let resource = format!("{}/a/x", server.uri()).parse().unwrap();
        let found = outbound().resource_metadata(&resource).await.unwrap();
        assert_eq!(found.authorization_servers, ["https://idp.example"], "{place}");
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_or_resource_are_not_taken() {
    let place = "/idp/acme/.well-known/openid-configuration";
    let told: [fn(&str) -> Value; 4] = [
        |uri| metadata(&format!("{uri}/idp/globex")),
        |uri| metadata(&format!("{uri}/idp/acme/")),
        |_| metadata("https://evil.example"),
        |uri| {
            let mut told = metadata(&format!("{uri}/idp/acme"));
            told["code_challenge_methods_supported"] = json!(["plain"]);
            told
        },
    ];
    for told in told {
        let server = server_with(place, told).await;
        let issuer = format!("{}/idp/acme", server.uri());
        let refused = outbound().server_metadata(&issuer).await;
        assert!(matches!(refused, Err(OAuthError::Metadata(_))), "{refused:?}");
    }
    // A browser is never sent inside.
    let server = server_with(place, |uri| {
        let mut told = metadata(&format!("{uri}/idp/acme"));
        told["authorization_endpoint"] = json!("http://169.254.169.254/authorize");
        told
    })
    .await;
    let refused = outbound()
        .server_metadata(&format!("{}/idp/acme", server.uri()))
        .await;
    assert!(matches!(refused, Err(OAuthError::Call(CallError::NotAllowed(_)))));
    let place = "/a/x/.well-known/oauth-protected-resource";
    let server = server_with(place, |uri| json!({"resource": format!("{uri}/a/y")})).await;
    let resource = format!("{}/a/x", server.uri()).parse().unwrap();
    let refused = outbound().resource_metadata(&resource).await;
    assert!(matches!(refused, Err(OAuthError::Metadata(_))));
    for issuer in ["", "idp", "https://idp.example/?a=b", "https://idp.example/#a"] {
        let refused = outbound().server_metadata(issuer).await;
        assert!(matches!(refused, Err(OAuthError::Metadata(_))), "{issuer}");
    }
}

#[tokio::test]
async fn tokens_are_asked_for_with_the_clients_secret_in_the_header_alone() {
    let body = json!({"access_token": "a", "token_type": "bearer", "expires_in": "60", "scope": "x y"});
    let (server, url) = answering(ResponseTemplate::new(200).set_body_json(body)).await;
    let refresh = Refresh {
        token: &"r&1".into(),
        resource: "https://agents.example/a",
    };
    let outbound: Outbound = outbound();
    let tokens = outbound.refresh(&url, &provider(), refresh).await.unwrap();
    assert_eq!(tokens.access_token.expose_secret(), "a");
    assert_eq!(tokens.lifetime, Duration::from_secs(60));
    assert!(!format!("{tokens:?}").contains("\"a\""));
    // The server did not rotate: the refresh token before stays.
    let before = tokens.clone().granted(
        &scopes(&["x", "y"]),
        Some("ada".into()),
        Timestamp::from_millis(0),
    );
    let before = auth::GrantSecrets {
        refresh_token: Some("r&1".into()),
        ..before
    };
    let after = tokens.refreshed(&before, Timestamp::from_millis(1000));
    assert_eq!(after.refresh_token.unwrap().expose_secret(), "r&1");
    assert_eq!(after.expires_at, Timestamp::from_millis(61_000));
    assert_eq!(
        (after.scopes.len(), after.id_token_subject.as_deref()),
        (2, Some("ada"))
    );

    let revoked = (TokenKind::Refresh, &"r&1".into());
    outbound.revoke(&url, &provider(), revoked).await.unwrap();
    let requests = server.received_requests().await.unwrap();
    let forms: Vec<BTreeMap<String, String>> = requests
        .iter()
        .map(|request| form_urlencoded::parse(&request.body).into_owned().collect())
        .collect();
    assert_eq!(forms[0]["grant_type"], "refresh_token");
    assert_eq!(forms[0]["refresh_token"], "r&1");
    assert_eq!(forms[0]["resource"], "https://agents.example/a");
    assert_eq!(forms[1]["token"], "r&1");
    assert_eq!(forms[1]["token_type_hint"], "refresh_token");
    for request in &requests {
        // base64 of `host%3A1:s+e%2Bcret`: both halves are encoded first (RFC 6749 §2.3.1).
        assert_eq!(
            request.headers["authorization"],
            "Basic aG9zdCUzQTE6cytlJTJCY3JldA=="
        );
        assert!(!String::from_utf8_lossy(&request.body).contains("cret"));
    }
    assert!(!format!("{:?}", client()).contains("e+cret"));
}

#[tokio::test]
async fn a_refusal_is_told_from_a_server_that_is_away() {
    let error =
        |status: u16, error: &str| ResponseTemplate::new(status).set_body_json(json!({"error": error}));
    for (answer, refusal) in [
        (error(400, "invalid_grant"), OAuthRefusal::InvalidGrant),
        (error(401, "invalid_client"), OAuthRefusal::InvalidClient),
        (error(400, "invalid_scope"), OAuthRefusal::InvalidScope),
        (error(400, "invalid_target"), OAuthRefusal::InvalidTarget),
        (
            error(200, "bad_verification_code"),
            OAuthRefusal::Other("bad_verification_code".into()),
        ),
        (error(400, "<a\n b>"), OAuthRefusal::Other("ab".into())),
    ] {
        match exchanged(answer).await {
            Err(OAuthError::Refused(told)) => assert_eq!(told, refusal),
            other => panic!("{refusal:?}: {other:?}"),
        }
    }
    let refused = exchanged(error(400, "invalid_grant")).await.unwrap_err();
    assert!(refused.is_invalid_grant() && !refused.is_retryable());
    for away in [
        error(400, "temporarily_unavailable"),
        error(500, "server_error"),
        error(503, "invalid_grant"),
        ResponseTemplate::new(502).set_body_string("<html>"),
        ResponseTemplate::new(429),
    ] {
        let error = exchanged(away).await.unwrap_err();
        assert!(error.is_retryable() && !error.is_invalid_grant(), "{error:?}");
    }
    let nobody: Url = "http://127.0.0.1:9/".parse().unwrap();
    let revoked = (TokenKind::Access, &"a".into());
    let error = outbound()
        .revoke(&nobody, &provider(), revoked)
        .await
        .unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
}

#[tokio::test]
async fn what_is_no_bearer_token_is_not_taken_and_not_told() {
    for rubbish in [
        json!({"access_token": "hunter2", "token_type": "mac"}),
        json!({"access_token": "", "token_type": "bearer"}),
        json!({"access_token": "hunter2"}),
        json!({"access_token": ["hunter2"], "token_type": "bearer"}),
        json!("hunter2"),
        json!(null),
    ] {
        let error = exchanged(ResponseTemplate::new(200).set_body_json(&rubbish))
            .await
            .unwrap_err();
        assert!(
            matches!(error, OAuthError::Call(CallError::BadAnswer(_))),
            "{rubbish}"
        );
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
    let forever = json!({"access_token": "a", "token_type": "Bearer", "expires_in": u64::MAX});
    let tokens = exchanged(ResponseTemplate::new(200).set_body_json(forever))
        .await
        .unwrap();
    assert_eq!(tokens.lifetime, Duration::from_secs(24 * 3600));
}

#[tokio::test]
async fn google_is_asked_by_form_without_a_resource_and_says_of_revoked_tokens_that_they_are_invalid() {
    let body = json!({"access_token": "a", "token_type": "Bearer", "expires_in": 3599});
    let (server, url) = answering(ResponseTemplate::new(200).set_body_json(body)).await;
    let exchange = CodeExchange {
        code: &"c".into(),
        verifier: &"v".into(),
        redirect_uri: "https://chat.example/callback",
        resource: "https://www.googleapis.com/calendar/v3",
    };
    let refresh = Refresh {
        token: &"r".into(),
        resource: exchange.resource,
    };
    outbound().exchange_code(&url, &google(), exchange).await.unwrap();
    outbound().refresh(&url, &google(), refresh).await.unwrap();
    for request in server.received_requests().await.unwrap() {
        assert!(!request.headers.contains_key("authorization"));
        let form: BTreeMap<String, String> = form_urlencoded::parse(&request.body).into_owned().collect();
        assert_eq!(
            (form["client_id"].as_str(), form["client_secret"].as_str()),
            ("host:1", "s e+cret")
        );
        assert!(!form.contains_key("resource"), "{form:?}");
    }
    let gone = ResponseTemplate::new(400).set_body_json(json!({"error": "invalid_token"}));
    let (_server, url) = answering(gone).await;
    let revoked = (TokenKind::Refresh, &"r".into());
    outbound().revoke(&url, &google(), revoked).await.unwrap();
}

#[test]
fn google_is_asked_for_a_refresh_token_where_there_is_none_and_never_for_what_others_were_granted() {
    let server: ServerMetadata = serde_json::from_value(metadata("https://accounts.example")).unwrap();
    let (asked, resource) = (scopes(&["calendar.freebusy"]), "https://calendar.example");
    let sent = |dialect, renewable| {
        let ask = AuthorizationAsk {
            client_id: "host:1",
            redirect_uri: "https://chat.example/callback",
            scopes: &asked,
            resource,
            state: "s",
            nonce: "n",
            challenge: "c",
            dialect,
            renewable,
        };
        let url = server.authorization_url(&ask);
        url.query_pairs()
            .into_owned()
            .collect::<BTreeMap<String, String>>()
    };
    let first = sent(Dialect::Google, false);
    assert_eq!(
        (first["access_type"].as_str(), first["prompt"].as_str()),
        ("offline", "consent")
    );
    assert_eq!(first["code_challenge_method"], "S256");
    let again = sent(Dialect::Google, true);
    assert_eq!(
        (again["access_type"].as_str(), again.get("prompt")),
        ("offline", None)
    );
    for asked in [first, again] {
        assert!(
            !asked.contains_key("include_granted_scopes") && !asked.contains_key("resource"),
            "{asked:?}"
        );
    }
    let standard = sent(Dialect::Standard, false);
    assert_eq!(standard["resource"], resource);
    assert!(!standard.contains_key("access_type") && !standard.contains_key("prompt"));
}

#[test]
fn a_provider_of_before_has_the_standards_dialect_and_google_is_named() {
    let read = |dialect: &str| {
        let text =
            format!(r#"{{"issuer": "https://a.example", {dialect}"client_id": "c", "client_secret": "s"}}"#);
        serde_json::from_str::<Provider>(&text).map(|provider| provider.dialect)
    };
    assert_eq!(read("").unwrap(), Dialect::Standard);
    assert_eq!(read(r#""dialect": "google", "#).unwrap(), Dialect::Google);
    assert!(read(r#""dialect": "googel", "#).is_err());
}

#[tokio::test]
async fn scopes_that_nobody_asked_for_are_not_used_and_boxes_may_be_unticked() {
    let told = |scope: &str| json!({"access_token": "a", "token_type": "Bearer", "scope": scope});
    let asked = scopes(&["x", "y"]);
    let now = Timestamp::from_millis(0);
    for (told_scopes, granted) in [
        ("x y z", vec!["x", "y"]),
        ("y", vec!["y"]),
        ("x offline_access", vec!["x", "offline_access"]),
    ] {
        let tokens = exchanged(ResponseTemplate::new(200).set_body_json(told(told_scopes)))
            .await
            .unwrap();
        let grant = tokens.clone().granted(&asked, None, now);
        assert_eq!(grant.scopes, granted);
        // A refresh widens nothing.
        let narrow = auth::GrantSecrets {
            scopes: scopes(&["y"]),
            ..grant
        };
        assert!(
            tokens
                .refreshed(&narrow, now)
                .scopes
                .iter()
                .all(|scope| scope == "y" || scope == "offline_access")
        );
    }
}

/// What providers send, and what must come of each.
fn rows(kind: &str) -> Vec<Value> {
    let table: Value = serde_json::from_str(include_str!("../providers.json")).unwrap();
    table[kind].as_array().unwrap().clone()
}

/// An answer with this body; a text is a page.
fn answer(status: &Value, body: &Value) -> ResponseTemplate {
    let answer = ResponseTemplate::new(u16::try_from(status.as_u64().unwrap()).unwrap());
    match body {
        Value::String(page) => answer.set_body_string(page),
        body => answer.set_body_json(body),
    }
}

#[tokio::test]
async fn what_is_granted_is_told_in_the_words_of_many_providers() {
    for row in rows("tokens") {
        let mut body = json!({"access_token": "secret-of-the-table", "token_type": "Bearer"});
        let told = row["answer"].as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(told);
        let told = exchanged(answer(&json!(200), &body)).await;
        let Some(granted) = row["granted"].as_str() else {
            let shown = format!("{told:?}");
            let is_bad = matches!(told, Err(OAuthError::Call(CallError::BadAnswer(_))));
            assert!(is_bad && !shown.contains("secret-of-the-table"), "{row}: {shown}");
            continue;
        };
        let tokens = told.unwrap_or_else(|error| panic!("{row}: {error:?}"));
        if let Some(seconds) = row["seconds"].as_u64() {
            assert_eq!(tokens.lifetime, Duration::from_secs(seconds), "{row}");
        }
        let asked: Vec<String> = row["asked"]
            .as_str()
            .unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let read = tokens.granted(&asked, None, Timestamp::from_millis(0));
        assert_eq!(read.scopes.join(" "), granted, "{row}");
        assert_eq!(read.refresh_token.is_some(), row["renews"] == true, "{row}");
    }
}

#[tokio::test]
async fn a_refusal_is_one_in_whatever_words() {
    for row in rows("refusals") {
        let error = exchanged(answer(&row["status"], &row["body"])).await.unwrap_err();
        let refused = row["refused"] == true;
        assert_eq!(error.is_refusal(), refused, "{row}: {error:?}");
        assert!(!(refused && error.is_retryable()), "{row}: {error:?}");
    }
}

#[tokio::test]
async fn metadata_are_read_as_many_providers_write_them() {
    for row in rows("metadata") {
        let at = row["at"].as_str().unwrap();
        let name = row["name"].as_str().unwrap_or("openid-configuration");
        let place = match name {
            "openid-configuration" => format!("{}/.well-known/{name}", at.trim_end_matches('/')),
            _ => format!("/.well-known/{name}{at}"),
        };
        let server = server_with(&place, |host| {
            let mut document = metadata(&format!("{host}{at}"));
            let told = row["document"].as_object().unwrap().clone();
            document.as_object_mut().unwrap().extend(told);
            serde_json::from_str(&document.to_string().replace("{host}", host)).unwrap()
        })
        .await;
        let found = outbound().server_metadata(&format!("{}{at}", server.uri())).await;
        assert_eq!(found.is_ok(), row["taken"] == true, "{row}: {found:?}");
    }
}
