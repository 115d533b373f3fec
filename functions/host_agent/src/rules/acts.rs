//! What may be done about each job of a task now. "May this job be sent?" is answered here, and nowhere else.

use domain::{Job, JobState, Message, Task, TaskState, Timestamp};

use crate::rules::patience::{Patience, is_over, lacks_result};
use crate::rules::{transcript, wording};

/// One call about one job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// Send its message, which has certainly not left before.
    Send,
    /// Send its message, which may have left before: its agent is asked for it first, where it can be.
    Resend,
    /// Hand the user's answer on to the agent that asked.
    Forward(Message),
    /// Ask its agent how it is doing.
    Look,
    /// Get the result of a job that ended without bringing one.
    Fetch,
}

/// What is done about a task in one pass.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) acts: Vec<(Job, Act)>,
    /// The user has said something since the last look.
    pub(crate) answered: bool,
    /// That goes to an agent which asked for it.
    pub(crate) forwarded: bool,
}

impl Plan {
    /// The `fresh` jobs have certainly not been sent yet; of others a process may have ended between their send and its
    /// acknowledgement.
    pub(crate) fn of(patience: &Patience, task: &Task, fresh: &[u32], now: Timestamp) -> Self {
        // While a consent is waited for, what the user says is about that.
        let consents = transcript::unconsented(task).is_some();
        let mut said = transcript::pending_answer(task).filter(|_| !consents).cloned();
        let answered = said.is_some();
        let asked_again = answered && task.status.state == TaskState::Unknown;
        let mut acts = Vec::new();
        for job in &task.jobs {
            let act = match &job.state {
                JobState::Linked { remote, .. } if remote.state.is_interrupted() && said.is_some() => {
                    said.take().map(Act::Forward)
                }
                // It is not sent before its user has consented.
                _ if job.awaited_consent().is_some() => None,
                _ => act(patience, job, asked_again, now),
            };
            let act = match act {
                Some(Act::Send) if job.attempts > 0 || !fresh.contains(&job.number) => Some(Act::Resend),
                act => act,
            };
            acts.extend(act.map(|act| (job.clone(), act)));
        }
        Self {
            acts,
            answered,
            forwarded: answered && said.is_none(),
        }
    }
}

/// Until when the task can rest, where another look at it now would do nothing and say nothing.
pub(crate) fn rests(patience: &Patience, task: &Task, now: Timestamp) -> Option<Timestamp> {
    let idle = |job: &Job| job.awaited_consent().is_none() && act(patience, job, false, now).is_none();
    let waits = transcript::pending_answer(task).is_none()
        && task.jobs.iter().all(idle)
        && !task.jobs.iter().all(is_over)
        && wording::waiting_for(patience, task, now).is_none();
    waits.then(|| patience.wake_at(task, now))
}

fn act(patience: &Patience, job: &Job, asked_again: bool, now: Timestamp) -> Option<Act> {
    let is_due = patience.next(job).is_some_and(|at| at <= now);
    match &job.state {
        JobState::Prepared => is_due.then_some(Act::Send),
        // A newer release knows what to do about it.
        JobState::Unknown => None,
        JobState::Linked { .. } => (is_due || asked_again).then_some(Act::Look),
        // Where it cannot be had now, it is asked for at growing intervals: a task is never completed without a
        // result that its agent has.
        JobState::Settled { .. } => {
            let now = job.fetches == 0 || is_due || asked_again;
            (now && lacks_result(job)).then_some(Act::Fetch)
        }
    }
}
