//! `issuer check`, against providers with one fault each.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::binary::{out, sentence, switchyard};

/// A P-256 point (RFC 7517, appendix A.1).
fn good_key() -> Value {
    json!({ "kty": "EC", "crv": "P-256", "kid": "spring", "use": "sig",
        "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM" })
}

/// What the provider of this name says of itself.
fn metadata(base: &str, name: &str) -> Value {
    let mut said = json!({
        "issuer": format!("{base}/{name}"),
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "jwks_uri": format!("{base}/keys/{name}"),
        "scopes_supported": ["openid", "email"],
        "code_challenge_methods_supported": ["S256"],
        "end_session_endpoint": format!("{base}/logout"),
    });
    let change = match name {
        "other" => json!({ "issuer": "https://login.example" }),
        "plain-pkce" => json!({ "code_challenge_methods_supported": ["plain"] }),
        "keyless" => json!({ "jwks_uri": null }),
        "inside" => json!({ "authorization_endpoint": "https://169.254.169.254/authorize" }),
        "no-oidc" => json!({ "scopes_supported": ["read"] }),
        "lean" => json!({ "scopes_supported": null, "end_session_endpoint": null }),
        _ => json!({}),
    };
    let said_of = said.as_object_mut().unwrap();
    for (field, value) in change.as_object().unwrap().clone() {
        match value {
            Value::Null => _ = said_of.remove(&field),
            value => _ = said_of.insert(field, value),
        }
    }
    said
}

async fn providers() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let of =
        |State(base): State<String>, Path(name): Path<String>| async move { Json(metadata(&base, &name)) };
    let keys = |Path(name): Path<String>| async move {
        match name.as_str() {
            "broken" => Err(StatusCode::BAD_GATEWAY),
            "ps256" => Ok(Json(
                json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "x": "AAAA" }] }),
            )),
            _ => Ok(Json(json!({ "keys": [good_key()] }))),
        }
    };
    let app = Router::new()
        .route("/{name}/.well-known/openid-configuration", get(of))
        .route("/keys/{name}", get(keys))
        .with_state(base.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    base
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_would_be_refused_for_is_said_with_its_reason() {
    let base = providers().await;
    let check = |name: &str| {
        let issuer = format!("{base}/{name}");
        tokio::task::block_in_place(|| switchyard(&["issuer", "check", &issuer]))
    };
    for name in ["good", "lean"] {
        let told = check(name);
        assert!(told.status.success(), "{name}: {told:?}");
        assert!(out(&told).contains("spring"), "{}", out(&told));
    }
    assert!(out(&check("lean")).contains("stays signed in there"));
    for (name, reason) in [
        ("other", "they are of another issuer"),
        ("plain-pkce", "it does not know PKCE with S256"),
        ("keyless", "it names none"),
        ("ps256", "neither P-256 nor RSA"),
        ("broken", "502"),
        ("inside", "the address is not allowed"),
        ("no-oidc", "it is no OpenID provider"),
    ] {
        let told = check(name);
        assert_eq!(told.status.code(), Some(1), "{name}");
        let said = out(&told);
        assert!(
            said.contains("refused") && said.contains(reason),
            "{name}: {said}"
        );
        assert!(sentence(&told).contains("nobody could sign in"), "{name}");
    }
    let nowhere = switchyard(&["issuer", "check", "no address"]);
    assert!(out(&nowhere).contains("the issuer is no URL"), "{nowhere:?}");
}
