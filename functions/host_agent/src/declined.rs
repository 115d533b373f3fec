//! The user declines what a task waits for: that part of it ends, and no other.

use agent::{ExecuteError, Run};
use domain::{EventKind, Job, TaskState};
use futures_util::future::join_all;

use crate::delegation::cancel::cancel_asking;
use crate::deps::{Deps, OnTask};
use crate::meaning::Declined;
use crate::rules::{plans, sentences, wording};

/// Ends the jobs that wait for the user with what is declined; the agents of those that asked something are told.
pub(crate) async fn decline(deps: &Deps, run: &mut Run, declined: Declined) -> Result<(), ExecuteError> {
    let (task, now) = (run.task().clone(), run.now());
    let on = OnTask {
        deps,
        task: &task,
        now,
    };
    let asks = |job: &&Job| {
        let asked = job.remote().map(|remote| remote.state);
        asked.is_some_and(TaskState::is_interrupted) && declined != Declined::Consents
    };
    let consents = |job: &&Job| job.awaited_consent().is_some() && declined != Declined::Questions;
    join_all(task.jobs.iter().filter(asks).map(|job| cancel_asking(on, job))).await;
    let waiting = task.jobs.iter().filter(|job| consents(job) || asks(job));
    let mut kinds: Vec<EventKind> = waiting
        .cloned()
        .map(|mut job| {
            let reason = match job.awaited_consent() {
                Some(_) => words::NOT_AGREED,
                None => words::NOT_ANSWERED,
            };
            job.give_up(TaskState::Rejected, reason, now);
            EventKind::Job { job: Box::new(job) }
        })
        .collect();
    let given_up = || task.jobs.iter().filter(|job| consents(job) || asks(job));
    if let Some(mut plan) = task.plan.clone() {
        // It was said already that the task goes on without them.
        given_up().for_each(|job| plan.make_optional(job.number));
        kinds.extend((Some(&plan) != task.plan.as_ref()).then(|| plans::noted(plan)));
    }
    let without_it = sentences::told(&task, "withoutIt", "");
    kinds.push(wording::working(deps.entropy.as_ref(), &without_it));
    run.record(kinds).await
}
