//! The tenant's keys, as its operators see them.

use std::time::Duration;

use axum::extract::Path;
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use serde_json::{Value, json};

use super::sessions::signed_in;
use super::world::World;

/// An authorization server that vouches for these keys.
async fn vouches(world: &World, sessions: Value) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/idp", listener.local_addr().unwrap());
    let document = move |Path(name): Path<String>| async move {
        match name.as_str() {
            "sessions.json" => Ok(Json(sessions)),
            "browsers.json" => Ok(Json(
                json!({"issuer": "x", "keys": [{"kid": "b1", "iat": 1_767_139_200, "d": "secret"}]}),
            )),
            _ => Err(StatusCode::NOT_FOUND),
        }
    };
    let app = Router::new().route("/idp/acme/{name}", get(document));
    *world.idp.lock().unwrap() = url.parse().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
}

#[tokio::test]
async fn an_operator_sees_which_keys_there_are_and_since_when() {
    let world = World::new().await;
    let own = world.key.kid().to_owned();
    let odd = [
        json!({"kid": 7}),
        json!(7),
        json!({"kid": "k\u{202e}3", "iat": "x"}),
        json!({"kid": "k4", "iat": i64::MAX}),
    ];
    let mut keys = vec![
        json!({"kid": own, "iat": 1_767_225_600, "x": "public"}),
        json!({"kid": "k2"}),
    ];
    keys.extend(odd);
    vouches(&world, json!({"issuer": "x", "keys": keys})).await;
    let (app, ada) = (world.app(Duration::ZERO), signed_in(&world).await);
    let told = ada.get(&app, "/api/ops/keys").await;
    assert_eq!(told.status, StatusCode::OK, "{}", told.text);
    let key = |id: &str, purpose: &str, since: Value| json!({"id": id, "purpose": purpose, "since": since});
    let keys = json!([
        key(&own, "session", json!("2026-01-01T00:00:00.000Z")),
        key("k2", "session", Value::Null),
        key("k3", "session", Value::Null),
        key("k4", "session", Value::Null),
        key("b1", "sealing", json!("2025-12-31T00:00:00.000Z")),
    ]);
    assert_eq!(told.json(), json!({"keys": keys, "signingKey": own}));
    vouches(&world, json!({"keys": "none"})).await;
    let app = world.app(Duration::ZERO);
    assert_eq!(
        ada.get(&app, "/api/ops/keys").await.json()["keys"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    // An authorization server that is away is not the operator's fault.
    *world.idp.lock().unwrap() = "http://127.0.0.1:9/idp".parse().unwrap();
    let app = world.app(Duration::ZERO);
    assert_eq!(
        ada.get(&app, "/api/ops/keys").await.status,
        StatusCode::SERVICE_UNAVAILABLE
    );
}
