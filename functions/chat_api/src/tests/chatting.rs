//! Messages in, streams out, and what the history says afterwards.

use std::time::Duration;

use domain::SettingChange;
use http::StatusCode;
use serde_json::{Value, json};

use super::world::{Browser, World, last_card, says, text, types};

const PATIENT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_quick_answer_comes_in_the_same_turn() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(PATIENT);
    let body = says("c1", "m1", "hello");
    let (answered, ()) = browser.post_while(&app, "/api/chat", &body, world.work()).await;
    let chunks = answered.chunks();
    let kinds = types(&chunks);
    assert_eq!(kinds[..2], ["start", "data-task"]);
    assert_eq!(
        kinds[kinds.len() - 4..],
        ["text-start", "text-delta", "text-end", "finish"]
    );
    assert_eq!(chunks[1]["data"]["artifactType"], "task");
    let progress = chunks
        .iter()
        .find(|chunk| chunk["type"] == "data-progress")
        .expect("progress");
    assert_eq!(progress["data"]["text"], "working on: hello");
    assert_eq!(progress["transient"], true);
    assert_eq!(last_card(&chunks)["state"], "completed");
    assert_eq!(text(&chunks), "You said: hello");

    let history = browser.get(&app, "/api/chats/c1/messages").await.json();
    assert_eq!(history[0], body["messages"][0]);
    assert_eq!(
        history[1]["id"], chunks[0]["messageId"],
        "the streamed answer and the stored one are one"
    );
    assert_eq!(history[1]["parts"][0]["data"], last_card(&chunks));
    assert_eq!(
        history[1]["parts"][1],
        json!({"type": "text", "text": "You said: hello", "state": "done"})
    );
    assert_eq!(history.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_chat_keeps_the_answers_that_were_shown_and_says_which_it_has_not() {
    let (world, browser) = (World::new().await, Browser::default());
    let (patient, hasty) = (world.lasting_app(PATIENT), world.lasting_app(Duration::ZERO));
    let body = says("streamed", "m1", "hello");
    browser
        .post_while(&patient, "/api/chat", &body, world.work())
        .await;
    for chat in ["looked-at", "forgotten"] {
        browser
            .post(&hasty, "/api/chat", &says(chat, "m1", "hello"))
            .await;
    }
    world.work().await;
    let path = |chat: &str| format!("/api/chats/{chat}/messages");
    let shown = browser.get(&hasty, &path("looked-at")).await.json();
    assert_eq!(shown[1]["parts"][1]["text"], "You said: hello");
    let (again, calls) = store::counted(browser.get(&hasty, &path("looked-at"))).await;
    assert_eq!(again.json(), shown);
    assert_eq!(
        calls.by_operation.get("PutItem"),
        None,
        "it is kept once: {calls:?}"
    );

    world.clock.advance(Duration::from_secs(40 * 24 * 3600));
    let listed = browser.get(&hasty, "/api/tasks").await.json();
    assert_eq!(listed["tasks"], json!([]), "the tasks are gone");
    assert_eq!(browser.get(&hasty, &path("looked-at")).await.json(), shown);
    let streamed = browser.get(&hasty, &path("streamed")).await.json();
    assert_eq!(streamed[1]["parts"][1]["text"], "You said: hello");
    assert_eq!(streamed[1]["parts"][0]["data"]["state"], "completed");
    let forgotten = browser.get(&hasty, &path("forgotten")).await.json();
    assert_eq!(
        forgotten[1]["parts"],
        json!([{"type": "text", "text": "The answer to this is no longer kept.", "state": "done"}])
    );
}

#[tokio::test]
async fn a_late_answer_is_in_the_history_once_it_is_there() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let chunks = browser
        .post(&app, "/api/chat", &says("c1", "m1", "hello"))
        .await
        .chunks();
    assert_eq!(
        types(&chunks),
        ["start", "data-task", "finish"],
        "the card at once, and no waiting"
    );
    let before = browser.get(&app, "/api/chats/c1/messages").await.json();
    assert_eq!(before[1]["parts"].as_array().unwrap().len(), 1);
    world.work().await;
    let after = browser.get(&app, "/api/chats/c1/messages").await.json();
    assert_eq!(after[1]["id"], before[1]["id"]);
    assert_eq!(after[1]["parts"][1]["text"], "You said: hello");
}

#[tokio::test]
async fn a_repeated_request_is_the_same_task() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let body = says("c1", "m1", "hello");
    let first = browser.post(&app, "/api/chat", &body).await.chunks();
    let second = browser.post(&app, "/api/chat", &body).await.chunks();
    world.work().await;
    let third = browser.post(&app, "/api/chat", &body).await.chunks();
    for chunks in [&second, &third] {
        assert_eq!(chunks[0], first[0]);
        assert_eq!(chunks[1]["id"], first[1]["id"]);
    }
    assert_eq!(text(&third), "You said: hello");
    let tasks = browser.get(&app, "/api/tasks").await.json();
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn many_parallel_repeats_make_one_task() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    browser.post(&app, "/api/chat", &says("c0", "m0", "park")).await;
    let body = says("c1", "m1", "hello");
    let posts = (0..8).map(|_| browser.post(&app, "/api/chat", &body));
    let answers = futures_util::future::join_all(posts).await;
    let ids: std::collections::BTreeSet<_> = answers
        .iter()
        .map(|answered| last_card(&answered.chunks())["taskId"].to_string())
        .collect();
    assert_eq!(ids.len(), 1);
}

#[tokio::test]
async fn another_text_under_a_known_message_id_is_refused() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    browser.post(&app, "/api/chat", &says("c1", "m1", "hello")).await;
    let changed = browser
        .post(&app, "/api/chat", &says("c1", "m1", "goodbye"))
        .await;
    assert_eq!(
        (changed.status, changed.json()["error"].clone()),
        (StatusCode::CONFLICT, json!("message_changed"))
    );
}

#[tokio::test]
async fn a_reply_to_the_card_of_a_question_continues_its_task() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(PATIENT);
    let ask = says("c1", "m1", "ask");
    let (asked, ()) = browser.post_while(&app, "/api/chat", &ask, world.work()).await;
    let asked = asked.chunks();
    assert_eq!(
        (text(&asked).as_str(), last_card(&asked)["state"].clone()),
        ("Which one?", json!("input-required"))
    );
    // Nothing but the card that is replied to says so: what else a message means is the host's to say.
    let mut reply = says("c1", "m2", "the first");
    reply["taskId"] = last_card(&asked)["taskId"].clone();
    let (replied, ()) = browser.post_while(&app, "/api/chat", &reply, world.work()).await;
    let replied = replied.chunks();
    assert_eq!(last_card(&replied)["taskId"], last_card(&asked)["taskId"]);
    assert_eq!(text(&replied), "You said: the first");
    // A repeat of the reply goes nowhere new.
    let again = browser.post(&app, "/api/chat", &reply).await.chunks();
    assert_eq!((&again[0], text(&again)), (&replied[0], text(&replied)));

    let history = browser.get(&app, "/api/chats/c1/messages").await.json();
    let texts: Vec<_> = history
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|message| message["parts"].as_array().unwrap())
        .filter_map(|part| part["text"].as_str())
        .collect();
    assert_eq!(texts, ["ask", "Which one?", "the first", "You said: the first"]);
}

#[tokio::test]
async fn a_reply_names_a_task_of_this_chat_and_of_nobody_else() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(PATIENT);
    let ask = says("c1", "m1", "ask");
    let (asked, ()) = browser.post_while(&app, "/api/chat", &ask, world.work()).await;
    let id = last_card(&asked.chunks())["taskId"].clone();
    let stranger = Browser::default();
    let foreign = browser.post(&app, "/api/chat", &says("c2", "m1", "park")).await;
    assert_eq!(foreign.status, StatusCode::OK);
    for (who, chat, named) in [
        (&stranger, "c9", id.clone()),
        // The user's own, but of another chat.
        (&browser, "c2", id.clone()),
        (&browser, "c1", json!(domain::TaskId::from_bytes([9; 16]))),
    ] {
        let mut reply = says(chat, "m7", "the first");
        reply["taskId"] = named;
        let answered = who.post(&app, "/api/chat", &reply).await;
        assert_eq!(
            (answered.status, answered.json()["error"].clone()),
            (StatusCode::NOT_FOUND, json!("not_found"))
        );
        let stored = who.get(&app, &format!("/api/chats/{chat}/messages")).await.text;
        assert!(!stored.contains("the first"), "{stored}");
    }
    let waiting = browser
        .get(&app, &format!("/api/tasks/{}", id.as_str().unwrap()))
        .await
        .json();
    assert_eq!(waiting["status"], "input-required", "nobody answered it");
}

#[tokio::test]
async fn a_message_after_a_finished_task_starts_a_new_one_in_the_same_context() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let first = last_card(
        &browser
            .post(&app, "/api/chat", &says("c1", "m1", "one"))
            .await
            .chunks(),
    );
    world.work().await;
    world.clock.advance(Duration::from_secs(1));
    let second = last_card(
        &browser
            .post(&app, "/api/chat", &says("c1", "m2", "two"))
            .await
            .chunks(),
    );
    assert_ne!(first["taskId"], second["taskId"]);
    assert_eq!(first["contextId"], second["contextId"]);
    let path = format!("/api/tasks?contextId={}", first["contextId"].as_str().unwrap());
    let tasks = browser.get(&app, &path).await.json();
    let ids: Vec<_> = tasks["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| &task["id"])
        .collect();
    assert_eq!(ids, [&first["taskId"], &second["taskId"]]);
}

#[tokio::test]
async fn regenerating_replaces_the_answer() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let mut body = says("c1", "m1", "fail");
    let first = browser.post(&app, "/api/chat", &body).await.chunks();
    world.work().await;
    body["trigger"] = json!("regenerate-message");
    body["messageId"] = first[0]["messageId"].clone();
    let second = browser.post(&app, "/api/chat", &body).await.chunks();
    let repeat = browser.post(&app, "/api/chat", &body).await.chunks();
    assert_ne!(last_card(&second)["taskId"], last_card(&first)["taskId"]);
    assert_eq!(last_card(&repeat)["taskId"], last_card(&second)["taskId"]);
    let history = browser.get(&app, "/api/chats/c1/messages").await.json();
    let ids: Vec<_> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["id"])
        .collect();
    assert_eq!(ids, [&json!("m1"), &second[0]["messageId"]]);
}

#[tokio::test]
async fn a_running_answer_can_be_resumed_and_a_finished_one_not() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(PATIENT);
    let hasty = world.app(Duration::ZERO);
    assert_eq!(
        browser.get(&app, "/api/chat/c1/stream").await.status,
        StatusCode::NO_CONTENT,
        "no chat yet"
    );
    let first = browser
        .post(&hasty, "/api/chat", &says("c1", "m1", "hello"))
        .await
        .chunks();
    let (resumed, ()) = browser.get_while(&app, "/api/chat/c1/stream", world.work()).await;
    let resumed = resumed.chunks();
    assert_eq!(resumed[0], first[0], "the same answer from its beginning");
    assert_eq!(text(&resumed), "You said: hello");
    assert_eq!(
        browser.get(&app, "/api/chat/c1/stream").await.status,
        StatusCode::NO_CONTENT
    );
}

#[tokio::test]
async fn stopping_cancels_the_task_at_the_host_and_ends_the_stream() {
    let (world, browser) = (World::new().await, Browser::default());
    let (app, hasty) = (world.app(PATIENT), world.app(Duration::ZERO));
    browser.post(&hasty, "/api/chat", &says("c1", "m1", "park")).await;
    world.work().await;
    let stop = json!({});
    let stopping = browser.post(&app, "/api/chat/c1/stop", &stop);
    let (resumed, stopped) = browser.get_while(&app, "/api/chat/c1/stream", stopping).await;
    assert_eq!(stopped.json()["task"]["status"], "canceled");
    assert_eq!(last_card(&resumed.chunks())["state"], "canceled");
    let again = browser.post(&app, "/api/chat/c1/stop", &json!({})).await;
    assert_eq!(
        (again.status, again.json()["task"].clone()),
        (StatusCode::OK, Value::Null)
    );
}

#[tokio::test]
async fn a_host_out_of_reach_is_503_and_the_repeat_finds_everything_in_place() {
    let (world, browser) = (World::new().await, Browser::default());
    let broken = world.app_at(Duration::ZERO, "http://127.0.0.1:9/a/host".parse().unwrap());
    let body = says("c1", "m1", "hello");
    let refused = browser.post(&broken, "/api/chat", &body).await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.json()["error"], "host_unavailable");
    let app = world.app(Duration::ZERO);
    let chunks = browser.post(&app, "/api/chat", &body).await.chunks();
    world.work().await;
    let history = browser.get(&app, "/api/chats/c1/messages").await.json();
    assert_eq!(history.as_array().unwrap().len(), 2);
    assert_eq!(history[1]["id"], chunks[0]["messageId"]);
}

#[tokio::test]
async fn the_hosts_message_says_language_and_clock() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let mut body = says("c1", "m1", "weather on 3/12");
    body["locale"] = json!("en-GB");
    body["timeZone"] = json!("Europe/London");
    let answered = browser.post(&app, "/api/chat", &body).await;
    let metadata = world.first_message(&answered).await.metadata;
    assert_eq!(
        json!(metadata),
        json!({"switchyard/locale": "en-GB", "switchyard/timeZone": "Europe/London"})
    );

    let world = World::new().await;
    let app = world.app(Duration::ZERO);
    let request = browser
        .request(http::Method::POST, "/api/chat")
        .header("content-type", "application/json")
        .header("accept-language", "de-CH,de;q=0.9,en;q=0.5")
        .body(axum::body::Body::from(says("c1", "m1", "hello").to_string()));
    let answered = browser.send(&app, request.unwrap()).await;
    let metadata = world.first_message(&answered).await.metadata;
    assert_eq!(json!(metadata), json!({"switchyard/locale": "de-CH"}));

    // What neither says, the tenant does; a change of that is seen within ten seconds.
    let (tenants, tenant) = (world.store.tenants(), world.tenant.clone());
    tenants.add(&tenant).await.unwrap();
    let set = |key, value| SettingChange::parse(key, Some(value)).unwrap();
    let changes = [set("locale", "nb"), set("timeZone", "Europe/Oslo")];
    assert!(tenants.set(&tenant, &changes).await.unwrap());
    world.clock.advance(store::SETTINGS_TTL);
    let answered = browser.post(&app, "/api/chat", &says("c2", "m1", "hello")).await;
    let metadata = world.first_message(&answered).await.metadata;
    assert_eq!(
        json!(metadata),
        json!({"switchyard/locale": "nb", "switchyard/timeZone": "Europe/Oslo"})
    );
}
