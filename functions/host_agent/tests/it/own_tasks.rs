//! A caller's own tasks in words: status, cancel, no to a part of one, and another try.

use domain::{Task, TaskId, TaskState};
use http::StatusCode;
use serde_json::{Value, json};

use crate::world::{Peer, Reply, World, remote, status, world, world_with};

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
    let asked = world.ask("/status oslo").await;
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
    let asked = world.ask("/status rain").await;
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
        .say("user-2", "spy", &format!("/status {}", task.id), None)
        .await;
    assert_eq!(
        status(&world.wake(id).await).1,
        format!("I know no task {} of yours.", task.id)
    );
    let id = world
        .say("user-2", "spy-2", &format!("/cancel {}", task.id), None)
        .await;
    assert_eq!(
        status(&world.wake(id).await).1,
        format!("I know no task {} of yours.", task.id)
    );
    let id = world.say("user-2", "spy-3", "/status oslo", None).await;
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
    let asked = world.ask("/cancel bergen").await;
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

/// The weather agent, and one that finds flats.
async fn two() -> (World, [Peer; 2]) {
    let (world, weather) = world().await;
    let flats = world.peer("flats").await;
    world.registered(
        json!([world.weather(), world.flats()]),
        json!({"weather": "global", "flats": "global"}),
    );
    (world, [weather, flats])
}

fn answers(peer: &Peer, id: &str, state: &str, says: Option<&str>, brings: &[&str]) {
    let task = json!({"task": remote(id, state, says, brings)});
    peer.then("SendMessage", Reply::Result(task));
}

#[tokio::test]
async fn a_no_to_one_of_two_parts_leaves_the_other_to_be_done() {
    let (world, [weather, flats]) = two().await;
    answers(
        &weather,
        "r-1",
        "INPUT_REQUIRED",
        Some("Which Oslo do you mean?"),
        &[],
    );
    answers(&flats, "r-2", "SUBMITTED", None, &[]);
    let task = world.ask("weather in Oslo and a flat for two in Oslo").await;
    assert_eq!(task.status.state, TaskState::InputRequired);

    world.say("user-1", "m-no", "no", Some(task.id)).await;
    let task = world.wake(task.id).await;
    assert_eq!(task.status.state, TaskState::Working, "{}", status(&task).1);
    let called_off = |peer: &Peer| peer.calls("CancelTask").len();
    assert_eq!((called_off(&weather), called_off(&flats)), (1, 0));

    world
        .notified(task.id, 1, remote("r-2", "COMPLETED", None, &["A flat."]))
        .await;
    let (state, text) = status(&world.wake(task.id).await);
    let left = words::not_done(None, "Weather Agent", words::NOT_ANSWERED);
    assert_eq!(state, TaskState::Completed, "{text}");
    assert!(text.contains("A flat.") && text.contains(&left), "{text}");
    assert!(text.ends_with("\n\n1 of 2 done."), "{text}");
}

/// Sends words with a picture.
async fn shown(world: &World, id: &str, text: &str, picture: Value) -> Task {
    let said = json!({"messageId": id, "role": "ROLE_USER", "contextId": "trip-of-user-1", "parts": [
        {"text": text}, picture]});
    let params = json!({"message": said, "configuration": {"returnImmediately": true}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let (_, answer) = world.post("user-1", "/jsonrpc", &body).await;
    let id = answer["result"]["task"]["id"].as_str().unwrap();
    world.wake(TaskId::parse(id).unwrap()).await
}

fn picture() -> Value {
    json!({"raw": "AAAA", "mediaType": "image/png", "filename": "sky.png"})
}

async fn again(world: &World, number: u32) -> Task {
    world.clock.advance(std::time::Duration::from_secs(5));
    let id = world
        .say("user-1", &format!("again-{number}"), "try again", None)
        .await;
    world.wake(id).await
}

/// The parts of each message that an agent got.
fn parts(peer: &Peer) -> Vec<Value> {
    let calls = peer.calls("SendMessage").into_iter();
    calls
        .map(|call| call["params"]["message"]["parts"].clone())
        .collect()
}

#[tokio::test]
async fn another_try_takes_the_file_of_the_first_message_along() {
    let (world, weather) = world().await;
    for _ in 0..2 {
        answers(&weather, "r-1", "FAILED", Some("Out of order."), &[]);
    }
    weather.then("SendMessage", Reply::Error(-32005, "Incompatible content types"));
    answers(&weather, "r-2", "COMPLETED", None, &["Dry."]);
    assert_eq!(
        shown(&world, "m-1", RAIN, picture()).await.status.state,
        TaskState::Failed
    );
    assert_eq!(again(&world, 1).await.status.state, TaskState::Failed);
    // A try of the try has it as well, and who does not take it is named.
    let (state, text) = status(&again(&world, 2).await);
    assert_eq!(state, TaskState::Completed, "{text}");
    assert!(
        text.contains("Dry.") && text.contains("takes no such files: sky.png left out."),
        "{text}"
    );
    let whole = json!([{"text": RAIN}, picture()]);
    let expected = [&whole, &whole, &whole, &json!([{"text": RAIN}])].map(Value::clone);
    assert_eq!(parts(&weather), expected);
}

#[tokio::test]
async fn another_try_that_was_broken_off_asks_only_who_failed_with_the_file() {
    let (world, [weather, flats]) = two().await;
    answers(&weather, "r-1", "COMPLETED", None, &["Rain."]);
    answers(&flats, "r-2", "FAILED", Some("Out of order."), &[]);
    let task = shown(
        &world,
        "m-1",
        "weather in Oslo and a flat for two in Oslo",
        picture(),
    )
    .await;
    assert!(status(&task).1.ends_with("1 of 2 done."), "{}", status(&task).1);

    world.clock.advance(std::time::Duration::from_secs(3600));
    world.registry_is_down();
    let broken = again(&world, 1).await;
    assert_eq!(broken.status.state, TaskState::Submitted);
    assert!(broken.jobs.is_empty());
    world.registered(
        json!([world.weather(), world.flats()]),
        json!({"weather": "global", "flats": "global"}),
    );
    answers(&flats, "r-3", "COMPLETED", None, &["A flat."]);
    world.clock.advance(std::time::Duration::from_secs(60));
    let task = world.wake(broken.id).await;
    assert_eq!(status(&task), (TaskState::Completed, "A flat.".to_owned()));
    assert_eq!((parts(&weather).len(), parts(&flats).len()), (1, 2));
    assert_eq!(parts(&flats)[0], parts(&flats)[1]);
    assert_eq!(parts(&flats)[1][1], picture());
}

#[tokio::test]
async fn another_try_with_a_file_of_its_own_sends_that_one_in_place_of_the_first() {
    let (world, weather) = world().await;
    let clearer = json!({"raw": "BBBB", "mediaType": "image/png", "filename": "clearer.png"});
    answers(&weather, "r-1", "FAILED", Some("Too dark."), &[]);
    answers(&weather, "r-2", "FAILED", Some("Out of order."), &[]);
    answers(&weather, "r-3", "COMPLETED", None, &["Dry."]);
    let first = shown(&world, "m-1", RAIN, picture()).await;
    assert_eq!(first.status.state, TaskState::Failed);
    world.clock.advance(std::time::Duration::from_secs(5));
    let second = shown(&world, "m-2", "try again", clearer.clone()).await;
    assert_eq!(second.status.state, TaskState::Failed);
    // A try of that try repeats what it sent.
    assert_eq!(
        status(&again(&world, 1).await),
        (TaskState::Completed, "Dry.".to_owned())
    );
    let sent = |picture: Value| json!([{"text": RAIN}, picture]);
    assert_eq!(
        parts(&weather),
        [sent(picture()), sent(clearer.clone()), sent(clearer.clone())]
    );

    // Beside a file any other words are a request of their own.
    answers(&weather, "r-4", "COMPLETED", None, &["Wet."]);
    world.clock.advance(std::time::Duration::from_secs(5));
    shown(&world, "m-3", "Will it rain in Bergen?", clearer.clone()).await;
    assert_eq!(
        parts(&weather)[3],
        json!([{"text": "Will it rain in Bergen?"}, clearer])
    );
}

#[tokio::test]
async fn another_try_of_what_was_never_answered_goes_out_anew_where_it_brings_a_file() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    crate::waiting::silent(&weather);
    for seconds in [15, 31 * 60] {
        world.clock.advance(std::time::Duration::from_secs(seconds));
        world.wake(task.id).await;
    }
    assert_eq!(world.task(task.id).await.status.state, TaskState::Unknown);
    answers(&weather, "r-2", "COMPLETED", None, &["Dry."]);
    let done = shown(&world, "m-2", "try again", picture()).await;
    assert_eq!(status(&done), (TaskState::Completed, "Dry.".to_owned()));
    assert_ne!(done.id, task.id);
    assert_eq!(parts(&weather).last(), Some(&json!([{"text": RAIN}, picture()])));
}

#[tokio::test]
async fn one_half_of_a_task_is_called_off_and_the_other_goes_on() {
    let world = world_with(|_, _| {}).await;
    let (weather, flats) = (world.peer("weather").await, world.peer("flats").await);
    let agents = json!([world.weather(), world.flats()]);
    world.registered(agents, json!({"weather": "global", "flats": "global"}));
    let task = world
        .ask("will it rain in Oslo and find me a flat in Bergen")
        .await;
    assert_eq!(task.jobs.len(), 2, "{}", status(&task).1);
    let asked = world.ask("/cancel flat").await;
    let text = status(&asked).1;
    assert!(
        text.starts_with("Canceled: Flat Finder of “will it rain") && text.ends_with("The rest goes on."),
        "{text}"
    );
    assert_eq!(flats.calls("CancelTask").len(), 1);
    assert!(weather.calls("CancelTask").is_empty());
    assert_eq!(world.wake(task.id).await.status.state, TaskState::Working);
    world
        .notified(task.id, 0, remote("r-1", "COMPLETED", None, &["Rain."]))
        .await;
    let (state, text) = status(&world.wake(task.id).await);
    assert_eq!(state, TaskState::Completed);
    assert!(
        text.contains("Rain.") && text.contains("as you called it off") && text.ends_with("1 of 2 done."),
        "{text}"
    );
}
