//! Who names an agent with what they say is asked by nobody whom it is for.

use domain::TaskState;
use serde_json::{Value, json};

use crate::scripted::Scripted;
use crate::world::{Peer, Reply, World, remote, status, world_with};

async fn host() -> (World, [Peer; 2]) {
    let world = world_with(|_, _| {}).await;
    let peers = [world.peer("weather").await, world.peer("flats").await];
    world.registered(
        json!([world.weather(), world.flats()]),
        json!({"weather": "global", "flats": "global"}),
    );
    (world, peers)
}

fn sent(peer: &Peer) -> Vec<Value> {
    let calls = peer.calls("SendMessage").into_iter();
    calls
        .map(|call| call["params"]["message"]["parts"][0]["text"].clone())
        .collect()
}

#[tokio::test]
async fn what_is_said_goes_to_the_agent_that_was_named_as_it_was_said() {
    let (world, [weather, flats]) = host().await;
    // By its words it would be the weather agent's, or the host's own affair.
    for (number, text) in ["Will it rain in Oslo tomorrow?", "How is it going?", "hello"]
        .into_iter()
        .enumerate()
    {
        let id = world.say_to(&json!("flats"), &format!("m-{number}"), text).await;
        let task = world.wake(id).await;
        assert_eq!(
            task.status.state,
            TaskState::Working,
            "{text}: {}",
            status(&task).1
        );
        assert_eq!(task.jobs[0].agent_type.as_str(), "flats");
        world
            .notified(id, 0, remote("r-1", "COMPLETED", None, &["A flat."]))
            .await;
        let task = world.wake(id).await;
        assert_eq!(
            status(&task),
            (TaskState::Completed, "A flat.".to_owned()),
            "{text}"
        );
    }
    assert_eq!(
        sent(&flats),
        ["Will it rain in Oslo tomorrow?", "How is it going?", "hello"]
    );
    assert!(sent(&weather).is_empty());
}

#[tokio::test]
async fn what_the_named_agent_failed_at_is_tried_again_and_nobody_elses() {
    let (world, [weather, flats]) = host().await;
    let failed = json!({"task": remote("r-1", "FAILED", Some("Out of order."), &[])});
    flats.then("SendMessage", Reply::Result(failed));
    let id = world.say_to(&json!("flats"), "m-1", "two rooms").await;
    assert_eq!(world.wake(id).await.status.state, TaskState::Failed);

    // The other agent failed at nothing here: its words are its own.
    world.clock.advance(std::time::Duration::from_secs(5));
    let id = world.say_to(&json!("weather"), "m-2", "try again").await;
    world.wake(id).await;
    assert_eq!(sent(&weather), ["try again"]);

    world.clock.advance(std::time::Duration::from_secs(5));
    let done = json!({"task": remote("r-2", "COMPLETED", None, &["A flat."])});
    flats.then("SendMessage", Reply::Result(done));
    let id = world.say_to(&json!("flats"), "m-3", "try again").await;
    let task = world.wake(id).await;
    assert_eq!(status(&task), (TaskState::Completed, "A flat.".to_owned()));
    assert_eq!(sent(&flats), ["two rooms", "two rooms"]);
}

#[tokio::test]
async fn a_hosted_model_is_not_asked_whose_it_is() {
    let model = Scripted::default();
    let world = world_with(|parts, _| parts.model = std::sync::Arc::new(model.clone())).await;
    let flats = world.peer("flats").await;
    world.registered(json!([world.flats()]), json!({"flats": "global"}));
    let id = world.say_to(&json!("flats"), "m", "two rooms").await;
    let task = world.wake(id).await;
    assert_eq!(task.status.state, TaskState::Working, "{}", status(&task).1);
    assert_eq!(sent(&flats), ["two rooms"]);
    assert_eq!(model.asked(), 0);
}

#[tokio::test]
async fn who_is_not_there_is_said_so_and_nobody_else_is_asked() {
    let (world, [weather, flats]) = host().await;
    let id = world
        .say_to(&json!("nobody"), "m", "Will it rain in Oslo tomorrow?")
        .await;
    let task = world.wake(id).await;
    assert_eq!(task.status.state, TaskState::Rejected, "{}", status(&task).1);
    assert!(sent(&weather).is_empty() && sent(&flats).is_empty());
}

#[tokio::test]
async fn rubbish_names_nobody() {
    for (number, rubbish) in [
        json!(7),
        json!(""),
        json!("a b"),
        json!(["flats"]),
        json!("x".repeat(500)),
    ]
    .into_iter()
    .enumerate()
    {
        let (world, [weather, flats]) = host().await;
        let id = world
            .say_to(&rubbish, &format!("m-{number}"), "Will it rain in Oslo tomorrow?")
            .await;
        let task = world.wake(id).await;
        assert_eq!(
            task.status.state,
            TaskState::Working,
            "{rubbish}: {}",
            status(&task).1
        );
        assert_eq!((sent(&weather).len(), sent(&flats).len()), (1, 0), "{rubbish}");
    }
}
