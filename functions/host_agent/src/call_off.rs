//! Calling jobs off at their agents. The task is over by then and takes nothing more, so that what is left to do is
//! found in what it holds: its jobs that never settled.

use std::time::Duration;

use agent::ExecuteError;
use domain::{Generation, Job, RemoteTaskId, Task, Timestamp};
use futures_util::future::join_all;
use store::{StoreError, TaskKey};

use crate::host::Host;

/// For so long after its task was over a job's message may still be on its way: longer than a call takes.
const ON_ITS_WAY: Duration = Duration::from_secs(30);

impl Host {
    /// Calls every job that still runs off at its agent.
    ///
    /// # Errors
    /// [`ExecuteError::Retry`] where an agent could not be told but may be later.
    pub(crate) async fn cancel_downstream(&self, task: &Task) -> Result<(), ExecuteError> {
        let open = task.jobs.iter().filter(|job| !job.is_settled());
        let told = join_all(open.map(|job| self.call_off_job(task, job))).await;
        let missed = told.into_iter().filter(|told| !told).count();
        match missed {
            0 => Ok(()),
            missed => Err(ExecuteError::Retry(format!("{missed} agents could not be told"))),
        }
    }

    /// False where another try is worthwhile.
    async fn call_off_job(&self, task: &Task, job: &Job) -> bool {
        if let Some(id) = job.remote_task_id() {
            return self.cancel_one(task, job, id).await;
        }
        if job.awaited_consent().is_some() {
            return true;
        }
        // Its message may have left before the process that sent it ended; then the agent works for nobody.
        let now = self.clock.now();
        match self.store.tasks().stray(&TaskKey::from(task), job.number).await {
            Ok(Some(id)) => return self.cancel_one(task, job, &id).await,
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(task.id = %task.id, job = job.number, error = &error as &dyn std::error::Error, "stray not looked up");
                return false;
            }
        }
        match self.find_sent(task, job, now).await {
            Ok(Some(sent)) => self.cancel_one(task, job, &sent.id).await,
            Ok(None) => {
                let young = now < job.updated_at.max(task.status.at).after(ON_ITS_WAY);
                !(young && job.endpoint.generation == Generation::V1_0)
            }
            Err(error) => !error.is_retryable(),
        }
    }

    /// Stores the remote task of a job that was acknowledged after its own task was over, so that it is called off
    /// however long that takes.
    pub(crate) async fn remember_stray(
        &self,
        task: &Task,
        job: &Job,
        id: &RemoteTaskId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let until = now.after(self.patience.token_ttl);
        let tasks = self.store.tasks();
        tasks
            .put_stray(&TaskKey::from(task), job.number, id, until)
            .await?;
        tracing::info!(tenant.id = %task.tenant, task.id = %task.id, job = job.number, task.remote_id = id.as_str(), "acknowledged after its task was over; to be called off");
        Ok(())
    }

    /// False where another try is worthwhile.
    async fn cancel_one(&self, task: &Task, job: &Job, id: &RemoteTaskId) -> bool {
        let (outbound, to, trace) = (&self.outbound, &job.endpoint, task.trace.as_ref());
        let cancel = |token| async move { outbound.cancel(to, id, Some(&token), trace).await };
        match self.with_token(task, job, self.clock.now(), cancel).await {
            Ok(_) => {
                tracing::info!(tenant.id = %task.tenant, task.id = %task.id, job = job.number, "cancel handed on");
                true
            }
            Err(error) => {
                tracing::warn!(task.id = %task.id, job = job.number, error = %error, "cancel did not reach the agent");
                !error.is_retryable()
            }
        }
    }
}
