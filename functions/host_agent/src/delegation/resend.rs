//! Sending again what may have left already: every resend has the same bytes, and an agent that lists its tasks is
//! asked first.

use agent::on_heap;
use domain::{EventKind, Job, JobState, RemoteTaskId};
use futures_util::future::join_all;
use outbound::Sent;

use crate::delegation::calls;
use crate::delegation::done::Done;
use crate::delegation::look::{Looks, look_at_all};
use crate::delegation::send::{send, undelivered};
use crate::deps::OnTask;
use crate::rules::patience::NO_MORE;
use crate::rules::{sentences, wording};

/// Everything that waits for its time is done now: linked jobs are looked at, prepared ones sent, and so are those anew whose agents
/// do not answer. Gives what is to be recorded before that.
pub(crate) async fn ask_again(on: OnTask<'_>) -> Vec<EventKind> {
    let now = on.now;
    let Looks {
        changed: mut jobs,
        unheard,
    } = look_at_all(on).await;
    let asks = |job: &Job| job.remote().is_some_and(|remote| remote.state.is_interrupted());
    let mute = |job: &&Job| unheard.contains(&job.number) && !asks(job);
    let mute = on.task.jobs.iter().filter(mute).cloned();
    let sent = join_all(mute.map(|job| on_heap(|| anew(on, job)))).await;
    jobs.retain(|job| !unheard.contains(&job.number));
    jobs.extend(sent.into_iter().map(|done| done.job));
    let prepared = on.task.jobs.iter();
    let prepared = prepared.filter(|job| matches!(job.state, JobState::Prepared));
    jobs.extend(prepared.cloned().map(|job| Job {
        attempts: 0,
        delivered: false,
        updated_at: now,
        ..job
    }));
    // What could not be fetched is asked for anew, with all the patience there is.
    let fetching = |job: &&Job| matches!(job.state, JobState::Fetching { .. });
    let unfetched = on.task.jobs.iter().filter(fetching);
    jobs.extend(unfetched.cloned().map(|job| Job {
        fetches: 0,
        updated_at: now,
        ..job
    }));
    let mut kinds: Vec<EventKind> = jobs
        .into_iter()
        .map(|job| EventKind::Job { job: Box::new(job) })
        .collect();
    let waits_on = sentences::told(on.task, "waitsOn", "");
    kinds.push(wording::working(on.deps.entropy.as_ref(), &waits_on));
    kinds
}

/// Sends the message of a job once more whose agent has it and gives no answer. Where that brings none either, the job stays as it is.
pub(crate) async fn anew(on: OnTask<'_>, job: Job) -> Done {
    let again = Job {
        state: JobState::Prepared,
        attempts: 0,
        delivered: false,
        failing_since: None,
        updated_at: on.now,
        ..job.clone()
    };
    let done = resend(on, again).await;
    match done.job.state {
        JobState::Prepared => Done::of(job),
        _ => done,
    }
}

/// Sends a message that may have been sent before: by a process that did not live to write the acknowledgement down, or without
/// an answer in time. The agent is asked first, in case it does not know a message again; one that has it for certain or perhaps,
/// and does not say, gets it no second time.
pub(crate) async fn resend(on: OnTask<'_>, mut job: Job) -> Done {
    match calls::sent(on, &job).await {
        // It may be at work on it, and can be told by nobody: it would do everything once more.
        Ok(Sent::Untold) if job.delivered => {
            (job.attempts, job.updated_at) = (NO_MORE, on.now);
            Done::of(job)
        }
        Ok(Sent::Untold | Sent::Nothing) => send(on, job).await,
        Ok(Sent::Task(sent)) => {
            job.attempts = 0;
            let news = sent.into_notification();
            job.note(news.clone(), on.now);
            tracing::info!(
                tenant.id = on.task.tenant.name(), task.id = %on.task.id, job = job.number, agent.id = %job.agent_id,
                task.remote_id = job.remote_task_id().map(RemoteTaskId::as_str), "delegation found at its agent"
            );
            Done::heard(job, news)
        }
        Err(obstacle) => Done::hindered(job, obstacle, |job, error| undelivered(on, job, &error)),
    }
}
