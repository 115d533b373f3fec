//! Where a user is connected: the tenant's own grants, and what agents say that ask users themselves; and the end of that.

use std::time::{Duration, Instant};

use domain::{AgentId, Clock as _, TaskState};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, ResponseTemplate};

use crate::consent::{GOOD, horizon_with};
use crate::world::{World, status};

const AT: &str = "2026-01-01T00:00:00.000Z";

/// A registered agent that says that users are connected through it.
fn connecting(world: &World, id: u8, at: &str, name: &str) -> Value {
    let mut card = world.card(id, at, name, &["type:diary"], "Read yesterday's journal aloud");
    card["card"]["capabilities"]["extensions"] = json!([{"uri": a2a::CONNECTIONS}]);
    card["card"]["securitySchemes"] =
        json!({"jwt": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}}});
    card["card"]["securityRequirements"] = json!([{"schemes": {"jwt": {"list": ["tasks"]}}}]);
    card
}

fn connection(id: &str, provider: &str) -> Value {
    json!({
        "id": id, "provider": provider, "account": null, "scopes": ["read"], "agents": 1, "connectedAt": AT, "lastUsedAt": AT,
    })
}

impl World {
    /// What an agent answers to `GET /connections`.
    async fn says(&self, at: &str, answer: ResponseTemplate) {
        Mock::given(method("GET"))
            .and(path(format!("/{at}/connections")))
            .respond_with(answer)
            .mount(&self.server)
            .await;
    }

    async fn connections(&self, owner: &str) -> Value {
        let (status, body) = self.plain(owner, Method::GET, "/connections").await;
        assert_eq!(status, StatusCode::OK, "{body}");
        body
    }

    /// The paths and tokens of what agents were asked beside A2A.
    async fn asked(&self) -> Vec<(String, String)> {
        let requests = self.server.received_requests().await.unwrap();
        let asked = requests
            .iter()
            .filter(|request| request.url.path().contains("/connections"));
        asked
            .map(|request| {
                let token = request.headers["authorization"].to_str().unwrap();
                (request.url.path().to_owned(), token.to_owned())
            })
            .collect()
    }
}

fn ids(listed: &Value) -> Vec<&str> {
    let all = listed["connections"].as_array().unwrap();
    all.iter().map(|one| one["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn own_grants_and_those_of_agents_are_told_together_and_whoever_does_not_answer_is_named() {
    let (world, _) = horizon_with(|_| {}).await;
    let named = |id: u8| AgentId::from_bytes([id; 16]).to_string();
    let open = {
        let mut card = connecting(&world, 6, "open", "Open");
        card["card"]["securityRequirements"] = json!([]);
        card
    };
    world.registered(
        json!([
            connecting(&world, 1, "diary", "Diary\u{202e}"),
            connecting(&world, 2, "slow", "Slow"),
            connecting(&world, 3, "broken", "Broken"),
            connecting(&world, 4, "rubbish", "Rubbish"),
            connecting(&world, 5, "hostile", "Hostile"),
            open,
            crate::consent::card(&world, "idp/acme"),
        ]),
        json!({"diary": "global", "horizon": "global"}),
    );
    let told = json!({"connections": [connection("google", "google")]});
    world
        .says("diary", ResponseTemplate::new(200).set_body_json(&told))
        .await;
    let late = ResponseTemplate::new(200).set_body_json(&told);
    world.says("slow", late.set_delay(Duration::from_secs(20))).await;
    world.says("broken", ResponseTemplate::new(500)).await;
    world
        .says(
            "rubbish",
            ResponseTemplate::new(200).set_body_string("{\"connections\": 7}"),
        )
        .await;
    let mut many: Vec<Value> = (0..50).map(|n| connection(&format!("c{n}"), "x")).collect();
    many[0] = connection("../../other", "x");
    many[1] = connection("a~b", "x");
    many[2]["provider"] = "\u{202e}evil\n\u{0}".repeat(200).into();
    many[2]["scopes"] = json!(vec!["s".repeat(1000); 100]);
    let hostile = ResponseTemplate::new(200).set_body_json(json!({"connections": many}));
    world.says("hostile", hostile).await;
    world
        .says("open", ResponseTemplate::new(200).set_body_json(&told))
        .await;
    world.grant("user-1", &GOOD).await;

    let began = Instant::now();
    let listed = world.connections("user-1").await;
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "nobody waits for the slow one"
    );
    let own = &listed["connections"][0];
    assert_eq!(
        (&own["id"], &own["scopes"], &own["agent"], &own["lastUsedAt"]),
        (
            &json!("idp"),
            &json!(["orders:read", "tasks"]),
            &json!("Horizon"),
            &json!(world.clock.now())
        )
    );
    let all = ids(&listed);
    assert_eq!(all[1], format!("{}~google", named(1)));
    assert_eq!(listed["connections"][1]["agent"], "Diary");
    assert!(all.iter().filter(|id| id.starts_with(&named(5))).count() <= 20);
    assert!(
        !all.iter().any(|id| id.contains("..") || id.ends_with("~b")),
        "{all:?}"
    );
    let cut = &listed["connections"][2];
    assert!(cut["provider"].as_str().unwrap().chars().count() <= 100, "{cut}");
    assert!(!cut.to_string().contains('\u{202e}'), "{cut}");
    assert!(cut["scopes"].as_array().unwrap().len() <= 30, "{cut}");
    assert_eq!(listed["unasked"], json!(["Slow", "Broken", "Rubbish"]));
    let asked = world.asked().await;
    assert!(
        !asked.iter().any(|(path, _)| path.starts_with("/open/")),
        "{asked:?}"
    );
    assert!(asked.iter().all(|(_, token)| token.starts_with("Bearer ey")));
    // The grant is user-1's.
    assert!(!ids(&world.connections("user-2").await).contains(&"idp"));

    world.registry_is_down();
    let listed = world.connections("user-1").await;
    assert_eq!(
        (ids(&listed), &listed["unasked"]),
        (vec!["idp"], &json!(["other agents"]))
    );
}

#[tokio::test]
async fn an_agents_connection_is_ended_by_the_agent_and_ones_own_here() {
    let (world, _) = horizon_with(|_| {}).await;
    world.registered(
        json!([
            connecting(&world, 1, "diary", "Diary"),
            crate::consent::card(&world, "idp/acme"),
        ]),
        json!({"diary": "global", "horizon": "global"}),
    );
    let ended = json!({"provider": "google", "revoked": true});
    for (id, answer) in [
        ("google", ResponseTemplate::new(200).set_body_json(&ended)),
        ("gone", ResponseTemplate::new(404)),
        ("broken", ResponseTemplate::new(500)),
        ("rubbish", ResponseTemplate::new(200).set_body_string("gone!")),
    ] {
        Mock::given(method("DELETE"))
            .and(path(format!("/diary/connections/{id}")))
            .respond_with(answer)
            .mount(&world.server)
            .await;
    }
    let diary = AgentId::from_bytes([1; 16]);
    let end = async |owner: &str, id: &str| {
        world
            .plain(owner, Method::DELETE, &format!("/connections/{id}"))
            .await
    };
    assert_eq!(
        end("user-1", &format!("{diary}~google")).await,
        (StatusCode::OK, ended)
    );
    let stranger = AgentId::from_bytes([9; 16]);
    for (id, expected) in [
        (format!("{diary}~gone"), 404),
        (format!("{diary}~broken"), 503),
        (format!("{diary}~rubbish"), 503),
        (format!("{diary}~a~b"), 404),
        (format!("{diary}~"), 404),
        (format!("{stranger}~google"), 404),
        ("~google".to_owned(), 404),
        ("nobody".to_owned(), 404),
        ("%2e%2e".to_owned(), 404),
        ("a%2fb".to_owned(), 404),
        ("x".repeat(500), 404),
    ] {
        let (status, body) = end("user-1", &id).await;
        assert_eq!(status.as_u16(), expected, "{id}: {body}");
        assert!(body["error"].is_string(), "{id}: {body}");
    }

    // One's own, while a task waits for more: both end, and the provider is told, as far as it can be.
    let task = world.ask("What about my order 1001?").await;
    assert_eq!(task.status.state, TaskState::AuthRequired);
    world.grant("user-1", &GOOD).await;
    assert_eq!(end("user-2", "idp").await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        end("user-1", "idp").await,
        (StatusCode::OK, json!({"provider": "idp", "revoked": false})),
        "nobody answers there"
    );
    assert_eq!(end("user-1", "idp").await.0, StatusCode::NOT_FOUND);
    let waked = world
        .door
        .0
        .lock()
        .unwrap()
        .iter()
        .any(|(wake, _)| wake.key() == world.key(task.id));
    assert!(waked);
    let (state, said) = status(&world.wake(task.id).await);
    assert_eq!(state, TaskState::Rejected, "{said}");
}

#[tokio::test]
async fn ones_own_is_revoked_at_its_provider() {
    let (world, _) = horizon_with(|_| {}).await;
    world.idp(ResponseTemplate::new(500), 0).await;
    Mock::given(method("POST"))
        .and(path("/idp/acme/revoke"))
        .respond_with(ResponseTemplate::new(200))
        .expect(1)
        .mount(&world.server)
        .await;
    world.grant("user-1", &GOOD).await;
    let ended = world.plain("user-1", Method::DELETE, "/connections/idp").await;
    assert_eq!(
        ended,
        (StatusCode::OK, json!({"provider": "idp", "revoked": true}))
    );
    let requests = world.server.received_requests().await.unwrap();
    let revoked = requests
        .iter()
        .find(|request| request.url.path().ends_with("/revoke"));
    assert_eq!(
        String::from_utf8(revoked.unwrap().body.clone()).unwrap(),
        "token=rt-1&token_type_hint=refresh_token"
    );
}

#[tokio::test]
async fn what_people_granted_who_are_let_in_no_more_is_not_used_and_ends() {
    for (offered, is_used) in [("idp,corp", true), ("idp", false)] {
        let (world, horizon) = horizon_with(|parts| {
            parts.store = parts.store.clone().admitting(domain::SignInRule {
                issuers: offered.parse().unwrap(),
                ..domain::SignInRule::default()
            });
        })
        .await;
        world.idp(ResponseTemplate::new(500), 0).await;
        Mock::given(method("POST"))
            .and(path("/idp/acme/revoke"))
            .respond_with(ResponseTemplate::new(200))
            .expect(u64::from(!is_used))
            .mount(&world.server)
            .await;
        let person = store::Person {
            issuer: "https://corp.example".into(),
            subject: domain::Owner::parse("ann").unwrap(),
            username: String::new(),
            auth_time: world.clock.now(),
            id: None,
            sid: None,
            proof: Some(domain::SignInProof::new("corp", None, &[], world.clock.now())),
        };
        world.grant_of("user-1", &GOOD, Some(&person)).await;
        let task = world.ask("What about my order 1001?").await;
        let asked = task.status.state == TaskState::AuthRequired;
        assert_eq!(
            (asked, world.granted("user-1").await.is_some()),
            (!is_used, is_used),
            "{offered}"
        );
        drop(horizon);
    }
}
