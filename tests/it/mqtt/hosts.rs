//! Our hosts as requesters: agents that are on a broker alone, ours and others'.

use std::time::{Duration, Instant};

use axum::http::Method;
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::registered::{OnBroker, only_over_mqtt, registry};
use super::responder::Echo;
use super::world::World;
use crate::consent::{agree, link, profile};
use crate::tenants::admin;

/// Has an agent of the world called over its broker alone; the pair is its address and where it is over HTTP.
async fn moved(
    world: &World,
    (address, url): (&str, &str),
    tenant: Option<&str>,
    change: impl FnOnce(&mut Value),
) -> MockServer {
    let broker = world.broker.running.url();
    let agent = OnBroker { address, url, tenant };
    only_over_mqtt(world.local.endpoints(), &broker, agent, change).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_asks_an_agent_that_is_on_the_broker_alone() {
    let world = World::start().await;
    let url = world.local.endpoint("/agents/weather").to_owned();
    let _card = moved(&world, ("switchyard/platform/weather", &url), None, |_| ()).await;
    let user = world.local.user("acme");
    let answer = user.ask("Will it rain in Oslo tomorrow?").await;
    let task = user.until(&answer.task_id(), &["completed"]).await;
    assert!(task["artifacts"].to_string().contains("Oslo"), "{task:#}");
    // A question of the agent's, and the user's answer to it: the same task, under another correlation.
    let asked = user
        .chat("where", "m1", "What will the weather be tomorrow?")
        .await;
    user.until(&asked.task_id(), &["input-required"]).await;
    user.chat("where", "m2", "Bergen").await;
    let task = user.until(&asked.task_id(), &["completed"]).await;
    assert!(task["artifacts"].to_string().contains("Bergen"), "{task:#}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn horizon_asks_for_consent_over_mqtt_and_an_expired_token_is_renewed_unseen() {
    let world = World::start().await;
    let url = world.local.endpoint("/tenants/acme/agents/horizon").to_owned();
    let _card = moved(&world, ("switchyard/acme/horizon", &url), Some("acme"), |_| ()).await;
    let user = world.local.user("acme");
    let asked = user.ask("Where is my order 1003?").await;
    let waiting = user.until(&asked.task_id(), &["auth-required"]).await;
    let mut browser = profile(&user, world.local.endpoint("/tenants/acme/base"));
    let login = &world.local.endpoints()["users"]["acme"][0];
    let page = agree(&mut browser, &link(&waiting), login).await;
    assert_eq!(page.status, 200, "{page:?}");
    let done = user.until(&asked.task_id(), &["completed"]).await;
    assert!(done["artifacts"].to_string().contains("1003"), "{done:#}");
    // The access token has run out meanwhile.
    world.local.clock.advance(Duration::from_secs(11 * 60));
    let later = user.ask("Where is my order 1003?").await;
    let task = user
        .until(&later.task_id(), &["completed", "auth-required", "failed"])
        .await;
    assert_eq!(task["status"], "completed", "{task:#}");
    world.stop().await;
}

/// The card that the registry knows asks for less than the agent wants.
#[tokio::test(flavor = "multi_thread")]
async fn a_scope_that_is_too_small_over_mqtt_asks_once_more_for_the_wider_one() {
    let world = World::start().await;
    let url = world.local.endpoint("/tenants/acme/agents/horizon").to_owned();
    let narrow = |card: &mut Value| {
        let text = card["securityRequirements"].to_string();
        let narrow = text.replacen(",\"orders:read\"", "", 1);
        assert_ne!(narrow, text);
        card["securityRequirements"] = serde_json::from_str(&narrow).expect("JSON");
    };
    let _card = moved(&world, ("switchyard/acme/horizon", &url), Some("acme"), narrow).await;
    let user = world.local.user("acme");
    let task = user.begin("Where is my order 1003?").await;
    let mut browser = profile(&user, world.local.endpoint("/tenants/acme/base"));
    let login = &world.local.endpoints()["users"]["acme"][0];
    let first = user.until(&task, &["auth-required"]).await;
    let page = agree(&mut browser, &link(&first), login).await;
    assert_eq!(page.status, 200, "{page:?}");
    assert_eq!(scopes(&first), ["tasks"]);
    // The agent says what is missing (403, `insufficient_scope`), and its user is asked for that.
    let mut wider = Value::Null;
    for _ in 0..400 {
        wider = user.task(&task).await;
        if wider["status"] == "auth-required" && link(&wider) != link(&first) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(scopes(&wider).contains(&"orders:read"), "{wider:#}");
    let page = browser.open(&link(&wider)).await;
    let page = browser.submit(&page, &[]).await;
    assert_eq!(page.status, 200, "{page:?}");
    let done = user.until(&task, &["completed", "failed", "rejected"]).await;
    assert_eq!(done["status"], "completed", "{done:#}");
    assert!(done["artifacts"].to_string().contains("1003"), "{done:#}");
    // The wider grant is there for the next question.
    let later = user.ask("Where is my order 1003?").await;
    let later = user
        .until(&later.task_id(), &["completed", "auth-required", "failed"])
        .await;
    assert_eq!(later["status"], "completed", "{later:#}");
    world.stop().await;
}

/// What a task asks its user to allow.
fn scopes(task: &Value) -> Vec<&str> {
    let scopes = task["consent"]["scopes"].as_array();
    let scopes = scopes.unwrap_or_else(|| panic!("no consent: {task:#}"));
    scopes
        .iter()
        .filter_map(|scope| scope["name"].as_str().or(scope.as_str()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn emqxs_responder_answers_a_chat() {
    let world = World::start().await;
    let echo = Echo::start(&world.broker, "acme/lab/echo", 0.0).await;
    let server = MockServer::start().await;
    let mut card = echo.card.clone();
    let broker = world.broker.running.url();
    card["supportedInterfaces"][0]["url"] = json!(format!("{broker}/$a2a/v1/request/acme/lab/echo"));
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200).set_body_json(card))
        .mount(&server)
        .await;
    let body =
        json!({ "cardUrl": format!("{}/card.json", server.uri()), "tags": ["type:echo"], "scope": "global" });
    registry(&world.local, "POST", "/agents", Some(body)).await;
    let user = world.local.user("acme");
    let answer = user
        .ask("Shout hello into the mountains, what is the echo?")
        .await;
    let task = user.until(&answer.task_id(), &["completed"]).await;
    assert_eq!(task["agentType"], "echo", "{task:#}");
    assert!(
        task["artifacts"].to_string().contains("The mountain answers"),
        "{task:#}"
    );
    assert_eq!(echo.runs(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_not_there_is_named_with_the_brokers_code_and_asked_once_it_is() {
    let world = World::start().await;
    let server = MockServer::start().await;
    let broker = world.broker.running.url();
    let card = json!({
        "name": "Echo", "description": "Shouts a text into the mountains and says what echo comes back.", "version": "1",
        "supportedInterfaces": [{ "url": format!("{broker}/$a2a/v1/request/acme/lab/echo"),
            "protocolBinding": "MQTT5+JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "echo", "name": "Echo", "description": "Shouts into the mountains: what is the echo?", "tags": ["type:echo"],
            "examples": ["Shout hello into the mountains, what is the echo?"] }],
    });
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200).set_body_json(card))
        .mount(&server)
        .await;
    let body = json!({ "cardUrl": format!("{}/card.json", server.uri()), "scope": "global" });
    registry(&world.local, "POST", "/agents", Some(body)).await;
    let user = world.local.user("acme");
    let task = user
        .begin("Shout hello into the mountains, what is the echo?")
        .await;
    let code = "0x10";
    let mut shown = Value::Null;
    for _ in 0..200 {
        shown = user.task(&task).await;
        if shown.to_string().contains(code) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(shown.to_string().contains(code), "{shown:#}");
    let echo = Echo::start(&world.broker, "acme/lab/echo", 0.0).await;
    for _ in 0..40 {
        world.local.advance(Duration::from_secs(5)).await;
        if user.task(&task).await["status"] == "completed" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let done = user.until(&task, &["completed"]).await;
    assert!(
        done["artifacts"].to_string().contains("The mountain answers"),
        "{done:#}"
    );
    assert_eq!(echo.runs(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_the_broker_is_registered_by_its_rule_and_unhealthy_once_it_is_killed() {
    let world = World::importing(&["acme/lab:echo"]).await;
    let mut echo = Echo::start(&world.broker, "acme/lab/echo", 0.0).await;
    let healthy = async |wanted: bool| {
        let begun = Instant::now();
        loop {
            let found = registry(&world.local, "GET", "/agents?tag=type:echo", None).await;
            let agent = found["agents"]
                .as_array()
                .and_then(|agents| agents.first())
                .cloned();
            if agent
                .as_ref()
                .is_some_and(|agent| agent["health"]["ok"] == wanted)
            {
                return (agent.expect("an agent"), begun.elapsed());
            }
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "never {wanted}: {found:#}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let (agent, _) = healthy(true).await;
    let card_url = agent["cardUrl"].as_str().expect("a card's URL").to_owned();
    assert!(card_url.ends_with("/mqtt/cards/acme/lab/echo"), "{agent:#}");
    // The card is for the registry alone.
    let refused = system_testing::user::http()
        .get(&card_url)
        .send()
        .await
        .expect("an answer");
    assert_eq!(refused.status(), 401);
    let user = world.local.user("acme");
    let answer = user
        .ask("Shout hello into the mountains, what is the echo?")
        .await;
    let task = user.until(&answer.task_id(), &["completed"]).await;
    assert!(
        task["artifacts"].to_string().contains("The mountain answers"),
        "{task:#}"
    );
    assert_eq!(echo.runs(), 1);
    echo.kill();
    let (agent, took) = healthy(false).await;
    assert_eq!(
        agent["health"]["reason"],
        "the agent is not on its broker at present"
    );
    assert!(took < Duration::from_secs(2), "{took:?}");
    let _echo = Echo::start(&world.broker, "acme/lab/echo", 0.0).await;
    healthy(true).await;
    world.stop().await;
}

/// An operator imports an agent while the system runs.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_imported_while_the_system_runs_is_registered() {
    let world = World::start().await;
    let _echo = Echo::start(&world.broker, "acme/lab/echo", 0.0).await;
    let found = async || {
        let found = registry(&world.local, "GET", "/agents?tag=type:echo", None).await;
        found["agents"]
            .as_array()
            .and_then(|agents| agents.first())
            .cloned()
    };
    assert!(found().await.is_none(), "finding is not registering");
    let change = json!({ "add": ["acme/lab/echo:echo"] });
    let (status, told) = admin(&world.local, Method::POST, "/mqtt/imports", Some(change)).await;
    assert_eq!(
        (status.as_u16(), &told["imports"]),
        (200, &json!(["acme/lab/echo:echo"]))
    );
    let begun = Instant::now();
    while !found().await.is_some_and(|agent| agent["health"]["ok"] == true) {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is registered");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for (bad, status) in [
        (json!({ "add": ["acme/+:echo"] }), 422),
        (json!({ "add": ["acme/lab:echo@nobody"] }), 404),
        (json!({ "remove": ["acme/lab:other"] }), 404),
        (json!({ "x": 1 }), 422),
    ] {
        let (code, told) = admin(&world.local, Method::POST, "/mqtt/imports", Some(bad)).await;
        assert_eq!(code.as_u16(), status, "{told}");
    }
    let (_, told) = admin(&world.local, Method::GET, "/mqtt/imports", None).await;
    assert_eq!(
        told["imports"],
        json!(["acme/lab/echo:echo"]),
        "what is refused changes nothing"
    );
    world.stop().await;
}

/// An agent that goes on talking after its last word.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_after_the_final_one_changes_nothing() {
    let world = World::start().await;
    let address = "acme/lab/slow";
    let broker = world.broker.running.url();
    let topic = format!("$a2a/v1/request/{address}");
    let (session, mut asked) = world.broker.open(address, vec![topic.clone()]).await;
    let card = json!({ "name": "Slow", "description": "Tells slow stories", "version": "1.0.0",
        "supportedInterfaces": [{ "url": format!("{broker}/{topic}"), "protocolBinding": "MQTTv5+JSONRPCv2", "protocolVersion": "1.0" }],
        "capabilities": { "streaming": true }, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "story", "name": "Story", "description": "Tells slow stories of snails", "tags": ["type:story"] }] });
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200).set_body_json(card))
        .mount(&server)
        .await;
    let body = json!({ "cardUrl": format!("{}/card.json", server.uri()), "tags": ["type:story"], "scope": "global" });
    registry(&world.local, "POST", "/agents", Some(body)).await;
    let user = world.local.user("acme");
    let answer = user.ask("Tell me a slow story of snails");
    let replies = async {
        loop {
            let request = asked.recv().await.expect("a request").publication;
            let told: Value = serde_json::from_slice(&request.payload).expect("JSON");
            let task = told["params"]["message"]["taskId"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            if task.is_empty() {
                continue;
            }
            let event = |text: Option<&str>, state: &str| match text {
                Some(text) => {
                    json!({ "artifactUpdate": { "taskId": task, "contextId": "c", "lastChunk": true,
                    "artifact": { "artifactId": text, "parts": [{ "text": text }] } } })
                }
                None => {
                    json!({ "statusUpdate": { "taskId": task, "contextId": "c", "status": { "state": state } } })
                }
            };
            for item in [
                event(None, "TASK_STATE_WORKING"),
                event(Some("The snail arrived."), ""),
                event(None, "TASK_STATE_COMPLETED"),
                event(Some("It left again."), ""),
                event(None, "TASK_STATE_FAILED"),
            ] {
                let payload = json!({ "jsonrpc": "2.0", "id": told["id"], "result": item });
                let reply = a2a::mqtt::Publication {
                    topic: request.properties.response_topic.clone().expect("a topic"),
                    payload: payload.to_string().into(),
                    retain: false,
                    properties: a2a::mqtt::Properties {
                        correlation: request.properties.correlation.clone(),
                        ..a2a::mqtt::Properties::default()
                    },
                };
                mqtt::Publisher::publish(&session, reply)
                    .await
                    .expect("it is published");
            }
            return;
        }
    };
    let (answer, ()) = tokio::join!(answer, replies);
    let task = user.until(&answer.task_id(), &["completed"]).await;
    assert!(
        task["artifacts"].to_string().contains("The snail arrived."),
        "{task:#}"
    );
    // What comes late has been handed on by now: it was published before the answer was read.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let task = user.until(&answer.task_id(), &["completed", "failed"]).await;
    assert_eq!(task["status"], "completed", "{task:#}");
    assert!(!task.to_string().contains("It left again."), "{task:#}");
    world.stop().await;
}
