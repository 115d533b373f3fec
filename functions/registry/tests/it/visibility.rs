//! Attacks: another tenant's card never reaches anybody, by any route.

use http::StatusCode;
use serde_json::json;

use crate::fixture::{By, Registry, card};

/// A registry where globex alone has an agent, the only one of its type.
async fn with_a_secret() -> (Registry, String) {
    let registry = Registry::start().await;
    registry.declare("horizon", "tenant").await;
    let secret = card("Secret of globex", &["type:horizon", "tenant_id:globex"]);
    let id = registry.admit("/secret.json", &secret, Some("globex")).await;
    (registry, id)
}

#[tokio::test]
async fn another_tenants_card_never_reaches_a_host() {
    let (registry, id) = with_a_secret().await;
    let every = ["registry:read", "registry:write", "registry:admin"];
    for scopes in [&every[..1], &every[..2], &every[..]] {
        let acme = registry.token(By::Acme, scopes);
        for path in [
            "/agents",
            "/agents?tag=type:horizon",
            "/agents?tag=tenant_id:globex",
            "/agents?tag=type:horizon&tag=tenant_id:globex",
            "/agents?tag=type:horizon&tenant=acme",
            "/agents?limit=100&cursor=00000000-0000-0000-0000-000000000000",
        ] {
            let answer = registry.get(path, &acme).await;
            assert_eq!(answer.status, StatusCode::OK, "{path}");
            assert_eq!(answer.body["agents"], json!([]), "{path}");
            assert!(!answer.body.to_string().contains("Secret"), "{path}");
        }
        for tenant in ["globex", "nobody"] {
            let answer = registry.get(&format!("/agents?tenant={tenant}"), &acme).await;
            assert_eq!(
                answer.status,
                StatusCode::FORBIDDEN,
                "a tenant that exists and one that does not look alike"
            );
        }
        let one = registry.get(&format!("/agents/{id}"), &acme).await;
        let none = registry
            .get("/agents/00000000-0000-4000-8000-000000000000", &acme)
            .await;
        assert_eq!((one.status, &one.body), (StatusCode::NOT_FOUND, &none.body));
        assert_eq!(
            registry
                .get(&format!("/agents/{id}?tenant=globex"), &acme)
                .await
                .status,
            StatusCode::FORBIDDEN
        );
    }
}

#[tokio::test]
async fn another_tenants_card_cannot_be_changed_or_removed() {
    let (registry, id) = with_a_secret().await;
    let acme = registry.token(By::Acme, &["registry:read", "registry:write", "registry:admin"]);
    for (method, path) in [
        ("DELETE", format!("/agents/{id}")),
        ("POST", format!("/agents/{id}/check")),
        ("POST", format!("/agents/{id}/disable")),
        ("POST", format!("/agents/{id}/enable")),
    ] {
        let answer = registry.call(method, &path, &acme, json!(null)).await;
        assert_eq!(
            answer.status,
            StatusCode::NOT_FOUND,
            "{method} {path} {}",
            answer.body
        );
        let answer = registry
            .call(method, &format!("{path}?tenant=globex"), &acme, json!(null))
            .await;
        assert_eq!(
            answer.status,
            StatusCode::FORBIDDEN,
            "{method} {path}?tenant=globex {}",
            answer.body
        );
    }
    let globex = registry.token(By::Globex, &["registry:read"]);
    assert_eq!(registry.ids("/agents?tag=type:horizon", &globex).await, [id]);
}

#[tokio::test]
async fn nobody_registers_into_another_tenant_or_for_all() {
    let (registry, _) = with_a_secret().await;
    registry.declare("weather", "global").await;
    let acme = registry.token(By::Acme, &["registry:read", "registry:write"]);
    let globex = registry.token(By::Globex, &["registry:read"]);
    let theirs = registry
        .serve(
            "/theirs.json",
            &card("Trojan", &["type:horizon", "tenant_id:globex"]),
        )
        .await;
    let global = registry
        .serve("/global.json", &card("Trojan", &["type:weather"]))
        .await;
    for (body, status) in [
        (
            json!({"cardUrl": theirs, "tenant": "globex"}),
            StatusCode::FORBIDDEN,
        ),
        (json!({"cardUrl": theirs}), StatusCode::UNPROCESSABLE_ENTITY),
        (
            json!({"cardUrl": theirs, "tenant": "acme"}),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (json!({"cardUrl": global}), StatusCode::UNPROCESSABLE_ENTITY),
        // What types there are is the platform's to say.
        (
            json!({"cardUrl": global, "scope": "global"}),
            StatusCode::FORBIDDEN,
        ),
    ] {
        let answer = registry.call("POST", "/agents", &acme, body.clone()).await;
        assert_eq!(answer.status, status, "{body} {}", answer.body);
    }
    assert_eq!(registry.ids("/agents", &globex).await.len(), 1);
    assert!(registry.ids("/agents", &acme).await.is_empty());
}

#[tokio::test]
async fn a_card_url_that_another_tenant_has_registered_is_free_here() {
    let (registry, id) = with_a_secret().await;
    let url = format!("{}/secret.json", registry.cards.uri());
    registry.cards.reset().await;
    registry
        .serve("/secret.json", &card("Ours", &["type:horizon", "tenant_id:acme"]))
        .await;
    let acme = registry.token(By::Acme, &["registry:read", "registry:write"]);
    let answer = registry
        .call("POST", "/agents", &acme, json!({"cardUrl": url}))
        .await;
    // Neither a conflict nor an update: the answer tells nothing of globex.
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    assert_ne!(answer.body["id"], json!(id));
    let globex = registry.token(By::Globex, &["registry:read"]);
    let theirs = registry.get(&format!("/agents/{id}"), &globex).await;
    assert_eq!(theirs.body["card"]["name"], "Secret of globex");
}

#[tokio::test]
async fn a_tenant_sees_global_agents_but_does_not_change_them() {
    let registry = Registry::start().await;
    registry.declare("weather", "global").await;
    let id = registry
        .admit("/w.json", &card("Weather", &["type:weather"]), None)
        .await;
    let acme = registry.token(By::Acme, &["registry:read", "registry:write", "registry:admin"]);
    assert_eq!(
        registry.get(&format!("/agents/{id}"), &acme).await.status,
        StatusCode::OK
    );
    for (method, path) in [
        ("DELETE", format!("/agents/{id}")),
        ("POST", format!("/agents/{id}/check")),
        ("POST", format!("/agents/{id}/disable")),
        ("POST", format!("/agents/{id}/enable")),
    ] {
        assert_eq!(
            registry.call(method, &path, &acme, json!(null)).await.status,
            StatusCode::FORBIDDEN,
            "{method}"
        );
    }
    assert_eq!(
        registry.get(&format!("/agents/{id}"), &acme).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn the_platform_sees_what_it_asks_for() {
    let (registry, id) = with_a_secret().await;
    registry.declare("weather", "global").await;
    let global = registry
        .admit("/w.json", &card("Weather", &["type:weather"]), None)
        .await;
    let admin = registry.admin();
    assert_eq!(
        registry.ids("/agents", &admin).await,
        std::slice::from_ref(&global)
    );
    assert_eq!(registry.ids("/agents?tenant=acme", &admin).await, [global]);
    assert_eq!(registry.ids("/agents?tenant=globex", &admin).await.len(), 2);
    assert_eq!(
        registry.get(&format!("/agents/{id}"), &admin).await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        registry
            .get(&format!("/agents/{id}?tenant=globex"), &admin)
            .await
            .status,
        StatusCode::OK
    );
}
