//! The task that waits for the consent: whether it still does, that it is due, and its wake.

use std::time::Duration;

use agent::{Wake, wake_or_log};
use domain::{Revision, Timestamp, TraceParent};
use store::{Committed, Consent, Due, LeaseAfter, StoreError, TaskKey};

use crate::Desk;

/// How often the task is made due where it changes under us. Whoever changes it looks at it anyway.
const ROUNDS: u32 = 3;

pub(crate) fn key(desk: &Desk, consent: &Consent) -> TaskKey {
    TaskKey {
        tenant: desk.tenant.clone(),
        agent: consent.agent.clone(),
        id: consent.task_id,
    }
}

/// True where the task is there and not over.
pub(crate) async fn still_waits(desk: &Desk, consent: &Consent) -> Result<bool, StoreError> {
    let found = desk
        .store
        .tasks()
        .find(&key(desk, consent), desk.clock.now())
        .await?;
    Ok(found.is_some_and(|stored| !stored.task.status.state.is_terminal()))
}

/// Makes the task due, so that the sweeper finds it even where no wake is ever sent.
pub(crate) async fn make_due(desk: &Desk, consent: &Consent, at: Timestamp) -> Result<(), StoreError> {
    let tasks = desk.store.tasks();
    for _ in 0..ROUNDS {
        let Some(stored) = tasks.find(&key(desk, consent), desk.clock.now()).await? else {
            return Ok(());
        };
        if stored.task.status.state.is_terminal() || stored.due_at.is_some_and(|due| due <= at) {
            return Ok(());
        }
        // A revision without events: nothing changes but when it is looked at.
        let revision = Revision::of(stored.task);
        if tasks.commit(&revision, Due::At(at), LeaseAfter::Keep).await? == Committed::Yes {
            return Ok(());
        }
    }
    Ok(())
}

/// Wakes the task on its agent's queue.
pub(crate) async fn wake(desk: &Desk, consent: &Consent, trace: Option<&TraceParent>) {
    let wake = Wake::task(&key(desk, consent), trace.cloned());
    wake_or_log(desk.wake.as_ref(), &wake, Duration::ZERO).await;
}
