//! Cancel: the task ends here at once; whoever works on parts of it is told.

use std::sync::Arc;

use a2a::A2aError;
use domain::{Caller, EventKind, Generation, Message, MessageId, Revision, Task, TaskState};
use store::{Committed, Due, LeaseAfter, TaskKey};

use super::find::{failed, owned};
use crate::{Agent, measure, push, worker};

const ROUNDS: u32 = 5;

/// Calls a task off. Loses gracefully against a completion: then the task cannot be canceled any more.
///
/// A second cancel changes nothing (A2A 1.0, 3.3.1); in 0.3 it is an error like that of any finished task (8.2).
pub(crate) async fn cancel(
    agent: &Arc<Agent>,
    caller: &Caller,
    id: &str,
    generation: Generation,
) -> Result<Task, A2aError> {
    for _ in 0..ROUNDS {
        let task = owned(agent, caller, id).await?.task;
        if task.status.state == TaskState::Canceled && generation == Generation::V1_0 {
            return Ok(task);
        }
        if task.status.state.is_terminal() {
            return Err(A2aError::TaskNotCancelable);
        }
        let said = Message::agent_text(
            MessageId::random(agent.entropy.as_ref()),
            "Canceled as you asked.",
        );
        let mut revision = Revision::of(task);
        let canceled = EventKind::status(TaskState::Canceled, Some(said));
        revision
            .record(canceled, agent.clock.now())
            .map_err(|_| A2aError::TaskNotCancelable)?;
        // Due, until whoever works on parts of it was told.
        match agent
            .store
            .tasks()
            .commit(&revision, Due::At(agent.clock.now()), LeaseAfter::Keep)
            .await
            .map_err(failed)?
        {
            Committed::Conflict => {}
            Committed::Yes => {
                measure::moved(&revision);
                push::announce(agent, &revision).await;
                let task = revision.into_task();
                // A worker that has the task sees its end and tells them; otherwise that is done here.
                if let Err(error) = worker::execute_here(agent, &TaskKey::from(&task)).await {
                    tracing::warn!(task.id = %task.id, error = %error, "cancel did not reach everybody yet");
                }
                return Ok(task);
            }
        }
    }
    Err(A2aError::internal())
}
