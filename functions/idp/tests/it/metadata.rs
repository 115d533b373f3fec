//! What clients find out by themselves.

use http::{Method, StatusCode};
use serde_json::json;

use crate::fixture::{Browser, ISSUER, Idp, URL};

#[tokio::test]
async fn the_metadata_is_the_same_wherever_it_is_looked_for_and_every_address_in_it_answers() {
    let idp = Idp::start().await;
    let document = idp.get("/acme/.well-known/openid-configuration").await;
    assert!(document.header("cache-control").contains("max-age"));
    let document = document.json();
    for path in [
        "/acme/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/acme",
        "/.well-known/openid-configuration/acme",
    ] {
        assert_eq!(idp.get(path).await.json(), document, "{path}");
    }
    assert_eq!(document["issuer"], ISSUER);
    assert_eq!(document["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(document["response_types_supported"], json!(["code"]));
    assert_eq!(
        document["grant_types_supported"],
        json!(["authorization_code", "refresh_token", "client_credentials"])
    );
    assert_eq!(
        document["scopes_supported"],
        json!([
            "openid",
            "profile",
            "offline_access",
            "orders:read",
            "orders:write",
            "tasks",
            "deliveries",
            "users"
        ])
    );
    assert_eq!(document["authorization_response_iss_parameter_supported"], true);
    assert_eq!(
        document["id_token_signing_alg_values_supported"],
        json!(["ES256"])
    );
    let mut addresses = 0;
    for (name, value) in document.as_object().unwrap() {
        let Some(address) = value
            .as_str()
            .filter(|value| value.starts_with("http") && name != "issuer")
        else {
            continue;
        };
        assert!(address.starts_with(&format!("{ISSUER}/")), "{name}");
        let path = address.strip_prefix(URL).unwrap();
        let pages = ["jwks.json", "authorize", "logout"];
        let method = if pages.iter().any(|page| path.ends_with(page)) {
            Method::GET
        } else {
            Method::POST
        };
        let answer = Browser::default().call(&idp, method, path, None).await;
        let absent = [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED];
        assert!(
            !absent.contains(&answer.status) && !answer.status.is_server_error(),
            "{name}"
        );
        addresses += 1;
    }
    assert_eq!(addresses, 7);
}

#[tokio::test]
async fn the_key_set_has_two_public_keys() {
    let idp = Idp::start().await;
    let document = idp.get("/acme/jwks.json").await.json();
    let keys = document["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 2);
    for key in keys {
        assert_eq!(
            (&key["alg"], &key["use"], &key["kty"]),
            (&"ES256".into(), &"sig".into(), &"EC".into())
        );
        assert!(key.get("d").is_none());
    }
}

#[tokio::test]
async fn a_tenant_that_is_not_there_has_nothing() {
    let idp = Idp::start().await;
    for tenant in ["initech", "ACME", "public", "a%23b", "%ff", &"x".repeat(5_000)] {
        for (method, path) in [
            (Method::GET, "authorize"),
            (Method::POST, "authorize"),
            (Method::POST, "token"),
            (Method::POST, "generate-token"),
            (Method::POST, "revoke"),
            (Method::POST, "introspect"),
            (Method::GET, "userinfo"),
            (Method::GET, "logout"),
            (Method::POST, "logout"),
            (Method::GET, "jwks.json"),
            (Method::GET, "sessions.json"),
            (Method::GET, "browsers.json"),
            (Method::GET, ".well-known/openid-configuration"),
            (Method::GET, ".well-known/oauth-authorization-server"),
        ] {
            let path = format!("/{tenant}/{path}");
            let answer = Browser::default()
                .call(&idp, method.clone(), &path, Some(String::new()))
                .await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{method} {path}");
        }
    }
    assert_eq!(
        idp.get("/.well-known/oauth-authorization-server/initech")
            .await
            .status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(idp.get("/").await.status, StatusCode::NOT_FOUND);
}
