//! Another tenant's card never reaches a host, in any way; and a host never sends to it.

use reqwest::StatusCode;
use serde_json::{Value, json};
use system_testing::Local;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// A spy of `globex`: an agent that must never hear of `acme`.
async fn spy(types: &str, tenant: Option<&str>) -> MockServer {
    let server = MockServer::start().await;
    let mut tags = vec![format!("type:{types}")];
    tags.extend(tenant.map(|tenant| format!("tenant_id:{tenant}")));
    let card = json!({
        "name": "Book desk", "description": "Knows every library loan", "version": "1",
        "supportedInterfaces": [{ "url": server.uri(), "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": { "pushNotifications": true },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "loans", "name": "Library loans", "description": "When library loans are due, renewing a library loan",
                     "tags": tags, "examples": ["When is my library loan due?"] }],
    });
    Mock::given(any())
        .respond_with(move |request: &Request| {
            if request.url.path().contains(".well-known") {
                ResponseTemplate::new(200).set_body_json(card.clone())
            } else {
                ResponseTemplate::new(500)
            }
        })
        .mount(&server)
        .await;
    server
}

async fn calls(server: &MockServer) -> usize {
    let requests = server.received_requests().await.unwrap_or_default();
    requests
        .iter()
        .filter(|request| request.method.as_str() == "POST")
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_card_never_reaches_a_host_in_any_way() {
    let local = Local::start().await;
    let http = system_testing::user::http();
    let registry = local.endpoint("/registry").trim_end_matches('/').to_owned();
    let admin = local.endpoint("/registry_token").to_owned();
    let spy = spy("loans", Some("globex")).await;
    let put = http
        .put(format!("{registry}/types/loans"))
        .bearer_auth(&admin)
        .json(&json!({ "scope": "tenant" }))
        .send()
        .await
        .unwrap();
    assert!(put.status().is_success(), "{put:?}");
    let registered = http
        .post(format!("{registry}/agents"))
        .bearer_auth(&admin)
        .json(&json!({ "cardUrl": format!("{}/.well-known/agent-card.json", spy.uri()), "tenant": "globex" }))
        .send()
        .await
        .unwrap();
    assert_eq!(
        registered.status(),
        StatusCode::CREATED,
        "{:?}",
        registered.text().await
    );
    let id = registered.json::<Value>().await.unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let rehearsed = calls(&spy).await;
    assert_eq!(rehearsed, 1, "the registry has tried it, in the name of nobody");

    // Every way a host of acme could come by it.
    let acme = local
        .system
        .registry_token("acme", "registry:read")
        .expect("a token");
    for path in [
        "/agents".to_owned(),
        "/agents?tag=type:loans".to_owned(),
        "/agents?tag=type:loans&tag=tenant_id:globex".to_owned(),
        "/agents?tag=tenant_id:globex".to_owned(),
        "/agents?tenant=globex".to_owned(),
        "/agents?tag=type:loans&tenant=globex".to_owned(),
        format!("/agents/{id}"),
    ] {
        let answer = http
            .get(format!("{registry}{path}"))
            .bearer_auth(&acme)
            .header("x-tenant-id", "globex")
            .send()
            .await
            .unwrap();
        assert!(
            answer.status().is_success() || answer.status().is_client_error(),
            "{path}: {answer:?}"
        );
        let body = answer.text().await.unwrap();
        assert!(
            !body.contains(&spy.uri()) && !body.contains("Book desk"),
            "{path}: {body}"
        );
    }
    for (method, path) in [
        (reqwest::Method::DELETE, format!("/agents/{id}")),
        (reqwest::Method::POST, format!("/agents/{id}/check")),
        (reqwest::Method::POST, format!("/agents/{id}/unreached")),
        (reqwest::Method::POST, format!("/agents/{id}/approve")),
    ] {
        let writing = local
            .system
            .registry_token("acme", "registry:write")
            .expect("a token");
        let answer = http
            .request(method, format!("{registry}{path}"))
            .bearer_auth(&writing)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(
        http.get(format!("{registry}/agents"))
            .send()
            .await
            .unwrap()
            .status(),
        StatusCode::UNAUTHORIZED
    );

    // The only agent of its type is globex's: acme's host says there is none, and sends nothing.
    let user = local.user("acme");
    let asked = user.ask("When is my library loan due?").await;
    let task = user
        .until(
            &asked.task_id(),
            &["completed", "rejected", "failed", "input-required"],
        )
        .await;
    assert!(task["agentType"].is_null(), "{task:#}");
    assert_eq!(calls(&spy).await, rehearsed, "the spy heard of it");

    // globex's own host finds it.
    let user = local.user("globex");
    user.begin("When is my library loan due?").await;
    for _ in 0..100 {
        if calls(&spy).await > rehearsed {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(calls(&spy).await > rehearsed, "globex's host asks its own agent");
    local.system.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_contradicts_its_types_scope_is_refused_with_the_reason() {
    let local = Local::start().await;
    let http = system_testing::user::http();
    let registry = local.endpoint("/registry").trim_end_matches('/').to_owned();
    let admin = local.endpoint("/registry_token").to_owned();
    let register = |card: String, tenant: Option<&str>| {
        let body = json!({ "cardUrl": card, "tenant": tenant });
        http.post(format!("{registry}/agents"))
            .bearer_auth(&admin)
            .json(&body)
            .send()
    };
    // weather is global: a tenant's own is refused; a type that nobody declared is, too.
    let tenants_weather = spy("weather", Some("globex")).await;
    let undeclared = spy("nobody-declared-this", None).await;
    for (server, tenant) in [(&tenants_weather, Some("globex")), (&undeclared, None)] {
        let answer = register(format!("{}/.well-known/agent-card.json", server.uri()), tenant)
            .await
            .unwrap();
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["error"], "card_refused");
        assert!(
            body["reasons"]
                .as_array()
                .is_some_and(|reasons| !reasons.is_empty()),
            "{body}"
        );
    }
    let again = http
        .put(format!("{registry}/types/weather"))
        .bearer_auth(&admin)
        .json(&json!({ "scope": "tenant" }))
        .send()
        .await
        .unwrap();
    assert_eq!(again.status(), StatusCode::CONFLICT, "a type is declared once");
    local.system.stop().await;
}
