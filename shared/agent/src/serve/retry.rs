//! Retry: an operation of ours beside A2A's. Somebody who waits in vain has a task looked at again at once: one of
//! which nothing was heard in time, or one that nobody has begun.

use std::sync::Arc;
use std::time::Duration;

use a2a::A2aError;
use domain::trace::within;
use domain::{Caller, EventKind, Task, TaskState};
use store::{Due, LeaseAfter};

use super::find::{failed, owned};
use crate::{Agent, ExecuteError, Run, Wake, wake_or_log};

/// How often it is tried again when the task changes under it.
const ROUNDS: u32 = 5;

/// Has the caller's task looked at again. A task that is over stays so, and one that is worked on or waits for its
/// user needs no retry.
pub(crate) async fn retry(agent: &Arc<Agent>, caller: &Caller, id: &str) -> Result<Task, A2aError> {
    for _ in 0..ROUNDS {
        let task = owned(agent, caller, id).await?.task;
        let state = task.status.state;
        if !matches!(state, TaskState::Unknown | TaskState::Submitted) {
            let reason = format!("the task is {} and cannot be retried", state.as_str());
            return Err(A2aError::UnsupportedOperation(reason));
        }
        let mut run = Run::new(Arc::clone(agent), task, 1);
        let trace = run.task().trace.clone();
        match within(trace, again(agent, &mut run)).await {
            Ok(()) => {
                let task = run.task();
                tracing::info!(tenant.id = task.tenant.name(), agent = %task.agent, task.id = %task.id, "task retried by hand");
                let wake = Wake::for_task(task);
                wake_or_log(agent.wake.as_ref(), &wake, Duration::ZERO).await;
                return Ok(task.clone());
            }
            Err(ExecuteError::Store(error)) => return Err(failed(error)),
            Err(ExecuteError::Retry(reason)) => return Err(A2aError::UnsupportedOperation(reason)),
            Err(ExecuteError::Stale | ExecuteError::TooLittleTime | ExecuteError::Transition(_)) => {}
        }
    }
    Err(A2aError::Internal { request_id: None })
}

async fn again(agent: &Agent, run: &mut Run) -> Result<(), ExecuteError> {
    let mut kinds = agent.executor.retry(run).await?;
    let told = kinds.iter().any(|kind| matches!(kind, EventKind::Status { .. }));
    if run.task().status.state == TaskState::Unknown && !told {
        let message = run.message("Trying once more.");
        kinds.push(EventKind::status(TaskState::Working, Some(message)));
    }
    let due = Due::At(run.now());
    run.write(kinds, due, LeaseAfter::Keep).await
}
