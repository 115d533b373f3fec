//! A user's message in place of one before it.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use super::world::{Browser, World, last_card, says, text};

const PATIENT: Duration = Duration::from_secs(20);

/// The same message id with this text, as the AI SDK sends an edit.
fn edits(chat: &str, id: &str, words: &str) -> Value {
    let mut body = says(chat, id, words);
    body["messageId"] = json!(id);
    body
}

/// What a chat shows, in order.
async fn shown(app: &axum::Router, browser: &Browser, chat: &str) -> Vec<String> {
    let history = browser
        .get(app, &format!("/api/chats/{chat}/messages"))
        .await
        .json();
    let parts = history
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|said| said["parts"].as_array().unwrap());
    parts
        .filter_map(|part| part["text"].as_str().map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn an_edited_message_is_answered_in_place_of_the_old_one_and_a_repeat_is_the_same() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(PATIENT);
    browser
        .post_while(&app, "/api/chat", &says("c1", "m1", "hello"), world.work())
        .await;
    let mut tasks = Vec::new();
    // There and back again: what was said before is another message now, with another answer.
    for words in ["goodbye", "hello", "goodbye"] {
        let edit = edits("c1", "m1", words);
        let (answered, ()) = browser.post_while(&app, "/api/chat", &edit, world.work()).await;
        assert_eq!(text(&answered.chunks()), format!("You said: {words}"));
        assert_eq!(
            shown(&app, &browser, "c1").await,
            [words.to_owned(), format!("You said: {words}")]
        );
        // Also where the repeat does not say that it is an edit.
        for repeat in [edit, says("c1", "m1", words)] {
            let again = browser.post(&app, "/api/chat", &repeat).await.chunks();
            assert_eq!(
                last_card(&again)["taskId"],
                last_card(&answered.chunks())["taskId"]
            );
        }
        tasks.push(last_card(&answered.chunks())["taskId"].to_string());
    }
    tasks.sort();
    tasks.dedup();
    assert_eq!(tasks.len(), 3);
    // Another answer to what was edited, by the id of either; an edit may be asked for so as well.
    for words in ["goodbye", "hello", "hello"] {
        let mut again = edits("c1", "m1", words);
        again["trigger"] = json!("regenerate-message");
        let (answered, ()) = browser.post_while(&app, "/api/chat", &again, world.work()).await;
        assert_eq!(text(&answered.chunks()), format!("You said: {words}"));
        let task = last_card(&answered.chunks())["taskId"].to_string();
        assert!(!tasks.contains(&task), "{words}");
        tasks.push(task);
    }
    // Without saying so it is a mistake, as ever.
    let changed = browser
        .post(&app, "/api/chat", &says("c1", "m1", "goodbye"))
        .await;
    assert_eq!(
        (changed.status, &changed.json()["error"]),
        (StatusCode::CONFLICT, &json!("message_changed"))
    );
}

#[tokio::test]
async fn what_the_old_message_began_ends_and_what_came_behind_it_goes() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(Duration::ZERO);
    let said = async |id: &str, words: &str| {
        let answered = browser.post(&app, "/api/chat", &says("c1", id, words)).await;
        world.work().await;
        last_card(&answered.chunks())["taskId"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let state =
        async |id: &str| browser.get(&app, &format!("/api/tasks/{id}")).await.json()["status"].clone();
    let before = said("m0", "park").await;
    let old = said("m1", "park").await;
    let behind = said("m2", "park").await;
    said("m3", "hello").await;
    let edit = edits("c1", "m1", "hello there");
    let answered = browser.post(&app, "/api/chat", &edit).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    world.work().await;
    for ended in [&old, &behind] {
        assert_eq!(state(ended).await, json!("canceled"));
    }
    assert_ne!(
        state(&before).await,
        json!("canceled"),
        "what came before it goes on"
    );
    let texts = shown(&app, &browser, "c1").await;
    assert_eq!(texts.first().map(String::as_str), Some("park"), "{texts:?}");
    assert_eq!(texts[texts.len() - 2..], ["hello there", "You said: hello there"]);
    assert!(texts.iter().all(|text| text != "hello"), "{texts:?}");
}

#[tokio::test]
async fn an_edit_of_what_is_not_there_or_is_somebody_elses_changes_nothing_of_theirs() {
    let (world, browser) = (World::new().await, Browser::default());
    let app = world.app(PATIENT);
    let hasty = world.app(Duration::ZERO);
    let asked = browser.post(&hasty, "/api/chat", &says("c1", "m1", "park")).await;
    world.work().await;
    let stranger = Browser::default();
    let edit = edits("c1", "m1", "hello");
    // It is the first message of a chat of their own.
    let (answered, ()) = stranger.post_while(&app, "/api/chat", &edit, world.work()).await;
    assert_eq!(text(&answered.chunks()), "You said: hello");
    assert_eq!(shown(&app, &browser, "c1").await[0], "park");
    let id = last_card(&asked.chunks())["taskId"].as_str().unwrap().to_owned();
    let task = browser.get(&app, &format!("/api/tasks/{id}")).await.json();
    assert_ne!(task["status"], "canceled");
    // An answer is no message of the user's.
    let answer = stranger.get(&app, "/api/chats/c1/messages").await.json()[1]["id"].clone();
    let answer = answer.as_str().unwrap();
    let odd = edits("c1", answer, "hello");
    let (taken, ()) = stranger.post_while(&app, "/api/chat", &odd, world.work()).await;
    assert_eq!(taken.status, StatusCode::OK);
    assert_eq!(
        shown(&app, &stranger, "c1").await.len(),
        4,
        "a message with a strange id, behind the others"
    );
}
