//! List: the caller's own tasks, newest status first.

use a2a::{A2aError, ListCall};
use domain::{Caller, ContextId, PartContent, Task};
use store::{StoreError, TaskKey, TaskPage, TaskQuery};

use super::find::failed;
use crate::Agent;

/// A page of the caller's tasks. Callers without a token share one name and see none.
pub(crate) async fn list(agent: &Agent, caller: &Caller, call: &ListCall) -> Result<TaskPage, A2aError> {
    let nothing = TaskPage {
        tasks: Vec::new(),
        next: None,
        total: 0,
    };
    let context = match call.context_id.as_deref().map(ContextId::parse) {
        // Callers without a token are one owner: a list would show each of them the others' tasks.
        _ if caller.owner.is_anonymous() => return Ok(nothing),
        // An id that is none has no tasks.
        Some(Err(_)) => return Ok(nothing),
        Some(Ok(context)) => Some(context),
        None => None,
    };
    let query = TaskQuery {
        tenant: &caller.tenant,
        agent: &agent.name,
        owner: &caller.owner,
        context: context.as_ref(),
        state: call.state,
        changed_since: call.changed_since,
        limit: call.page_size,
        cursor: call.page_token.as_deref(),
        now: agent.clock.now(),
    };
    // A list without results and history shows no file, but for one in a task's status.
    let is_brief = !call.include_artifacts && call.history_length == Some(0);
    let tasks = agent.store.tasks();
    let listed = if is_brief { tasks.without_files() } else { tasks };
    let page = listed.query(query).await;
    let mut page = page.map_err(|error| match error {
        StoreError::BadCursor => A2aError::InvalidParams("pageToken is not one of this list".to_owned()),
        error => failed(error),
    })?;
    for task in page.tasks.iter_mut().filter(|task| is_brief && says_file(task)) {
        let found = tasks.find(&TaskKey::from(&*task), query.now).await;
        if let Some(whole) = found.map_err(failed)? {
            *task = whole.task;
        }
    }
    Ok(page)
}

fn says_file(task: &Task) -> bool {
    let parts = task.status.message.iter().flat_map(|message| &message.parts);
    parts
        .into_iter()
        .any(|part| matches!(part.content, PartContent::Raw(_)))
}
