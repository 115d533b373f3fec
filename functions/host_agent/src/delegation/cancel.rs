//! Cancelling jobs at their agents, orphaned tasks included: those that an agent acknowledged only after their own task
//! was over. That task takes nothing more by then, so that what is left to do is found in what it holds: its jobs that
//! never settled.

use std::time::Duration;

use a2a::A2aError;
use a2a::mqtt::{Recipient, TopicPrefix};
use agent::ExecuteError;
use consent::Obstacle;
use domain::{Generation, Job, RemoteTaskId, Transport};
use futures_util::future::join_all;
use outbound::{CallError, Sent};
use store::{StoreError, TaskKey};

use crate::delegation::calls;
use crate::deps::OnTask;

/// For so long after its task was over a job's message may still be on its way: longer than a call takes.
const ON_ITS_WAY: Duration = Duration::from_secs(100);

/// Calls every job that still runs off at its agent.
///
/// # Errors
/// [`ExecuteError::Retry`] where an agent could not be told but may be later.
pub(crate) async fn cancel_downstream(on: OnTask<'_>) -> Result<(), ExecuteError> {
    let open = on.task.jobs.iter().filter(|job| !job.is_settled());
    let told = join_all(open.map(|job| cancel_job(on, job))).await;
    let missed = told.into_iter().filter(|told| !told).count();
    match missed {
        0 => Ok(()),
        missed => Err(ExecuteError::Retry(format!("{missed} agents could not be told"))),
    }
}

/// False where another try is worthwhile.
async fn cancel_job(on: OnTask<'_>, job: &Job) -> bool {
    if let Some(id) = job.remote_task_id() {
        return cancel_one(on, job, id).await;
    }
    // Its message never left.
    if job.awaited_consent().is_some() || on.task.holds(job) {
        return true;
    }
    // Its message may have left before the process that sent it ended; then the agent works for nobody.
    let tasks = on.deps.store.tasks();
    match tasks.stray(&TaskKey::from(on.task), job.number).await {
        Ok(Some(id)) => return cancel_one(on, job, &id).await,
        Ok(None) => {}
        Err(error) => {
            tracing::warn!(task.id = %on.task.id, job = job.number, error = &error as &dyn std::error::Error, "stray not looked up");
            return false;
        }
    }
    match calls::sent(on, job).await {
        Ok(Sent::Task(sent)) => {
            let id = sent.id.clone();
            let mut job = job.clone();
            // Of a pool it is the member that has the task.
            job.note(sent.into_notification(), on.now);
            cancel_one(on, &job, &id).await
        }
        Ok(Sent::Nothing | Sent::Untold) => {
            // A call that was under way when the task ended may reach the agent after this look.
            let young = on.now < job.updated_at.max(on.task.status.at).after(ON_ITS_WAY);
            !((young || is_pool(job)) && job.endpoint.generation == Generation::V1_0)
        }
        Err(error) => !error.is_retryable(),
    }
}

/// Tells an agent that asked something that nobody will answer. That it hears of it is not waited for: its task waits for an
/// answer that never comes, and does nothing.
pub(crate) async fn cancel_asking(on: OnTask<'_>, job: &Job) {
    if let Some(id) = job.remote_task_id() {
        cancel_one(on, job, id).await;
    }
}

/// Stores the remote task of a job that was acknowledged after its own task was over, so that it is called off
/// however long that takes.
pub(crate) async fn remember_orphan(on: OnTask<'_>, job: &Job, id: &RemoteTaskId) -> Result<(), StoreError> {
    let until = on.now.after(on.deps.patience.token_ttl);
    let tasks = on.deps.store.tasks();
    tasks
        .put_stray(&TaskKey::from(on.task), job.number, id, until)
        .await?;
    tracing::info!(tenant.id = on.task.tenant.name(), task.id = %on.task.id, job = job.number, task.remote_id = id.as_str(), "acknowledged after its task was over; to be called off");
    Ok(())
}

/// False where another try is worthwhile.
async fn cancel_one(on: OnTask<'_>, job: &Job, id: &RemoteTaskId) -> bool {
    match calls::cancel(on, job, id).await {
        Ok(()) => {
            tracing::info!(tenant.id = on.task.tenant.name(), task.id = %on.task.id, job = job.number, "cancel handed on");
            true
        }
        Err(error) => {
            tracing::warn!(task.id = %on.task.id, job = job.number, error = %error, "cancel did not reach the agent");
            let is_anothers = matches!(error, Obstacle::Call(CallError::Refused(A2aError::TaskNotFound)));
            !(error.is_retryable() || (is_anothers && is_pool(job)))
        }
    }
}

/// Whether whichever member of a pool takes the call answers it: the one that has the task may take the next.
fn is_pool(job: &Job) -> bool {
    let read = TopicPrefix::read_interface(&job.endpoint.url);
    job.endpoint.transport == Transport::Mqtt && matches!(read, Ok((_, _, Recipient::Pool(_))))
}
