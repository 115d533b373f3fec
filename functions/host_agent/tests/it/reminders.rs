//! What waits is mentioned under the answers to other things: in one short line, and not every time.

use std::time::Duration;

use domain::{Task, TaskState};
use serde_json::json;

use crate::consent::{card, horizon_with};
use crate::world::{Peer, Reply, World, remote, status, world_with};

const LINE: &str = "Still open: “Will it rain in Oslo tomorrow” (Weather Agent waits for your answer).";

/// A chat in which the weather agent asked something just now.
async fn waiting() -> (World, Peer) {
    let world = world_with(|_, _| {}).await;
    let (weather, flats) = (world.peer("weather").await, world.peer("flats").await);
    let agents = json!([world.weather(), world.flats()]);
    world.registered(agents, json!({"weather": "global", "flats": "global"}));
    let asks = json!({"task": remote("r-1", "INPUT_REQUIRED", Some("Which Oslo do you mean?"), &[])});
    weather.then("SendMessage", Reply::Result(asks));
    let task = world.ask("Will it rain in Oslo tomorrow?").await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    (world, flats)
}

async fn minutes_later(world: &World, minutes: u64, text: &str) -> Task {
    world.clock.advance(Duration::from_secs(minutes * 60));
    world.ask(text).await
}

/// The answer to a search that brings a flat at once.
async fn flat(world: &World, flats: &Peer, minutes: u64, place: &str) -> String {
    let found = json!({"task": remote("r-2", "COMPLETED", None, &["A flat."])});
    flats.then("SendMessage", Reply::Result(found));
    let task = minutes_later(world, minutes, &format!("Find a flat in {place} for two")).await;
    assert_eq!(task.status.state, TaskState::Completed);
    status(&task).1
}

#[tokio::test]
async fn what_waits_is_one_line_under_another_answer_at_most_once_in_ten_minutes() {
    let (world, flats) = waiting().await;
    let reminded = format!("A flat.\n\n{LINE}");
    for (minutes, place, expected) in [
        // Its question stands right above.
        (9, "Bergen", "A flat."),
        (2, "Drammen", reminded.as_str()),
        (1, "Molde", "A flat."),
        (8, "Stavanger", "A flat."),
        (2, "Hamar", reminded.as_str()),
    ] {
        assert_eq!(flat(&world, &flats, minutes, place).await, expected, "{place}");
    }
}

/// A chat in which an order waits for a consent since eleven minutes.
async fn unconsented() -> (World, Peer) {
    let (world, _horizon) = horizon_with(|_| {}).await;
    let flats = world.peer("flats").await;
    world.registered(
        json!([world.weather(), world.flats(), card(&world, "idp/acme")]),
        json!({"weather": "global", "flats": "global", "horizon": "global"}),
    );
    let task = world.ask("What about my order 1001?").await;
    assert_eq!(task.status.state, TaskState::AuthRequired);
    world.clock.advance(Duration::from_secs(11 * 60));
    (world, flats)
}

#[tokio::test]
async fn what_the_host_answers_itself_counts_as_a_mention_too() {
    let (world, flats) = unconsented().await;
    let answer = status(&world.ask("Sing a song for me and my friends").await).1;
    let (said, line) = answer.rsplit_once("\n\n").unwrap();
    assert!(
        line.starts_with("Still open: “What about my order 1001” ("),
        "{answer}"
    );
    assert!(said.contains("Flat Finder"), "the answer comes first: {answer}");
    assert_eq!(flat(&world, &flats, 1, "Bergen").await, "A flat.");
    let later = flat(&world, &flats, 10, "Molde").await;
    assert_eq!(later, format!("A flat.\n\n{line}"));
}

#[tokio::test]
async fn a_question_of_the_hosts_own_counts_as_a_mention_too_and_its_answer_has_none() {
    let (world, flats) = unconsented().await;
    let asked = world.ask("weather for a flat").await;
    let question = status(&asked).1;
    assert_eq!(asked.status.state, TaskState::InputRequired, "{question}");
    assert_eq!(question.matches("Still open: ").count(), 1, "{question}");
    let found = json!({"task": remote("r-2", "COMPLETED", None, &["A flat."])});
    flats.then("SendMessage", Reply::Result(found));
    world
        .say("user-1", "m-choice", "Flat Finder", Some(asked.id))
        .await;
    assert_eq!(status(&world.wake(asked.id).await).1, "A flat.");
    assert_eq!(flat(&world, &flats, 1, "Bergen").await, "A flat.");
}
