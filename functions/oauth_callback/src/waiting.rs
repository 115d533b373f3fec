//! The task that waits for the consent: whether it still does, that it is due, and its wake.

use std::time::Duration;

use agent::{Wake, wake_or_log};
use auth::occasion::Occasion;
use consent::Consent;
use domain::{Message, Role, Task, Timestamp};
use store::{StoreError, TaskKey};

use crate::state::{State, Visit};

/// How long a process has, from taking an answer to waking the task, before somebody else looks.
pub(crate) const IN_HAND: Duration = Duration::from_secs(30);

pub(crate) fn key(app: &State, consent: &Consent) -> TaskKey {
    TaskKey::new(app.tenant(), &consent.request.agent, consent.request.task_id)
}

/// The task, where it is there and not over.
pub(crate) async fn task(app: &State, consent: &Consent) -> Result<Option<Task>, StoreError> {
    let tasks = app.consents.store.tasks();
    let found = tasks.find(&key(app, consent), app.clock().now()).await?;
    let task = found.map(|stored| stored.task);
    Ok(task.filter(|task| !task.status.state.is_terminal()))
}

/// True where the task is there and not over.
pub(crate) async fn still_waits(app: &State, consent: &Consent) -> Result<bool, StoreError> {
    Ok(task(app, consent).await?.is_some())
}

/// What the user had asked for when the task began.
pub(crate) fn occasion(task: &Task, consent: &Consent, same_browser: bool) -> Occasion {
    let job = task.jobs.iter().find(|job| job.number == consent.request.job);
    let first = task.history.iter().find(|message| message.role == Role::User);
    let occasion = Occasion {
        agent: job.map_or_else(|| consent.request.agent.to_string(), |job| job.agent_name.clone()),
        at: task.created_at,
        words: first.map(Message::text).unwrap_or_default(),
        place: first.and_then(|message| message.terms.place.clone()),
        same_browser,
    };
    occasion.cleaned()
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
