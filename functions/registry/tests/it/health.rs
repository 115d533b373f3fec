//! Agents that are looked at by the clock, and agents that are switched off.

use std::time::Duration;

use edge::ScheduleHandler as _;
use http::StatusCode;
use serde_json::{Value, json};

use crate::fixture::{By, Registry, card};

/// A registry with a global agent and one of acme's.
async fn with_two() -> (Registry, String, String) {
    let registry = Registry::start().await;
    registry.declare("weather", "global").await;
    registry.declare("horizon", "tenant").await;
    let weather = registry
        .admit("/w.json", &card("Weather", &["type:weather"]), None)
        .await;
    let tags = ["type:horizon", "tenant_id:acme"];
    let horizon = registry
        .admit("/h.json", &card("Horizon", &tags), Some("acme"))
        .await;
    (registry, weather, horizon)
}

async fn health(registry: &Registry, id: &str) -> Value {
    let host = registry.token(By::Acme, &["registry:read"]);
    registry.get(&format!("/agents/{id}"), &host).await.body["health"].clone()
}

#[tokio::test]
async fn every_agent_is_looked_at_by_the_clock() {
    let (registry, weather, horizon) = with_two().await;
    registry.clock.advance(Duration::from_secs(300));
    let report = registry.checks.run().await.unwrap();
    assert_eq!(
        report,
        json!({"well": 2, "unwell": 0, "notWritten": 0, "left": 0})
    );
    for id in [&weather, &horizon] {
        assert_eq!(
            health(&registry, id).await["checkedAt"],
            "2026-01-01T00:05:00.000Z"
        );
    }

    // One is gone, the other says something new, which waits for a word.
    registry.cards.reset().await;
    registry
        .serve("/w.json", &card("Weather 2", &["type:weather", "region:eu"]))
        .await;
    let report = registry.checks.run().await.unwrap();
    assert_eq!((&report["well"], &report["unwell"]), (&json!(1), &json!(1)));
    let unwell = health(&registry, &horizon).await;
    assert!(
        unwell["ok"] == false && unwell["reason"].as_str().unwrap().contains("404"),
        "{unwell}"
    );
    let host = registry.token(By::Acme, &["registry:read"]);
    assert_eq!(registry.ids("/agents?tag=region:eu", &host).await, [""; 0]);
    let agent = registry.get(&format!("/agents/{weather}"), &host).await.body;
    assert_eq!(agent["card"]["name"], "Weather");
    let approve = format!("/agents/{weather}/approve");
    let body = json!({"pin": agent["pending"]["pin"]});
    let approved = registry.call("POST", &approve, &registry.admin(), body).await;
    assert_eq!(approved.status, StatusCode::OK, "{}", approved.body);
    assert_eq!(registry.ids("/agents?tag=region:eu", &host).await, [weather]);

    registry
        .serve("/h.json", &card("Horizon", &["type:horizon", "tenant_id:acme"]))
        .await;
    registry.checks.run().await.unwrap();
    assert_eq!(health(&registry, &horizon).await["ok"], true);
}

#[tokio::test]
async fn a_look_that_finds_nothing_new_is_no_news_and_one_write() {
    let (registry, weather, _) = with_two().await;
    let host = registry.token(By::Globex, &["registry:read"]);
    let asked = async || {
        let request = http::Request::get("/agents").header("authorization", format!("Bearer {host}"));
        let request = request.body(axum::body::Body::empty()).unwrap();
        let answer = tower::ServiceExt::oneshot(registry.router.clone(), request)
            .await
            .unwrap();
        answer.headers()["etag"].to_str().unwrap().to_owned()
    };
    let before = asked().await;
    registry.clock.advance(Duration::from_secs(60));
    let (report, calls) = store::counted(registry.checks.run()).await;
    assert_eq!(report.unwrap()["well"], 2);
    // The list, two parts of it, the types for each agent, one update for each.
    assert_eq!(calls.total(), 7, "{calls:?}");
    assert_eq!(asked().await, before);
    registry.cards.reset().await;
    registry.checks.run().await.unwrap();
    assert_ne!(asked().await, before, "it is unwell now: {weather}");
}

#[tokio::test]
async fn an_agent_that_is_switched_off_is_offered_to_nobody_and_not_called() {
    let (registry, weather, horizon) = with_two().await;
    let (admin, host) = (registry.admin(), registry.token(By::Acme, &["registry:read"]));
    let switch = async |id: &str, verb: &str, token: &str| {
        let path = format!("/agents/{id}/{verb}");
        registry.call("POST", &path, token, json!(null)).await
    };
    let off = switch(&weather, "disable", &admin).await;
    assert_eq!(
        (off.status, &off.body["enabled"]),
        (StatusCode::OK, &json!(false))
    );
    assert_eq!(
        registry.ids("/agents", &host).await,
        std::slice::from_ref(&horizon)
    );
    assert!(registry.ids("/agents?tag=type:weather", &host).await.is_empty());
    let mut both = [weather.clone(), horizon.clone()];
    both.sort();
    assert_eq!(registry.ids("/agents?disabled=true", &host).await, both);

    // Neither a look at its card nor another registration switches it on.
    let looks = registry.cards.received_requests().await.unwrap().len();
    assert_eq!(registry.checks.run().await.unwrap()["well"], 1);
    assert_eq!(registry.cards.received_requests().await.unwrap().len(), looks + 1);
    assert_eq!(switch(&weather, "check", &admin).await.body["enabled"], false);
    let url = format!("{}/w.json", registry.cards.uri());
    let again = registry
        .call("POST", "/agents", &admin, json!({"cardUrl": url}))
        .await;
    assert_eq!(
        (again.status, &again.body["enabled"]),
        (StatusCode::OK, &json!(false))
    );

    let on = switch(&weather, "enable", &admin).await;
    assert_eq!((on.status, &on.body["enabled"]), (StatusCode::OK, &json!(true)));
    assert_eq!(registry.ids("/agents", &host).await, both);

    // A tenant switches its own, and no global one; to look is not to switch.
    let own = registry.token(By::Acme, &["registry:write"]);
    assert_eq!(switch(&horizon, "disable", &own).await.status, StatusCode::OK);
    assert_eq!(
        switch(&weather, "disable", &own).await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        switch(&horizon, "enable", &host).await.status,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn a_type_that_the_card_brings_is_declared_where_the_platform_says_so() {
    let registry = Registry::start().await;
    let admin = registry.admin();
    let url = registry.serve("/p.json", &card("Parrot", &["type:parrot"])).await;
    let post = async |body: Value| registry.call("POST", "/agents", &admin, body).await;
    let refused = post(json!({"cardUrl": url})).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.to_string().contains("`parrot` is not declared"));

    // For a tenant, whose name the card does not know.
    let refused = post(json!({"cardUrl": url, "tenant": "acme", "scope": "tenant"})).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    let declared = registry.get("/types", &admin).await.body;
    assert_eq!(
        declared["types"],
        json!({}),
        "nothing is declared of a refused card"
    );
    let tags = ["tenant_id:acme"];
    let own = post(json!({"cardUrl": url, "tenant": "acme", "scope": "tenant", "tags": tags})).await;
    assert_eq!(own.status, StatusCode::CREATED, "{}", own.body);
    let acme = registry.token(By::Acme, &["registry:read"]);
    let found = registry
        .ids("/agents?tag=type:parrot&tag=tenant_id:acme", &acme)
        .await;
    assert_eq!(found.len(), 1);

    // A type is declared once: another scope changes nothing.
    let other = post(json!({"cardUrl": url, "scope": "global"})).await;
    assert_eq!(other.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        other.body.to_string().contains("declared as tenant"),
        "{}",
        other.body
    );

    let owl = registry.serve("/o.json", &card("Owl", &["type:owl"])).await;
    let global = post(json!({"cardUrl": owl, "scope": "global"})).await;
    assert_eq!(global.status, StatusCode::CREATED, "{}", global.body);
    let types = registry.get("/types", &admin).await.body;
    assert_eq!(types["types"], json!({"owl": "global", "parrot": "tenant"}));
}

#[tokio::test]
async fn each_agent_is_looked_at_once_in_as_many_minutes_as_there_are_shards_and_nothing_is_read_of_others() {
    let (mut registry, weather, horizon) = with_two().await;
    registry.checks.1 = 5;
    let mut seen = Vec::new();
    for _ in 0..5 {
        registry.clock.advance(Duration::from_secs(60));
        let (report, calls) = store::counted(registry.checks.run()).await;
        let well = report.unwrap()["well"].as_u64().unwrap();
        assert_eq!(
            calls.by_operation.contains_key("BatchGetItem"),
            well > 0,
            "{calls:?}"
        );
        seen.push(well);
    }
    assert_eq!(seen.iter().sum::<u64>(), 2, "{seen:?}");
    for id in [&weather, &horizon] {
        assert!(health(&registry, id).await["checkedAt"].as_str() > Some("2026-01-01T00:00:00.000Z"));
    }
}

#[tokio::test]
async fn an_agent_whose_card_is_there_and_whose_endpoint_is_not_is_unwell_once_a_host_says_so() {
    let registry = Registry::start().await;
    registry.declare("weather", "global").await;
    let mut told = card("Weather", &["type:weather"]);
    told["url"] = json!(format!("{}/a2a", registry.cards.uri()));
    let id = registry.admit("/w.json", &told, None).await;
    let (endpoint, unreached) = ("/a2a", format!("/agents/{id}/unreached"));
    let looks = async || {
        let all = registry.cards.received_requests().await.unwrap();
        all.iter().filter(|asked| asked.url.path() == endpoint).count()
    };
    let answers = async |status: u16, body: Value| {
        registry.cards.reset().await;
        registry.serve("/w.json", &told).await;
        let answer = wiremock::ResponseTemplate::new(status).set_body_json(body);
        let endpoint = wiremock::Mock::given(wiremock::matchers::path(endpoint));
        endpoint.respond_with(answer).mount(&registry.cards).await;
    };
    answers(503, json!({})).await;
    let say = async || {
        let host = registry.token(By::Globex, &["registry:read"]);
        let said = registry.call("POST", &unreached, &host, json!(null)).await;
        assert_eq!(said.status, StatusCode::ACCEPTED);
    };
    // It was looked at just now, and so nothing is done about it.
    say().await;
    assert_eq!(
        (looks().await, health(&registry, &id).await["ok"] == true),
        (0, true)
    );
    registry.clock.advance(Duration::from_secs(61));
    say().await;
    say().await;
    let unwell = health(&registry, &id).await;
    let looked = looks().await;
    assert!(looked > 0, "its endpoint is asked");
    assert!(
        unwell["ok"] == false && unwell["reason"].as_str().unwrap().contains("endpoint"),
        "{unwell}"
    );
    // Its card alone makes it no better.
    registry.clock.advance(Duration::from_secs(300));
    assert_eq!(registry.checks.run().await.unwrap()["unwell"], 1);
    answers(
        200,
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "Task not found"}}),
    )
    .await;
    registry.clock.advance(Duration::from_secs(300));
    assert_eq!(registry.checks.run().await.unwrap()["well"], 1);
    assert_eq!(health(&registry, &id).await["ok"], true);
    // A well agent that somebody complains of stays well where it answers.
    registry.clock.advance(Duration::from_secs(61));
    say().await;
    assert_eq!(health(&registry, &id).await["ok"], true);
    // Nobody else's agents can be told of, and nothing without a token that may look.
    let other = registry.token(By::Globex, &["tasks"]);
    let refused = registry.call("POST", &unreached, &other, json!(null)).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}
