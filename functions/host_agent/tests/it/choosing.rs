//! Where nobody is clearly meant the user chooses, and what was said goes to who is chosen: once, whatever process does it.

use std::time::Duration;

use domain::{Clock as _, Task, TaskId, TaskState};
use serde_json::{Value, json};

use crate::plans::{messages, restarted};
use crate::scripted::{Scripted, say};
use crate::world::{Peer, Reply, World, remote, status, world_with};

/// Names two agents, and says nothing else of what is wanted.
const UNSURE: &str = "weather for a flat";

async fn host() -> (World, [Peer; 2]) {
    let world = world_with(|_, _| {}).await;
    let peers = [world.peer("weather").await, world.peer("flats").await];
    let agents = json!([world.weather(), world.flats()]);
    world.registered(agents, json!({"weather": "global", "flats": "global"}));
    (world, peers)
}

async fn asked(world: &World) -> Task {
    let task = world.ask(UNSURE).await;
    assert_eq!(task.status.state, TaskState::InputRequired, "{}", status(&task).1);
    task
}

/// The user says something beside the task, in the same chat.
async fn beside(world: &World, text: &str) -> Task {
    world.ask(text).await
}

/// The user says something to the task itself.
async fn said(world: &World, id: TaskId, message: &str, text: &str) -> Task {
    world.say("user-1", message, text, Some(id)).await;
    restarted(world, id).await
}

fn sent(peer: &Peer) -> Vec<Value> {
    let texts = messages(peer).into_iter();
    texts
        .map(|sent| sent["message"]["parts"][0]["text"].clone())
        .collect()
}

#[tokio::test]
async fn what_two_agents_may_do_waits_for_the_users_choice_and_goes_out_as_it_was_said() {
    let (world, [weather, flats]) = host().await;
    let task = asked(&world).await;
    let question = status(&task).1;
    for line in [
        UNSURE,
        "Did you mean",
        "1. ",
        "2. ",
        "Weather Agent",
        "Flat Finder",
    ] {
        assert!(question.contains(line), "{question}");
    }
    let shown = task.status.message.as_ref().unwrap();
    let buttons = &shown.metadata["choices"];
    assert_eq!(buttons[0]["say"], "1");
    assert_eq!(buttons.as_array().map(Vec::len), Some(2), "{buttons}");
    assert!(sent(&weather).is_empty() && sent(&flats).is_empty() && task.jobs.is_empty());
    // Nobody needs to remember it.
    let task = restarted(&world, task.id).await;
    assert_eq!(status(&task), (TaskState::InputRequired, question));
    let task = said(&world, task.id, "a", "the flat finder, please").await;
    assert_eq!(task.status.state, TaskState::Working, "{}", status(&task).1);
    assert_eq!(sent(&flats), [UNSURE]);
    assert!(sent(&weather).is_empty());
    assert_eq!(task.jobs.len(), 1);
    world
        .notified(task.id, 0, remote("r-1", "COMPLETED", None, &["A flat."]))
        .await;
    let task = restarted(&world, task.id).await;
    assert_eq!(status(&task), (TaskState::Completed, "A flat.".to_owned()));
}

#[tokio::test]
async fn in_the_chat_exactly_a_choice_is_one_and_everything_else_is_a_request_beside_it() {
    let (world, [weather, flats]) = host().await;
    let first = asked(&world).await;
    // A request of its own, though it names one of them.
    let other = beside(&world, "Will it rain in Bergen tomorrow?").await;
    assert_eq!(other.status.state, TaskState::Working);
    assert_eq!(world.task(first.id).await.rev, first.rev);
    beside(&world, "Will it rain in Bergen on Sunday? 2").await;
    assert_eq!(world.task(first.id).await.rev, first.rev);
    let told = status(&beside(&world, "/status").await).1;
    assert!(told.contains(UNSURE) && told.contains("choose"), "{told}");
    beside(&world, "the second one").await;
    let first = restarted(&world, first.id).await;
    let to = [&weather, &flats].map(|peer| sent(peer).iter().filter(|text| *text == UNSURE).count());
    assert_eq!(to.iter().sum::<usize>(), 1, "{to:?}");
    assert_eq!(first.jobs.len(), 1);
    // It chooses nothing twice.
    beside(&world, "the first one").await;
    let again = restarted(&world, first.id).await;
    assert_eq!((again.jobs.len(), again.history.len()), (1, first.history.len()));
}

#[tokio::test]
async fn what_waits_is_found_however_much_was_said_since() {
    let (world, [weather, flats]) = host().await;
    let first = asked(&world).await;
    for _ in 0..14 {
        beside(&world, "hello").await;
    }
    let told = status(&beside(&world, "/status").await).1;
    assert!(told.contains(UNSURE) && told.contains("choose"), "{told}");
    beside(&world, "the second one").await;
    let first = restarted(&world, first.id).await;
    assert_eq!(sent(&weather).len() + sent(&flats).len(), 1);
    assert_eq!(first.jobs.len(), 1);
}

#[tokio::test]
async fn no_and_none_and_cancel_end_it_and_it_can_be_asked_again() {
    for (number, no) in ["no", "none", "skip", "cancel", "neither", "nein"]
        .into_iter()
        .enumerate()
    {
        let (world, [weather, flats]) = host().await;
        let task = asked(&world).await;
        let task = match number % 2 {
            0 => said(&world, task.id, "no", no).await,
            _ => {
                beside(&world, no).await;
                restarted(&world, task.id).await
            }
        };
        assert_eq!(
            task.status.state,
            TaskState::Canceled,
            "{no}: {}",
            status(&task).1
        );
        let again = beside(&world, "try again").await;
        assert_eq!(
            again.status.state,
            TaskState::InputRequired,
            "{no}: {}",
            status(&again).1
        );
        assert!(sent(&weather).is_empty() && sent(&flats).is_empty());
    }
}

#[tokio::test]
async fn rubbish_is_asked_about_again_and_chooses_nobody() {
    let (world, [weather, flats]) = host().await;
    let task = asked(&world).await;
    let rubbish = [
        "7",
        "0",
        "1 2",
        "both",
        "🦀",
        "yes",
        "\u{202e}1. flats",
        "ignore that and ask weather",
        "weather; flats",
        "1.5",
        "99999999999999999999999",
    ];
    for (number, text) in rubbish.into_iter().enumerate() {
        let task = said(&world, task.id, &format!("r-{number}"), text).await;
        assert_eq!(task.status.state, TaskState::InputRequired, "{text}");
        assert!(status(&task).1.contains("I did not understand that."), "{text}");
    }
    assert!(sent(&weather).is_empty() && sent(&flats).is_empty());
    // What the client says in the message's metadata chooses nobody either.
    said(&world, task.id, "a", "1").await;
    assert_eq!(sent(&weather).len() + sent(&flats).len(), 1);
}

#[tokio::test]
async fn a_choice_that_nobody_makes_is_given_up_after_a_day() {
    let (world, [weather, flats]) = host().await;
    let task = asked(&world).await;
    assert_eq!(
        world
            .due_at(task.id)
            .await
            .map(|due| due.since(world.clock.now())),
        Some(Duration::from_secs(24 * 3600))
    );
    world.clock.advance(Duration::from_secs(24 * 3600 - 60));
    assert_eq!(
        restarted(&world, task.id).await.status.state,
        TaskState::InputRequired
    );
    world.clock.advance(Duration::from_secs(120));
    let task = restarted(&world, task.id).await;
    assert_eq!(task.status.state, TaskState::Canceled);
    assert!(status(&task).1.contains("within a day"), "{}", status(&task).1);
    assert!(sent(&weather).is_empty() && sent(&flats).is_empty());
}

#[tokio::test]
async fn who_is_gone_by_then_is_not_asked() {
    let (world, [weather, flats]) = host().await;
    let task = asked(&world).await;
    let gone = |word: &str| match status(&task).1.find(&format!("1. {word}")) {
        Some(_) => "1",
        None => "2",
    };
    let flat = gone("Flat");
    world.registered(json!([world.weather()]), json!({"weather": "global"}));
    let task = said(&world, task.id, "a", flat).await;
    assert_eq!(task.status.state, TaskState::Rejected, "{}", status(&task).1);
    assert!(sent(&weather).is_empty() && sent(&flats).is_empty());
}

#[tokio::test]
async fn a_process_that_ends_at_each_step_of_a_choice_is_followed_by_one_that_sends_once() {
    let (world, [weather, flats]) = host().await;
    // Before the question is written, after it, and before the choice is looked at.
    let id = world.say("user-1", "m", UNSURE, None).await;
    let task = restarted(&world, id).await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    let rev = task.rev;
    assert_eq!(world.wake(id).await.rev, rev, "it asks once");
    let flat = task.status.message.as_ref().unwrap().metadata["choices"][0]["label"] == "Flat Finder";
    let chosen = if flat { &flats } else { &weather };
    world.say("user-1", "one", "1", Some(id)).await;
    // The same message once more is the same choice.
    world.say("user-1", "one", "1", Some(id)).await;
    // While the message is sent.
    let slow = json!({"task": remote("r-1", "SUBMITTED", None, &[])});
    chosen.then("SendMessage", Reply::Slow(5_000, slow));
    let is_sent = async {
        while chosen.calls("SendMessage").is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        _ = world.wake(id) => panic!("the agent is too quick"),
        () = is_sent => {}
    }
    world.clock.advance(Duration::from_secs(31));
    let mut known = remote("r-1", "WORKING", None, &[]);
    known["history"] = json!([chosen.calls("SendMessage")[0]["params"]["message"]]);
    chosen.then(
        "ListTasks",
        Reply::Result(json!({"tasks": [known], "nextPageToken": "", "pageSize": 50, "totalSize": 1})),
    );
    let task = restarted(&world, id).await;
    assert_eq!(task.jobs[0].state.phase(), "linked");
    assert_eq!(sent(&weather).len() + sent(&flats).len(), 1);
    assert_eq!(sent(chosen), [UNSURE]);
}

#[tokio::test]
async fn a_hosted_model_asks_in_its_own_words() {
    let model = Scripted::default();
    let world = world_with(|parts, _| parts.model = std::sync::Arc::new(model.clone())).await;
    world.registered(
        json!([world.weather(), world.flats()]),
        json!({"weather": "global", "flats": "global"}),
    );
    model.answers([say("The weather where?")]);
    let task = world.ask(UNSURE).await;
    assert_eq!(
        status(&task),
        (TaskState::Completed, "The weather where?".to_owned())
    );
}
