//! What is lost or late: acknowledgements, cancels, processes that end at the wrong moment.

use std::time::Duration;

use domain::{Clock as _, TaskId, TaskState};
use http::StatusCode;
use serde_json::{Value, json};

use crate::waiting::silent;
use crate::world::{Peer, Reply, World, remote, status, world};

const RAIN: &str = "Will it rain in Oslo tomorrow?";

/// Until the agent was asked this.
async fn until_asked(peer: &Peer, method: &str) {
    let asked = async {
        while peer.calls(method).is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), asked)
        .await
        .unwrap();
}

/// A process that ends between its send and the acknowledgement.
async fn crash_in_send(world: &World, weather: &Peer) -> TaskId {
    let late = json!({"task": remote("r-1", "SUBMITTED", None, &[])});
    weather.then("SendMessage", Reply::Slow(5_000, late));
    let id = world.say("user-1", "m-1", RAIN, None).await;
    tokio::select! {
        _ = world.wake(id) => panic!("the agent is too quick"),
        () = until_asked(weather, "SendMessage") => {}
    }
    world.clock.advance(Duration::from_secs(31));
    id
}

/// What the agent lists when it knows the message.
fn listed(weather: &Peer, id: &str) -> Value {
    let mut task = remote(id, "WORKING", None, &[]);
    task["history"] = json!([weather.calls("SendMessage")[0]["params"]["message"]]);
    let other = remote("r-0", "WORKING", None, &[]);
    json!({"tasks": [other, task], "nextPageToken": "", "pageSize": 50, "totalSize": 2})
}

async fn cancel(world: &World, id: TaskId) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "CancelTask", "params": {"id": id.to_string()}});
    world.post("user-1", "/jsonrpc", &body).await.1
}

#[tokio::test]
async fn a_message_that_may_have_left_is_looked_for_before_it_is_sent_again() {
    let (world, weather) = world().await;
    let id = crash_in_send(&world, &weather).await;
    weather.then("ListTasks", Reply::Result(listed(&weather, "r-7")));
    let task = world.wake(id).await;
    assert_eq!(task.jobs[0].remote_task_id().unwrap().as_str(), "r-7");
    assert_eq!(weather.calls("SendMessage").len(), 1, "not sent again");
    assert_eq!(
        weather.calls("ListTasks")[0]["params"]["contextId"],
        "trip-of-user-1"
    );
}

#[tokio::test]
async fn a_message_that_its_agent_does_not_know_is_sent_again_to_the_byte() {
    let (world, weather) = world().await;
    let id = crash_in_send(&world, &weather).await;
    weather.then("ListTasks", Reply::Error(-32601, "Method not found"));
    let task = world.wake(id).await;
    assert_eq!(task.jobs[0].remote_task_id().unwrap().as_str(), "r-1");
    let sent = weather.calls("SendMessage");
    assert_eq!(sent.len(), 2);
    assert_eq!(
        sent[0]["params"], sent[1]["params"],
        "the message's id and the webhook's token too"
    );
}

#[tokio::test]
async fn an_agent_that_cannot_be_asked_what_it_has_is_sent_nothing_yet() {
    let (world, weather) = world().await;
    let id = crash_in_send(&world, &weather).await;
    weather.then("ListTasks", Reply::Status(503));
    assert!(world.wake(id).await.jobs[0].remote_task_id().is_none());
    assert_eq!(weather.calls("SendMessage").len(), 1);
    world.clock.advance(Duration::from_secs(2));
    assert!(world.wake(id).await.jobs[0].remote_task_id().is_some());
}

#[tokio::test]
async fn a_task_called_off_while_its_send_is_under_way_is_called_off_at_the_agent_too() {
    let (world, weather) = world().await;
    let late = json!({"task": remote("r-1", "SUBMITTED", None, &[])});
    // Longer than a worker takes to see the cancel.
    weather.then("SendMessage", Reply::Slow(1_600, late));
    let id = world.say("user-1", "m-1", RAIN, None).await;
    let (task, ()) = tokio::join!(world.wake(id), async {
        until_asked(&weather, "SendMessage").await;
        let canceled = cancel(&world, id).await;
        assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
    });
    assert_eq!(task.status.state, TaskState::Canceled);
    let told = weather.calls("CancelTask");
    assert_eq!((told.len(), &told[0]["params"]["id"]), (1, &json!("r-1")));
}

#[tokio::test]
async fn a_cancel_that_did_not_reach_the_agent_is_stored_and_tried_again() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    weather
        .then("CancelTask", Reply::Status(503))
        .then("CancelTask", Reply::Status(503));
    cancel(&world, task.id).await;
    assert_eq!(weather.calls("CancelTask").len(), 1);
    for _ in 0..2 {
        let due = world.due_at(task.id).await.unwrap();
        assert!(due > world.clock.now());
        world.clock.advance(due.since(world.clock.now()));
        world.wake(task.id).await;
    }
    assert_eq!(weather.calls("CancelTask").len(), 3);
    assert_eq!(world.due_at(task.id).await, None, "the third was heard");
}

#[tokio::test]
async fn a_task_whose_message_left_unnoticed_is_found_at_its_agent_and_called_off() {
    let (world, weather) = world().await;
    let id = crash_in_send(&world, &weather).await;
    weather.then("ListTasks", Reply::Result(listed(&weather, "r-7")));
    cancel(&world, id).await;
    let told = weather.calls("CancelTask");
    assert_eq!((told.len(), &told[0]["params"]["id"]), (1, &json!("r-7")));
    assert_eq!(
        weather.calls("SendMessage").len(),
        1,
        "nothing is begun only to be called off"
    );
    assert_eq!(world.due_at(id).await, None);
}

/// Goes from due time to due time until nothing is due any more; gives how often.
async fn until_done(world: &World, id: TaskId) -> usize {
    for looks in 0..20 {
        let Some(due) = world.due_at(id).await else {
            return looks;
        };
        world.clock.advance(due.since(world.clock.now()));
        world.wake(id).await;
    }
    panic!("it is due for ever")
}

#[tokio::test]
async fn what_is_acknowledged_after_the_cancel_is_stored_and_called_off_until_the_agent_hears_it() {
    let (world, weather) = world().await;
    let late = json!({"task": remote("r-9", "SUBMITTED", None, &[])});
    weather.then("SendMessage", Reply::Slow(1_600, late));
    for _ in 0..3 {
        // An agent that cannot say what it has, so that only the acknowledgement tells of its task.
        weather
            .then("ListTasks", Reply::Error(-32601, "Method not found"))
            .then("CancelTask", Reply::Status(503));
    }
    let id = world.say("user-1", "m-1", RAIN, None).await;
    tokio::join!(world.wake(id), async {
        until_asked(&weather, "SendMessage").await;
        cancel(&world, id).await;
    });
    assert_eq!(weather.calls("CancelTask").len(), 1, "not heard");
    assert!(world.due_at(id).await.unwrap() > world.clock.now());
    assert_eq!(until_done(&world, id).await, 3, "the fourth try is heard");
    let told = weather.calls("CancelTask");
    assert_eq!(told.len(), 4);
    assert!(told.iter().all(|call| call["params"]["id"] == "r-9"), "{told:?}");
    assert_eq!(
        world.task(id).await.jobs[0].remote_task_id(),
        None,
        "a finished task never changes"
    );
}

#[tokio::test]
async fn a_message_that_was_still_on_its_way_when_its_task_was_called_off_is_looked_for_again() {
    let (world, weather) = world().await;
    let id = crash_in_send(&world, &weather).await;
    let nothing = json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0});
    weather
        .then("ListTasks", Reply::Result(nothing))
        .then("ListTasks", Reply::Result(listed(&weather, "r-7")));
    cancel(&world, id).await;
    assert!(weather.calls("CancelTask").is_empty());
    until_done(&world, id).await;
    let told = weather.calls("CancelTask");
    assert_eq!((told.len(), &told[0]["params"]["id"]), (1, &json!("r-7")));
}

#[tokio::test]
async fn a_cancel_that_the_agent_does_not_take_is_not_repeated() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    weather.then("CancelTask", Reply::Error(-32002, "Task cannot be canceled"));
    cancel(&world, task.id).await;
    assert_eq!(world.due_at(task.id).await, None);
    assert_eq!(world.task(task.id).await.status.state, TaskState::Canceled);
}

#[tokio::test]
async fn a_task_of_which_nothing_was_heard_is_asked_after_by_hand() {
    let (world, weather) = world().await;
    let task = world.ask(RAIN).await;
    let retry = format!("/tasks/{}:retry", task.id);
    assert_ne!(
        world.post("user-1", &retry, &json!({})).await.0,
        StatusCode::OK,
        "it is worked on"
    );
    // An agent that answers looks is slow; one that answers none is silent.
    silent(&weather);
    world.clock.advance(Duration::from_secs(15));
    world.wake(task.id).await;
    world.clock.advance(Duration::from_secs(31 * 60));
    assert_eq!(world.wake(task.id).await.status.state, TaskState::Unknown);
    weather.forget("GetTask");
    assert_eq!(
        world.post("stranger", &retry, &json!({})).await.0,
        StatusCode::NOT_FOUND
    );
    weather.then(
        "GetTask",
        Reply::Result(remote("r-1", "COMPLETED", None, &["Rain."])),
    );
    let (code, told) = world.post("user-1", &retry, &json!({})).await;
    assert_eq!(code, StatusCode::OK, "{told}");
    assert_eq!(told["status"]["state"], "TASK_STATE_WORKING", "{told}");
    assert_eq!(
        status(&world.wake(task.id).await),
        (TaskState::Completed, "Rain.".into())
    );
}
