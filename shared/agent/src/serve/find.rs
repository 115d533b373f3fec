//! A caller's own task by its id: one read, and no more for what is not the caller's, which does not exist.

use a2a::A2aError;
use domain::{Caller, TaskId};
use store::{StoreError, StoredTask, TaskKey};

use crate::Agent;

/// The caller's task, or `TaskNotFound`, whatever the reason.
pub(crate) async fn owned(agent: &Agent, caller: &Caller, id: &str) -> Result<StoredTask, A2aError> {
    let Ok(id) = TaskId::parse(id) else {
        return Err(A2aError::TaskNotFound);
    };
    let key = TaskKey::new(&caller.tenant, &agent.name, id);
    let found = agent
        .store
        .tasks()
        .find_of(&caller.owner, &key, agent.clock.now())
        .await
        .map_err(failed)?;
    found.ok_or(A2aError::TaskNotFound)
}

/// The body's `tenant` is routing at most, never authority: it must be the caller's own where it is given.
pub(crate) fn same_tenant(caller: &Caller, told: Option<&str>) -> Result<(), A2aError> {
    match told {
        Some(told) if !told.is_empty() && told != caller.tenant.name() => Err(A2aError::TaskNotFound),
        _ => Ok(()),
    }
}

/// A store's failure is the server's, with nothing of it shown.
pub(crate) fn failed(error: StoreError) -> A2aError {
    match error {
        StoreError::TooLarge { .. } => {
            A2aError::InvalidParams("the task would grow too large to store".to_owned())
        }
        error => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the store failed in a call"
            );
            A2aError::internal()
        }
    }
}
