//! Refresh: an operation of ours beside A2A's. Asks whoever works on parts of the task for the latest, then answers
//! with the task.

use std::sync::Arc;

use a2a::A2aError;
use domain::trace::within;
use domain::{Caller, Task};

use super::find::{failed, owned};
use crate::{Agent, ExecuteError, Run};

/// The caller's task with the latest that can be had.
pub(crate) async fn refresh(agent: &Arc<Agent>, caller: &Caller, id: &str) -> Result<Task, A2aError> {
    let task = owned(agent, caller, id).await?.task;
    if task.status.state.is_terminal() {
        return Ok(task);
    }
    let mut run = Run::new(Arc::clone(agent), task, 1);
    let trace = run.task().trace.clone();
    match within(trace, agent.executor.refresh(&mut run)).await {
        Ok(()) => Ok(run.task().clone()),
        Err(ExecuteError::Store(error)) => Err(failed(error)),
        // Somebody else recorded news meanwhile, or the agent could not be asked: what is stored is the answer.
        Err(_) => Ok(owned(agent, caller, id).await?.task),
    }
}
