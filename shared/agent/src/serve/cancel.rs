//! Cancel: the task ends here at once; whoever works on parts of it is told.

use std::sync::Arc;

use a2a::A2aError;
use domain::{
    Caller, Entropy, EventKind, Generation, Message, MessageId, Revision, Task, TaskState, Timestamp,
};
use store::{Decision, Due, Revised, StoreError, TaskKey, Tasks};

use super::find::{failed, owned};
use crate::{Agent, measure, push, worker};

/// Cancels a task. Loses gracefully against a completion: then the task cannot be canceled any more.
///
/// A second cancel changes nothing (A2A 1.0, 3.3.1); in 0.3 it is an error like that of any finished task (8.2).
pub(crate) async fn cancel(
    agent: &Arc<Agent>,
    caller: &Caller,
    id: &str,
    generation: Generation,
) -> Result<Task, A2aError> {
    let (task, now) = (owned(agent, caller, id).await?.task, agent.clock.now());
    let canceled = cancel_task(agent.store.tasks(), task, agent.entropy.as_ref(), now).await;
    match canceled.map_err(failed)? {
        Revised::Missing => Err(A2aError::TaskNotFound),
        // A repeated cancel succeeds in 1.0; in 0.3 whatever is over is refused.
        Revised::Left(task) if task.status.state == TaskState::Canceled && generation == Generation::V1_0 => {
            Ok(*task)
        }
        Revised::Left(_) => Err(A2aError::TaskNotCancelable),
        Revised::Written(revision) => {
            measure::moved(&revision);
            push::announce(agent, &revision).await;
            let task = revision.into_task();
            // A worker that has the task sees its end and tells them; otherwise that is done here.
            if let Err(error) = worker::execute_here(agent, &TaskKey::from(&task)).await {
                tracing::warn!(task.id = %task.id, error = %error, "cancel did not reach everybody yet");
            }
            Ok(task)
        }
    }
}

/// Writes that a task is canceled, and makes it due until whoever works on parts of it was told. One that is over already
/// is left as it is, and given back.
///
/// # Errors
/// As [`Tasks::revise`].
pub async fn cancel_task(
    tasks: Tasks<'_>,
    task: Task,
    entropy: &dyn Entropy,
    now: Timestamp,
) -> Result<Revised<Box<Task>>, StoreError> {
    tasks
        .revise(task, now, |task| {
            let said = Message::agent_text(MessageId::random(entropy), "Canceled as you asked.");
            let results = task.results_at_end();
            let mut revision = Revision::of(task);
            let canceled = EventKind::status(TaskState::Canceled, Some(said));
            let mut kinds = results.into_iter().chain([canceled]);
            match kinds.try_for_each(|kind| revision.record(kind, now)) {
                Ok(()) => Decision::Write {
                    revision: Box::new(revision),
                    due: Due::At(now),
                },
                Err(_) => Decision::Leave(Box::new(revision.into_task())),
            }
        })
        .await
}
