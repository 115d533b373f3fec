//! A task and its log, by examples and by chance.

use proptest::prelude::*;

use super::*;
use crate::{MessageId, Part};

fn task() -> Task {
    Task::create(
        NewTask {
            id: TaskId::from_bytes([1; 16]),
            tenant: Tenant::parse("acme").unwrap(),
            agent: AgentName::parse("weather").unwrap(),
            context_id: ContextId::parse("c").unwrap(),
            owner: Owner::parse("o").unwrap(),
            message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text("hi")]),
            trace: None,
        },
        Timestamp::from_millis(0),
    )
}

fn any_note() -> impl Strategy<Value = WorkNote> {
    prop_oneof![
        (0..9_u32).prop_map(|step| WorkNote::Checkpoint {
            reached: serde_json::json!({ "step": step }),
        }),
        (1..9_u32).prop_map(|attempt| WorkNote::Stumbled {
            stumble: Stumble {
                attempt,
                reason: "away".into(),
            },
        }),
        (0..3_u32).prop_map(|number| WorkNote::Turn {
            turn: Box::new(crate::ModelTurn {
                prompts: 0,
                number,
                said: None,
                model: "m".into(),
                text: "well".into(),
                calls: Vec::new(),
                refused: false,
                usage: crate::TokenUsage::default(),
            }),
        }),
        Just(WorkNote::Direct),
    ]
}

fn any_kind() -> impl Strategy<Value = EventKind> {
    let state = proptest::sample::select(TaskState::ALL.to_vec());
    prop_oneof![
        (state, any::<bool>()).prop_map(|(state, said)| {
            let message = said.then(|| Message::agent_text(MessageId::derived("x"), "x"));
            EventKind::status(state, message)
        }),
        (0..3_u8, any::<bool>()).prop_map(|(id, append)| EventKind::Artifact {
            artifact: Artifact::new(id.to_string(), vec![Part::text("a")]),
            append,
            last_chunk: true,
        }),
        Just(EventKind::Said {
            message: Message::user(MessageId::derived("y"), vec![Part::text("y")])
        }),
        any_note().prop_map(|note| EventKind::Work { note }),
    ]
}

#[test]
fn a_jobs_token_stands_in_the_log_once_and_readers_get_it_whole_all_the_same() {
    let at = Timestamp::from_millis;
    let mut revision = Revision::of(task());
    let mut job = crate::testing::job(at(0));
    for attempts in 0..3 {
        job.attempts = attempts;
        job.updated_at = at(i64::from(attempts));
        let kind = EventKind::Job {
            job: Box::new(job.clone()),
        };
        revision.record(kind, at(3)).unwrap();
    }
    let log = serde_json::to_string(revision.events()).unwrap();
    assert_eq!(log.matches("sealed").count(), 1, "{log}");
    let mut jobs = crate::JobLog::default();
    let whole = revision
        .events()
        .iter()
        .map(|event| jobs.whole(event.clone()).kind);
    let told: Vec<_> = whole
        .map(|kind| match kind {
            EventKind::Job { job } => (job.attempts, job.webhook),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, [0, 1, 2].map(|attempts| (attempts, job.webhook.clone())));
    assert_eq!(revision.task().jobs, [job]);
}

#[test]
fn a_state_is_followed_by_those_of_the_table_and_by_no_other() {
    for from in TaskState::ALL {
        for to in TaskState::ALL {
            let over = ["completed", "canceled", "failed", "rejected"].contains(&from.as_str());
            let can = !over && to.as_str() != "submitted";
            assert_eq!(from.can_become(to), can, "{from:?} to {to:?}");
            let mut task = task();
            task.status.state = from;
            let before = task.clone();
            let recorded = task.record(EventKind::status(to, None), Timestamp::from_millis(1));
            match can {
                true => assert_eq!((recorded.map(|event| event.seq), task.status.state), (Ok(2), to)),
                false => {
                    assert_eq!(recorded, Err(InvalidTransition::Task { from, to }));
                    assert_eq!(task, before);
                }
            }
        }
    }
}

#[test]
fn a_job_that_is_over_does_not_begin_again() {
    let now = Timestamp::from_millis(1);
    let job = crate::testing::job(now);
    let mut over = job.clone();
    over.give_up(TaskState::Failed, "gone", now);
    let mut task = task();
    for told in [&job, &over] {
        let kind = EventKind::Job {
            job: Box::new(told.clone()),
        };
        task.record(kind, now).unwrap();
    }
    let before = task.clone();
    let again = EventKind::Job { job: Box::new(job) };
    let refused = task.record(again, now).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a job that is settled cannot become prepared"
    );
    assert_eq!(task, before);
}

proptest! {
    #[test]
    fn no_sequence_of_events_reaches_an_impossible_state(kinds in prop::collection::vec(any_kind(), 0..40)) {
        let mut revision = Revision::of(task());
        let mut ended: Option<Task> = None;
        for (step, kind) in kinds.into_iter().enumerate() {
            let before = revision.task().clone();
            let now = Timestamp::from_millis(i64::try_from(step).unwrap_or(0));
            match revision.record(kind, now) {
                Ok(()) => {
                    prop_assert!(ended.is_none(), "a finished task changed");
                    prop_assert_eq!(revision.task().rev, before.rev + 1);
                    prop_assert!(before.status.state == revision.task().status.state
                        || revision.task().status.state != TaskState::Submitted);
                }
                Err(_) => prop_assert_eq!(revision.task(), &before, "a refused event left a trace"),
            }
            if revision.task().status.state.is_terminal() && ended.is_none() {
                ended = Some(revision.task().clone());
            }
        }
        // The log is gapless, and replaying it gives the same task.
        let mut replayed = task();
        for (index, event) in revision.events().iter().enumerate() {
            prop_assert_eq!(event.seq, index as u64 + 2);
            prop_assert!(replayed.record(event.kind.clone(), event.at).is_ok());
        }
        prop_assert_eq!(&replayed, revision.task());
        let again = revision.task().replayed(revision.events());
        prop_assert_eq!(again.as_ref(), Ok(revision.task()));
        if let [first, ..] = revision.events() {
            let early = revision.task().replayed(std::slice::from_ref(first)).map(|task| task.rev);
            prop_assert_eq!(early, Ok(first.seq));
        }
        if let Some(ended) = ended { prop_assert_eq!(&ended, revision.task()); }
    }

    #[test]
    fn a_task_survives_its_json(kinds in prop::collection::vec(any_kind(), 0..10)) {
        let mut task = task();
        for kind in kinds { let _ = task.record(kind, Timestamp::from_millis(1)); }
        let text = serde_json::to_string(&task).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let back: Task = serde_json::from_str(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(back, task);
    }
}
