//! Setting tenants up, once and again.

use domain::{SystemEntropy, Tenant};
use http::StatusCode;
use idp::{NewClient, NewUser, provision};
use serde_json::json;
use store::SessionIssuer;

use crate::fixture::{Browser, Idp, PASSWORD, SECRET, request};

fn ada(password: &str) -> NewUser {
    NewUser {
        username: "ada".into(),
        display_name: "ada of acme".into(),
        password: password.into(),
        roles: Vec::new(),
    }
}

fn host(secret: &str) -> NewClient {
    NewClient::host(&"http://127.0.0.1:3000/t/acme/".parse().unwrap(), secret.into())
}

#[tokio::test]
async fn a_repeat_changes_nothing_and_a_change_takes_effect() {
    let idp = Idp::start().await;
    let acme = Tenant::parse("acme").unwrap();
    let identity = idp.store.identity();
    let before = (
        identity.find_user(&acme, "ada").await.unwrap(),
        identity.find_client(&acme, "host").await.unwrap(),
    );
    provision(
        &idp.store,
        &acme,
        &[host(SECRET)],
        &[ada(PASSWORD)],
        &SystemEntropy,
    )
    .await
    .unwrap();
    let after = (
        identity.find_user(&acme, "ada").await.unwrap(),
        identity.find_client(&acme, "host").await.unwrap(),
    );
    assert_eq!(before, after, "the very same hash");

    provision(&idp.store, &acme, &[], &[ada("another password")], &SystemEntropy)
        .await
        .unwrap();
    let user = identity.find_user(&acme, "ada").await.unwrap().unwrap();
    assert_eq!(user.subject, before.0.unwrap().subject);
    let browser = Browser::default();
    let page = browser.authorize(&idp, &request()).await;
    let fields = [("username", "ada"), ("password", PASSWORD)];
    let answer = browser.send(&idp, &page, "login", &fields).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_new_tenant_is_there_without_a_restart() {
    let idp = Idp::start().await;
    let path = "/initech/jwks.json";
    assert_eq!(idp.get(path).await.status, StatusCode::NOT_FOUND);
    let initech = Tenant::parse("initech").unwrap();
    provision(&idp.store, &initech, &[host(SECRET)], &[], &SystemEntropy)
        .await
        .unwrap();
    assert_eq!(idp.get(path).await.status, StatusCode::OK);
}

#[tokio::test]
async fn who_issues_a_tenants_sessions_is_told_as_long_as_it_is_stored() {
    let idp = Idp::start().await;
    let (acme, path) = (Tenant::parse("acme").unwrap(), "/acme/sessions.json");
    assert_eq!(idp.get(path).await.status, StatusCode::NOT_FOUND);
    let issuer = SessionIssuer {
        issuer: "https://acme.example".to_owned(),
        keys: vec![json!({ "kty": "EC", "kid": "1" })],
        browser_keys: vec![json!({ "kty": "EC", "kid": "2" })],
    };
    let identity = idp.store.identity();
    identity.put_session_issuer(&acme, &issuer).await.unwrap();
    let told = idp.get(path).await;
    assert!(told.header("cache-control").contains("max-age"));
    assert_eq!(
        told.json(),
        json!({ "issuer": "https://acme.example", "keys": [{ "kty": "EC", "kid": "1" }], "tenant": "acme" })
    );
    // Neither document has the keys of the other.
    assert_eq!(
        idp.get("/acme/browsers.json").await.json(),
        json!({ "issuer": "https://acme.example", "keys": [{ "kty": "EC", "kid": "2" }], "tenant": "acme" })
    );
    for other in [
        "/globex/sessions.json",
        "/globex/browsers.json",
        "/nobody/browsers.json",
        "/nobody/sessions.json",
        "/ACME/sessions.json",
    ] {
        assert_eq!(idp.get(other).await.status, StatusCode::NOT_FOUND, "{other}");
    }
    identity.remove_session_issuer(&acme).await.unwrap();
    assert_eq!(idp.get(path).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn only_the_present_incarnation_of_a_name_is_there() {
    let idp = Idp::start().await;
    let (first, second) = (
        Tenant::from_prefix("initech.00000001").unwrap(),
        Tenant::from_prefix("initech.00000002").unwrap(),
    );
    let issuer = |of: &str| SessionIssuer {
        issuer: format!("https://{of}.example"),
        keys: vec![json!({ "kty": "EC", "kid": "1" })],
        browser_keys: Vec::new(),
    };
    for (tenant, of) in [(&first, "first"), (&second, "second")] {
        idp.store.tenants().add(tenant).await.unwrap();
        provision(&idp.store, tenant, &[host(SECRET)], &[], &SystemEntropy)
            .await
            .unwrap();
        let identity = idp.store.identity();
        identity.put_session_issuer(tenant, &issuer(of)).await.unwrap();
        let here = format!("/{}/jwks.json", tenant.prefix());
        assert_eq!(idp.get(&here).await.status, StatusCode::OK, "{here}");
        for path in [
            "/initech/sessions.json".to_owned(),
            format!("/{}/sessions.json", tenant.prefix()),
        ] {
            let told = idp.get(&path).await.json();
            assert_eq!(told["tenant"], json!(tenant), "{path}");
            assert_eq!(told["issuer"], format!("https://{of}.example"));
        }
        // The bare name is an address of none of them.
        assert_eq!(idp.get("/initech/jwks.json").await.status, StatusCode::NOT_FOUND);
        if of == "first" {
            idp.store.tenants().remove(tenant).await.unwrap();
            for gone in [here, "/initech/sessions.json".to_owned()] {
                assert_eq!(idp.get(&gone).await.status, StatusCode::NOT_FOUND, "{gone}");
            }
        }
    }
    for old in [
        "jwks.json",
        "sessions.json",
        "browsers.json",
        ".well-known/openid-configuration",
    ] {
        let old = format!("/initech.00000001/{old}");
        assert_eq!(idp.get(&old).await.status, StatusCode::NOT_FOUND, "{old}");
    }
    assert!(
        idp.store
            .tenants()
            .suspend(&second, Some(domain::Clock::now(&*idp.clock)))
            .await
            .unwrap()
    );
    let metadata = "/initech.00000002/.well-known/openid-configuration";
    assert_eq!(idp.get(metadata).await.status, StatusCode::FORBIDDEN);
    assert_eq!(
        idp.get("/initech.00000002/authorize").await.status,
        StatusCode::FORBIDDEN
    );
    assert!(idp.store.tenants().suspend(&second, None).await.unwrap());
    assert_eq!(idp.get(metadata).await.status, StatusCode::OK);
}

#[tokio::test]
async fn what_would_not_be_safe_is_refused_before_anything_is_written() {
    let idp = Idp::start().await;
    let initech = Tenant::parse("initech").unwrap();
    let changed = |change: fn(&mut NewClient)| {
        let mut client = host(SECRET);
        change(&mut client);
        client
    };
    for client in [
        host("short"),
        changed(|client| client.secret = None),
        changed(|client| client.client_id = "a#b".into()),
        changed(|client| client.client_id = String::new()),
        changed(|client| client.redirect_uris.push("http://evil.example/".into())),
        changed(|client| client.scopes.push("registry:admin".into())),
    ] {
        let refused = provision(&idp.store, &initech, &[client], &[ada(PASSWORD)], &SystemEntropy).await;
        assert!(refused.is_err());
        assert_eq!(
            idp.store.identity().find_user(&initech, "ada").await.unwrap(),
            None
        );
    }
    for username in ["", "Ada", "a b", "a#b"] {
        let user = NewUser {
            username: username.into(),
            ..ada(PASSWORD)
        };
        assert!(
            provision(&idp.store, &initech, &[], &[user], &SystemEntropy)
                .await
                .is_err(),
            "{username}"
        );
    }
    assert!(
        provision(&idp.store, &initech, &[], &[ada("")], &SystemEntropy)
            .await
            .is_err()
    );
}
