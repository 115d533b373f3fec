//! Moving a task's jobs on: whatever can be done about them now is done, all at once, and written down together.

use std::time::Duration;

use agent::{ExecuteError, Run, on_heap};
use domain::{
    EventKind, Job, JobState, MessageId, Notification, RemoteTaskId, RemoteUpdate, Task, TaskState, Timestamp,
};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use outbound::CallError;
use store::StoreError;

use crate::consents::request_consent;
use crate::delegation::cancel::remember_orphan;
use crate::delegation::done::Done;
use crate::delegation::look::{fetch, look};
use crate::delegation::resend::{anew, resend};
use crate::delegation::send::{forward, send, taken, undelivered};
use crate::deps::{Deps, OnTask};
use crate::rules::acts::{Act, Plan, rests};
use crate::rules::{transcript, wording};

/// What takes longer holds up nobody else: what others brought is written down meanwhile.
const SLOW: Duration = Duration::from_secs(3);
/// What is left of an execution for writing down what a call brought.
const TO_WRITE: Duration = Duration::from_secs(2);
/// A send may settle a job whose result must then be fetched. What news still ask for after that is for the next look.
const PASSES: usize = 3;

/// Does what can be done about the task's jobs now; where nothing is left to do then, the task is parked with what
/// came of it. The `fresh` ones have certainly not been sent yet; of others a process may have ended between their send
/// and its acknowledgement.
pub(crate) async fn advance(deps: &Deps, run: &mut Run, fresh: &[u32]) -> Result<(), ExecuteError> {
    for _ in 0..PASSES {
        if !pass(deps, run, fresh).await? {
            break;
        }
    }
    Ok(())
}

async fn pass(deps: &Deps, run: &mut Run, fresh: &[u32]) -> Result<bool, ExecuteError> {
    let now = run.now();
    // From the first call until what came of it is stored: a cancel waits for that, and then finds whom to tell.
    let _undisturbed = run.undisturbed();
    let before = run.task().clone();
    let Plan {
        acts,
        answered,
        forwarded,
    } = Plan::of(&deps.patience, &before, fresh, now);
    let on = OnTask {
        deps,
        task: &before,
        now,
    };
    let limit = limit(deps, run, &acts)?;
    let mut calls: FuturesUnordered<_> = acts
        .into_iter()
        .map(|(job, act)| on_heap(|| perform(on, job, act, limit)))
        .collect();
    // All at once: the slowest agent must not hold up the others.
    let (mut done, mut waits, mut noted) = (Vec::new(), false, false);
    while !calls.is_empty() {
        match tokio::time::timeout(SLOW, calls.next()).await {
            Ok(one) => done.extend(one),
            Err(_) => waits = true,
        }
        if waits && !calls.is_empty() && !done.is_empty() {
            note(deps, run, &told(&done)).await?;
            noted = true;
        }
    }
    let told = told(&done);
    if noted {
        keep(deps, run, &told).await?;
    }
    let mut task = before.clone();
    let mut troubles = Vec::new();
    let again = done.iter().find_map(|done| done.again.clone());
    for Done {
        mut job,
        needs,
        trouble,
        ..
    } in done
    {
        troubles.extend(trouble.map(|trouble| (job.number, trouble)));
        if let Some(scopes) = needs {
            request_consent(on, &mut job, scopes, &task.jobs).await?;
        }
        if let Some(known) = task.jobs.iter_mut().find(|known| known.number == job.number) {
            *known = job;
        }
    }
    let changed: Vec<Job> = task
        .jobs
        .iter()
        .filter(|job| !before.jobs.contains(*job))
        .cloned()
        .collect();
    let entropy = deps.entropy.as_ref();
    let mut kinds = wording::news(deps, &before, &changed, &troubles);
    let tells = |kind: &EventKind| matches!(kind, EventKind::Status { .. });
    if again.is_some() {
        // A new status would hide that the user's answer is still to be handed on.
        kinds.retain(|kind| !tells(kind));
    } else if answered && !kinds.iter().any(tells) && (forwarded || transcript::unconsented(&task).is_none())
    {
        let text = wording::after_answer(&before, forwarded);
        kinds.push(wording::working(entropy, &text));
    }
    let moved = !kinds.is_empty();
    record(deps, run, kinds, &told, again.is_none()).await?;
    match again {
        Some(reason) => Err(ExecuteError::Retry(reason)),
        None => Ok(moved && run.parked().is_none()),
    }
}

/// How long each delivery may take, retries with other tokens or less in it included. An agent is not begun with in an execution that
/// would have to leave it before it answers: another one that has the time goes on.
fn limit(deps: &Deps, run: &Run, acts: &[(Job, Act)]) -> Result<Duration, ExecuteError> {
    let longest = deps.patience.answer;
    let delivers = acts.iter().any(|(_, act)| act.delivers());
    match run.time_left().map(|left| left.saturating_sub(TO_WRITE)) {
        Some(left) if delivers && left < longest / 2 => Err(ExecuteError::TooLittleTime),
        Some(left) => Ok(left.min(longest)),
        None => Ok(longest),
    }
}

async fn perform(on: OnTask<'_>, job: Job, act: Act, limit: Duration) -> Done {
    let (tried, forwarded) = (
        job.clone(),
        match &act {
            Act::Forward(said) => Some(said.clone()),
            _ => None,
        },
    );
    let delivered = async {
        match act {
            Act::Send => on_heap(|| send(on, job)).await,
            Act::Resend => on_heap(|| resend(on, job)).await,
            Act::Anew => on_heap(|| anew(on, job)).await,
            Act::Forward(said) => on_heap(|| forward(on, job, &said)).await,
            Act::Look => on_heap(|| look(on, job)).await,
            Act::Fetch => on_heap(|| fetch(on, job)).await,
        }
    };
    match (tokio::time::timeout(limit, delivered).await, forwarded) {
        (Ok(done), _) => done,
        (Err(_), Some(said)) => taken(on, tried, &said),
        (Err(_), None) => undelivered(on, tried, &CallError::Timeout),
    }
}

/// What came of a call that stays true however the task changes meanwhile.
struct Told {
    number: u32,
    /// What its agent said.
    heard: Option<Notification>,
    /// Its message may be with the agent, which did not answer.
    unanswered: Option<Job>,
    /// The user's message that its agent got.
    took: Option<MessageId>,
}

fn told(done: &[Done]) -> Vec<Told> {
    let told = |done: &Done| Told {
        number: done.job.number,
        heard: done.heard.clone(),
        unanswered: Some(&done.job)
            .filter(|job| job.delivered && matches!(job.state, JobState::Prepared))
            .cloned(),
        took: done.took.clone(),
    };
    done.iter().map(told).collect()
}

impl Told {
    /// The job with it; none where that is nothing new.
    fn noted(&self, task: &Task, now: Timestamp) -> Option<Job> {
        let known = task.jobs.iter().find(|job| job.number == self.number)?;
        let mut job = known.clone();
        if let Some(news) = &self.heard {
            job.note(overtaken(known, news.clone()), now);
        }
        if let (Some(tried), JobState::Prepared) = (&self.unanswered, &job.state) {
            job.delivered = true;
            job.attempts = job.attempts.max(tried.attempts);
            job.failing_since = job.failing_since.or(tried.failing_since);
            job.updated_at = tried.updated_at;
        }
        (job != *known).then_some(job)
    }
}

async fn record(
    deps: &Deps,
    run: &mut Run,
    kinds: Vec<EventKind>,
    told: &[Told],
    may_rest: bool,
) -> Result<(), ExecuteError> {
    let now = run.now();
    let rests = |task: &Task| rests(&deps.patience, task, now).filter(|_| may_rest);
    let recorded = match run.record_and_park(kinds.clone(), rests).await {
        // The rest is worth keeping: only the results that do not fit are given up.
        Err(ExecuteError::Store(StoreError::TooLarge { .. })) => {
            run.record(kinds.into_iter().map(|kind| without_bulk(kind, now)).collect())
                .await
        }
        recorded => recorded,
    };
    match recorded {
        Err(ExecuteError::Stale) => keep(deps, run, told).await,
        recorded => recorded,
    }
}

/// Writes down what is true of the task as it is now.
async fn note(deps: &Deps, run: &mut Run, told: &[Told]) -> Result<(), ExecuteError> {
    let now = run.now();
    let noted = |task: &Task| -> Vec<EventKind> {
        let jobs = told.iter().filter_map(|told| told.noted(task, now));
        let mut kinds: Vec<EventKind> = jobs.map(|job| EventKind::Job { job: Box::new(job) }).collect();
        // An answer that an agent got is not handed on again.
        let took = told
            .iter()
            .any(|told| told.took.is_some() && told.took == task.unanswered);
        kinds.extend(
            took.then(|| wording::working(deps.entropy.as_ref(), &wording::after_answer(task, true))),
        );
        kinds
    };
    match run.amend(noted).await {
        Ok(()) | Err(ExecuteError::Stale) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes down what agents said although the task changed meanwhile (an agent's own push overtakes its
/// acknowledgement easily). Everything else is decided anew, and so this never succeeds.
async fn keep(deps: &Deps, run: &mut Run, told: &[Told]) -> Result<(), ExecuteError> {
    run.reload().await?;
    note(deps, run, told).await?;
    let (task, now) = (run.task(), run.now());
    if task.status.state.is_terminal() {
        // Called off while the call was under way. The task takes nothing more, but it is due until everybody who
        // works on parts of it was told, and this is one of them.
        for told in told {
            let job = task.jobs.iter().find(|job| job.number == told.number);
            let id = told.heard.as_ref().and_then(|news| news.remote_task_id.as_ref());
            if let (Some(job), Some(id)) = (job, id) {
                remember_orphan(OnTask { deps, task, now }, job, id).await?;
            }
        }
    }
    Err(ExecuteError::Stale)
}

/// An acknowledgement behind a push of the same job. Where it says no moment, what was pushed is the newer state, but for an end.
fn overtaken(job: &Job, news: Notification) -> Notification {
    let is_known = job.remote().is_some();
    let update = news
        .update
        .filter(|update| !is_known || update.at.is_some() || update.state.is_terminal());
    Notification { update, ..news }
}

/// The event with its job failed for being too large to keep.
fn without_bulk(kind: EventKind, now: Timestamp) -> EventKind {
    let EventKind::Job { mut job } = kind else {
        return kind;
    };
    if !job.artifacts.is_empty() {
        let remote_task_id: Option<RemoteTaskId> = job.remote_task_id().cloned();
        let remote = RemoteUpdate {
            text: Some("its result is too large to keep.".to_owned()),
            at: Some(now),
            ..RemoteUpdate::of(TaskState::Failed)
        };
        job.artifacts.clear();
        job.state = JobState::Settled {
            remote_task_id,
            remote,
        };
    }
    EventKind::Job { job }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_behind_a_push_says_nothing_newer_but_an_end() {
        let now = Timestamp::from_millis(1_000);
        let says = |state: TaskState, at: Option<Timestamp>| Notification {
            remote_task_id: Some(RemoteTaskId::parse("r-1").unwrap()),
            update: Some(RemoteUpdate {
                at,
                ..RemoteUpdate::of(state)
            }),
            artifacts: Vec::new(),
            snapshot: false,
            responder: None,
        };
        let fresh = domain::testing::job(now);
        let mut asked = fresh.clone();
        asked.note(says(TaskState::InputRequired, Some(now)), now);
        let kept = |job: &Job, state: TaskState, at: Option<Timestamp>| {
            let news = overtaken(job, says(state, at));
            assert!(news.remote_task_id.is_some(), "who it is stays known");
            news.update.map(|update| update.state)
        };
        assert_eq!(kept(&asked, TaskState::Working, None), None);
        assert_eq!(
            kept(&asked, TaskState::Working, Some(now)),
            Some(TaskState::Working)
        );
        assert_eq!(
            kept(&asked, TaskState::Completed, None),
            Some(TaskState::Completed)
        );
        assert_eq!(kept(&fresh, TaskState::Working, None), Some(TaskState::Working));
        // What it asked is still asked once the acknowledgement is noted.
        asked.note(overtaken(&asked, says(TaskState::Working, None)), now);
        assert_eq!(
            asked.remote().map(|remote| remote.state),
            Some(TaskState::InputRequired)
        );
    }
}
