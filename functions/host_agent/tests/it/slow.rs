//! Agents that answer only when they are done: they are waited for, and never given the same work twice.

use std::time::Duration;

use agent::Shutdown;
use domain::TaskState;
use outbound::Outbound;
use serde_json::{Value, json};

use crate::world::{Peer, Reply, World, remote, status, world_with};

const RAIN: &str = "Will it rain in Oslo tomorrow?";
const GAVE_UP: &str = "Weather Agent gave no answer, and I have stopped trying. Say “try again” or “cancel”.";

/// A host whose calls may take half a second, and its messages so long.
async fn patient(answer: Duration) -> (World, Peer) {
    let world = world_with(|parts, _| {
        let policy = outbound::Policy {
            allow_loopback: true,
            timeout: Duration::from_millis(500),
            ..outbound::Policy::default()
        };
        parts.outbound = Outbound::new(policy, parts.entropy.clone());
        parts.patience.answer = answer;
    })
    .await;
    let weather = world.peer("weather").await;
    world.registered(json!([world.weather()]), json!({"weather": "global"}));
    (world, weather)
}

fn answered(text: &str) -> Value {
    json!({"task": remote("r-1", "COMPLETED", None, &[text])})
}

fn message_of(weather: &Peer) -> Value {
    weather.calls("SendMessage")[0]["params"]["message"].clone()
}

async fn after(world: &World, seconds: u64, task: domain::TaskId) -> domain::Task {
    world.clock.advance(Duration::from_secs(seconds));
    world.wake(task).await
}

#[tokio::test]
async fn an_agent_that_answers_when_it_is_done_is_waited_for_and_asked_once() {
    let (world, weather) = patient(Duration::from_secs(5)).await;
    weather.then("SendMessage", Reply::Slow(1_500, answered("Rain.")));
    let task = world.ask(RAIN).await;
    assert_eq!(status(&task), (TaskState::Completed, "Rain.".into()));
    assert_eq!(weather.calls("SendMessage").len(), 1);
}

#[tokio::test]
async fn what_may_have_arrived_goes_no_second_time_to_an_agent_that_cannot_say_whether_it_has_it() {
    let silent = || Reply::Slow(1_500, answered("Too late."));
    let bare = json!({"tasks": [remote("r-1", "WORKING", None, &[])]});
    // Nobody answers in time, or the gateway before it says that nobody does; it lists no tasks, or none with what was said.
    for (first, asked) in [
        (silent(), Reply::Error(-32601, "Method not found")),
        (silent(), Reply::Result(bare.clone())),
        (Reply::Status(504), Reply::Result(json!({}))),
        (Reply::Status(504), Reply::Status(404)),
    ] {
        let (world, weather) = patient(Duration::from_millis(600)).await;
        weather.then("SendMessage", first).then("ListTasks", asked);
        let task = world.ask(RAIN).await;
        let told = "No answer from Weather Agent yet; I ask whether it has your message.";
        assert_eq!(status(&task), (TaskState::Working, told.into()));
        let task = after(&world, 1, task.id).await;
        assert_eq!(status(&task), (TaskState::Unknown, GAVE_UP.into()));
        for seconds in [5, 30, 120, 24 * 3600] {
            after(&world, seconds, task.id).await;
        }
        assert_eq!(weather.calls("SendMessage").len(), 1);
        // A late word of its own is taken.
        world
            .notified(task.id, 0, remote("r-1", "COMPLETED", None, &["Rain."]))
            .await;
        assert_eq!(
            status(&world.wake(task.id).await),
            (TaskState::Completed, "Rain.".into())
        );
    }
}

#[tokio::test]
async fn what_may_have_arrived_is_sent_again_on_the_agents_word_that_it_has_it_not_or_the_users() {
    for by_user in [false, true] {
        let (world, weather) = patient(Duration::from_millis(600)).await;
        weather.then("SendMessage", Reply::Slow(1_500, answered("Too late.")));
        if !by_user {
            weather.then("ListTasks", Reply::Result(json!({"tasks": []})));
        }
        let mut task = world.ask(RAIN).await;
        task = after(&world, 1, task.id).await;
        if by_user {
            assert_eq!(status(&task), (TaskState::Unknown, GAVE_UP.into()));
            world.say("user-1", "m-again", "try again", Some(task.id)).await;
            task = world.wake(task.id).await;
        }
        assert_eq!(status(&task).1, "Weather Agent is working on it.");
        assert_eq!(weather.calls("SendMessage").len(), 2);
    }
}

#[tokio::test]
async fn an_agent_that_has_the_message_is_followed_and_not_asked_anew() {
    let (world, weather) = patient(Duration::from_millis(600)).await;
    weather.then("SendMessage", Reply::Slow(1_500, answered("Too late.")));
    // It is so busy that it does not say at first either.
    weather.then("ListTasks", Reply::Status(503));
    let task = world.ask(RAIN).await;
    after(&world, 1, task.id).await;
    let mut has = remote("r-7", "WORKING", None, &[]);
    has["history"] = json!([message_of(&weather)]);
    weather.then("ListTasks", Reply::Result(json!({"tasks": [has]})));
    let task = after(&world, 5, task.id).await;
    assert_eq!(task.jobs[0].remote_task_id().unwrap().as_str(), "r-7");
    assert_eq!(weather.calls("SendMessage").len(), 1);
}

#[tokio::test]
async fn an_answer_of_the_users_that_the_agent_may_have_is_not_handed_on_twice() {
    let (world, weather) = patient(Duration::from_millis(600)).await;
    let asks = json!({"task": remote("r-1", "INPUT_REQUIRED", Some("Which Oslo?"), &[])});
    weather.then("SendMessage", Reply::Result(asks));
    let task = world.ask(RAIN).await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    weather.then("SendMessage", Reply::Slow(1_500, answered("Too late.")));
    world
        .say("user-1", "m-2", "The one in Norway", Some(task.id))
        .await;
    let task = world.wake(task.id).await;
    assert_eq!(status(&task).1, "Your answer went to Weather Agent.");
    weather.then(
        "GetTask",
        Reply::Result(remote("r-1", "COMPLETED", None, &["Rain."])),
    );
    let task = after(&world, 4, task.id).await;
    assert_eq!(status(&task), (TaskState::Completed, "Rain.".into()));
    assert_eq!(weather.calls("SendMessage").len(), 2);
}

#[tokio::test]
async fn a_delivery_has_one_time_whatever_the_agent_makes_of_it_and_is_not_begun_without_that() {
    let (world, weather) = patient(Duration::from_millis(900)).await;
    // It refuses late, again and again: each refusal is a reason for another call.
    for _ in 0..3 {
        weather.then(
            "SendMessage",
            Reply::SlowError(500, -32003, "Push notifications are not supported"),
        );
    }
    let task = world.ask(RAIN).await;
    assert!(task.jobs[0].delivered);
    assert_eq!(weather.calls("SendMessage").len(), 2);

    let (world, weather) = patient(Duration::from_secs(60)).await;
    let id = world.say("user-1", "m-1", RAIN, None).await;
    let short = Shutdown::after(Duration::from_secs(20));
    let task = short.scope(world.wake(id)).await;
    assert!(weather.calls("SendMessage").is_empty(), "{:?}", status(&task));
    assert_eq!(world.wake(id).await.jobs.len(), 1);
    assert_eq!(
        weather.calls("SendMessage").len(),
        1,
        "another execution has the time"
    );
}

#[tokio::test]
async fn what_others_bring_is_there_while_a_slow_agent_works() {
    let (world, weather) = patient(Duration::from_secs(20)).await;
    let flats = world.peer("flats").await;
    world.registered(
        json!([world.weather(), world.flats()]),
        json!({"weather": "global", "flats": "global"}),
    );
    weather.then("SendMessage", Reply::Result(answered("Rain.")));
    flats.then("SendMessage", Reply::Slow(6_000, answered("A flat.")));
    let text = "Will it rain in Oslo tomorrow, and find a flat in Oslo for two";
    let id = world.say("user-1", "m-1", text, None).await;
    let (task, early) = tokio::join!(world.wake(id), async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        world.task(id).await
    });
    let settled: Vec<bool> = early.jobs.iter().map(domain::Job::is_settled).collect();
    assert_eq!(
        settled.iter().filter(|settled| **settled).count(),
        1,
        "{settled:?}"
    );
    assert_eq!(task.status.state, TaskState::Completed, "{:?}", status(&task));
    assert_eq!(
        (
            weather.calls("SendMessage").len(),
            flats.calls("SendMessage").len()
        ),
        (1, 1)
    );
}
