//! Running an executor under supervision: the lease is renewed, a cancel is seen, the time kept, a panic caught.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use store::Beat;

use super::Work;
use crate::{ExecuteError, Outcome, Run};

/// How long a call that cannot be taken back is waited for once the execution must stop; a little more than a call
/// may take.
const GRACE: Duration = Duration::from_secs(95);
/// The same, where the process is about to end.
const LAST_GRACE: Duration = Duration::from_millis(1_500);

/// Why an execution came to no outcome.
pub(super) enum Stopped {
    /// It said so, or the task changed under it.
    Error(ExecuteError),
    /// The lease is somebody else's, or the task is gone.
    LeaseLost,
    /// [`crate::Shutdown`] came.
    TimeUp,
}

impl Work<'_> {
    /// Runs the executor; meanwhile renews the lease and looks whether the task was called off.
    pub(super) async fn execute(&self, run: &mut Run) -> Result<Outcome, Stopped> {
        let holds = run.holds();
        let executing = AssertUnwindSafe(self.agent.executor.execute(run)).catch_unwind();
        // `biased` below: an outcome that is ready when the time is up still counts.
        tokio::pin!(executing);
        let stopped = tokio::select! {
            biased;
            executed = &mut executing => return self.said(executed),
            stopped = self.watch() => stopped,
            () = self.stop.come() => Stopped::TimeUp,
        };
        // What has left for another agent may not be forgotten: its answer is still waited for and written down.
        let grace = match stopped {
            Stopped::TimeUp => LAST_GRACE,
            Stopped::Error(_) | Stopped::LeaseLost => GRACE,
        };
        tokio::select! {
            biased;
            executed = &mut executing => return self.said(executed),
            () = holds.none() => {}
            () = tokio::time::sleep(grace) => {}
            () = self.beats() => {}
        }
        Err(stopped)
    }

    fn said(
        &self,
        executed: Result<Result<Outcome, ExecuteError>, Box<dyn std::any::Any + Send>>,
    ) -> Result<Outcome, Stopped> {
        let said = executed.unwrap_or_else(|_panic| {
            tracing::error!(tenant.id = self.key.tenant.name(), agent = %self.key.agent, task.id = %self.key.id, "executor panicked");
            Err(ExecuteError::Retry("The agent made an error of its own.".to_owned()))
        });
        said.map_err(Stopped::Error)
    }

    /// Ends only when the execution must stop: the task is over, or the lease lost.
    async fn watch(&self) -> Stopped {
        tokio::select! {
            stopped = self.looks() => stopped,
            () = self.beats() => Stopped::LeaseLost,
        }
    }

    /// Looks at the task every so often, until it is over or gone.
    async fn looks(&self) -> Stopped {
        loop {
            tokio::time::sleep(self.agent.settings.cancel_check).await;
            match self
                .agent
                .store
                .tasks()
                .find(self.key, self.agent.clock.now())
                .await
            {
                Ok(Some(stored)) if stored.task.status.state.is_terminal() => {
                    return Stopped::Error(ExecuteError::Stale);
                }
                Ok(None) => return Stopped::LeaseLost,
                // A look that fails tells nothing; the heartbeat watches the lease.
                Ok(Some(_)) | Err(_) => {}
            }
        }
    }

    /// Renews the lease; ends when it is lost.
    pub(super) async fn beats(&self) {
        let (tasks, settings) = (self.agent.store.tasks(), &self.agent.settings);
        let mut pause = settings.heartbeat;
        loop {
            tokio::time::sleep(pause).await;
            let until = self.agent.clock.now().after(settings.lease);
            pause = match tasks.heartbeat(self.key, &self.holder, until).await {
                Ok(Beat::Lost) => return,
                Ok(Beat::Kept) => settings.heartbeat,
                // The lease outlasts a few beats that failed.
                Err(error) => {
                    tracing::warn!(task.id = %self.key.id, error = %error, "heartbeat failed");
                    settings.cancel_check
                }
            };
        }
    }
}
