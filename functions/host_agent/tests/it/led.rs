//! Where a host has a hosted model, that says first what a message means for the tasks of its chat. What authorises is none of its
//! business, and where it says nothing that can be done, the message means what it meant without it.

use std::sync::Arc;
use std::time::Duration;

use domain::{Clock as _, Task, TaskState};
use host_agent::PlanApproval;
use llm::{About, Answer, Tool};
use nlu::Act;
use serde_json::json;

use crate::consent::{GOOD, horizon_with};
use crate::plans::{linked, messages, planned, restarted, said};
use crate::scripted::{Scripted, calls, say, send};
use crate::world::{Peer, Reply, World, remote, status, world_with};

const RAIN: &str = "Will it rain in Oslo?";
const FLAT: &str = "A flat in Bergen";

/// A host with a hosted model, that knows weather and flats, and has been asked for both: the weather runs, the flats wait for an answer.
async fn at_work() -> (World, Scripted, [Peer; 2], [Task; 2]) {
    approving(PlanApproval::Never).await
}

async fn approving(approval: PlanApproval) -> (World, Scripted, [Peer; 2], [Task; 2]) {
    let model = Scripted::default();
    model.0.lock().unwrap().is_hosted = true;
    let world = world_with(|parts, _| {
        parts.model = Arc::new(model.clone());
        parts.approval = approval;
    })
    .await;
    let peers = [world.peer("weather").await, world.peer("flats").await];
    world.registered(
        json!([world.weather(), world.flats()]),
        json!({"weather": "global", "flats": "global"}),
    );
    linked(&peers[0], 0);
    let asks = remote("r-1", "INPUT_REQUIRED", Some("For how many nights?"), &[]);
    peers[1].then("SendMessage", Reply::Result(json!({ "task": asks })));
    model.answers([calls([send("weather", RAIN)]), calls([send("flats", FLAT)])]);
    let rain = ask(&world, RAIN).await;
    let flat = ask(&world, FLAT).await;
    assert_eq!(status(&flat).0, TaskState::InputRequired, "{:?}", status(&flat));
    (world, model, peers, [rain, flat])
}

/// Asks something a second after what was said before.
async fn ask(world: &World, text: &str) -> Task {
    world.clock.advance(Duration::from_secs(1));
    world.ask(text).await
}

fn about(act: Act, tasks: &[usize], words: &str) -> Answer {
    also(act, tasks, (words, say("")))
}

fn also(act: Act, tasks: &[usize], (words, answer): (&str, Answer)) -> Answer {
    let about = tasks.iter().map(|task| About {
        task: *task,
        act,
        words: words.to_owned(),
    });
    Answer {
        about: about.collect(),
        ..answer
    }
}

async fn states(world: &World, tasks: &[Task; 2]) -> [TaskState; 2] {
    let [rain, flat] = tasks;
    [
        world.task(rain.id).await.status.state,
        world.task(flat.id).await.status.state,
    ]
}

#[tokio::test]
async fn a_model_is_shown_what_waits_and_runs_and_can_cancel_tell_and_answer() {
    let (world, model, [_, flats], tasks) = at_work().await;
    model.answers([about(Act::Status, &[0], "")]);
    let told = ask(&world, "Noe nytt om regnet?").await;
    assert_eq!(
        model.shown().last().unwrap().tasks,
        [
            "“Will it rain in Oslo”: Weather Agent at work",
            "“A flat in Bergen”: Flat Finder asks: For how many nights?",
        ]
    );
    assert!(
        status(&told).1.starts_with("“Will it rain in Oslo” is "),
        "{:?}",
        status(&told)
    );
    assert_eq!(
        (told.turns.len(), told.turns[0].usage.input),
        (1, 100),
        "what it took is kept"
    );

    model.answers([about(Act::Answer, &[1], "tre")]);
    ask(&world, "tre, takk").await;
    let flat = world.wake(tasks[1].id).await;
    let sent = messages(&flats).pop().unwrap();
    assert_eq!(
        sent["message"]["parts"][0]["text"], "tre, takk",
        "the user's own words: {flat:?}"
    );

    model.answers([about(Act::Cancel, &[0], "dropp det")]);
    let told = ask(&world, "dropp det med regnet").await;
    assert_eq!(status(&told).1, "Canceled: “Will it rain in Oslo”.");
    assert_eq!(world.task(tasks[0].id).await.status.state, TaskState::Canceled);
}

#[tokio::test]
async fn what_a_model_would_end_is_asked_where_it_is_more_than_one_thing() {
    let (world, model, _, tasks) = at_work().await;
    model.answers([about(Act::Cancel, &[0, 1, 0], "")]);
    let asked = ask(&world, "weg mit dem ganzen Zeug").await;
    assert_eq!(
        status(&asked).1,
        "Welche soll ich abbrechen?\n1. “Will it rain in Oslo”\n2. “A flat in Bergen”"
    );
    assert_eq!(
        states(&world, &tasks).await,
        [TaskState::Working, TaskState::InputRequired]
    );
    // The answer to that is read by the host alone.
    let shown = model.asked();
    let told = ask(&world, "1").await;
    assert_eq!(
        status(&told).1,
        "Abgebrochen: “Will it rain in Oslo”.",
        "a number is answered in the language of the chat"
    );
    assert_eq!(model.asked(), shown);
    assert_eq!(
        states(&world, &tasks).await,
        [TaskState::Canceled, TaskState::InputRequired]
    );
}

#[tokio::test]
async fn what_else_is_asked_is_done_behind_it_and_whole_clauses_alone_are_an_answer() {
    let (world, model, [weather, flats], tasks) = at_work().await;
    linked(&weather, 2);
    let more = calls([send("weather", "Will it rain in Bodø?")]);
    model.answers([
        also(Act::Cancel, &[0], ("Stopp regnet i Oslo", more.clone())),
        calls([send("weather", "Will it rain in Bodø?")]),
    ]);
    let both = ask(&world, "Stopp regnet i Oslo. Will it rain in Bodø?").await;
    assert_eq!(
        states(&world, &tasks).await,
        [TaskState::Canceled, TaskState::InputRequired]
    );
    assert_eq!(both.jobs[0].instruction, "Will it rain in Bodø?");
    assert_eq!(
        model.shown().last().unwrap().turns.last(),
        Some(&llm::Turn::User("Will it rain in Bodø?".to_owned()))
    );

    // "book it" out of "do not book it" is nobody's answer: it is asked of agents whole.
    let sent = messages(&flats).len();
    model.answers([
        also(Act::Answer, &[1], ("book it", more.clone())),
        say("I do not know."),
    ]);
    ask(&world, "please do not book it, and will it rain in Bodø?").await;
    world.wake(tasks[1].id).await;
    let sent: Vec<_> = messages(&flats).into_iter().skip(sent).collect();
    assert!(
        sent.iter()
            .all(|sent| sent["message"]["parts"][0]["text"] != "book it"),
        "{sent:?}"
    );
}

#[tokio::test]
async fn commands_yes_and_no_need_no_model() {
    let (world, model, _, tasks) = at_work().await;
    let asked = model.asked();
    for (text, told) in [
        (
            "/status",
            "- “Will it rain in Oslo”: Weather Agent at work\n- “A flat in Bergen”: Flat Finder asks: For how many nights?",
        ),
        ("/cancel oslo", "Canceled: “Will it rain in Oslo”."),
        (
            "BCDF-GHJK",
            "No code is awaited here: it is typed in the chat where it was asked for, was used already, or is too old.",
        ),
    ] {
        assert_eq!(status(&ask(&world, text).await).1, told);
    }
    assert_eq!(states(&world, &tasks).await[0], TaskState::Canceled);
    assert_eq!(model.asked(), asked);
}

#[tokio::test]
async fn a_plan_is_started_by_its_user_and_by_no_model() {
    let (world, model, [weather, flats], _) = approving(PlanApproval::Always).await;
    let tasks = vec![
        planned("weather", "Oslo next week", &[], &[]),
        planned("flats", "a flat in Oslo", &[], &[0]),
    ];
    model.answers([calls([Tool::PlanTasks { tasks }])]);
    let plan = ask(&world, "A trip to Oslo").await;
    assert_eq!(plan.status.state, TaskState::InputRequired, "{:?}", status(&plan));
    let sent = [messages(&weather).len(), messages(&flats).len()];
    model.answers([
        about(Act::Answer, &[2], "go"),
        // The plan's own look: the model would change nothing.
        say("It is a fine plan."),
    ]);
    ask(&world, "hvem kan si go til dette her?").await;
    let plan = world.wake(plan.id).await;
    assert_eq!(plan.status.state, TaskState::InputRequired, "{:?}", status(&plan));
    assert_eq!([messages(&weather).len(), messages(&flats).len()], sent);
    let asked = model.asked();
    let plan = said(&world, plan.id, "go").await;
    assert_eq!((plan.status.state, plan.jobs.len()), (TaskState::Working, 1));
    assert_eq!(
        model.asked(),
        asked,
        "the word that starts it is read by no model"
    );
}

#[tokio::test]
async fn what_failed_is_tried_again_and_a_silent_model_leaves_the_host_its_own_reading() {
    let (world, model, [weather, _], tasks) = at_work().await;
    world
        .notified(tasks[0].id, 0, remote("r-0", "FAILED", Some("no data"), &[]))
        .await;
    world.wake(tasks[0].id).await;
    linked(&weather, 3);
    model.answers([about(Act::Retry, &[0], "en gang til")]);
    let again = ask(&world, "en gang til med Oslo").await;
    assert_eq!(again.jobs[0].instruction, RAIN, "{:?}", status(&again));
    // A task that is not there, and acts of several kinds, are nothing to go by; nor is a model that says nothing.
    let shown = model.shown().len();
    let mixed = Answer {
        about: [
            about(Act::Cancel, &[1], "").about,
            about(Act::Retry, &[0], "").about,
        ]
        .concat(),
        ..say("")
    };
    for unusable in [Some(about(Act::Cancel, &[7], "")), Some(mixed), None] {
        model.answers(unusable.into_iter().chain([say("Hm.")]));
        let text = format!("noe annet {}", world.clock.now().millis());
        ask(&world, &text).await;
    }
    assert!(model.shown().len() > shown);
    assert_eq!(states(&world, &tasks).await[1], TaskState::InputRequired);
}

/// By a consent of its user's the work may have been begun elsewhere: a model's word alone does not end it.
#[tokio::test]
async fn what_a_model_would_end_is_asked_where_its_user_consented_to_it() {
    let model = Scripted::default();
    model.0.lock().unwrap().is_hosted = true;
    let (world, horizon) = horizon_with(|parts| parts.model = Arc::new(model.clone())).await;
    linked(&horizon, 0);
    model.answers([calls([send("horizon", "my orders")])]);
    let orders = ask(&world, "Where are my orders?").await;
    world.grant("user-1", &GOOD).await;
    let orders = restarted(&world, orders.id).await;
    assert_eq!(orders.status.state, TaskState::Working, "{:?}", status(&orders));
    model.answers([about(Act::Cancel, &[0], "glem det")]);
    let asked = ask(&world, "glem det").await;
    assert_eq!(
        status(&asked).1,
        "Shall I cancel “Where are my orders”? Say yes or no."
    );
    assert_eq!(world.task(orders.id).await.status.state, TaskState::Working);
}

#[tokio::test]
async fn a_rehearsal_is_decided_by_the_model_and_nothing_of_it_is_done() {
    let (world, model, [weather, flats], _) = at_work().await;
    let before = [&weather, &flats].map(|peer| messages(peer).len());
    model.answers([calls([send("flats", FLAT)])]);
    let executor = &world.host.agent.executor;
    let user = domain::UserContext::default();
    let got = executor
        .rehearse("Somewhere in Bergen", world.clock.now(), &user)
        .await;
    let got = got.unwrap();
    let sends: Vec<(&str, &str)> = got
        .sends
        .iter()
        .map(|send| (send.agent.as_str(), send.request.as_str()))
        .collect();
    assert_eq!((got.act.as_str(), sends), ("send", vec![("flats", FLAT)]));
    assert_eq!((got.model.as_str(), got.tokens > 0), ("openai:scripted", true));
    // A command is read before any model is asked.
    let told = executor
        .rehearse("/status", world.clock.now(), &user)
        .await
        .unwrap();
    assert_eq!((told.act.as_str(), told.sends.len(), told.tokens), ("open", 0, 0));
    assert_eq!([&weather, &flats].map(|peer| messages(peer).len()), before);
}
