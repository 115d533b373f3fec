//! The task that waits for the consent: whether it still does, that it is due, and its wake.

use std::time::Duration;

use agent::{Wake, wake_or_log};
use consent::Consent;
use domain::Timestamp;
use store::{StoreError, TaskKey};

use crate::state::{State, Visit};

/// How long a process has, from taking an answer to waking the task, before somebody else looks.
pub(crate) const IN_HAND: Duration = Duration::from_secs(30);

pub(crate) fn key(app: &State, consent: &Consent) -> TaskKey {
    TaskKey {
        tenant: app.tenant().clone(),
        agent: consent.request.agent.clone(),
        id: consent.request.task_id,
    }
}

/// True where the task is there and not over.
pub(crate) async fn still_waits(app: &State, consent: &Consent) -> Result<bool, StoreError> {
    let tasks = app.consents.store.tasks();
    let found = tasks.find(&key(app, consent), app.clock().now()).await?;
    Ok(found.is_some_and(|stored| !stored.task.status.state.is_terminal()))
}

/// Makes the task due, so that the sweeper finds it even where no wake is ever sent.
pub(crate) async fn make_due(app: &State, consent: &Consent, at: Timestamp) -> Result<(), StoreError> {
    let tasks = app.consents.store.tasks();
    tasks.make_due(&key(app, consent), at).await
}

/// Wakes the task on its agent's queue.
pub(crate) async fn wake(visit: &Visit, consent: &Consent) {
    let wake = Wake::task(&key(&visit.app, consent));
    wake_or_log(visit.app.wake.as_ref(), &wake, Duration::ZERO).await;
}
