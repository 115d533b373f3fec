//! The whole function: calls in, work on its wakes, the sandbox behind it.

use agent_testing::{World, message};
use auth::Verifier;
use axum::http::StatusCode;
use outbound::open_meteo::Bases;
use serde_json::{Value, json};

use crate::bench::Bench;
pub(crate) use crate::bench::URL;

async fn world() -> World {
    world_with(Verifier::new(URL.into(), Vec::new()).unwrap()).await
}

pub(crate) async fn world_with(verifier: Verifier) -> World {
    let bench = Bench::new().await;
    let build = |parts| weather_agent::agent(parts, Bases::both(bench.base)).unwrap();
    World::new(weather_agent::NAME, URL, bench.clock, verifier, build).await
}

/// Sends words without waiting; the task.
async fn send(world: &World, id: &str, text: &str, task: Option<&str>) -> Value {
    world.sent(message(id, json!([{ "text": text }]), task)).await
}

#[tokio::test]
async fn the_card_can_be_registered() {
    let (status, card) = world().await.get("/.well-known/agent-card.json").await;
    assert_eq!(status, StatusCode::OK);
    let parsed = a2a::card::parse(&card).unwrap();
    assert!(!parsed.secured && parsed.push_notifications);
    assert_eq!(parsed.skills.len(), 3);
    for skill in &parsed.skills {
        assert!(skill.tags.iter().any(|tag| tag.to_string() == "type:weather"));
        assert!(skill.plain_tags.is_empty());
    }
    assert!(
        parsed
            .endpoints
            .iter()
            .all(|endpoint| endpoint.url.as_str().starts_with(URL))
    );
}

#[tokio::test]
async fn anybody_may_ask_and_read_the_answer_later() {
    let world = world().await;
    let task = send(&world, "m-1", "Will it rain in Oslo tomorrow?", None).await;
    assert!(task["artifacts"].as_array().is_none_or(Vec::is_empty), "{task}");
    let id = task["id"].as_str().unwrap();
    world.work().await;
    let task = world.task(id).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    let parts = task["artifacts"][0]["parts"].as_array().unwrap();
    assert!(
        parts[0]["text"]
            .as_str()
            .unwrap()
            .contains("in Oslo tomorrow (Sunday 22 November)"),
        "{task}"
    );
    assert_eq!(parts[1]["data"]["places"][0]["days"][0]["date"], "2026-11-22");
    let said: Vec<String> = task["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["parts"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        said,
        [
            "Will it rain in Oslo tomorrow?",
            "Looking up the weather in Oslo …"
        ]
    );
}

#[tokio::test]
async fn a_question_back_is_answered_on_the_same_task() {
    let world = world().await;
    let task = send(&world, "m-1", "Will it rain in Springfield tomorrow?", None).await;
    let id = task["id"].as_str().unwrap();
    world.work().await;
    let task = world.task(id).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{task}");
    let question = task["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(
        question.contains("3. Springfield, Illinois, United States"),
        "{question}"
    );
    send(&world, "m-2", "the one in Illinois", Some(id)).await;
    world.work().await;
    let task = world.task(id).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    assert_eq!(
        task["artifacts"][0]["parts"][1]["data"]["places"][0]["admin1"],
        "Illinois"
    );
}
