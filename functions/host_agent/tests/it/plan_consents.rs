//! Plans of which a step needs its user's consent: it is asked for at the start, whenever the step's turn comes.

use std::sync::Arc;

use domain::{JobState, Task, TaskState};
use llm::Tool;
use serde_json::json;

use crate::consent::{GOOD, card, horizon_with, link};
use crate::plans::{done, failed, linked, messages, planned, reports, restarted, said};
use crate::scripted::{Scripted, calls, say};
use crate::world::{Peer, World, status};

struct Trip {
    world: World,
    model: Scripted,
    weather: Peer,
    horizon: Peer,
    reports: Peer,
    task: Task,
}

/// A task whose model planned these three, of which Horizon needs a consent.
async fn trip(horizon_after: &[u32]) -> Trip {
    let model = Scripted::default();
    let (world, horizon) = horizon_with(|parts| parts.model = Arc::new(model.clone())).await;
    let weather = world.peer("weather").await;
    let report = world.peer("reports").await;
    world.registered(
        json!([world.weather(), card(&world, "idp/acme"), reports(&world)]),
        json!({"weather": "global", "horizon": "global", "report": "global"}),
    );
    for (peer, number) in [(&weather, 0), (&horizon, 1), (&report, 2)] {
        linked(peer, number);
    }
    model.answers([calls([Tool::PlanTasks {
        tasks: vec![
            planned("weather", "Oslo", &[], &[]),
            planned("horizon", "my orders", horizon_after, &[]),
            planned("report", "write it up", &[], &[0, 1]),
        ],
    }])]);
    let task = world.ask("The weather, my orders, and a report on both").await;
    Trip {
        world,
        model,
        weather,
        horizon,
        reports: report,
        task,
    }
}

#[tokio::test]
async fn one_waits_for_consent_while_others_finish() {
    let trip = trip(&[]).await;
    let (world, id) = (&trip.world, trip.task.id);
    link(&trip.task);
    assert!(
        status(&trip.task)
            .1
            .contains("3. Report Writer: write it up (after 1 and 2, with their results)")
    );
    assert_eq!(trip.weather.calls("SendMessage").len(), 1);
    let task = done(world, id, 0, "Rain.").await;
    assert_eq!(
        task.status.state,
        TaskState::AuthRequired,
        "it still waits for that"
    );
    assert!(trip.horizon.calls("SendMessage").is_empty());
    world.grant("user-1", &GOOD).await;
    restarted(world, id).await;
    assert_eq!(trip.horizon.calls("SendMessage").len(), 1);
    assert!(trip.reports.calls("SendMessage").is_empty());
    let task = done(world, id, 1, "Shipped.").await;
    assert_eq!(
        task.status.state,
        TaskState::InputRequired,
        "orders are private, reports are not"
    );
    said(world, id, "yes").await;
    let results = &messages(&trip.reports)[0]["message"]["parts"][1]["data"]["results"];
    let texts: Vec<&str> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["Rain.", "Shipped."]);
    trip.model.answers([say("There.")]);
    let task = done(world, id, 2, "Both.").await;
    assert_eq!(status(&task), (TaskState::Completed, "There.".to_owned()));
}

#[tokio::test]
async fn a_later_step_is_consented_to_at_the_start_and_sent_when_its_turn_comes() {
    let trip = trip(&[0]).await;
    let (world, id) = (&trip.world, trip.task.id);
    link(&trip.task);
    let numbers: Vec<u32> = trip.task.jobs.iter().map(|job| job.number).collect();
    assert_eq!(numbers, [0, 1], "what needs no consent has no job yet");
    world.grant("user-1", &GOOD).await;
    let task = restarted(world, id).await;
    assert_eq!(
        status(&task),
        (TaskState::Working, "Thank you. Going on …".to_owned())
    );
    for _ in 0..2 {
        world.clock.advance(std::time::Duration::from_secs(20));
        let task = restarted(world, id).await;
        assert_eq!(task.jobs[1].state, JobState::Prepared);
    }
    assert!(trip.horizon.calls("SendMessage").is_empty());
    assert!(trip.horizon.calls("ListTasks").is_empty());
    done(world, id, 0, "Rain.").await;
    assert_eq!(trip.horizon.calls("SendMessage").len(), 1);
}

#[tokio::test]
async fn what_was_consented_to_is_not_sent_where_its_turn_never_comes() {
    let trip = trip(&[0]).await;
    let (world, id) = (&trip.world, trip.task.id);
    world.grant("user-1", &GOOD).await;
    restarted(world, id).await;
    let task = failed(world, id, 0).await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    assert_eq!(task.jobs[1].remote().unwrap().state, TaskState::Canceled);
    linked(&trip.weather, 3);
    let task = said(world, id, "retry 1").await;
    let numbers: Vec<u32> = task.jobs.iter().map(|job| job.number).collect();
    assert_eq!(numbers, [0, 1, 3], "its new job is made when its turn comes");
    assert!(trip.horizon.calls("SendMessage").is_empty());
    linked(&trip.horizon, 4);
    let task = done(world, id, 3, "Sun.").await;
    assert_eq!(trip.horizon.calls("SendMessage").len(), 1);
    assert_eq!(task.jobs.last().unwrap().agent_type.as_str(), "horizon");
}

#[tokio::test]
async fn who_does_not_consent_has_the_rest_done_and_is_not_asked_about_that() {
    let trip = trip(&[]).await;
    let (world, id) = (&trip.world, trip.task.id);
    let task = said(world, id, "no").await;
    assert_eq!(task.status.state, TaskState::Working);
    done(world, id, 0, "Rain.").await;
    said(world, id, "yes").await;
    let results = &messages(&trip.reports)[0]["message"]["parts"][1]["data"]["results"];
    assert_eq!(results.as_array().unwrap().len(), 1);
    assert!(trip.horizon.calls("SendMessage").is_empty());
}
