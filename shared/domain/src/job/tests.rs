//! News, changes and phases of a job.

use std::collections::BTreeMap;

use proptest::prelude::*;
use url::Url;

use super::*;
use crate::{Part, RemoteTaskId, TaskState};

fn job() -> Job {
    crate::testing::job(Timestamp::from_millis(0))
}

fn news(id: &str, state: TaskState, at: i64) -> Notification {
    Notification {
        remote_task_id: Some(RemoteTaskId::parse(id).unwrap()),
        update: Some(RemoteUpdate {
            at: Some(Timestamp::from_millis(at)),
            ..RemoteUpdate::of(state)
        }),
        artifacts: Vec::new(),
        snapshot: false,
        responder: None,
    }
}

#[test]
fn a_notification_that_overtakes_the_acknowledgement_links_and_settles() {
    let mut job = job();
    assert_eq!(
        job.note(news("r", TaskState::Completed, 5), Timestamp::from_millis(6)),
        Noted::Settled
    );
    assert_eq!(
        job.note(news("r", TaskState::Submitted, 1), Timestamp::from_millis(7)),
        Noted::Nothing
    );
    assert_eq!(job.remote_task_id().map(RemoteTaskId::as_str), Some("r"));
    assert_eq!(job.remote().map(|r| r.state), Some(TaskState::Completed));
}

#[test]
fn a_late_working_and_duplicates_change_nothing() {
    let mut job = job();
    assert_eq!(
        job.note(news("r", TaskState::Working, 5), Timestamp::from_millis(6)),
        Noted::Progress
    );
    assert_eq!(
        job.note(news("r", TaskState::Working, 5), Timestamp::from_millis(7)),
        Noted::Nothing
    );
    assert_eq!(
        job.note(news("r", TaskState::Working, 4), Timestamp::from_millis(8)),
        Noted::Nothing
    );
    assert_eq!(
        job.note(news("other", TaskState::Completed, 9), Timestamp::from_millis(9)),
        Noted::Foreign
    );
    assert_eq!(
        job.note(news("r", TaskState::InputRequired, 9), Timestamp::from_millis(9)),
        Noted::Interrupted
    );
}

#[test]
fn a_job_goes_on_with_whoever_has_its_task_and_takes_the_same_tokens_there() {
    let mut job = job();
    let asked = job.endpoint.url.clone();
    let [second, third] = ["2", "3"].map(|path| asked.join(path).unwrap());
    let told = |id: &str, asked: &Url, url: &Url, at: i64| Notification {
        responder: Some(Responder {
            asked: asked.clone(),
            url: url.clone(),
        }),
        ..news(id, TaskState::Working, at)
    };
    let now = Timestamp::from_millis(9);
    assert_eq!(job.note(told("r", &asked, &second, 1), now), Noted::Progress);
    assert_eq!((&job.endpoint.url, job.endpoint.audience()), (&second, &asked));
    // The same news, from where it was handed over to.
    let before = job.clone();
    assert_eq!(job.note(told("r", &second, &third, 1), now), Noted::Progress);
    assert_eq!((&job.endpoint.url, job.endpoint.audience()), (&third, &asked));
    let change = JobChange::between(&before, &job).unwrap();
    let mut read = before.clone();
    read.apply(&serde_json::from_str(&serde_json::to_string(&change).unwrap()).unwrap());
    assert_eq!(read, job);
    // What an earlier one says late, or of another task, moves nothing.
    assert_eq!(job.note(told("r", &asked, &second, 1), now), Noted::Nothing);
    assert_eq!(job.note(told("other", &third, &second, 2), now), Noted::Foreign);
    assert_eq!(job.note(told("r", &third, &third, 1), now), Noted::Nothing);
    assert_eq!(job.endpoint.url, third);
}

#[test]
fn artifact_updates_append_and_a_snapshot_replaces() {
    let mut job = job();
    let piece = |text: &str, append| Notification {
        remote_task_id: Some(RemoteTaskId::parse("r").unwrap()),
        update: None,
        artifacts: vec![(Artifact::new("a", vec![Part::text(text)]), append)],
        snapshot: false,
        responder: None,
    };
    assert_eq!(
        job.note(piece("1", false), Timestamp::from_millis(1)),
        Noted::Progress
    );
    assert_eq!(
        job.note(piece("2", true), Timestamp::from_millis(2)),
        Noted::Progress
    );
    assert_eq!(job.artifacts[0].text(), "12");
    let mut done = news("r", TaskState::Completed, 3);
    done.snapshot = true;
    done.artifacts = vec![(Artifact::new("a", vec![Part::text("12")]), false)];
    assert_eq!(job.note(done, Timestamp::from_millis(3)), Noted::Settled);
    assert_eq!(job.artifacts[0].text(), "12");
}

#[test]
fn a_change_says_what_changed_and_no_secret_again() {
    let before = job();
    let mut after = before.clone();
    after.note(news("r", TaskState::Working, 5), Timestamp::from_millis(6));
    after.heard.take(Some("id"), Timestamp::from_millis(6));
    after.artifacts.push(Artifact::new("a", vec![Part::text("1")]));
    let change = JobChange::between(&before, &after).unwrap();
    let text = serde_json::to_string(&change).unwrap();
    assert!(!text.contains("sealed") && !text.contains("endpoint"), "{text}");
    let mut read = before.clone();
    read.apply(&serde_json::from_str(&text).unwrap());
    assert_eq!(read, after);
    // A result that stays is not told again; one that goes is.
    let mut next = after.clone();
    next.attempts = 3;
    assert!(JobChange::between(&after, &next).unwrap().artifacts.is_empty());
    next.artifacts.clear();
    assert_eq!(JobChange::between(&after, &next).unwrap().dropped, ["a"]);
}

#[test]
fn what_no_change_can_say_is_told_whole() {
    let before = Job {
        artifacts: vec![Artifact::new("a", vec![]), Artifact::new("b", vec![])],
        ..job()
    };
    let mut turned = before.clone();
    turned.artifacts.reverse();
    let other = Job {
        instruction: "Bergen".into(),
        ..before.clone()
    };
    assert_eq!(JobChange::between(&before, &turned), None);
    assert_eq!(JobChange::between(&before, &other), None);
}

/// A job in each phase, by its name.
fn in_phases() -> BTreeMap<&'static str, Job> {
    let awaited = AwaitedConsent {
        id: "c".into(),
        expires_at: Timestamp::from_millis(60),
    };
    let mut waiting = job();
    waiting.protection = Some(Protection {
        provider: "idp".into(),
        scopes: Vec::new(),
        consent: Some(awaited),
        granted_at: None,
    });
    waiting.tidy();
    let told = |state| {
        let mut job = job();
        job.note(news("r", state, 1), Timestamp::from_millis(1));
        job
    };
    let mut settled = told(TaskState::Completed);
    settled.fetched = true;
    settled.tidy();
    let jobs = [
        job(),
        waiting,
        told(TaskState::Working),
        told(TaskState::Completed),
        settled,
        Job {
            state: JobState::Unknown,
            ..job()
        },
    ];
    jobs.into_iter().map(|job| (job.state.phase(), job)).collect()
}

#[test]
fn a_phase_is_followed_by_those_of_the_table_and_by_no_other() {
    let phases = in_phases();
    assert_eq!(phases.len(), 6);
    let never = [
        ("linked", "prepared"),
        ("fetching", "prepared"),
        ("fetching", "awaiting-consent"),
        ("fetching", "linked"),
        ("settled", "prepared"),
        ("settled", "awaiting-consent"),
        ("settled", "linked"),
        ("settled", "fetching"),
    ];
    for (from, before) in &phases {
        for (to, after) in &phases {
            let can = before.state.can_become(&after.state);
            assert_eq!(can, !never.contains(&(from, to)), "{from} to {to}");
        }
    }
}

#[test]
fn each_phase_survives_its_json_and_says_its_name() {
    for (phase, job) in in_phases() {
        let stored = serde_json::to_value(&job.state).unwrap();
        assert_eq!(stored["phase"], phase);
        assert_eq!(serde_json::from_value::<JobState>(stored).unwrap(), job.state);
    }
    let newer: JobState = serde_json::from_str(r#"{"phase":"bargaining","offer":3}"#).unwrap();
    assert_eq!(newer, JobState::Unknown);
}

#[test]
fn a_job_waits_for_consent_in_a_phase_of_its_own_also_in_the_middle_of_its_agents_task() {
    let mut job = in_phases().remove("awaiting-consent").unwrap();
    job.note(news("r", TaskState::Working, 5), Timestamp::from_millis(6));
    assert_eq!(job.state.phase(), "awaiting-consent");
    assert_eq!(job.remote_task_id().map(RemoteTaskId::as_str), Some("r"));
    assert!(job.awaited_consent().is_some());
    if let Some(protection) = &mut job.protection {
        protection.consent = None;
    }
    job.tidy();
    assert_eq!(job.state.phase(), "linked");
}

#[test]
fn a_job_that_is_over_keeps_its_tokens_hash_alone() {
    let mut job = job();
    job.heard.take(Some("id"), Timestamp::from_millis(1));
    let token = job.webhook.hash.clone();
    job.give_up(TaskState::Failed, "gone", Timestamp::from_millis(2));
    assert_eq!(
        (job.webhook.hash.clone(), job.webhook.sealed.clone()),
        (token, None)
    );
    assert!(job.heard.is_nothing());
    // Release 0.2 wants a text where the seal was.
    let stored = serde_json::to_value(&job).unwrap();
    assert_eq!(stored["webhook"]["sealed"], "");
    assert_eq!(serde_json::from_value::<Job>(stored).unwrap(), job);
}

proptest! {
    #[test]
    fn the_first_terminal_news_stays_whatever_else_comes(
        steps in prop::collection::vec((proptest::sample::select(TaskState::ALL.to_vec()), 0..9_i64), 0..20)
    ) {
        let mut job = job();
        let mut first: Option<TaskState> = None;
        for (state, at) in steps {
            let noted = job.note(news("r", state, at), Timestamp::from_millis(at));
            if first.is_none() && state.is_terminal() {
                prop_assert_eq!(noted, Noted::Settled);
                first = Some(state);
            } else if first.is_some() {
                prop_assert_eq!(noted, Noted::Nothing);
            }
        }
        if let Some(first) = first { prop_assert_eq!(job.remote().map(|r| r.state), Some(first)); }
    }
}
