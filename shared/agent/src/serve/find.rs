//! A caller's own task by its id: one read, and no more for what is not the caller's, which does not exist.

use a2a::A2aError;
use domain::{Caller, TaskId};
use http::HeaderMap;
use store::{StoreError, StoredTask, TaskKey, Tasks};

use crate::Agent;
use crate::detached::{DetachedFile, detached_name};

/// The caller's task, or `TaskNotFound`, whatever the reason.
pub(crate) async fn owned(agent: &Agent, caller: &Caller, id: &str) -> Result<StoredTask, A2aError> {
    owned_of(agent.store.tasks(), agent, caller, id).await
}

async fn owned_of(
    tasks: Tasks<'_>,
    agent: &Agent,
    caller: &Caller,
    id: &str,
) -> Result<StoredTask, A2aError> {
    let Ok(id) = TaskId::parse(id) else {
        return Err(A2aError::TaskNotFound);
    };
    let key = TaskKey::new(&caller.tenant, &agent.name, id);
    let found = tasks.find_of(&caller.owner, &key, agent.clock.now()).await;
    found.map_err(failed)?.ok_or(A2aError::TaskNotFound)
}

/// A file that lies beside a caller's own task, by its name there.
pub(crate) async fn file(
    agent: &Agent,
    caller: &Caller,
    (id, name): (&str, &str),
    headers: &HeaderMap,
) -> Result<DetachedFile, A2aError> {
    let tasks = agent.store.tasks().without_files();
    let task = owned_of(tasks, agent, caller, id).await?.task;
    let mut parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
    let part = parts.find(|part| detached_name(part) == Some(name));
    let part = part.ok_or_else(no_such_file)?;
    let file = DetachedFile::open(&agent.store, &task, part, headers).await;
    file.map_err(failed)?.ok_or_else(no_such_file)
}

fn no_such_file() -> A2aError {
    A2aError::InvalidParams("the task has no such file".to_owned())
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
