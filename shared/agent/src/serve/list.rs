//! List: the caller's own tasks, newest status first.

use a2a::{A2aError, ListCall};
use domain::{Caller, ContextId};
use store::{StoreError, TaskPage, TaskQuery};

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
    agent
        .store
        .tasks()
        .query(query)
        .await
        .map_err(|error| match error {
            StoreError::BadCursor => A2aError::InvalidParams("pageToken is not one of this list".to_owned()),
            error => failed(error),
        })
}
