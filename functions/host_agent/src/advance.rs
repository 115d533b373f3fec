//! Moving a task's jobs on: whatever can be done about them now is done, all at once, and written down together.

use agent::{ExecuteError, Run};
use domain::{
    EventKind, Job, JobState, Noted, Notification, RemoteTaskId, RemoteUpdate, Task, TaskState, Timestamp,
};
use futures_util::future::join_all;
use store::StoreError;

use crate::consents::request_consent;
use crate::delegation::cancel::remember_orphan;
use crate::delegation::done::Done;
use crate::delegation::look::{fetch, look};
use crate::delegation::resend::resend;
use crate::delegation::send::{forward, send};
use crate::deps::{Deps, OnTask};
use crate::rules::acts::{Act, Plan, rests};
use crate::rules::{transcript, wording};

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
    // All at once: the slowest agent must not hold up the others.
    let done = join_all(acts.into_iter().map(|(job, act)| Box::pin(perform(on, job, act)))).await;
    let mut task = before.clone();
    let (mut heard, mut troubles) = (Vec::new(), Vec::new());
    let again = done.iter().find_map(|done| done.again.clone());
    for Done {
        mut job,
        heard: news,
        needs,
        trouble,
        ..
    } in done
    {
        troubles.extend(trouble.map(|trouble| (job.number, trouble)));
        if let Some(scopes) = needs {
            request_consent(on, &mut job, scopes, &task.jobs).await?;
        }
        heard.extend(news.map(|news| (job.number, news)));
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
    record(deps, run, kinds, heard, again.is_none()).await?;
    match again {
        Some(reason) => Err(ExecuteError::Retry(reason)),
        None => Ok(moved && run.parked().is_none()),
    }
}

async fn perform(on: OnTask<'_>, job: Job, act: Act) -> Done {
    match act {
        Act::Send => send(on, job).await,
        Act::Resend => resend(on, job).await,
        Act::Forward(said) => forward(on, job, &said).await,
        Act::Look => look(on, job).await,
        Act::Fetch => fetch(on, job).await,
    }
}

async fn record(
    deps: &Deps,
    run: &mut Run,
    kinds: Vec<EventKind>,
    heard: Vec<(u32, Notification)>,
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
        Err(ExecuteError::Stale) => keep(deps, run, &heard).await,
        recorded => recorded,
    }
}

/// Writes down what agents said although the task changed meanwhile (an agent's own push overtakes its
/// acknowledgement easily): it is as true of the task as it is now. Everything else is decided anew, and so this
/// never succeeds.
async fn keep(deps: &Deps, run: &mut Run, heard: &[(u32, Notification)]) -> Result<(), ExecuteError> {
    run.reload().await?;
    let now = run.now();
    let noted = |task: &Task| -> Vec<EventKind> {
        let jobs = heard.iter().filter_map(|(number, news)| {
            let mut job = task.jobs.iter().find(|job| job.number == *number)?.clone();
            let news = overtaken(&job, news.clone());
            (job.note(news, now) != Noted::Nothing).then(|| EventKind::Job { job: Box::new(job) })
        });
        jobs.collect()
    };
    match run.amend(noted).await {
        Ok(()) | Err(ExecuteError::Stale) => {}
        Err(error) => return Err(error),
    }
    let task = run.task();
    if task.status.state.is_terminal() {
        // Called off while the call was under way. The task takes nothing more, but it is due until everybody who
        // works on parts of it was told, and this is one of them.
        for (number, news) in heard {
            let job = task.jobs.iter().find(|job| job.number == *number);
            if let (Some(job), Some(id)) = (job, &news.remote_task_id) {
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
            state: TaskState::Failed,
            text: Some("its result is too large to keep.".to_owned()),
            at: Some(now),
            consent: None,
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
                state,
                text: None,
                at,
                consent: None,
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
