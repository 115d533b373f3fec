//! Waiting: silence, questions, time limits, late results.

use std::time::Duration;

use domain::{Clock as _, TaskState};
use serde_json::json;

use crate::world::{Peer, Reply, World, remote, status, world};

const RAIN: &str = "Will it rain in Oslo tomorrow?";

async fn later(world: &World, seconds: u64, task: domain::TaskId) -> domain::Task {
    world.clock.advance(Duration::from_secs(seconds));
    world.wake(task).await
}

#[tokio::test]
async fn an_agent_that_cannot_be_reached_gets_the_same_bytes_again() {
    let (world, weather) = world().await;
    weather
        .then("SendMessage", Reply::Status(503))
        .then("SendMessage", Reply::Status(503));
    let task = world.ask(RAIN).await;
    assert_eq!(
        status(&task),
        (
            TaskState::Working,
            "No answer from Weather Agent yet, trying again (2 of 8).".into()
        )
    );
    let wakes: Vec<Duration> = world
        .door
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|(_, delay)| *delay)
        .collect();
    assert_eq!(
        wakes.last(),
        Some(&Duration::from_secs(1)),
        "woken again after a second"
    );
    assert_eq!(weather.calls("SendMessage").len(), 1);
    world.wake(task.id).await;
    assert_eq!(weather.calls("SendMessage").len(), 1, "not before its time");
    later(&world, 1, task.id).await;
    let task = later(&world, 5, task.id).await;
    assert_eq!(status(&task).1, "Weather Agent is working on it.");
    let sent: Vec<_> = weather
        .calls("SendMessage")
        .iter()
        .map(|call| call["params"].clone())
        .collect();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|params| *params == sent[0]));
}

#[tokio::test]
async fn whoever_writes_german_is_told_in_german_of_an_agent_that_stays_away_and_what_to_say() {
    let (world, weather) = world().await;
    for _ in 0..8 {
        weather.then("SendMessage", Reply::Status(502));
    }
    let mut task = world.ask("Regnet es morgen in Oslo?").await;
    let told = "Noch keine Antwort von Weather Agent, ich versuche es noch einmal (2 von 8).";
    assert_eq!(status(&task), (TaskState::Working, told.into()));
    for wait in agent::RetrySchedule::default().waits() {
        task = later(&world, wait.as_secs(), task.id).await;
    }
    let told = "Von Weather Agent kam keine Antwort, und ich versuche es nicht weiter. \
                Sagen Sie „noch einmal“ oder „abbrechen“.";
    assert_eq!(status(&task), (TaskState::Unknown, told.into()));
    // Two words are of no language: it stays that of the task.
    world.say("user-1", "m-again", "noch einmal", Some(task.id)).await;
    let told = "Weather Agent arbeitet daran.";
    assert_eq!(status(&world.wake(task.id).await).1, told);
}

#[tokio::test]
async fn an_agent_that_stays_away_is_named_at_each_attempt_and_left_after_half_an_hour_until_somebody_says_so()
 {
    let (world, weather) = world().await;
    for _ in 0..8 {
        weather.then("SendMessage", Reply::Status(502));
    }
    let mut task = world.ask(RAIN).await;
    for (next, wait) in (2..).zip(agent::RetrySchedule::default().waits()) {
        let told = format!("No answer from Weather Agent yet, trying again ({next} of 8).");
        assert_eq!(status(&task), (TaskState::Working, told));
        task = later(&world, wait.as_secs(), task.id).await;
    }
    let told = "Weather Agent gave no answer, and I have stopped trying. Say “try again” or “cancel”.";
    assert_eq!(status(&task), (TaskState::Unknown, told.into()));
    assert_eq!(weather.calls("SendMessage").len(), 8);
    let task = later(&world, 24 * 3600, task.id).await;
    assert_eq!(
        (task.status.state, weather.calls("SendMessage").len()),
        (TaskState::Unknown, 8)
    );
    // By hand it goes on, with the same bytes and all the patience there is.
    world.say("user-1", "m-again", "try again", Some(task.id)).await;
    let task = world.wake(task.id).await;
    assert_eq!(weather.calls("SendMessage").len(), 9, "{:?}", status(&task));
    assert_eq!(status(&task).1, "Weather Agent is working on it.");
}

/// It answers no look any more.
pub(crate) fn silent(peer: &Peer) {
    for _ in 0..60 {
        peer.then("GetTask", Reply::Status(503));
    }
}

#[tokio::test]
async fn an_agent_that_answers_looks_is_slow_and_not_silent_even_if_it_takes_hours() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    let mut looks = Vec::new();
    for _ in 0..60 {
        let due = world.due_at(task.id).await.expect("it is looked at again");
        world.clock.advance(due.since(world.clock.now()));
        let state = world.wake(task.id).await.status.state;
        assert_eq!(state, TaskState::Working, "{looks:?}");
        looks.push(weather.calls("GetTask").len());
    }
    assert!(world.clock.now().since(task.created_at) > Duration::from_secs(7 * 3600));
    assert!(looks.last().is_some_and(|looks| *looks < 70), "{looks:?}");
    // From the last answer on it has as long as ever.
    silent(&weather);
    let asked = until_state(&world, &weather, task.id, TaskState::Unknown).await;
    assert!((1..10).contains(&asked.len()), "{asked:?}");
}

#[tokio::test]
async fn another_try_of_what_an_agent_has_and_is_mute_about_goes_out_anew() {
    for by_words in [true, false] {
        let (world, weather) = world().await;
        let task = world.ask(RAIN).await;
        silent(&weather);
        until_state(&world, &weather, task.id, TaskState::Unknown).await;
        assert_eq!(weather.calls("SendMessage").len(), 1);
        if by_words {
            world.say("user-1", "m-again", "try again", Some(task.id)).await;
        } else {
            let retry = format!("/tasks/{}:retry", task.id);
            let (code, told) = world.post("user-1", &retry, &json!({})).await;
            assert_eq!(code, http::StatusCode::OK, "{told}");
        }
        let task = world.wake(task.id).await;
        let sent = weather.calls("SendMessage");
        assert_eq!(sent.len(), 2, "{by_words} {:?}", status(&task));
        assert_eq!(
            sent[0]["params"]["message"], sent[1]["params"]["message"],
            "the same bytes"
        );
        assert_eq!(task.status.state, TaskState::Working);
    }
}

#[tokio::test]
async fn a_silent_agent_is_asked_at_growing_intervals_and_then_given_up_as_unknown() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    silent(&weather);
    let born = world.clock.now().millis();
    let mut looked_at = Vec::new();
    let mut state = task.status.state;
    for _ in 0..40 {
        let Some(due) = world.due_at(task.id).await else {
            break;
        };
        let now = world.clock.now().millis();
        world
            .clock
            .advance(Duration::from_millis(u64::try_from(due.millis() - now).unwrap()));
        let before = weather.calls("GetTask").len();
        state = world.wake(task.id).await.status.state;
        if weather.calls("GetTask").len() > before {
            looked_at.push((world.clock.now().millis() - born) / 1_000);
        }
        if state == TaskState::Unknown {
            break;
        }
    }
    assert_eq!(state, TaskState::Unknown);
    assert_eq!(looked_at[..3], [4, 30, 60]);
    assert!(looked_at.len() < 10, "{looked_at:?}");
    let (_, text) = status(&world.task(task.id).await);
    assert!(
        text.contains("Nothing was heard from Weather Agent within 30 minutes"),
        "{text}"
    );

    // Not terminal: a late result is still taken.
    world
        .notified(task.id, 0, remote("r-1", "COMPLETED", None, &["Rain."]))
        .await;
    assert_eq!(
        status(&world.wake(task.id).await),
        (TaskState::Completed, "Rain.".into())
    );
}

/// Goes from due time to due time until the task is in this state; gives when the agent was asked, in seconds since now.
async fn until_state(world: &World, peer: &Peer, id: domain::TaskId, wanted: TaskState) -> Vec<i64> {
    let born = world.clock.now().millis();
    let mut asked = Vec::new();
    for _ in 0..40 {
        let Some(due) = world.due_at(id).await else {
            panic!("nothing is due any more; asked at {asked:?}")
        };
        world.clock.advance(due.since(world.clock.now()));
        let before = peer.calls("GetTask").len();
        let state = world.wake(id).await.status.state;
        let now = (world.clock.now().millis() - born) / 1_000;
        asked.extend((before..peer.calls("GetTask").len()).map(|_| now));
        if state == wanted {
            return asked;
        }
    }
    panic!("it never became {wanted:?}; asked at {asked:?}")
}

#[tokio::test]
async fn a_result_that_cannot_be_fetched_is_asked_for_at_growing_intervals_and_taken_however_late() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    for _ in 0..40 {
        weather.then("GetTask", Reply::Status(503));
    }
    world
        .notified(task.id, 0, remote("r-1", "COMPLETED", None, &[]))
        .await;
    let asked = until_state(&world, &weather, task.id, TaskState::Unknown).await;
    assert_eq!(asked[..6], [0, 1, 2, 4, 8, 16], "{asked:?}");
    assert!(asked.len() < 15, "{asked:?}");
    let (_, text) = status(&world.task(task.id).await);
    assert!(
        text.starts_with("The result of Weather Agent could not be fetched within 30 minutes."),
        "{text}"
    );

    // Not terminal: it is still asked for, and at once where somebody wants it.
    weather.forget("GetTask");
    weather.then(
        "GetTask",
        Reply::Result(remote("r-1", "COMPLETED", None, &["Rain."])),
    );
    let retry = format!("/tasks/{}:retry", task.id);
    let (code, told) = world.post("user-1", &retry, &json!({})).await;
    assert_eq!(code, http::StatusCode::OK, "{told}");
    assert_eq!(
        status(&world.wake(task.id).await),
        (TaskState::Completed, "Rain.".into())
    );
    assert_eq!(weather.calls("SendMessage").len(), 1);
}

#[tokio::test]
async fn a_result_that_could_not_be_fetched_in_time_comes_by_itself_later() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    for _ in 0..40 {
        weather.then("GetTask", Reply::Status(503));
    }
    world
        .notified(task.id, 0, remote("r-1", "COMPLETED", None, &[]))
        .await;
    until_state(&world, &weather, task.id, TaskState::Unknown).await;
    weather.forget("GetTask");
    weather.then(
        "GetTask",
        Reply::Result(remote("r-1", "COMPLETED", None, &["Rain."])),
    );
    until_state(&world, &weather, task.id, TaskState::Completed).await;
    assert_eq!(
        status(&world.task(task.id).await),
        (TaskState::Completed, "Rain.".into())
    );
}

#[tokio::test]
async fn an_agent_that_is_done_and_has_no_result_is_not_asked_for_ever() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    weather
        .then("GetTask", Reply::Status(503))
        .then("GetTask", Reply::Result(remote("r-1", "COMPLETED", None, &[])));
    world
        .notified(task.id, 0, remote("r-1", "COMPLETED", None, &[]))
        .await;
    assert_eq!(world.wake(task.id).await.status.state, TaskState::Working);
    let task = later(&world, 1, task.id).await;
    assert_eq!(
        status(&task),
        (TaskState::Completed, "It finished without a result.".into())
    );
    let asked = weather.calls("GetTask").len();
    assert!(asked <= 3, "{asked}");
    assert_eq!(world.due_at(task.id).await, None);
}

#[tokio::test]
async fn a_result_that_is_refused_for_good_is_called_that() {
    for (reply, reason) in [
        (Reply::Status(403), "it does not let us in"),
        (
            Reply::Status(404),
            "it gave an answer that cannot be used: status 404",
        ),
        (Reply::Status(302), "it leads elsewhere from its address"),
        (
            Reply::Result(json!({})),
            "it gave an answer that cannot be used: ",
        ),
    ] {
        let (world, weather) = world().await;
        let task = world.ask(RAIN).await;
        weather.then("GetTask", reply);
        world
            .notified(task.id, 0, remote("r-1", "COMPLETED", None, &[]))
            .await;
        let task = world.wake(task.id).await;
        let (state, said) = status(&task);
        assert_eq!(state, TaskState::Failed, "{said}");
        assert!(
            said.contains("its result could not be fetched") && said.contains(reason),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_task_of_which_nothing_was_heard_can_be_cancelled() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    silent(&weather);
    until_state(&world, &weather, task.id, TaskState::Unknown).await;
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "CancelTask", "params": {"id": task.id.to_string()}});
    let (_, told) = world.post("user-1", "/jsonrpc", &body).await;
    assert_eq!(told["result"]["status"]["state"], "TASK_STATE_CANCELED", "{told}");
    assert_eq!(weather.calls("CancelTask")[0]["params"]["id"], "r-1");
}

#[tokio::test]
async fn a_lost_notification_is_made_good_by_a_look() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    weather.then(
        "GetTask",
        Reply::Result(remote("r-1", "COMPLETED", None, &["Rain."])),
    );
    let task = later(&world, 15, task.id).await;
    assert_eq!(status(&task), (TaskState::Completed, "Rain.".into()));
}

#[tokio::test]
async fn an_agent_that_forgot_its_task_fails_it() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    weather.then("GetTask", Reply::Error(-32001, "Task not found"));
    let task = later(&world, 15, task.id).await;
    assert_eq!(task.status.state, TaskState::Failed);
    assert!(
        status(&task).1.contains("has lost the task. Say “try again”"),
        "{}",
        status(&task).1
    );
}

/// A task whose agent has asked which Oslo is meant.
async fn asked_which_oslo(world: &World) -> domain::Task {
    let task = world.ask(RAIN).await;
    let asks = remote("r-1", "INPUT_REQUIRED", Some("Which Oslo?"), &[]);
    world.notified(task.id, 0, asks).await;
    world.wake(task.id).await
}

#[tokio::test]
async fn an_agents_question_is_put_to_the_user_and_the_answer_handed_on_once() {
    let (world, weather) = world().await;
    let task = asked_which_oslo(&world).await;
    assert_eq!(status(&task), (TaskState::InputRequired, "Which Oslo?".into()));
    let rev = task.rev;
    assert_eq!(
        world.wake(task.id).await.rev,
        rev,
        "a second look changes nothing"
    );

    weather.then(
        "SendMessage",
        Reply::Result(json!({"task": remote("r-1", "WORKING", None, &[])})),
    );
    world
        .say("user-1", "answer-1", "The one in Norway", Some(task.id))
        .await;
    let task = world.wake(task.id).await;
    assert_eq!(task.status.state, TaskState::Working);
    let calls = weather.calls("SendMessage");
    let message = &calls[1]["params"]["message"];
    assert_eq!(message["taskId"], json!("r-1"));
    assert_eq!(message["parts"][0]["text"], "The one in Norway");
    world.wake(task.id).await;
    assert_eq!(weather.calls("SendMessage").len(), 2);

    // A second question is not answered with the first answer.
    world
        .notified(
            task.id,
            0,
            remote("r-1", "INPUT_REQUIRED", Some("Which day?"), &[]),
        )
        .await;
    let task = world.wake(task.id).await;
    assert_eq!(status(&task), (TaskState::InputRequired, "Which day?".into()));
    assert_eq!(weather.calls("SendMessage").len(), 2);
    weather.then(
        "SendMessage",
        Reply::Result(json!({"task": remote("r-1", "COMPLETED", None, &["Dry."])})),
    );
    world.say("user-1", "answer-2", "Tomorrow", Some(task.id)).await;
    assert_eq!(
        status(&world.wake(task.id).await),
        (TaskState::Completed, "Dry.".into())
    );
}

/// What an agent has brought counts, also where an answer crosses the news of it.
#[tokio::test]
async fn an_answer_that_comes_too_late_takes_nothing_away() {
    for (code, words) in [
        (-32004, "the task is completed and takes no more messages"),
        (-32602, "Task r-1 is in terminal state: completed"),
    ] {
        let (world, weather) = world().await;
        let task = asked_which_oslo(&world).await;
        weather.then("SendMessage", Reply::Error(code, words)).then(
            "GetTask",
            Reply::Result(remote("r-1", "COMPLETED", None, &["Dry."])),
        );
        world.say("user-1", "answer-1", "Norway", Some(task.id)).await;
        assert_eq!(
            status(&world.wake(task.id).await),
            (TaskState::Completed, "Dry.".into())
        );
    }
    // One that goes on has refused the answer.
    let (world, weather) = world().await;
    let task = asked_which_oslo(&world).await;
    weather.then("SendMessage", Reply::Error(-32602, "no such place"));
    world.say("user-1", "answer-1", "Norway", Some(task.id)).await;
    let (state, words) = status(&world.wake(task.id).await);
    assert_eq!(state, TaskState::Rejected, "{words}");
    assert!(words.contains("no such place"), "{words}");
}

#[tokio::test]
async fn an_answer_that_could_not_be_handed_on_is_tried_again() {
    let (world, weather) = world().await;
    let task = asked_which_oslo(&world).await;
    weather.then("SendMessage", Reply::Status(503));
    world.say("user-1", "answer-1", "Norway", Some(task.id)).await;
    world.wake(task.id).await;
    weather.then(
        "SendMessage",
        Reply::Result(json!({"task": remote("r-1", "COMPLETED", None, &["Dry."])})),
    );
    let task = later(&world, 2, task.id).await;
    assert_eq!(status(&task), (TaskState::Completed, "Dry.".into()));
    let sent: Vec<_> = weather
        .calls("SendMessage")
        .iter()
        .map(|call| call["params"].clone())
        .collect();
    assert_eq!(sent[1], sent[2]);
}

/// An agent whose key document takes its time: no user waits for it, and nothing of it is taken unsigned meanwhile.
#[tokio::test]
async fn keys_that_do_not_come_in_time_are_asked_for_again() {
    let (world, weather) = world().await;
    let sealer = auth::Sealer::new(vec![(
        "k".into(),
        auth::Sealer::generate_key(&domain::SystemEntropy),
    )])
    .unwrap();
    let keys = auth::webhook::SenderKeys::of(&sealer, "a").unwrap();
    let document = json!({ "keys": keys.public_jwks() });
    let published = wiremock::Mock::given(wiremock::matchers::path("/weather/.well-known/jwks.json"));
    let late = wiremock::ResponseTemplate::new(200)
        .set_body_json(&document)
        .set_delay(Duration::from_secs(30));
    let late = published.respond_with(late).mount_as_scoped(&world.server).await;
    let task = world.ask("Will it rain in Oslo tomorrow?").await;
    assert_eq!(weather.calls("SendMessage").len(), 1, "it is asked all the same");
    assert!(task.jobs[0].keys_owed(), "{:?}", task.jobs[0].sender_keys);
    drop(late);
    let published = wiremock::Mock::given(wiremock::matchers::path("/weather/.well-known/jwks.json"));
    let in_time = wiremock::ResponseTemplate::new(200).set_body_json(&document);
    published.respond_with(in_time).mount(&world.server).await;
    world.clock.advance(Duration::from_secs(20));
    let task = world.wake(task.id).await;
    assert_eq!(task.jobs[0].sender_keys, auth::webhook::published_keys(&document));
}
