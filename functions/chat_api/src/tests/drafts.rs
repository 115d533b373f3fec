//! Words of an answer as they come, on the page and in the events of a task.

use std::time::Duration;

use domain::{Clock as _, EventKind, Message, MessageId, Revision, TaskState};
use serde_json::{Value, json};
use store::{AnswerDraft, Due, LeaseAfter, TaskKey};

use super::world::{Browser, World, says, text, types};

const PATIENT: Duration = Duration::from_secs(20);
/// A little longer than two looks for a draft are apart.
const A_LOOK: Duration = Duration::from_millis(700);

async fn put(world: &World, key: &TaskKey, attempt: u64, text: &str) {
    let draft = AnswerDraft {
        turn: 0,
        attempt,
        text: text.to_owned(),
    };
    let put = world
        .store
        .tasks()
        .put_draft(key, &draft, world.clock.now())
        .await;
    assert!(put.unwrap());
    tokio::time::sleep(A_LOOK).await;
}

/// Something in the draft's place that no release wrote.
async fn rubbish(world: &World, key: &TaskKey, mut item: Value) {
    let pk = format!("acme#host#task#{}", key.id);
    item["pk"] = json!({ "S": pk });
    item["sk"] = json!({ "S": "DRAFT" });
    world.database.put(&world.database.tables().tasks, &item);
    tokio::time::sleep(A_LOOK).await;
}

/// The host ends the task with these words.
async fn ends(world: &World, key: &TaskKey, said: &str) {
    let now = world.clock.now();
    let found = world.store.tasks().find(key, now).await.unwrap();
    let mut revision = Revision::of(found.unwrap().task);
    let message = Message::agent_text(MessageId::derived(said), said);
    let done = EventKind::status(TaskState::Completed, Some(message));
    revision.record(done, now).unwrap();
    let written = world
        .store
        .tasks()
        .commit(&revision, Due::Never, LeaseAfter::Keep)
        .await;
    assert_eq!(written.unwrap(), store::Committed::Yes);
}

/// Two attempts at words, rubbish between them, and the answer.
async fn speaks(world: &World) -> TaskKey {
    let key = world.waiting();
    world.work().await;
    put(world, &key, 101, "It").await;
    put(world, &key, 101, "It rains").await;
    rubbish(world, &key, json!({"attempt": {"S": "x"}, "text": {"N": "1"}})).await;
    rubbish(world, &key, json!({})).await;
    put(world, &key, 102, "Sun").await;
    ends(world, &key, "Sunny.").await;
    key
}

/// The texts of a stream's parts.
fn parts(chunks: &[Value]) -> Vec<String> {
    let begun = chunks.iter().filter(|chunk| chunk["type"] == "text-start");
    let of = |start: &Value| {
        let own = chunks.iter().filter(|chunk| chunk["id"] == start["id"]);
        own.filter_map(|chunk| chunk["delta"].as_str()).collect()
    };
    begun.map(of).collect()
}

#[tokio::test]
async fn words_are_parts_of_the_answer_as_they_come_and_the_stored_answer_ends_the_last() {
    let (world, browser) = (World::drafting().await, Browser::default());
    let app = world.app(PATIENT);
    let body = says("c1", "m1", "park");
    let (answered, _) = browser.post_while(&app, "/api/chat", &body, speaks(&world)).await;
    let chunks = answered.chunks();
    assert_eq!(parts(&chunks), ["It rains", "Sunny."], "{chunks:#?}");
    let deltas: Vec<&str> = chunks
        .iter()
        .filter_map(|chunk| chunk["delta"].as_str())
        .collect();
    assert_eq!(deltas, ["It", " rains", "Sun", "ny."]);
    assert_eq!(
        types(&chunks)[chunks.len() - 3..],
        ["text-delta", "text-end", "finish"]
    );
    let history = browser.get(&app, "/api/chats/c1/messages").await.json();
    let texts: Vec<&Value> = history[1]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|part| part["type"] == "text")
        .collect();
    assert_eq!(texts.len(), 1);
    assert_eq!(texts[0]["text"], "Sunny.");
}

#[tokio::test]
async fn a_host_without_the_extension_is_not_asked_for_words() {
    let mut looks = Vec::new();
    for world in [World::new().await, World::drafting().await] {
        let browser = Browser::default();
        let app = world.app(PATIENT);
        let body = says("c1", "m1", "park");
        let begun = std::time::Instant::now();
        let asked = browser.post_while(&app, "/api/chat", &body, speaks(&world));
        let ((answered, _), calls) = Box::pin(store::counted(asked)).await;
        let shown = parts(&answered.chunks());
        assert_eq!(shown.last().map(String::as_str), Some("Sunny."));
        looks.push((
            shown.len(),
            calls.by_operation["GetItem"],
            begun.elapsed().as_millis(),
        ));
    }
    let [(plain, without, _), (drafted, with, millis)] = looks[..] else {
        panic!("{looks:?}")
    };
    assert_eq!((plain, drafted), (1, 2), "{looks:?}");
    // One every 300 ms.
    assert!(
        (3..=millis / 300 + 1).contains(&u128::from(with - without)),
        "{looks:?}"
    );
}

#[tokio::test]
async fn a_card_says_that_words_are_on_their_way_and_the_chat_has_them() {
    for (world, writes) in [(World::drafting().await, true), (World::new().await, false)] {
        let browser = Browser::default();
        let app = world.app(Duration::ZERO);
        browser.post(&app, "/api/chat", &says("c1", "m1", "park")).await;
        let key = world.waiting();
        world.work().await;
        let card = async || browser.get(&app, "/api/events").await.json()["tasks"][0].clone();
        let under_way = card().await;
        assert_eq!(under_way["state"], "working");
        let writing = under_way.get("writing").cloned();
        assert_eq!(writing, writes.then_some(json!(true)), "{under_way}");
        put(&world, &key, 101, "It rains").await;
        let again = world.app(PATIENT);
        let stream = browser.get_while(&again, "/api/chat/c1/stream", async {
            tokio::time::sleep(A_LOOK).await;
            ends(&world, &key, "It rains.").await;
        });
        let (answered, ()) = stream.await;
        let shown = parts(&answered.chunks());
        assert_eq!(shown, ["It rains."]);
        let done = card().await;
        assert_eq!(
            (&done["state"], done.get("writing")),
            (&json!("completed"), None),
            "{done}"
        );
    }
}

#[tokio::test]
async fn the_events_of_a_task_have_the_words_between_the_entries_of_its_log() {
    let (world, browser) = (World::drafting().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let chunks = browser
        .post(&app, "/api/chat", &says("c1", "m1", "park"))
        .await
        .chunks();
    assert_eq!(text(&chunks), "");
    let path = format!("/api/tasks/{}/events", world.waiting().id);
    let (live, _) = browser.get_while(&app, &path, speaks(&world)).await;
    let frames: Vec<(bool, Value)> = live
        .text
        .split("\n\n")
        .filter_map(|frame| {
            let data = frame.lines().find_map(|line| line.strip_prefix("data: "))?;
            Some((frame.starts_with("id: "), serde_json::from_str(data).unwrap()))
        })
        .collect();
    let is_draft = |frame: &&(bool, Value)| frame.1["type"] == "draft";
    let drafts: Vec<&(bool, Value)> = frames.iter().filter(is_draft).collect();
    let said: Vec<&Value> = drafts.iter().map(|(_, event)| &event["text"]).collect();
    assert_eq!(said, ["It", "It rains", "Sun"]);
    assert!(drafts.iter().all(|(is_numbered, _)| !is_numbered));
    assert!(
        frames
            .iter()
            .filter(|frame| !is_draft(frame))
            .all(|(is_numbered, _)| *is_numbered)
    );
    assert_eq!(frames.last().unwrap().1["state"], "completed");
    // Who comes later sees the log alone.
    let again = browser.get(&app, &path).await;
    assert!(
        !again.text.contains("draft") && again.text.contains("Sunny."),
        "{}",
        again.text
    );
}
