//! What begins when, one test for each move of a plan.

use super::*;
use crate::{RemoteUpdate, Timestamp, testing};

fn step(number: u32, after: &[u32], uses: &[u32]) -> PlanStep {
    PlanStep {
        number,
        agent_type: AgentType::parse("weather").unwrap(),
        agent_name: "Weather".to_owned(),
        instruction: format!("do {number}"),
        after: after.to_vec(),
        uses: uses.to_vec(),
        optional: false,
        state: StepState::Planned,
        turn: 0,
        guard: None,
    }
}

fn plan(steps: impl IntoIterator<Item = PlanStep>) -> TaskPlan {
    TaskPlan {
        goal: "a trip".to_owned(),
        approval: Approval::NotNeeded,
        steps: steps.into_iter().collect(),
    }
}

fn prepared(number: u32) -> Job {
    Job {
        number,
        ..testing::job(Timestamp::from_millis(0))
    }
}

fn ended(number: u32, state: TaskState) -> Job {
    Job {
        state: JobState::Settled {
            remote_task_id: None,
            remote: RemoteUpdate::of(state),
        },
        ..prepared(number)
    }
}

fn done(number: u32) -> Job {
    ended(number, TaskState::Completed)
}

fn failed(number: u32) -> Job {
    ended(number, TaskState::Failed)
}

fn moves(skip: &[u32], start: &[u32]) -> PlanMoves {
    PlanMoves {
        skip: skip.to_vec(),
        start: start.to_vec(),
    }
}

fn numbers(steps: &[&PlanStep]) -> Vec<u32> {
    steps.iter().map(|step| step.number).collect()
}

/// 0 and 1 at once, 2 with the results of both, 3 behind 2.
fn trip() -> TaskPlan {
    plan([
        step(0, &[], &[]),
        step(1, &[], &[]),
        step(2, &[], &[0, 1]),
        step(3, &[2], &[]),
    ])
}

#[test]
fn a_step_begins_once_all_that_it_needs_is_done() {
    let trip = trip();
    assert_eq!(trip.moves(&[]), moves(&[], &[0, 1]));
    assert_eq!(trip.moves(&[prepared(0), prepared(1)]), moves(&[], &[]));
    assert_eq!(trip.moves(&[done(0), prepared(1)]), moves(&[], &[]));
    assert_eq!(trip.moves(&[done(0), done(1)]), moves(&[], &[2]));
    assert_eq!(trip.moves(&[done(0), done(1), prepared(2)]), moves(&[], &[]));
    assert_eq!(trip.moves(&[done(0), done(1), done(2)]), moves(&[], &[3]));
    assert!(trip.moves(&[done(0), done(1), done(2), done(3)]).is_empty());
}

#[test]
fn what_needs_a_failed_step_is_skipped_and_its_user_asked_about_the_step_that_failed() {
    let mut trip = trip();
    let jobs = [done(0), ended(1, TaskState::Rejected)];
    assert_eq!(trip.settle(&jobs), moves(&[2, 3], &[]));
    assert!(
        matches!(&trip.steps[2].state, StepState::Skipped { why } if why == "it needs 2, which was not done.")
    );
    assert_eq!(numbers(&trip.failed(&jobs)), [1]);
    assert!(trip.moves(&jobs).is_empty(), "once");
    // A failure that nothing needs is told in the answer, and asked of nobody.
    let alone = plan([step(0, &[], &[]), step(1, &[], &[])]);
    assert!(alone.moves(&[failed(0), done(1)]).is_empty());
    assert!(alone.failed(&[failed(0), done(1)]).is_empty());
}

#[test]
fn a_step_that_is_optional_holds_nobody_up() {
    let mut trip = trip();
    trip.make_optional(1);
    assert_eq!(trip.moves(&[done(0), failed(1)]), moves(&[], &[2]));
    // Where nothing is left to work on there is nothing to do, and nobody is asked.
    trip.make_optional(0);
    let jobs = [failed(0), failed(1)];
    assert_eq!(trip.settle(&jobs), moves(&[2], &[3]));
    assert!(trip.failed(&jobs).is_empty());
}

#[test]
fn going_on_does_what_was_skipped_with_what_is_there() {
    let mut trip = trip();
    let mut jobs = vec![done(0), failed(1)];
    trip.settle(&jobs);
    trip.go_on(&jobs);
    assert_eq!(trip.settle(&jobs), moves(&[], &[2]));
    assert!(trip.failed(&jobs).is_empty());
    jobs.extend([done(2), done(3)]);
    assert!(trip.moves(&jobs).is_empty());
    // With nothing there, nothing is asked either.
    let mut pair = plan([step(0, &[], &[]), step(1, &[], &[0])]);
    pair.settle(&[failed(0)]);
    pair.go_on(&[failed(0)]);
    assert_eq!(pair.settle(&[failed(0)]), moves(&[1], &[]));
    assert!(pair.failed(&[failed(0)]).is_empty());
}

#[test]
fn a_retry_is_a_job_of_its_own_and_whoever_needed_the_first_needs_it() {
    let mut trip = trip();
    let mut jobs = vec![done(0), failed(1)];
    trip.settle(&jobs);
    trip.retry(1, &jobs);
    assert_eq!(trip.steps[1].state, StepState::Dropped);
    assert_eq!(trip.moves(&jobs), moves(&[], &[4]));
    assert_eq!(trip.steps[2].uses, [0, 4]);
    jobs.push(failed(4));
    assert_eq!(trip.settle(&jobs), moves(&[2, 3], &[]));
    assert_eq!(numbers(&trip.failed(&jobs)), [4], "it can be tried once more");
    trip.retry(4, &jobs);
    jobs.push(done(5));
    assert_eq!(trip.settle(&jobs), moves(&[], &[2]));
    assert_eq!(
        trip.wanted().map(|step| step.number).collect::<Vec<_>>(),
        [0, 2, 3, 5]
    );
}

#[test]
fn a_step_that_found_nobody_is_tried_again_under_its_own_number() {
    let mut trip = trip();
    trip.skip(1, "nobody is there.".to_owned());
    let jobs = [done(0)];
    assert_eq!(trip.settle(&jobs), moves(&[2, 3], &[]));
    assert_eq!(numbers(&trip.failed(&jobs)), [1]);
    let mut again = trip.clone();
    again.retry(1, &jobs);
    assert_eq!(again.moves(&jobs), moves(&[], &[1]));
    trip.go_on(&jobs);
    assert_eq!(trip.moves(&jobs), moves(&[], &[2]));
}

#[test]
fn a_job_that_is_there_early_is_held_until_its_turn() {
    let trip = trip();
    let early = prepared(2);
    assert!(trip.holds(&early, &[prepared(0), prepared(1), early.clone()]));
    assert!(!trip.holds(&prepared(0), &[prepared(0)]));
    let ready = [done(0), done(1), early.clone()];
    assert!(!trip.holds(&early, &ready));
    assert!(trip.is_begun(2, &ready) && !trip.is_begun(3, &ready));
    // What it needs failed: it is not sent, but skipped.
    let failing = [done(0), failed(1), early.clone()];
    assert!(trip.holds(&early, &failing));
    assert_eq!(trip.moves(&failing), moves(&[2, 3], &[]));
    // Its job is over then, and the step that goes on is another one.
    let mut plan = trip.clone();
    let over = [done(0), failed(1), ended(2, TaskState::Canceled)];
    plan.settle(&failing);
    plan.go_on(&over);
    assert_eq!(plan.settle(&over), moves(&[], &[4]));
    assert_eq!(plan.steps[3].after, [4]);
    let stranger = prepared(9);
    assert!(
        !trip.holds(&stranger, std::slice::from_ref(&stranger)),
        "a job of no step is nobody's to hold"
    );
}

#[test]
fn nothing_begins_before_its_user_agreed_and_a_changed_plan_is_another() {
    let mut trip = trip();
    trip.approval = Approval::Awaited;
    assert!(trip.moves(&[]).is_empty() && trip.holds(&prepared(0), &[prepared(0)]));
    trip.approve();
    assert_eq!(trip.moves(&[]), moves(&[], &[0, 1]));
    // Not what is found out later …
    trip.settle(&[failed(0)]);
    assert!(trip.is_approved());
    // … but what is to be done, by whom, in which order and with what.
    let changes: [fn(&mut TaskPlan); 5] = [
        |plan| plan.steps[0].instruction.push('!'),
        |plan| plan.steps[0].agent_type = AgentType::parse("other").unwrap(),
        |plan| plan.steps[1].after.push(0),
        |plan| plan.steps[3].uses.push(0),
        |plan| plan.steps.push(step(4, &[], &[])),
    ];
    for change in changes {
        let mut other = trip.clone();
        change(&mut other);
        assert!(!other.is_approved());
        assert!(other.moves(&[]).is_empty());
    }
    // What the user changes is agreed to with that; what waits, waits.
    let mut other = trip.clone();
    other.leave_out(&[1]);
    assert!(other.is_approved());
    assert_eq!(other.steps[1].state, StepState::Dropped);
    other.approval = Approval::Awaited;
    other.leave_out(&[2]);
    assert!(!other.is_approved());
}

#[test]
fn a_plan_without_a_part_does_the_rest() {
    let mut trip = trip();
    trip.leave_out(&[0]);
    assert_eq!(trip.moves(&[]), moves(&[], &[1]));
    assert_eq!(trip.moves(&[done(1)]), moves(&[], &[2]));
}

#[test]
fn circles_strangers_and_too_many_steps_are_no_plan() {
    assert_eq!(trip().check(), Ok(()));
    let circle = plan([
        step(0, &[1], &[]),
        step(1, &[], &[2]),
        step(2, &[0], &[]),
        step(3, &[], &[]),
    ]);
    assert_eq!(circle.check(), Err(InvalidPlan::Cycle(0)));
    assert_eq!(plan([step(0, &[0], &[])]).check(), Err(InvalidPlan::Cycle(0)));
    assert_eq!(
        plan([step(0, &[], &[7])]).check(),
        Err(InvalidPlan::NoSuchStep(0, 7))
    );
    let many = |count: u32| plan((0..count).map(|number| step(number, &[], &[])));
    assert_eq!(many(20).check(), Ok(()));
    assert_eq!(many(21).check(), Err(InvalidPlan::TooMany));
}

#[test]
fn what_a_newer_release_decided_is_left_alone() {
    let mut body = serde_json::to_value(trip()).unwrap();
    body["steps"][0]["state"] = serde_json::json!({"is": "delegated", "to": "x"});
    let read: TaskPlan = serde_json::from_value(body.clone()).unwrap();
    assert_eq!(read.steps[0].state, StepState::Unknown);
    assert_eq!(read.moves(&[]), moves(&[], &[1]), "what needs it waits");
    body["approval"] = serde_json::json!({"is": "delegated"});
    let read: TaskPlan = serde_json::from_value(body).unwrap();
    assert!(read.moves(&[]).is_empty());
    let again: TaskPlan = serde_json::from_value(serde_json::to_value(trip()).unwrap()).unwrap();
    assert_eq!(again, trip());
}

fn guarded(number: u32, uses: &[u32]) -> PlanStep {
    PlanStep {
        guard: Some(StepGuard {
            agent: crate::AgentId::from_bytes([1; 16]),
            from: vec!["Calendar".to_owned()],
            writes: false,
            word: UserWord::Awaited,
        }),
        ..step(number, &[], uses)
    }
}

#[test]
fn a_guarded_step_begins_with_a_word_for_exactly_what_it_is() {
    let mut plan = plan([step(0, &[], &[]), guarded(1, &[0]), guarded(2, &[])]);
    assert_eq!(plan.moves(&[]), moves(&[], &[0]));
    assert_eq!(numbers(&plan.guarded(&[])), [2], "in its turn, not before");
    let jobs = [done(0)];
    assert_eq!(numbers(&plan.guarded(&jobs)), [1, 2]);
    plan.allow(&[1]);
    assert_eq!(plan.moves(&jobs), moves(&[], &[1]));
    assert_eq!(numbers(&plan.guarded(&jobs)), [2]);
    let allowed = plan.clone();
    let changes: [fn(&mut PlanStep); 5] = [
        |step| step.instruction.push('.'),
        |step| step.uses.clear(),
        |step| step.agent_type = AgentType::parse("report").unwrap(),
        |step| step.guard.as_mut().unwrap().agent = crate::AgentId::from_bytes([2; 16]),
        |step| step.guard.as_mut().unwrap().word = UserWord::Unknown,
    ];
    for change in changes {
        let mut plan = allowed.clone();
        change(&mut plan.steps[1]);
        assert_eq!(plan.moves(&jobs), moves(&[], &[]), "{:?}", plan.steps[1]);
    }
    // Where a plan waits as a whole, that is asked first.
    plan.approval = Approval::Awaited;
    assert!(plan.guarded(&jobs).is_empty() && plan.moves(&jobs).is_empty());
}

#[test]
fn what_was_refused_is_skipped_with_what_needs_it_and_nobody_is_asked_what_becomes_of_it() {
    let mut plan = plan([guarded(0, &[]), step(1, &[0], &[]), step(2, &[], &[])]);
    plan.refuse(&[0]);
    assert_eq!(plan.settle(&[]), moves(&[0, 1], &[2]));
    let jobs = [done(2)];
    assert!(plan.failed(&jobs).is_empty());
    // A user who goes on without something else has not changed their mind.
    plan.go_on(&jobs);
    plan.retry(0, &jobs);
    plan.settle(&jobs);
    assert!(
        matches!(&plan.steps[0].state, StepState::Skipped { why } if why == "the user did not allow it.")
    );
    assert!(plan.guarded(&jobs).is_empty());
}
