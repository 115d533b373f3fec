//! Calling jobs off at their agents. The task is over by then and takes nothing more, so that what is left to do is
//! found in what it holds: its jobs that never settled.

use std::time::Duration;

use agent::ExecuteError;
use domain::{Job, RemoteTaskId, Task};
use futures_util::future::join_all;

use crate::host::Host;

/// Waits before each try to call a remote task off that nothing stored knows of.
const CALL_OFF_PAUSES: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(3),
];

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
        match self.find_sent(task, job, self.clock.now()).await {
            Ok(Some(sent)) => self.cancel_one(task, job, &sent.id).await,
            Ok(None) => true,
            Err(error) => !error.is_retryable(),
        }
    }

    /// Calls one remote task off that nothing stored knows of; tries a few times, because nobody else will.
    pub(crate) async fn call_off(&self, task: &Task, job: &Job, id: &RemoteTaskId) {
        for pause in CALL_OFF_PAUSES {
            tokio::time::sleep(pause).await;
            if self.cancel_one(task, job, id).await {
                return;
            }
        }
        tracing::error!(tenant.id = %task.tenant, task.id = %task.id, job = job.number, task.remote_id = id.as_str(), "an agent works on a task that was called off");
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
