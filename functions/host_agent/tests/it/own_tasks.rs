//! A caller's own tasks in words: status and cancel.

use domain::TaskState;
use http::StatusCode;
use serde_json::json;

use crate::world::{Reply, remote, status, world};

const RAIN: &str = "Will it rain in Oslo tomorrow?";

#[tokio::test]
async fn status_in_words_asks_the_agent_for_the_latest() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    weather.then(
        "GetTask",
        Reply::Result(remote("r-1", "WORKING", Some("Looking at the sky"), &[])),
    );
    let asked = world.ask(&format!("How is my task {} doing?", task.id)).await;
    let (state, text) = status(&asked);
    assert_eq!(state, TaskState::Completed);
    assert!(
        text.contains("“Will it rain in Oslo tomorrow” is being worked on")
            && text.contains("Looking at the sky"),
        "{text}"
    );
    assert_eq!(
        status(&world.task(task.id).await).1,
        "Looking at the sky",
        "what was heard is kept"
    );

    // Without an id it is the newest that delegated something, not the question about it.
    weather.then(
        "GetTask",
        Reply::Result(remote("r-1", "COMPLETED", None, &["Rain."])),
    );
    world.clock.advance(std::time::Duration::from_secs(3));
    let asked = world.ask("is it done yet?").await;
    assert!(
        status(&asked).1.contains("“Will it rain in Oslo tomorrow”"),
        "{}",
        status(&asked).1
    );
    assert_eq!(
        status(&world.wake(task.id).await),
        (TaskState::Completed, "Rain.".into())
    );
    world.clock.advance(std::time::Duration::from_secs(3));
    let asked = world.ask("status").await;
    assert!(
        status(&asked).1.contains("is completed.\nRain."),
        "{}",
        status(&asked).1
    );
}

#[tokio::test]
async fn somebody_elses_task_does_not_exist() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    let id = world
        .say("user-2", "spy", &format!("status of task {}", task.id), None)
        .await;
    assert_eq!(
        status(&world.wake(id).await).1,
        format!("I know no task {} of yours.", task.id)
    );
    let id = world
        .say("user-2", "spy-2", &format!("cancel task {}", task.id), None)
        .await;
    assert_eq!(
        status(&world.wake(id).await).1,
        format!("I know no task {} of yours.", task.id)
    );
    let id = world.say("user-2", "spy-3", "is it done yet?", None).await;
    assert_eq!(
        status(&world.wake(id).await).1,
        "I know no task of yours that this could mean; nothing is running."
    );
    assert_eq!(world.task(task.id).await.status.state, TaskState::Working);
    assert_eq!(weather.asked.lock().unwrap().len(), 1);
    let (code, _) = world
        .post("user-2", &format!("/tasks/{}:refresh", task.id), &json!({}))
        .await;
    assert_eq!(code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn cancel_reaches_the_agent_by_call_and_in_words() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    let (code, body) = world
        .post("user-1", &format!("/tasks/{}:cancel", task.id), &json!({}))
        .await;
    assert_eq!(code, StatusCode::OK, "{body}");
    assert_eq!(weather.calls("CancelTask")[0]["params"]["id"], json!("r-1"));
    assert_eq!(world.task(task.id).await.status.state, TaskState::Canceled);

    let task = world.ask("Will it rain in Bergen?").await;
    let asked = world.ask("cancel it").await;
    assert_eq!(status(&asked).1, "Canceled: “Will it rain in Bergen”.");
    // The canceled task is woken, and tells its agents itself.
    world.wake(task.id).await;
    assert_eq!(weather.calls("CancelTask").len(), 2);
    assert_eq!(world.task(task.id).await.status.state, TaskState::Canceled);
}

#[tokio::test]
async fn refresh_fetches_the_latest_and_shows_it() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    weather.then(
        "GetTask",
        Reply::Result(remote("r-1", "WORKING", Some("Half way"), &[])),
    );
    let (code, body) = world
        .post("user-1", &format!("/tasks/{}:refresh", task.id), &json!({}))
        .await;
    assert_eq!(code, StatusCode::OK);
    assert_eq!(
        body["status"]["message"]["parts"][0]["text"], "Half way",
        "{body}"
    );

    weather.then(
        "GetTask",
        Reply::Result(remote("r-1", "COMPLETED", None, &["Rain."])),
    );
    world
        .post("user-1", &format!("/tasks/{}:refresh", task.id), &json!({}))
        .await;
    let woken = world.door.0.lock().unwrap().back().cloned().unwrap();
    assert_eq!(woken.0.key().id, task.id, "the host is woken to finish it");
    assert_eq!(
        status(&world.wake(task.id).await),
        (TaskState::Completed, "Rain.".into())
    );
}
