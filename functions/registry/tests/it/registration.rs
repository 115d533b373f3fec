//! Admitting, refusing, finding, checking and removing cards; declaring types.

use http::StatusCode;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::fixture::{By, Registry, card};

#[tokio::test]
async fn an_admitted_agent_is_found_by_all_its_tags() {
    let registry = Registry::start().await;
    registry.declare("weather", "global").await;
    let id = registry
        .admit("/w.json", &card("Weather", &["type:weather", "region:eu"]), None)
        .await;
    let host = registry.token(By::Acme, &["registry:read"]);
    for (path, found) in [
        ("/agents", true),
        ("/agents?tag=type:weather", true),
        ("/agents?tag=type%3Aweather&tag=region:eu", true),
        ("/agents?tag=type:weather&tag=region:us", false),
        ("/agents?tag=type:stay", false),
    ] {
        assert_eq!(registry.ids(path, &host).await.contains(&id), found, "{path}");
    }
    let all = registry.get("/agents", &host).await.body;
    assert_eq!(all["types"], json!({"weather": "global"}));
    let agent = &all["agents"][0];
    assert_eq!(agent["tenant"], json!(null));
    assert_eq!(agent["card"]["name"], "Weather");
    assert_eq!(
        agent["health"],
        json!({"ok": true, "checkedAt": "2026-01-01T00:00:00.000Z", "reason": null})
    );
    assert_eq!(registry.get(&format!("/agents/{id}"), &host).await.body, *agent);

    let gone = registry
        .call("DELETE", &format!("/agents/{id}"), &registry.admin(), json!(null))
        .await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert!(registry.ids("/agents?tag=type:weather", &host).await.is_empty());
    assert_eq!(
        registry.get(&format!("/agents/{id}"), &host).await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_plain_foreign_card_becomes_registrable_by_the_tags_given_to_it() {
    let registry = Registry::start().await;
    registry.declare("echo", "global").await;
    let url = registry
        .serve("/hello.json", &card("Hello", &["hello world"]))
        .await;
    // A rehearsal says what would become of it, and keeps nothing.
    let asked = json!({"cardUrl": url, "rehearse": true});
    let rehearsed = registry.call("POST", "/agents", &registry.admin(), asked).await;
    assert_eq!(
        (rehearsed.status, &rehearsed.body["declared"]),
        (StatusCode::OK, &json!(["hello"]))
    );
    assert!(
        registry
            .ids("/agents?tag=type:hello", &registry.admin())
            .await
            .is_empty()
    );
    let types = registry.get("/types", &registry.admin()).await.body;
    assert!(!types.to_string().contains("hello"), "{types}");
    let plain = registry
        .call("POST", "/agents", &registry.admin(), json!({"cardUrl": url}))
        .await;
    assert_eq!(plain.status, StatusCode::CREATED, "its name is its type");
    assert_eq!(plain.body["declared"], json!(["hello"]));
    let same = registry
        .call("POST", "/agents", &registry.admin(), json!({"cardUrl": url}))
        .await;
    assert_eq!(
        same.status,
        StatusCode::OK,
        "its own type is joined by nobody else"
    );
    for tag in ["type:hello", "tag:hello-world"] {
        let ids = registry
            .ids(&format!("/agents?tag={tag}"), &registry.admin())
            .await;
        assert_eq!(ids.len(), 1, "{tag}");
    }
    // Another of that name joins where its registration says so, and a tenant's own token declares nothing.
    let namesake = registry.serve("/two.json", &card("Hello", &["demo"])).await;
    let body = json!({"cardUrl": namesake});
    let refused = registry
        .call("POST", "/agents", &registry.admin(), body.clone())
        .await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        refused
            .body
            .to_string()
            .contains("there is a type `hello` already")
    );
    let acme = registry.token(By::Acme, &["registry:write"]);
    let refused = registry.call("POST", "/agents", &acme, body).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);

    let body = json!({"cardUrl": url, "tags": ["type:echo", "lang:py"]});
    let tagged = registry
        .call("POST", "/agents", &registry.admin(), body.clone())
        .await;
    assert_eq!(tagged.status, StatusCode::OK, "{}", tagged.body);
    let host = registry.token(By::Globex, &["registry:read"]);
    let found = registry
        .get("/agents?tag=type:echo&tag=lang:py", &host)
        .await
        .body;
    // A host reads the types of skills from the card it gets.
    assert_eq!(
        found["agents"][0]["card"]["skills"][0]["tags"],
        json!(["hello world", "type:echo", "lang:py"])
    );

    let again = registry.call("POST", "/agents", &registry.admin(), body).await;
    assert_eq!(
        (again.status, &again.body["id"]),
        (StatusCode::OK, &tagged.body["id"])
    );
    assert_eq!(registry.ids("/agents", &host).await.len(), 1);
}

#[tokio::test]
async fn a_refused_card_is_told_every_reason_and_leaves_nothing() {
    let registry = Registry::start().await;
    registry.declare("weather", "global").await;
    registry.declare("horizon", "tenant").await;
    let mut two = card("Two", &["weather"]);
    let second = json!({"id": "t", "name": "t", "description": "d", "tags": ["type:unknown"]});
    two["skills"].as_array_mut().unwrap().push(second);
    let mut nowhere = card("Nowhere", &["type:weather"]);
    nowhere["url"] = json!("not a url");
    let cases = [
        (
            "/two",
            two,
            json!(null),
            vec!["no `type:`", "`unknown` is not declared"],
        ),
        (
            "/contradicts",
            card("A", &["type:weather", "tenant_id:acme"]),
            json!(null),
            vec!["global"],
        ),
        (
            "/private",
            card("A", &["type:weather"]),
            json!("acme"),
            vec!["belong to no tenant"],
        ),
        (
            "/homeless",
            card("A", &["type:horizon", "tenant_id:acme"]),
            json!(null),
            vec!["for a tenant"],
        ),
        (
            "/untagged",
            card("A", &["type:horizon"]),
            json!("acme"),
            vec!["tenant_id:acme"],
        ),
        (
            "/theirs",
            card("A", &["type:horizon", "tenant_id:globex"]),
            json!("acme"),
            vec!["tenant_id:globex"],
        ),
        ("/nowhere", nowhere, json!(null), vec![""]),
        ("/rubbish", json!({"hello": 1}), json!(null), vec![""]),
        ("/list", json!([1, 2]), json!(null), vec![""]),
    ];
    for (at, card, tenant, reasons) in cases {
        let url = registry.serve(at, &card).await;
        let body = json!({"cardUrl": url, "tenant": tenant});
        let answer = registry.call("POST", "/agents", &registry.admin(), body).await;
        assert_eq!(
            answer.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{at} {}",
            answer.body
        );
        assert_eq!(answer.body["error"], "card_refused");
        let told = answer.body["reasons"].as_array().unwrap();
        assert!(told.len() >= reasons.len(), "{at} {told:?}");
        for reason in reasons {
            assert!(
                told.iter().any(|told| told.as_str().unwrap().contains(reason)),
                "{at} {reason} {told:?}"
            );
        }
    }
    for tenant in ["", "?tenant=acme", "?tenant=globex"] {
        assert!(
            registry
                .ids(&format!("/agents{tenant}"), &registry.admin())
                .await
                .is_empty()
        );
    }
}

#[tokio::test]
async fn a_card_that_cannot_be_fetched_is_refused_without_a_map_of_the_network() {
    let registry = Registry::start().await;
    let missing = format!("{}/none.json", registry.cards.uri());
    for url in [
        missing.as_str(),
        "http://127.0.0.1:1/card.json",
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/card.json",
        "https://[::ffff:10.0.0.1]/card.json",
        "http://agent.example/card.json",
    ] {
        let answer = registry
            .call("POST", "/agents", &registry.admin(), json!({"cardUrl": url}))
            .await;
        assert_eq!(
            answer.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{url} {}",
            answer.body
        );
        let told = answer.body["reasons"][0].as_str().unwrap();
        assert!(told.starts_with("the card cannot be fetched: "), "{told}");
        assert!(!told.contains("10.0.0.1") && !told.contains("os error"), "{told}");
    }
    for url in [
        "ftp://agent.example/c",
        "file:///etc/passwd",
        "http://user:pw@agent.example/c",
        "nonsense",
    ] {
        let answer = registry
            .call("POST", "/agents", &registry.admin(), json!({"cardUrl": url}))
            .await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{url} {}", answer.body);
    }
}

#[tokio::test]
async fn a_type_is_declared_once() {
    let registry = Registry::start().await;
    registry.declare("weather", "global").await;
    let put = async |token: &str, name: &str, scope: &str| {
        registry
            .call("PUT", &format!("/types/{name}"), token, json!({"scope": scope}))
            .await
    };
    let admin = registry.admin();
    assert_eq!(put(&admin, "weather", "global").await.status, StatusCode::OK);
    let contradiction = put(&admin, "weather", "tenant").await;
    assert_eq!(contradiction.status, StatusCode::CONFLICT);
    assert_eq!(contradiction.body["error"], "type_contradiction");
    for (name, scope) in [
        ("Weather", "global"),
        ("w", "global"),
        ("stay", "both"),
        ("stay", ""),
    ] {
        assert_eq!(
            put(&admin, name, scope).await.status,
            StatusCode::BAD_REQUEST,
            "{name} {scope}"
        );
    }
    let tenant = registry.token(By::Acme, &["registry:read", "registry:write", "registry:admin"]);
    assert_eq!(put(&tenant, "mine", "tenant").await.status, StatusCode::FORBIDDEN);
    assert_eq!(
        registry.get("/types", &tenant).await.body,
        json!({"types": {"weather": "global"}})
    );
}

#[tokio::test]
async fn a_type_that_no_agent_has_can_be_removed_and_no_other() {
    let registry = Registry::start().await;
    let admin = registry.admin();
    let remove = async |token: &str, name: &str| {
        registry
            .call("DELETE", &format!("/types/{name}"), token, Value::Null)
            .await
    };
    registry.declare("weather", "global").await;
    registry.declare("press", "tenant").await;
    let own = registry
        .admit(
            "/p.json",
            &card("Press", &["type:press", "tenant_id:acme"]),
            Some("acme"),
        )
        .await;
    let off = registry
        .admit("/w.json", &card("Weather", &["type:weather"]), None)
        .await;
    registry
        .call("POST", &format!("/agents/{off}/disable"), &admin, Value::Null)
        .await;
    // A tenant's own agent counts, and one that is switched off.
    for name in ["weather", "press"] {
        let refused = remove(&admin, name).await;
        assert_eq!(refused.status, StatusCode::CONFLICT);
        assert_eq!(refused.body["error"], "type_in_use");
    }
    for tenant in [By::Acme, By::Globex] {
        let token = registry.token(tenant, &["registry:read", "registry:write", "registry:admin"]);
        assert_eq!(remove(&token, "weather").await.status, StatusCode::FORBIDDEN);
    }
    for (id, asked) in [(off, ""), (own, "?tenant=acme")] {
        let gone = registry
            .call("DELETE", &format!("/agents/{id}{asked}"), &admin, Value::Null)
            .await;
        assert_eq!(gone.status, StatusCode::NO_CONTENT);
    }
    for name in ["weather", "press"] {
        assert_eq!(remove(&admin, name).await.status, StatusCode::NO_CONTENT);
        assert_eq!(remove(&admin, name).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(remove(&admin, "Weather").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(registry.get("/types", &admin).await.body, json!({"types": {}}));
    // Nothing is left of what it was: it may be another now.
    registry.declare("weather", "tenant").await;
}

#[tokio::test]
async fn a_full_registry_says_that_types_are_too_many_and_has_room_once_one_is_removed() {
    let registry = Registry::start().await;
    let admin = registry.admin();
    for number in 0..500 {
        registry.declare(&format!("kind-{number}"), "global").await;
    }
    let url = registry.serve("/n.json", &card("New", &["type:new"])).await;
    let new = json!({"cardUrl": url, "scope": "global"});
    let full = registry.call("POST", "/agents", &admin, new.clone()).await;
    assert_eq!(
        (full.status, &full.body["error"]),
        (StatusCode::CONFLICT, &json!("registry_full"))
    );
    let said = full.body["message"].as_str().unwrap();
    assert!(said.contains("500 types") && said.contains("remove"), "{said}");
    let gone = registry
        .call("DELETE", "/types/kind-7", &admin, Value::Null)
        .await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    let taken = registry.call("POST", "/agents", &admin, new).await;
    assert_eq!(taken.status, StatusCode::CREATED, "{}", taken.body);
}

#[tokio::test]
async fn a_type_is_private_by_its_operators_word_or_by_a_card_and_no_tenant_decides_that() {
    let registry = Registry::start().await;
    let admin = registry.admin();
    let acme = registry.token(By::Acme, &["registry:read", "registry:write"]);
    let private = async || registry.get("/agents", &acme).await.body["privateTypes"].clone();
    for name in ["weather", "report", "calendar"] {
        registry.declare(name, "global").await;
    }
    assert_eq!(private().await, json!(null));
    let say = json!({"scope": "global", "private": true});
    let said = registry.call("PUT", "/types/report", &admin, say).await;
    assert_eq!(
        (said.status, &said.body["private"]),
        (StatusCode::OK, &json!(true))
    );
    assert_eq!(private().await, json!(["report"]));
    // What is not said stays, and what was said can be taken back.
    registry
        .call("PUT", "/types/report", &admin, json!({"scope": "global"}))
        .await;
    assert_eq!(private().await, json!(["report"]));
    let back = json!({"scope": "global", "private": false});
    registry.call("PUT", "/types/report", &admin, back).await;
    assert_eq!(private().await, json!(null));

    // A card that demands authorization.
    let mut secured = card("Calendar", &["type:calendar"]);
    secured["securityRequirements"] = json!([{"schemes": {"bearer": {"list": []}}}]);
    registry.admit("/calendar", &secured, None).await;
    assert_eq!(private().await, json!(["calendar"]));

    // With a registration, by the platform alone; with it what it changes can be told as well.
    let url = registry
        .serve("/weather", &card("Weather", &["type:weather"]))
        .await;
    let body = json!({"cardUrl": url, "private": true, "tags": ["effect:write"]});
    let refused = registry.call("POST", "/agents", &acme, body.clone()).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let registered = registry.call("POST", "/agents", &admin, body).await;
    assert_eq!(
        registered.body["card"]["skills"][0]["tags"],
        json!(["type:weather", "effect:write"])
    );
    assert_eq!(private().await, json!(["calendar", "weather"]));
}

#[tokio::test]
async fn who_asks_again_is_told_only_of_changes() {
    let registry = Registry::start().await;
    let acme = registry.token(By::Acme, &["registry:read"]);
    let ask = async |token: &str, known: Option<&str>| {
        let mut request = http::Request::get("/agents").header("authorization", format!("Bearer {token}"));
        if let Some(known) = known {
            request = request.header("if-none-match", known);
        }
        let request = request.body(axum::body::Body::empty()).unwrap();
        let asked = registry.router.clone().oneshot(request);
        let (response, calls) = store::counted(asked).await;
        let response = response.unwrap();
        let tag = response
            .headers()
            .get("etag")
            .map(|tag| tag.to_str().unwrap().to_owned());
        (response.status(), tag, calls.total())
    };
    registry.declare("weather", "global").await;
    let (status, tag, _) = ask(&acme, None).await;
    let tag = tag.unwrap();
    assert_eq!(status, StatusCode::OK);
    let lists = [
        tag.clone(),
        format!("W/{tag}"),
        format!("\"old\", {tag}"),
        "*".to_owned(),
    ];
    for known in lists {
        let again = ask(&acme, Some(&known)).await;
        assert_eq!(again, (StatusCode::NOT_MODIFIED, Some(tag.clone()), 1), "{known}");
    }
    for rubbish in ["", "\"", ",,,", "\"old\"", &tag[1..]] {
        assert_eq!(ask(&acme, Some(rubbish)).await.0, StatusCode::OK, "{rubbish}");
    }
    // What a token does not allow is not told by a tag either.
    for foreign in ["", "rubbish"] {
        assert_eq!(ask(foreign, Some(&tag)).await.0, StatusCode::UNAUTHORIZED);
    }
    let small = registry.token(By::Acme, &["tasks:read"]);
    assert_eq!(ask(&small, Some(&tag)).await.0, StatusCode::FORBIDDEN);
    let globex = registry.token(By::Globex, &["registry:read"]);
    assert_eq!(ask(&globex, Some(&tag)).await.0, StatusCode::OK);
    registry.declare("horizon", "tenant").await;
    let (_, tag, _) = ask(&acme, Some(&tag)).await;
    for (tenant, told) in [("globex", StatusCode::NOT_MODIFIED), ("acme", StatusCode::OK)] {
        let tags = ["type:horizon", &format!("tenant_id:{tenant}")];
        let at = format!("/{tenant}.json");
        registry.admit(&at, &card("Horizon", &tags), Some(tenant)).await;
        assert_eq!(ask(&acme, tag.as_deref()).await.0, told, "{tenant}");
    }
}

#[tokio::test]
async fn a_check_records_how_the_agent_is_and_what_its_card_has_come_to_say() {
    let registry = Registry::start().await;
    registry.declare("echo", "global").await;
    let url = registry.serve("/e.json", &card("Echo", &["demo"])).await;
    let body = json!({"cardUrl": url, "tags": ["type:echo"]});
    let id = registry
        .call("POST", "/agents", &registry.admin(), body)
        .await
        .body["id"]
        .clone();
    let (one, check) = (
        format!("/agents/{}", id.as_str().unwrap()),
        format!("/agents/{}/check", id.as_str().unwrap()),
    );
    let checked = async || {
        registry
            .call("POST", &check, &registry.admin(), json!(null))
            .await
    };

    registry.cards.reset().await;
    registry.clock.advance(std::time::Duration::from_secs(60));
    let gone = checked().await;
    assert_eq!(gone.status, StatusCode::OK);
    assert_eq!(gone.body["health"]["ok"], false);
    assert_eq!(gone.body["health"]["checkedAt"], "2026-01-01T00:01:00.000Z");
    assert!(gone.body["health"]["reason"].as_str().unwrap().contains("404"));

    registry
        .serve("/e.json", &card("Bad", &["type:undeclared"]))
        .await;
    assert_eq!(checked().await.body["health"]["ok"], false);
    let host = registry.token(By::Acme, &["registry:read"]);
    assert_eq!(
        registry.get(&one, &host).await.body["card"]["name"],
        "Echo",
        "the old card stays"
    );

    registry.cards.reset().await;
    registry.serve("/e.json", &card("Echo 2", &["other words"])).await;
    let now = checked().await.body;
    assert_eq!(
        (&now["health"]["ok"], &now["card"]["name"]),
        (&json!(true), &json!("Echo"))
    );
    let approve = format!("/agents/{}/approve", id.as_str().unwrap());
    let pin = json!({"pin": now["pending"]["pin"]});
    registry.call("POST", &approve, &registry.admin(), pin).await;
    let now = registry.get("/agents?tag=type:echo", &host).await.body;
    assert_eq!(
        now["agents"][0]["card"]["name"], "Echo 2",
        "still found by the tag it was registered with"
    );
    assert_eq!(now["agents"][0]["registeredAt"], "2026-01-01T00:00:00.000Z");
}

/// Whoever was registered as something harmless would otherwise be asked for something else by a word in a card of its own.
#[tokio::test]
async fn a_card_makes_its_agent_nothing_that_it_was_not_registered_as() {
    let registry = Registry::start().await;
    for (name, scope) in [
        ("echo", "global"),
        ("weather", "global"),
        ("press", "tenant"),
        ("orders", "tenant"),
    ] {
        registry.declare(name, scope).await;
    }
    let own = ["type:press", "tenant_id:acme"];
    let echo = registry
        .admit("/e.json", &card("Echo", &["type:echo"]), None)
        .await;
    let press = registry
        .admit("/p.json", &card("Press", &own), Some("acme"))
        .await;
    registry.cards.reset().await;
    let mut both = card("Echo 2", &["type:echo"]);
    let second = card("", &["type:weather"])["skills"][0].clone();
    both["skills"].as_array_mut().unwrap().push(second);
    registry.serve("/e.json", &both).await;
    registry
        .serve("/p.json", &card("Press 2", &["type:orders", "tenant_id:acme"]))
        .await;
    let host = registry.token(By::Acme, &["registry:read"]);
    let unmoved = async || {
        for (id, found, new) in [(&echo, "echo", "weather"), (&press, "press", "orders")] {
            let none = registry.ids(&format!("/agents?tag=type:{new}"), &host).await;
            assert!(none.is_empty(), "{new}: {none:?}");
            let known = registry
                .get(&format!("/agents?tag=type:{found}"), &host)
                .await
                .body;
            let known = &known["agents"][0];
            assert_eq!(
                (&known["id"], &known["health"]["ok"]),
                (&json!(id), &json!(false))
            );
            let reason = known["health"]["reason"].as_str().unwrap();
            assert!(
                reason.contains(&format!("`{new}`")) && reason.contains("registers it again"),
                "{reason}"
            );
            assert!(
                !known["card"]["name"].as_str().unwrap().ends_with('2'),
                "the old card stays"
            );
        }
    };
    // By the clock, and by somebody who has it looked at.
    edge::ScheduleHandler::run(&registry.checks).await.unwrap();
    unmoved().await;
    for (id, by) in [
        (&echo, registry.admin()),
        (&press, registry.token(By::Acme, &["registry:write"])),
    ] {
        let path = format!("/agents/{id}/check");
        registry.call("POST", &path, &by, json!(null)).await;
    }
    unmoved().await;
    // By the word of whoever registers it.
    let url = format!("{}/e.json", registry.cards.uri());
    let again = registry
        .call("POST", "/agents", &registry.admin(), json!({"cardUrl": url}))
        .await;
    assert_eq!(again.status, StatusCode::OK, "{}", again.body);
    assert_eq!(registry.ids("/agents?tag=type:weather", &host).await, [echo]);
}

/// The registry shows the bridge a token of the platform's for such a card, whose agent may be another tenant's.
#[tokio::test]
async fn an_agent_on_a_broker_is_registered_by_the_platform_alone() {
    let registry = Registry::start().await;
    registry.declare("press", "tenant").await;
    let at = "/mqtt/cards/acme/lab/press";
    let secret = card("Press of globex", &["demo"]);
    let url = registry.serve(at, &secret).await;
    let body = |tenant: &str| json!({"cardUrl": url, "tenant": tenant, "tags": ["type:press", format!("tenant_id:{tenant}")]});
    let own = registry.token(By::Acme, &["registry:write"]);
    let refused = registry.call("POST", "/agents", &own, body("acme")).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.body);
    assert!(!refused.body.to_string().contains("globex"), "{}", refused.body);
    assert!(registry.cards.received_requests().await.unwrap().is_empty());
    let admitted = registry
        .call("POST", "/agents", &registry.admin(), body("globex"))
        .await;
    assert_eq!(admitted.status, StatusCode::CREATED, "{}", admitted.body);
    let asked = registry.cards.received_requests().await.unwrap();
    assert!(
        asked[0].headers.contains_key("authorization"),
        "with the registry's own token"
    );
}

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let registry = Registry::start().await;
    registry.declare("weather", "global").await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(
            registry
                .admit(&format!("/{n}.json"), &card("W", &["type:weather"]), None)
                .await,
        );
    }
    ids.sort();
    let host = registry.token(By::Acme, &["registry:read"]);
    let (mut seen, mut path) = (Vec::new(), "/agents?limit=2".to_owned());
    loop {
        let page = registry.get(&path, &host).await.body;
        let agents = page["agents"].as_array().unwrap();
        assert!(agents.len() <= 2);
        seen.extend(
            agents
                .iter()
                .map(|agent| agent["id"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["nextCursor"].as_str() else {
            break;
        };
        path = format!("/agents?limit=2&cursor={next}");
    }
    assert_eq!(seen, ids);
}

#[tokio::test]
async fn hosts_for_links_are_named_at_the_registration_and_stay_until_they_are_named_anew() {
    let registry = Registry::start().await;
    registry.declare("weather", "global").await;
    let url = registry
        .serve("/w.json", &card("Weather", &["type:weather"]))
        .await;
    let register = async |hosts: serde_json::Value| {
        let body = match hosts {
            serde_json::Value::Null => json!({"cardUrl": url}),
            hosts => json!({"cardUrl": url, "linkHosts": hosts}),
        };
        registry.call("POST", "/agents", &registry.admin(), body).await
    };
    let plain = register(json!(null)).await;
    assert_eq!(plain.status, StatusCode::CREATED, "{}", plain.body);
    assert_eq!(plain.body.get("linkHosts"), None);
    let named = register(json!([
        "Accounts.Example",
        "accounts.example",
        "10.0.0.7",
        "[::1]"
    ]))
    .await;
    let expect = json!(["10.0.0.7", "[::1]", "accounts.example"]);
    assert_eq!(
        (named.status, &named.body["linkHosts"]),
        (StatusCode::OK, &expect)
    );
    assert_eq!(
        register(json!(null)).await.body["linkHosts"],
        expect,
        "not said: as before"
    );
    let host = registry.token(By::Acme, &["registry:read"]);
    assert_eq!(
        registry.get("/agents", &host).await.body["agents"][0]["linkHosts"],
        expect
    );
    let twenty_one: Vec<String> = (0..21).map(|n| format!("h{n}.example")).collect();
    for rubbish in [
        json!("accounts.example"),
        json!([7]),
        json!([""]),
        json!(["*.example"]),
        json!(["*"]),
        json!(["https://accounts.example"]),
        json!(["accounts.example:443"]),
        json!(["accounts.example/x"]),
        json!(["a b"]),
        json!(["user@accounts.example"]),
        json!(["x".repeat(300)]),
        json!(twenty_one),
    ] {
        let refused = register(rubbish.clone()).await;
        assert!(refused.status.is_client_error(), "{rubbish} {}", refused.body);
        assert_eq!(
            register(json!(null)).await.body["linkHosts"],
            expect,
            "{rubbish} changed something"
        );
    }
    assert_eq!(
        register(json!([])).await.body.get("linkHosts"),
        None,
        "taken away"
    );
}

#[tokio::test]
async fn an_agent_whose_address_may_not_be_called_is_told_so_when_it_registers() {
    let registry = Registry::start().await;
    registry.declare("weather", "global").await;
    for (number, address) in [
        "http://0.0.0.0:9000/",
        "http://[::]:9000/",
        "http://169.254.169.254/a2a",
        "http://10.0.0.7:9000/",
        "https://172.19.0.2:9090/a2a",
        "http://agents.example/a2a",
        "https://user:secret@agents.example/a2a",
        "ftp://agents.example/a2a",
    ]
    .into_iter()
    .enumerate()
    {
        let mut card = card("Contained", &["type:weather"]);
        card["url"] = json!(address);
        let url = registry.serve(&format!("/contained-{number}.json"), &card).await;
        let told = registry
            .call("POST", "/agents", &registry.admin(), json!({"cardUrl": url}))
            .await;
        assert_eq!(
            told.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{address}: {}",
            told.body
        );
        let reason = told.body["reasons"].to_string();
        assert!(reason.contains("may not be called"), "{reason}");
    }
    // A name is looked up when it is called; the first that can be called counts.
    let mut good = card("Good", &["type:weather"]);
    good["url"] = json!("https://agents.example/a2a");
    good["additionalInterfaces"] = json!([{"url": "http://0.0.0.0:9000/", "transport": "JSONRPC"}]);
    registry.admit("/good.json", &good, None).await;
    // One that moves where it may not be called is unwell, and stays as it was.
    let id = registry
        .admit("/moves.json", &card("Moves", &["type:weather"]), None)
        .await;
    let mut moved = card("Moves", &["type:weather"]);
    moved["url"] = json!("http://0.0.0.0:9000/");
    registry.cards.reset().await;
    registry.serve("/moves.json", &moved).await;
    let told = registry
        .call(
            "POST",
            &format!("/agents/{id}/check"),
            &registry.admin(),
            json!(null),
        )
        .await;
    assert_eq!(told.body["health"]["ok"], json!(false), "{}", told.body);
    assert_eq!(told.body["card"]["url"], json!("http://127.0.0.1:9/a2a"));
}
