//! Data beside words: what a model sends an agent by the schema that the agent's card publishes.

use std::sync::Arc;
use std::time::Duration;

use domain::{CallEnd, TaskState};
use llm::{Tool, ToolOutcome, Turn};
use serde_json::{Value, json};

use crate::plans::{linked, messages, restarted};
use crate::scripted::{Scripted, calls, say, send};
use crate::world::{Peer, Reply, World, remote, status, world_with};

/// The flat finder, with what it takes as data.
fn flats(world: &World) -> Value {
    let mut flats = world.flats();
    flats["card"]["defaultInputModes"] = json!(["text/plain", "application/json"]);
    let schema = json!({
        "type": "object",
        "properties": {"place": {"type": "string"}, "guests": {"type": "integer", "minimum": 1}},
        "required": ["place"],
        "additionalProperties": false,
    });
    flats["card"]["capabilities"]["extensions"] =
        json!([{"uri": a2a::card::INPUTS, "params": {"schemas": {"s": schema}}}]);
    flats
}

async fn host() -> (World, Scripted, [Peer; 2]) {
    let model = Scripted::default();
    let world = world_with(|parts, _| parts.model = Arc::new(model.clone())).await;
    let peers = [world.peer("weather").await, world.peer("flats").await];
    world.registered(
        json!([world.weather(), flats(&world)]),
        json!({"weather": "global", "flats": "global"}),
    );
    (world, model, peers)
}

fn with_data(to: &str, message: &str, given: Value) -> Tool {
    match send(to, message) {
        Tool::SendMessage {
            agent_type, message, ..
        } => Tool::SendMessage {
            agent_type,
            message,
            data: Some(given),
        },
        other => other,
    }
}

#[tokio::test]
async fn data_that_fits_goes_beside_the_words_and_a_resend_has_the_same_bytes() {
    let (world, model, [_, flats]) = host().await;
    let given = json!({"place": "Oslo", "guests": 2});
    model.answers([calls([with_data(
        "flats",
        "A flat in Oslo for two",
        given.clone(),
    )])]);
    flats.then("SendMessage", Reply::Status(503));
    let task = world.ask("A flat in Oslo for two").await;
    assert_eq!(task.jobs[0].data, Some(given.clone()));
    assert_eq!(task.needs, 5, "a release that knows no data leaves it alone");
    world.clock.advance(Duration::from_secs(60));
    linked(&flats, 0);
    let task = restarted(&world, task.id).await;
    let sent = messages(&flats);
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].to_string(), sent[1].to_string());
    let parts = sent[0]["message"]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert_eq!(parts[0]["text"], "A flat in Oslo for two");
    assert_eq!(parts[1]["data"], given);
    // The model reads its own call again as it was.
    world
        .notified(task.id, 0, remote("r-0", "COMPLETED", None, &["One flat."]))
        .await;
    model.answers([say("There is one.")]);
    let done = restarted(&world, task.id).await;
    assert_eq!(status(&done), (TaskState::Completed, "There is one.".to_owned()));
    let shown = model.shown().pop().unwrap();
    let Some(Turn::Calls(shown)) = shown.turns.iter().rfind(|turn| matches!(turn, Turn::Calls(_))) else {
        panic!("{:?}", shown.turns)
    };
    assert_eq!(shown[0].tool, with_data("flats", "A flat in Oslo for two", given));
}

#[tokio::test]
async fn a_misfit_goes_back_to_the_model_and_nothing_is_sent() {
    for (to, given, why) in [
        ("flats", json!({"guests": 2}), "data.place is missing."),
        ("flats", json!({"place": ["Oslo"]}), "data.place must be text."),
        (
            "flats",
            json!({"place": "Oslo", "guests": "two"}),
            "data.guests must be a number.",
        ),
        (
            "flats",
            json!({"place": "Oslo", "town": 1}),
            "data has no field town; there are guests, place.",
        ),
        (
            "weather",
            json!({"place": "Oslo"}),
            "This agent takes no data: say it in the message.",
        ),
    ] {
        let (world, model, [weather, flats]) = host().await;
        let beside = send("weather", "Oslo tomorrow");
        model.answers([
            calls([with_data(to, "In Oslo", given), beside]),
            calls([send("flats", "In Oslo")]),
        ]);
        linked(&flats, 0);
        let task = world.ask("A flat in Oslo").await;
        let turn = &task.turns[0];
        assert!(
            turn.refused
                && turn
                    .calls
                    .iter()
                    .all(|call| matches!(call.end, CallEnd::Result(_)))
        );
        let Some(Turn::Results(told)) = model.shown()[1].turns.last().cloned() else {
            panic!("{:?}", model.shown()[1].turns)
        };
        assert_eq!(told[0].outcome, ToolOutcome::Failed(format!("Not done: {why}")));
        assert!(weather.calls("SendMessage").is_empty(), "{why}");
        assert_eq!(task.jobs.len(), 1);
        let parts = messages(&flats)[0]["message"]["parts"].clone();
        assert_eq!(parts.as_array().unwrap().len(), 1, "{parts}");
    }
}

#[tokio::test]
async fn a_model_that_never_fits_is_not_asked_for_ever() {
    let (world, model, [_, flats]) = host().await;
    let wrong = || calls([with_data("flats", "In Oslo", json!({"place": 7}))]);
    model.answers((0..20).map(|_| wrong()));
    let task = world.ask("A flat in Oslo").await;
    assert_eq!(task.status.state, TaskState::Failed);
    assert!(model.asked() <= 3 && flats.calls("SendMessage").is_empty());
}

#[tokio::test]
async fn an_agent_that_refuses_data_gets_the_words_alone() {
    let (world, model, [_, flats]) = host().await;
    model.answers([calls([with_data("flats", "In Oslo", json!({"place": "Oslo"}))])]);
    flats.then("SendMessage", Reply::Error(-32005, "no such content"));
    linked(&flats, 0);
    let task = world.ask("A flat in Oslo").await;
    let sent = messages(&flats);
    assert_eq!(sent[1]["message"]["parts"], json!([{"text": "In Oslo"}]));
    assert!(task.jobs[0].words_alone);
}

#[tokio::test]
async fn what_its_user_is_asked_about_goes_as_words_alone() {
    let (world, model, [weather, flats_peer]) = host().await;
    let mut finder = flats(&world);
    finder["card"]["skills"][0]["tags"] = json!(["type:flats", "effect:write"]);
    world.registered(
        json!([world.weather(), finder]),
        json!({"weather": "global", "flats": "global"}),
    );
    model.answers([calls([with_data(
        "flats",
        "Book one in Oslo",
        json!({"place": "Rome"}),
    )])]);
    let task = world.ask("A flat in Oslo").await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    linked(&flats_peer, 0);
    crate::plans::said(&world, task.id, "yes").await;
    let sent = messages(&flats_peer);
    assert_eq!(sent[0]["message"]["parts"], json!([{"text": "Book one in Oslo"}]));
    assert!(weather.calls("SendMessage").is_empty());
}

/// "Tomorrow" with the data of today would be answered with today's weather as if that had been asked for.
#[tokio::test]
async fn data_of_another_day_than_the_user_named_is_not_sent() {
    let today = "2026-01-01";
    for (said, day, goes) in [
        ("A flat in Oslo tomorrow", today, false),
        ("A flat in Oslo tomorrow", "2026-01-02", true),
        ("A flat in Oslo", today, true),
    ] {
        let (world, model, [_, flats]) = host().await;
        let given = json!({"place": day});
        model.answers([calls([with_data("flats", said, given.clone())])]);
        linked(&flats, 0);
        let task = world.ask(said).await;
        assert_eq!(task.jobs[0].data, Some(given).filter(|_| goes), "{said} {day}");
        assert_eq!(messages(&flats)[0]["message"]["parts"][0]["text"], said);
    }
}
