//! What a model answers is stored before it is acted on: a host that was killed goes on with it, and does not ask again.

use std::sync::Arc;

use domain::{CallEnd, CallResult, EventKind, Message, MessageId, Part, Task, TaskId, TaskState};
use llm::{Answer, Step, Tool, ToolOutcome, Turn};
use serde_json::json;

use crate::scripted::{Scripted, calls, say, send};
use crate::world::{Peer, Reply, World, remote, status, world_with};

const STATUS: Tool = Tool::TaskStatus { task_id: None };

fn invalid() -> Tool {
    Tool::Invalid {
        name: "delete_everything".to_owned(),
        arguments: r#"{"really": true}"#.to_owned(),
        reason: "There is no such tool.".to_owned(),
    }
}

/// A host with this model, that knows a weather agent and a flat finder.
async fn scripted() -> (World, Scripted, [Peer; 2]) {
    let model = Scripted::default();
    let world = world_with(|parts, _| parts.model = Arc::new(model.clone())).await;
    let peers = [world.peer("weather").await, world.peer("flats").await];
    world.registered(
        json!([world.weather(), world.flats()]),
        json!({"weather": "global", "flats": "global"}),
    );
    (world, model, peers)
}

async fn restarted(world: &World, id: TaskId) -> Task {
    let wake = agent::Wake::task(&world.key(id));
    host_agent::handle(&world.restarted, &wake).await.unwrap();
    world.task(id).await
}

#[tokio::test]
async fn a_turn_is_stored_with_its_jobs_before_anything_leaves_and_nobody_asks_again() {
    let (world, model, [weather, _]) = scripted().await;
    model.answers([Answer {
        beside: "Let me see.".to_owned(),
        ..calls([send("weather", "Oslo tomorrow"), STATUS])
    }]);
    // The process ends when the first message leaves: nothing that came of it is stored.
    weather.then("SendMessage", Reply::Status(503));
    let task = world.ask("What about Oslo?").await;

    let [turn] = task.turns.as_slice() else {
        panic!("{:?}", task.turns)
    };
    assert_eq!((turn.number, turn.model.as_str()), (0, "openai:scripted"));
    assert_eq!(turn.text, "Let me see.");
    assert_eq!(turn.usage.input, 100);
    let [sent, asked] = turn.calls.as_slice() else {
        panic!("{:?}", turn.calls)
    };
    assert_eq!(
        (sent.id.as_str(), &sent.end),
        ("id-0", &CallEnd::Job { number: 0 })
    );
    let none = CallResult::new("There is no such task of this user.", true);
    assert_eq!((asked.id.as_str(), &asked.end), ("id-1", &CallEnd::Result(none)));
    assert_eq!(task.jobs[0].instruction, "Oslo tomorrow");
    // In one write: the log has no moment with the turn and without its job.
    let log = world
        .store
        .tasks()
        .events(&world.key(task.id), 0, 100)
        .await
        .unwrap();
    let at = |is: fn(&EventKind) -> bool| log.iter().position(|event| is(&event.kind)).unwrap();
    let turn_at = at(|kind| matches!(kind, EventKind::Work { .. }));
    let job_at = at(|kind| matches!(kind, EventKind::Job { .. }));
    assert_eq!(job_at, turn_at + 1);

    // Another process goes on: it sends, and does not ask.
    world.clock.advance(std::time::Duration::from_secs(60));
    let task = restarted(&world, task.id).await;
    assert_eq!(model.asked(), 1);
    assert_eq!(task.turns.len(), 1);
    world
        .notified(task.id, 0, remote("r-1", "COMPLETED", None, &["Light rain."]))
        .await;
    model.answers([say("Take a coat.")]);
    let done = restarted(&world, task.id).await;
    assert_eq!(status(&done), (TaskState::Completed, "Take a coat.".to_owned()));
    assert_eq!(model.asked(), 2);
    // What it is shown then is its own turn, letter for letter, and the agent's result under the same id.
    let shown = &model.shown()[1];
    let [
        Turn::User(_),
        Turn::Said(text),
        Turn::Calls(shown_calls),
        Turn::Results(results),
    ] = shown.turns.as_slice()
    else {
        panic!("{:?}", shown.turns)
    };
    assert_eq!(text, "Let me see.");
    let first = calls([send("weather", "Oslo tomorrow"), STATUS]).step;
    assert_eq!(Step::Call(shown_calls.clone()), first);
    assert_eq!(results[0].call_id, "id-0");
    assert_eq!(results[0].outcome, ToolOutcome::Done("Light rain.".to_owned()));
    assert!(matches!(&results[1].outcome, ToolOutcome::Failed(_)));
    assert_eq!(shown.agents.len(), 2, "it may go on");
    // The last turn is there for what it took; its words are the task's.
    let last = done.turns.last().unwrap();
    assert_eq!((last.number, last.usage.output, last.text.as_str()), (1, 10, ""));
    assert!(last.calls.is_empty());
}

#[tokio::test]
async fn own_tools_are_answered_once_and_further_work_is_a_step_of_its_own() {
    let (world, model, [weather, flats]) = scripted().await;
    let forecast = remote("r-1", "COMPLETED", None, &["Sun."]);
    weather.then("SendMessage", Reply::Result(json!({ "task": forecast })));
    model.answers([
        calls([STATUS]),
        calls([send("weather", "Oslo")]),
        calls([send("flats", "a flat in the sun")]),
    ]);
    let task = world.ask("A flat where it is sunny").await;
    assert_eq!(task.turns.len(), 3);
    let steps: Vec<u32> = task.jobs.iter().map(|job| job.step).collect();
    assert_eq!(steps, [1, 2], "a job's step is its turn's number");
    assert_eq!(flats.calls("SendMessage").len(), 1);
    assert_eq!(model.asked(), 3);
    let count = |turns: &[Turn]| turns.iter().filter(|turn| matches!(turn, Turn::Calls(_))).count();
    let shown: Vec<usize> = model.shown().iter().map(|prompt| count(&prompt.turns)).collect();
    assert_eq!(shown, [0, 1, 2]);
    // A wake in between changes nothing.
    restarted(&world, task.id).await;
    assert_eq!(model.asked(), 3);
}

#[tokio::test]
async fn calls_that_cannot_all_be_run_are_not_run_and_the_third_time_ends_the_task() {
    let (world, model, [weather, _]) = scripted().await;
    let many = calls((0..100).map(|number| send("weather", &number.to_string())));
    model.answers([calls([send("weather", "Oslo"), invalid()]), many, say("Sorry.")]);
    let task = world.ask("Do it all").await;
    assert_eq!(weather.calls("SendMessage").len(), 0);
    assert_eq!(status(&task), (TaskState::Completed, "Sorry.".to_owned()));
    let kept: Vec<usize> = task.turns.iter().map(|turn| turn.calls.len()).collect();
    assert_eq!(kept, [2, 8, 0], "a hundred calls are not kept");
    let shown = model.shown();
    let Some(Turn::Results(results)) = shown[1].turns.last() else {
        panic!("{:?}", shown[1].turns)
    };
    let failed = |text: &str| ToolOutcome::Failed(text.to_owned());
    assert_eq!(
        results[0].outcome,
        failed("Not done: another call beside this one cannot be run. Call this one again.")
    );
    assert_eq!(results[1].outcome, failed("There is no such tool."));

    model.answers([calls([invalid()]), calls([invalid()]), calls([invalid()])]);
    let task = world.ask("Plan a day in Bergen").await;
    let told = "I came to no answer for this.".to_owned();
    assert_eq!(status(&task), (TaskState::Failed, told));
}

#[tokio::test]
async fn a_model_that_never_speaks_is_stopped_after_eight_steps() {
    let (world, model, _) = scripted().await;
    model.answers((0..8).map(|_| calls([STATUS])));
    let task = world.ask("Something about Oslo and the sea").await;
    assert_eq!((task.turns.len(), task.status.state), (8, TaskState::Failed));
}

#[tokio::test]
async fn an_answer_that_was_cut_off_says_so() {
    let (world, model, _) = scripted().await;
    model.answers([Answer {
        is_cut: true,
        ..say("A long")
    }]);
    let task = world.ask("Tell me everything").await;
    let told = "A long\n\n(The answer is cut off here: it grew too long.)".to_owned();
    assert_eq!(status(&task), (TaskState::Completed, told));
}

#[tokio::test]
async fn an_answer_stands_where_the_task_changed_but_not_what_it_answers() {
    let (world, model, [weather, _]) = scripted().await;
    let id = world.say("user-1", "m-1", "Oslo?", None).await;
    let noted = EventKind::status(
        TaskState::Working,
        Some(Message::agent_text(MessageId::derived("x"), "Hm.")),
    );
    {
        let mut script = model.0.lock().unwrap();
        script.at = Some((world.store.clone(), world.key(id)));
        script.meanwhile.push_back(None);
        script.meanwhile.push_back(Some(vec![noted]));
    }
    model.answers([calls([STATUS]), calls([send("weather", "Oslo")])]);
    let task = world.wake(id).await;
    assert_eq!(
        (model.asked(), task.turns.len()),
        (2, 2),
        "its state is another now, and so it is looked at anew, but by nobody who was shown the same"
    );
    assert_eq!((task.jobs.len(), weather.calls("SendMessage").len()), (1, 1));

    // Something that no model is shown.
    let (world, model, [weather, _]) = scripted().await;
    let id = world.say("user-1", "m-1", "Oslo?", None).await;
    let artifact = domain::Artifact::new("note", vec![Part::text("noted")]);
    {
        let mut script = model.0.lock().unwrap();
        script.at = Some((world.store.clone(), world.key(id)));
        script
            .meanwhile
            .push_back(Some(vec![EventKind::artifact(artifact)]));
    }
    model.answers([calls([send("weather", "Oslo")])]);
    let task = world.wake(id).await;
    assert_eq!(model.asked(), 1, "what it was shown did not change");
    assert_eq!((task.jobs.len(), task.turns.len()), (1, 1));
    assert_eq!(weather.calls("SendMessage").len(), 1);
}

/// A job that is over: what it brought is shown to the model.
fn settled(number: u32, now: domain::Timestamp) -> EventKind {
    let remote = domain::RemoteUpdate {
        text: Some(format!("result {number}")),
        ..domain::RemoteUpdate::of(TaskState::Completed)
    };
    let job = domain::Job {
        number,
        state: domain::JobState::Settled {
            remote_task_id: None,
            remote,
        },
        ..domain::testing::job(now)
    };
    EventKind::Job { job: Box::new(job) }
}

/// Somebody changes the task as the model answers, as often as this, the n-th time in this way.
async fn racing(times: u32, change: impl Fn(u32) -> EventKind) -> (World, Scripted, Task) {
    let (world, model, _) = scripted().await;
    let id = world.say("user-1", "m-1", "Oslo?", None).await;
    {
        let mut script = model.0.lock().unwrap();
        script.at = Some((world.store.clone(), world.key(id)));
        script
            .meanwhile
            .extend((0..times).map(|number| Some(vec![change(number)])));
    }
    model.answers((0..8).map(|number| say(&format!("Answer {number}."))));
    let task = world.wake(id).await;
    (world, model, task)
}

#[tokio::test]
async fn a_race_lost_at_the_very_end_asks_nobody_again_for_the_same() {
    let noted = |number: u32| {
        let note = domain::Artifact::new(format!("note-{number}"), vec![Part::text("noted")]);
        EventKind::artifact(note)
    };
    let (_, model, task) = racing(1, noted).await;
    assert_eq!(model.asked(), 1, "what it was shown did not change");
    assert_eq!(status(&task), (TaskState::Completed, "Answer 0.".to_owned()));
    assert_eq!(task.turns.len(), 1);
}

#[tokio::test]
async fn a_prompt_that_keeps_changing_is_asked_again_twice_and_then_what_came_is_stored() {
    let now = domain::Timestamp::from_millis(1_767_225_601_000);
    let (_, model, task) = racing(1, |number| settled(number, now)).await;
    assert_eq!((model.asked(), task.turns.len()), (2, 1), "a changed prompt");
    assert_eq!(task.status.state, TaskState::Completed);
    let (_, model, task) = racing(8, |number| settled(number, now)).await;
    assert_eq!((model.asked(), task.turns.len()), (3, 1), "twice again at most");
    assert!(status(&task).1.contains("Answer 2."), "{task:?}");
    assert_eq!(task.jobs.len(), 3, "what changed meanwhile is not lost");
}

#[tokio::test]
async fn what_the_rules_decide_is_stored_as_jobs_alone() {
    let (world, _) = crate::world::world().await;
    let task = world.ask("Will it rain in Oslo tomorrow?").await;
    assert_eq!((task.jobs.len(), task.turns.len()), (1, 0));
}

/// A task whose jobs are done is completed with what they brought: a model may only improve the words.
#[tokio::test]
async fn what_agents_brought_is_the_answer_where_the_model_has_no_words() {
    let again = || calls([send("weather", "Oslo")]);
    for (case, answers) in [
        ("nothing is said", vec![]),
        (
            "no tool is called",
            vec![calls([invalid()]), calls([invalid()]), calls([invalid()])],
        ),
        ("the same is called for ever", vec![again(), again(), again()]),
        (
            "its own tools are called for ever",
            (0..7).map(|_| calls([STATUS])).collect(),
        ),
    ] {
        let (world, model, [weather, _]) = scripted().await;
        let forecast = remote("r-1", "COMPLETED", None, &["Sun in Oslo."]);
        weather.then("SendMessage", Reply::Result(json!({ "task": forecast })));
        model.answers([again()].into_iter().chain(answers));
        let task = world.ask("What about Oslo?").await;
        let told = (TaskState::Completed, "Sun in Oslo.".to_owned());
        assert_eq!(status(&task), told, "{case}");
        assert_eq!(weather.calls("SendMessage").len(), 1, "{case}");
    }
}

#[tokio::test]
async fn the_same_call_has_the_result_that_is_there() {
    let (world, model, [weather, _]) = scripted().await;
    let forecast = remote("r-1", "COMPLETED", None, &["Sun in Oslo."]);
    weather.then("SendMessage", Reply::Result(json!({ "task": forecast })));
    let oslo = || send("weather", "Oslo");
    model.answers([calls([oslo(), oslo()]), calls([oslo()]), say("It is sunny.")]);
    let task = world.ask("What about Oslo?").await;
    assert_eq!(status(&task), (TaskState::Completed, "It is sunny.".to_owned()));
    assert_eq!((task.jobs.len(), weather.calls("SendMessage").len()), (1, 1));
    let shown = model.shown();
    let Some(Turn::Results(results)) = shown[2].turns.last() else {
        panic!("{:?}", shown[2].turns)
    };
    assert!(
        matches!(&results[0].outcome, ToolOutcome::Done(text) if text.contains("Sun in Oslo.") && text.contains("answer the user now")),
        "{results:?}"
    );
}
