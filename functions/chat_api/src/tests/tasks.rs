//! Tasks: their view, their events, what can be done with them.

use std::time::Duration;

use axum::Router;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::world::{Browser, World, last_card, says};

async fn asked(app: &Router, browser: &Browser, text: &str) -> String {
    let chunks = browser
        .post(app, "/api/chat", &says("c1", &format!("m-{text}"), text))
        .await
        .chunks();
    last_card(&chunks)["taskId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_task_shows_its_states_with_times_and_its_result() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let id = asked(&app, &browser, "hello").await;
    world.clock.advance(Duration::from_secs(5));
    world.work().await;
    let task = browser.get(&app, &format!("/api/tasks/{id}")).await.json();
    assert_eq!((&task["id"], &task["status"]), (&json!(id), &json!("completed")));
    assert_eq!(task["statusMessage"], "You said: hello");
    assert_eq!(task["result"]["data"], json!([{"said": "hello"}]));
    let states: Vec<_> = task["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["state"])
        .collect();
    assert_eq!(states, ["submitted", "working", "completed"]);
    assert_eq!(task["history"][2]["at"], "2026-01-01T00:00:05.000Z");
    assert_eq!(task["traceId"].as_str().map(str::len), Some(32));
    assert_eq!(task["createdAt"], "2026-01-01T00:00:00.000Z");
}

#[tokio::test]
async fn reading_a_task_costs_the_session_the_task_and_its_log() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let id = asked(&app, &browser, "hello").await;
    let path = format!("/api/tasks/{id}");
    let (_, calls) = store::counted(browser.get(&app, &path)).await;
    assert_eq!(calls.total(), 2, "it has none yet: {calls:?}");
    world.work().await;
    let (_, calls) = store::counted(browser.get(&app, &path)).await;
    assert_eq!(calls.total(), 3, "{calls:?}");
}

#[tokio::test]
async fn refreshing_asks_the_host_and_falls_back_to_what_is_stored() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let id = asked(&app, &browser, "park").await;
    let path = format!("/api/tasks/{id}?refresh=true");
    let fresh = browser.get(&app, &path).await;
    assert_eq!(
        (fresh.status, fresh.json()["refreshed"].clone()),
        (StatusCode::OK, json!(true))
    );
    let broken = world.app_at(Duration::ZERO, "http://127.0.0.1:9/a/host".parse().unwrap());
    let stored = browser.get(&broken, &path).await;
    assert_eq!(
        (stored.status, stored.json()["refreshed"].clone()),
        (StatusCode::OK, json!(false))
    );
    assert_eq!(stored.json()["id"], json!(id));
}

#[tokio::test]
async fn a_task_is_shown_as_it_was_at_each_of_its_revisions() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let id = asked(&app, &browser, "hello").await;
    world.clock.advance(Duration::from_secs(5));
    world.work().await;
    let path = format!("/api/tasks/{id}");
    let now = browser.get(&app, &path).await.json();
    let latest = now["rev"].as_u64().unwrap();
    let mut states = Vec::new();
    for rev in 1..=latest {
        let then = browser.get(&app, &format!("{path}?rev={rev}")).await.json();
        assert_eq!((&then["rev"], &then["latestRev"]), (&json!(rev), &json!(latest)));
        states.push(then["status"].as_str().unwrap().to_owned());
    }
    states.dedup();
    assert_eq!(states, ["submitted", "working", "completed"]);
    let first = browser.get(&app, &format!("{path}?rev=1")).await.json();
    assert_eq!(
        (&first["artifacts"], &first["result"], &first["prompt"]),
        (&json!([]), &json!(null), &json!("hello"))
    );
    assert_eq!(first["updatedAt"], "2026-01-01T00:00:00.000Z");
    let mut last = browser.get(&app, &format!("{path}?rev={latest}")).await.json();
    last.as_object_mut().unwrap().remove("latestRev");
    assert_eq!(last, now);
    let beyond = (latest + 1).to_string();
    for bad in [
        "0",
        "-1",
        "+1",
        "",
        "x",
        "1.0",
        "99999999999999999999999",
        &beyond,
    ] {
        let refused = browser.get(&app, &format!("{path}?rev={bad}")).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{bad}");
        assert_eq!(refused.json()["error"], "invalid_rev");
    }
    let stranger = Browser::default();
    let foreign = stranger.get(&app, &format!("{path}?rev=1")).await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND);
}

fn events(text: &str) -> Vec<(u64, Value)> {
    let frames = text.split("\n\n").filter(|frame| frame.starts_with("id: "));
    frames
        .map(|frame| {
            let (id, data) = frame.split_once("\ndata: ").unwrap();
            (
                id["id: ".len()..].parse().unwrap(),
                serde_json::from_str(data).unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn events_are_told_from_the_start_or_behind_the_last_one_seen_and_end_with_the_task() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let id = asked(&app, &browser, "hello").await;
    let path = format!("/api/tasks/{id}/events");
    let (live, ()) = browser.get_while(&app, &path, world.work()).await;
    let told = events(&live.text);
    let numbers: Vec<_> = told.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(
        numbers,
        (1..=told.len() as u64).collect::<Vec<_>>(),
        "no gap, none twice"
    );
    assert_eq!(told.first().unwrap().1["state"], "submitted");
    assert_eq!(told.last().unwrap().1["state"], "completed");
    assert!(told.iter().any(|(_, event)| event["type"] == "artifact"));

    let again = browser.get(&app, &path).await;
    assert_eq!(events(&again.text), told, "the whole log once more");
    let request = browser.request(Method::GET, &path).header("last-event-id", "2");
    let rest = browser
        .send(&app, request.body(axum::body::Body::empty()).unwrap())
        .await;
    assert_eq!(events(&rest.text), told[2..]);
    let last = told.last().unwrap().0;
    let over = browser.get(&app, &format!("{path}?after={last}")).await;
    assert_eq!(over.status, StatusCode::NO_CONTENT, "nothing more will come");
    let rubbish = browser.get(&app, &format!("{path}?after=-1")).await;
    assert_eq!(rubbish.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_task_can_be_canceled_once_and_not_after_its_end() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let id = asked(&app, &browser, "park").await;
    let canceled = browser
        .post(&app, &format!("/api/tasks/{id}/cancel"), &json!({}))
        .await;
    assert_eq!(
        (canceled.status, canceled.json()["status"].clone()),
        (StatusCode::OK, json!("canceled"))
    );
    let done = asked(&app, &browser, "hello").await;
    world.work().await;
    for (action, status, error) in [
        ("cancel", StatusCode::CONFLICT, "not_cancelable"),
        ("start", StatusCode::CONFLICT, "not_startable"),
        ("retry", StatusCode::CONFLICT, "not_retryable"),
        ("explode", StatusCode::NOT_FOUND, "not_found"),
    ] {
        let answered = browser
            .post(&app, &format!("/api/tasks/{done}/{action}"), &json!({}))
            .await;
        assert_eq!(
            (answered.status, answered.json()["error"].clone()),
            (status, json!(error)),
            "{action}"
        );
    }
}

#[tokio::test]
async fn the_retry_of_a_task_that_is_over_is_one_new_task_and_the_chat_shows_that() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let failed = asked(&app, &browser, "fail").await;
    world.work().await;
    let retry = format!("/api/tasks/{failed}/retry");
    let again = browser.post(&app, &retry, &json!({})).await;
    assert_eq!(again.status, StatusCode::OK, "{}", again.text);
    let again = again.json();
    assert_eq!(again["retryOf"], json!(failed));
    assert_ne!(again["id"], json!(failed));
    assert_eq!(again["prompt"], "fail");
    let repeated = browser.post(&app, &retry, &json!({})).await.json();
    assert_eq!(repeated["id"], again["id"], "asked twice, done once");
    let shown = browser.get(&app, "/api/chats/c1/messages").await.json();
    assert_eq!(shown[1]["parts"][0]["id"], again["id"]);
    assert_eq!(shown.as_array().unwrap().len(), 2);
    let first = browser.get(&app, &format!("/api/tasks/{failed}")).await.json();
    assert_eq!(first["status"], "failed", "a finished task never changes");
}

#[tokio::test]
async fn what_is_over_is_asked_of_another_agent_where_its_user_names_one() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    for (said, chat) in [("hello", "c1"), ("fail", "c2")] {
        browser.post(&app, "/api/chat", &says(chat, chat, said)).await;
        world.work().await;
    }
    let tasks = browser.get(&app, "/api/tasks").await.json();
    for task in tasks["tasks"].as_array().unwrap() {
        let path = format!("/api/tasks/{}/retry", task["id"].as_str().unwrap());
        for bad in [json!("nobody"), json!("host"), json!(7), json!(null)] {
            let refused = browser.post(&app, &path, &json!({ "model": bad })).await;
            let told = (refused.status, refused.json()["error"].clone());
            assert_eq!(told, (StatusCode::CONFLICT, json!("agent_gone")));
        }
        let again = browser.post(&app, &path, &json!({"model": "echo"})).await.json();
        let key = store::TaskKey {
            tenant: world.tenant.clone(),
            agent: world.host.name.clone(),
            id: serde_json::from_value(again["id"].clone()).unwrap(),
        };
        let now = domain::Clock::now(world.clock.as_ref());
        let stored = world.store.tasks().find(&key, now).await.unwrap().unwrap();
        assert_eq!(
            stored.task.history[0].metadata["switchyard/agent"], "echo",
            "{again}"
        );
    }
}

#[tokio::test]
async fn a_task_that_waits_in_vain_goes_on_when_its_user_says_so() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let id = asked(&app, &browser, "lost").await;
    let started = browser
        .post(&app, &format!("/api/tasks/{id}/start"), &json!({}))
        .await;
    assert_eq!(
        (started.status, &started.json()["status"]),
        (StatusCode::OK, &json!("submitted"))
    );
    world.work().await;
    let retry = format!("/api/tasks/{id}/retry");
    assert_eq!(
        browser.get(&app, &format!("/api/tasks/{id}")).await.json()["status"],
        "unknown"
    );
    let stranger = Browser::default();
    assert_eq!(
        stranger.post(&app, &retry, &json!({})).await.status,
        StatusCode::NOT_FOUND
    );
    let retried = browser.post(&app, &retry, &json!({})).await;
    assert_eq!(
        (retried.status, &retried.json()["id"]),
        (StatusCode::OK, &json!(id))
    );
    assert_eq!(retried.json()["status"], "working");
    world.work().await;
    let canceled = browser
        .post(&app, &format!("/api/tasks/{id}/cancel"), &json!({}))
        .await;
    assert_eq!(
        canceled.json()["status"],
        "canceled",
        "what nobody hears of can be called off"
    );
}

#[tokio::test]
async fn tasks_are_listed_page_by_page() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    for text in ["one", "two", "three"] {
        asked(&app, &browser, text).await;
        world.clock.advance(Duration::from_secs(1));
    }
    let first = browser.get(&app, "/api/tasks?limit=2").await.json();
    assert_eq!(first["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(first["tasks"][0]["prompt"], "three", "newest first");
    let cursor = first["next"].as_str().unwrap();
    let query: String = url::form_urlencoded::byte_serialize(cursor.as_bytes()).collect();
    let rest = browser
        .get(&app, &format!("/api/tasks?limit=2&cursor={query}"))
        .await
        .json();
    assert_eq!(rest["tasks"][0]["prompt"], "one");
    assert_eq!(rest["next"], Value::Null);
}
