//! Our agents on a real MQTT broker: Mosquitto, with requesters of ours and of others. `docs/architecture/mqtt.md` names
//! what each clause of the profile is shown by.

mod calls;
mod chaos;
mod commands;
mod foreign;
mod gate;
mod hosts;
mod identities;
mod killed;
mod members;
mod paho;
mod pools;
mod registered;
mod requester;
mod responder;
mod rubbish;
mod tokens;
mod waits;
mod world;

use std::collections::BTreeSet;
use std::time::Duration;

use a2a::mqtt::{Properties, is_stream_end};
use serde_json::{Value, json};

use requester::{Requester, new_task};
use world::World;

/// What a question of ours is answered with in the end.
fn state(item: &Value) -> &str {
    let states = [
        "/result/task/status/state",
        "/result/statusUpdate/status/state",
        "/result/status/state",
    ];
    let mut states = states.iter().filter_map(|path| item.pointer(path)?.as_str());
    states.next().unwrap_or_else(|| panic!("no state: {item}"))
}

fn message(task: &str, text: &str) -> Value {
    json!({ "message": { "messageId": format!("m-{task}"), "taskId": task, "role": "ROLE_USER", "parts": [{ "text": text }] } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_by_its_settled_task() {
    let world = World::start().await;
    let asker = Requester::new(&world, "asker").await;
    let task = new_task();
    let answer = asker
        .ask(
            "switchyard/platform/weather",
            "SendMessage",
            message(&task, "Weather in Oslo tomorrow?"),
        )
        .await;
    let [answer] = answer.as_slice() else {
        panic!("{answer:#?}")
    };
    assert_eq!(
        (state(answer), &answer["result"]["task"]["id"]),
        ("TASK_STATE_COMPLETED", &json!(task))
    );
    assert!(
        answer["result"]["task"]["artifacts"].to_string().contains("Oslo"),
        "{answer:#}"
    );
    // The same again is the same task, and is not done again.
    let again = asker
        .ask(
            "switchyard/platform/weather",
            "SendMessage",
            message(&task, "Weather in Oslo tomorrow?"),
        )
        .await;
    assert_eq!(
        again[0]["result"]["task"]["artifacts"],
        answer["result"]["task"]["artifacts"]
    );
    let found = asker
        .ask("switchyard/platform/weather", "GetTask", json!({ "id": task }))
        .await;
    assert_eq!(state(&found[0]), "TASK_STATE_COMPLETED");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_begins_with_its_task_misses_no_event_and_ends_with_a_status() {
    let world = World::start().await;
    let asker = Requester::new(&world, "asker").await;
    let task = new_task();
    let items = asker
        .ask(
            "switchyard/platform/weather",
            "SendStreamingMessage",
            message(&task, "Weather in Oslo tomorrow?"),
        )
        .await;
    assert_eq!(items[0]["result"]["task"]["id"], json!(task));
    let last = items.last().unwrap();
    assert!(
        last["result"]["statusUpdate"].is_object() && state(last) == "TASK_STATE_COMPLETED",
        "{last:#}"
    );
    let numbers: Vec<u64> = items
        .iter()
        .filter_map(|item| a2a::event_number(&item["result"]))
        .collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(numbers.len(), items.len() - 1, "{items:#?}");
    assert!(
        items
            .iter()
            .any(|item| item["result"]["artifactUpdate"].is_object())
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_its_user_is_asked_and_goes_on_under_a_new_correlation() {
    let world = World::start().await;
    let asker = Requester::new(&world, "asker").await;
    let task = new_task();
    let asked = asker
        .ask(
            "switchyard/platform/weather",
            "SendStreamingMessage",
            message(&task, "What's the weather?"),
        )
        .await;
    let last = asked.last().unwrap();
    assert_eq!(state(last), "TASK_STATE_INPUT_REQUIRED", "{asked:#?}");
    let context = last["result"]["statusUpdate"]["contextId"].clone();
    let mut answer = message(&task, "Oslo");
    answer["message"]["messageId"] = json!("m-2");
    answer["message"]["contextId"] = json!("another");
    let wrong = asker
        .ask("switchyard/platform/weather", "SendMessage", answer.clone())
        .await;
    assert_eq!(wrong[0]["error"]["code"], -32602, "{wrong:#?}");
    answer["message"]["contextId"] = context;
    let answered = asker
        .ask("switchyard/platform/weather", "SendMessage", answer)
        .await;
    assert_eq!(state(&answered[0]), "TASK_STATE_COMPLETED", "{answered:#?}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_agent_has_its_card_on_the_broker_and_says_whether_it_is_there() {
    let world = World::start().await;
    let wanted = world.agents();
    assert!(wanted.contains("switchyard/acme/host") && wanted.contains("switchyard/platform/weather"));
    let cards = world.cards(&wanted).await;
    assert_eq!(cards.keys().cloned().collect::<BTreeSet<_>>(), wanted);
    for (address, card) in &cards {
        let read: Value = serde_json::from_slice(&card.payload).expect("a card");
        assert!(
            read["signatures"].is_array() && read["skills"].is_array(),
            "{address}"
        );
        assert_eq!(card.properties.one("a2a-status"), Ok(Some("online")));
        assert_eq!(card.properties.one("a2a-status-source"), Ok(Some("agent")));
    }
    // A good stop says so itself, and no will speaks for it.
    let (broker, watcher) = world.stop().await;
    let left = broker.cards_that_say("offline", &wanted, watcher).await;
    for (address, card) in &left {
        assert_eq!(
            card.properties.one("a2a-status-source"),
            Ok(Some("agent")),
            "{address}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_back_after_their_broker_was_killed_and_has_forgotten_them() {
    let mut world = World::start().await;
    let wanted = world.agents();
    world.cards(&wanted).await;
    world.broker.restart();
    let cards = world.cards(&wanted).await;
    assert_eq!(cards.into_keys().collect::<BTreeSet<_>>(), wanted);
    let asker = Requester::new(&world, "asker").await;
    let found = asker
        .ask(
            "switchyard/platform/weather",
            "GetTask",
            json!({ "id": new_task() }),
        )
        .await;
    assert_eq!(found[0]["error"]["code"], -32001, "{found:#?}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_checked_by_the_agent_and_named_in_the_bindings_words() {
    let world = World::start().await;
    let asker = Requester::new(&world, "asker").await;
    let with = |token: Option<&str>| Properties {
        user: token
            .iter()
            .map(|token| ("a2a-authorization".to_owned(), format!("Bearer {token}")))
            .collect(),
        ..Properties::default()
    };
    for token in [None, Some("hunter2")] {
        let params = message(&new_task(), "Book a seat");
        let refused = asker
            .ask_with("switchyard/acme/horizon", "SendMessage", params, with(token))
            .await;
        let error = &refused[0]["error"];
        assert_eq!(
            (&error["code"], &error["data"]["a2a_error"]),
            (&json!(401), &json!("unauthenticated")),
            "{refused:#?}"
        );
        assert!(
            error["data"]["www_authenticate"]
                .as_str()
                .unwrap()
                .contains("resource_metadata")
        );
        assert!(!refused[0].to_string().contains("hunter2"));
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_access_lists_tokens_alone_keep_tenants_apart() {
    let world = World::start().await;
    let asker = Requester::new(&world, "asker").await;
    let with = |token: &str| Properties {
        user: vec![("a2a-authorization".to_owned(), format!("Bearer {token}"))],
        ..Properties::default()
    };
    let weather = world.local.endpoint("/agents/weather").to_owned();
    let acme_host = world.local.endpoint("/tenants/acme/host_agent").to_owned();
    let token = |tenant: &str, owner: &str, audience: &str| {
        let signed = world.local.system.token(tenant, owner, audience);
        signed.expect("a token")
    };
    let task = new_task();
    let params = message(&task, "Weather in Oslo tomorrow?");
    let own = with(&token("acme", "ada", &weather));
    let answer = asker
        .ask_with("switchyard/platform/weather", "SendMessage", params.clone(), own)
        .await;
    assert_eq!(state(&answer[0]), "TASK_STATE_COMPLETED", "{answer:#?}");
    // The task of one tenant's user is not there for anybody else: neither to see nor to go on.
    for (tenant, owner) in [("globex", "ada"), ("acme", "bob")] {
        let foreign = token(tenant, owner, &weather);
        for method in ["GetTask", "CancelTask"] {
            let refused = asker
                .ask_with(
                    "switchyard/platform/weather",
                    method,
                    json!({ "id": task }),
                    with(&foreign),
                )
                .await;
            assert_eq!(
                refused[0]["error"]["code"], -32001,
                "{tenant} {owner} {method}: {refused:#?}"
            );
        }
    }
    let refused = asker
        .ask_with(
            "switchyard/platform/weather",
            "SendMessage",
            params.clone(),
            with(&token("acme", "bob", &weather)),
        )
        .await;
    assert_eq!(refused[0]["error"]["code"], -32001, "{refused:#?}");
    // In another tenant nobody has that id yet: there it becomes another task.
    let other = asker
        .ask_with(
            "switchyard/platform/weather",
            "SendMessage",
            params,
            with(&token("globex", "ada", &weather)),
        )
        .await;
    let context = |item: &Value| item["result"]["task"]["contextId"].clone();
    assert!(context(&other[0]).is_string(), "{other:#?}");
    assert_ne!(context(&other[0]), context(&answer[0]));
    // A tenant's own agent takes no other tenant's token.
    let foreign = with(&token("globex", "ada", &acme_host));
    let refused = asker
        .ask_with(
            "switchyard/acme/host",
            "SendMessage",
            message(&new_task(), "Hello"),
            foreign,
        )
        .await;
    let code = refused[0]["error"]["code"].as_i64();
    assert!(matches!(code, Some(401 | 403)), "{refused:#?}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_goes_on_without_its_requester_and_is_found_by_its_id() {
    let world = World::start().await;
    let task = new_task();
    let gone = Requester::new(&world, "gone").await;
    gone.publish(
        "switchyard/platform/weather",
        "SendStreamingMessage",
        message(&task, "Weather in Oslo?"),
    )
    .await;
    gone.leave().await;
    let asker = Requester::new(&world, "asker").await;
    for _ in 0..100 {
        let found = asker
            .ask("switchyard/platform/weather", "GetTask", json!({ "id": task }))
            .await;
        if found[0]
            .get("result")
            .is_some_and(|found| is_stream_end(&json!({ "task": found })))
        {
            assert_eq!(state(&found[0]), "TASK_STATE_COMPLETED");
            world.stop().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the task is not over");
}
