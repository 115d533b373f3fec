//! What operators look after: the registry's agents and the models' usage; and that to others there is no such thing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Path, RawQuery, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use domain::{Clock as _, SystemEntropy, TokenUsage};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use super::sessions::signed_in;
use super::world::{Browser, World, says};

const ID: &str = "0d6e2ad4-6c05-4a4e-8f3a-3d3b1f0c0001";
const PLATFORMS: &str = "0d6e2ad4-6c05-4a4e-8f3a-3d3b1f0c0002";
const NOBODYS: &str = "0d6e2ad4-6c05-4a4e-8f3a-3d3b1f0c0003";

type Asked = Arc<Mutex<Vec<String>>>;

fn agent(id: &str, tenant: Option<&str>) -> Value {
    json!({
        "id": id, "tenant": tenant, "cardUrl": "https://agents.example/card.json", "enabled": true, "signature": {"state": "none"},
        "card": {"name": "Echo", "version": "2", "skills": [{"id": "a", "tags": ["type:echo", "x:y"]}, {"tags": ["type:echo"]}, {"tags": 7}, 7]},
        "health": {"ok": false, "checkedAt": "2026-01-01T00:00:00.000Z", "reason": "no card"}, "registeredAt": "2026-01-01T00:00:00.000Z",
    })
}

/// A registry of two pages, which writes down what it is asked; it answers only to the tenant's own tokens.
async fn registry(world: &World) -> Asked {
    let asked = Asked::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/registry", listener.local_addr().unwrap());
    let gate = world.gate(&url, "registry:write");
    let is_own = move |headers: HeaderMap| {
        let gate = gate.clone();
        async move { assert_eq!(gate.admit(&headers).await.owner.as_str(), "person-ada") }
    };
    let looks = is_own.clone();
    let list = move |State(asked): State<Asked>, headers: HeaderMap, RawQuery(query): RawQuery| {
        let caller = looks(headers);
        async move {
            caller.await;
            let query = query.unwrap_or_default();
            asked.lock().unwrap().push(query.clone());
            Json(match query.contains("cursor") {
                true => json!({"agents": [agent(PLATFORMS, None), {"card": []}], "types": {}}),
                false => json!({"agents": [agent(ID, Some("acme"))], "nextCursor": ID, "types": {}}),
            })
        }
    };
    let act =
        move |State(asked): State<Asked>, headers: HeaderMap, Path((id, verb)): Path<(String, String)>| {
            let caller = is_own(headers);
            async move {
                caller.await;
                asked.lock().unwrap().push(format!("{id} {verb}"));
                match id.as_str() {
                    ID => Ok(Json(agent(ID, Some("acme")))),
                    PLATFORMS => Err(StatusCode::FORBIDDEN),
                    _ => Err(StatusCode::NOT_FOUND),
                }
            }
        };
    let app = Router::new()
        .route("/registry/agents", get(list))
        .route("/registry/agents/{id}/{verb}", post(act))
        .with_state(Arc::clone(&asked));
    *world.registry.lock().unwrap() = url.parse().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    asked
}

#[tokio::test]
async fn an_operator_sees_the_agents_and_switches_the_tenants_own() {
    let world = World::new().await;
    let asked = registry(&world).await;
    let (app, ada) = (world.app(Duration::ZERO), signed_in(&world).await);
    let listed = ada.get(&app, "/api/ops/agents").await;
    assert_eq!(listed.status, StatusCode::OK, "{}", listed.text);
    let listed = listed.json();
    let shown = json!({
        "id": ID, "name": "Echo", "version": "2", "types": ["echo"], "cardUrl": "https://agents.example/card.json", "isOwn": true,
        "isEnabled": true, "isWell": false, "checkedAt": "2026-01-01T00:00:00.000Z", "reason": "no card",
        "registeredAt": "2026-01-01T00:00:00.000Z", "pending": null,
    });
    assert_eq!(listed["agents"][0], shown);
    assert_eq!(listed["agents"][1]["isOwn"], false);
    assert_eq!(listed["agents"].as_array().unwrap().len(), 3);

    let act = async |id: &str, verb: &str| {
        let answered = ada
            .post(&app, &format!("/api/ops/agents/{id}/{verb}"), &json!({}))
            .await;
        (answered.status.as_u16(), answered.json())
    };
    for verb in ["check", "disable", "enable"] {
        assert_eq!(act(ID, verb).await, (200, shown.clone()));
    }
    for (id, verb, status, error) in [
        (PLATFORMS, "disable", 409, "platforms_agent"),
        (NOBODYS, "check", 404, "not_found"),
        (ID, "remove", 404, "not_found"),
        (ID, "..", 404, "not_found"),
        ("x", "check", 404, "not_found"),
        ("%00", "check", 404, "not_found"),
        ("..%2f..%2ftypes", "check", 404, "not_found"),
    ] {
        let (got, body) = act(id, verb).await;
        assert_eq!(
            (got, body["error"].as_str()),
            (status, Some(error)),
            "{id} {verb}: {body}"
        );
    }
    let asked = asked.lock().unwrap().clone();
    let acts = [
        "disabled=true".to_owned(),
        format!("disabled=true&cursor={ID}"),
        format!("{ID} check"),
        format!("{ID} disable"),
        format!("{ID} enable"),
        format!("{PLATFORMS} disable"),
        format!("{NOBODYS} check"),
    ];
    assert_eq!(asked, acts, "rubbish reaches nobody");
}

#[tokio::test]
async fn to_everybody_else_there_is_no_such_thing() {
    let world = World::new().await;
    let asked = registry(&world).await;
    let (app, strict) = (world.app(Duration::ZERO), world.strict_app());
    let (nobody, guest, ada) = (Browser::default(), Browser::default(), signed_in(&world).await);
    guest.post(&app, "/api/chat", &says("c1", "m1", "hello")).await;
    let identity = world.store.identity();
    let member = identity.change_user(&world.tenant, "ada", |user| user.roles = vec!["operators".into()]);
    member.await.unwrap();
    // Where one must sign in, that is what they are told, here as everywhere.
    for (app, status) in [(&app, 404), (&strict, 401)] {
        for (browser, status) in [(&nobody, status), (&guest, status), (&ada, 404)] {
            for path in [
                "/api/ops/agents",
                "/api/ops/keys",
                "/api/ops/tasks",
                "/api/ops/usage",
                "/api/ops/deliveries",
            ] {
                assert_eq!(browser.get(app, path).await.status.as_u16(), status, "{path}");
            }
            for path in [
                &*format!("/api/ops/agents/{ID}/disable"),
                "/api/ops/deliveries/replay",
            ] {
                let answered = browser.post(app, path, &json!({})).await;
                assert_eq!(answered.status.as_u16(), status, "{path}");
            }
        }
    }
    // An operator, led here from another site.
    let promoted = identity.change_user(&world.tenant, "ada", |user| user.roles = vec!["admin".into()]);
    promoted.await.unwrap();
    let path = format!("/api/ops/agents/{ID}/disable");
    for (name, value, status) in [
        ("sec-fetch-site", "cross-site", 403),
        (CONTENT_TYPE.as_str(), "text/plain", 415),
    ] {
        let request = ada.request(Method::POST, &path).header(name, value);
        let answered = ada.send(&app, request.body("{}".into()).unwrap()).await;
        assert_eq!(answered.status.as_u16(), status);
    }
    assert_eq!(asked.lock().unwrap().len(), 0, "the registry hears of nothing");
    // A registry that is away is not the operator's fault.
    *world.registry.lock().unwrap() = "http://127.0.0.1:9/registry".parse().unwrap();
    let app = world.app(Duration::ZERO);
    let away = ada.get(&app, "/api/ops/agents").await;
    assert_eq!(
        (away.status.as_u16(), &away.json()["error"]),
        (503, &json!("registry_unavailable"))
    );
}

#[tokio::test]
async fn an_operator_sees_what_models_took_by_day() {
    let world = World::new().await;
    let (app, ada) = (world.app(Duration::ZERO), signed_in(&world).await);
    let usage = async || ada.get(&app, "/api/ops/usage").await.json();
    let now = json!({"tasks": 0, "guests": 0, "running": 0, "microDollars": 0, "stored": 0});
    let plan = json!({
        "name": null, "isPaused": false, "tasksPerDay": null, "tasksAtOnce": null, "storageMb": null, "dollarsPerMonth": null, "now": now,
    });
    let none = json!({
        "days": [], "tokensPerDay": null, "hostTokensPerDay": 200_000, "spent": [], "lately": [], "plan": plan,
    });
    assert_eq!(usage().await, none);
    let counts = world.store.usage();
    for tokens in [100, 7] {
        let now = (world.clock.now(), &SystemEntropy as &dyn domain::Entropy);
        let hold = counts
            .reserve(&world.tenant, tokens, None, now)
            .await
            .unwrap()
            .unwrap();
        let taken = TokenUsage {
            input: 30,
            output: 12,
            cached: 5,
        };
        if tokens == 100 {
            counts
                .settle(&world.tenant, &hold, "openai:m", taken)
                .await
                .unwrap();
        }
    }
    let model = json!({"calls": 1, "input": 30, "output": 12, "cached": 5});
    let day = json!({"day": "2026-01-01", "used": 49, "reserved": 7, "models": {"openai:m": model}});
    assert_eq!(usage().await["days"], json!([day]));
    world.store.tenants().add(&world.tenant).await.unwrap();
    let set = [
        ("plan", "team"),
        ("tasks_per_day", "70"),
        ("tokens_per_day", "5000"),
    ]
    .map(|(key, value)| domain::SettingChange::parse(key, Some(value)).unwrap());
    assert!(world.store.tenants().set(&world.tenant, &set).await.unwrap());
    world.clock.advance(Duration::from_secs(11 * 3600));
    let told = usage().await;
    assert_eq!(
        (&told["tokensPerDay"], &told["hostTokensPerDay"]),
        (&json!(5000), &json!(200_000))
    );
    let plan = &told["plan"];
    assert_eq!(
        (&plan["name"], &plan["tasksPerDay"], &plan["tasksAtOnce"]),
        (&json!("team"), &json!(70), &json!(100))
    );
    assert_eq!(usage().await["days"][0]["day"], "2026-01-01");
}

/// An agent of the platform's, which has one delivery parked; it writes down what is replayed.
async fn sender(world: &World, replayed: &Asked) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/echo", listener.local_addr().unwrap());
    let gate = world.gate(&url, "deliveries");
    let is_keeper = move |headers: HeaderMap| {
        let gate = gate.clone();
        async move { drop(gate.admit(&headers).await) }
    };
    let looks = is_keeper.clone();
    let list = move |headers: HeaderMap, RawQuery(query): RawQuery| {
        let caller = looks(headers);
        async move {
            caller.await;
            assert_eq!(query.as_deref(), Some("parked=true"));
            let task = "01010101-0101-0101-0101-010101010101";
            Json(json!({"nextCursor": null, "deliveries": [{
                "taskId": task, "configId": "c-1", "host": "hook.exa\u{202e}mple", "state": "parked", "delivered": 1, "latest": 2,
                "attempts": 5, "lastError": "status 500", "changedAt": "2026-01-01T00:00:00.000Z",
            }]}))
        }
    };
    let replay = move |State(replayed): State<Asked>, headers: HeaderMap, Json(which): Json<Value>| {
        let caller = is_keeper(headers);
        async move {
            caller.await;
            replayed.lock().unwrap().push(which.to_string());
            match which["configId"] == "c-1" {
                true => StatusCode::ACCEPTED,
                false => StatusCode::NOT_FOUND,
            }
        }
    };
    let app = Router::new()
        .route("/echo/deliveries", get(list))
        .route("/echo/deliveries/replay", post(replay))
        .with_state(Arc::clone(replayed));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

#[tokio::test]
async fn an_operator_sees_what_was_not_delivered_and_has_it_tried_again() {
    let world = World::new().await;
    let replayed = Asked::default();
    let echo = sender(&world, &replayed).await;
    let agents = json!({"agents": [
        {"id": PLATFORMS, "tenant": null, "cardUrl": format!("{echo}/.well-known/agent-card.json"), "card": {"name": "Echo"}},
        // The tenant's own takes no such token, and one whose card lies elsewhere is none of ours: neither is asked.
        {"id": ID, "tenant": "acme", "cardUrl": "http://127.0.0.1:9/.well-known/agent-card.json", "card": {"name": "Own"}},
        {"id": NOBODYS, "tenant": null, "cardUrl": "http://127.0.0.1:9/card.json", "card": {"name": "Foreign"}},
        {"id": NOBODYS, "tenant": null, "cardUrl": "http://127.0.0.1:9/.well-known/agent-card.json", "card": {"name": "Silent"}},
        {"card": 7},
    ]});
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/registry", listener.local_addr().unwrap());
    let app = Router::new().route("/registry/agents", get(move || async move { Json(agents) }));
    *world.registry.lock().unwrap() = url.parse().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });

    let (app, ada) = (world.app(Duration::ZERO), signed_in(&world).await);
    let listed = ada.get(&app, "/api/ops/deliveries").await;
    assert_eq!(listed.status, StatusCode::OK, "{}", listed.text);
    let task = "01010101-0101-0101-0101-010101010101";
    let shown = json!({
        "agent": PLATFORMS, "agentName": "Echo", "taskId": task, "configId": "c-1", "host": "hook.example", "attempts": 5,
        "lastError": "status 500", "changedAt": "2026-01-01T00:00:00.000Z",
    });
    // The host itself is asked too, and has nothing.
    assert_eq!(
        listed.json(),
        json!({"deliveries": [shown], "unasked": ["Silent"]})
    );

    let replay = async |body: Value| {
        let answered = ada.post(&app, "/api/ops/deliveries/replay", &body).await;
        (answered.status.as_u16(), answered.json()["error"].clone())
    };
    let which = |agent: &str, config: &str| json!({"agent": agent, "taskId": task, "configId": config});
    assert_eq!(replay(which(PLATFORMS, "c-1")).await, (200, Value::Null));
    for nothing in [which(PLATFORMS, "c-2"), which("host", "c-1")] {
        assert_eq!(replay(nothing).await, (409, json!("nothing_owed")));
    }
    for nobody in [which(ID, "c-1"), which("..", "c-1")] {
        assert_eq!(replay(nobody).await, (404, json!("not_found")));
    }
    for bad in [
        json!({}),
        json!([]),
        json!({"agent": "host", "taskId": "../x", "configId": "c"}),
        which("host", ""),
    ] {
        assert_eq!(replay(bad).await, (400, json!("invalid_request")));
    }
    let asked = replayed.lock().unwrap().clone();
    assert_eq!(asked.len(), 2, "rubbish reaches nobody: {asked:?}");
}
