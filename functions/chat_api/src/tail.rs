//! Following a task: its events as they are stored, from whatever instance, for a bounded time.
//!
//! Nobody tells a function that the table changed, so it looks: soon after news, more seldom while it is quiet. The
//! log has no gaps, so each event, applied to the task as it was read, gives the task as it is.

use std::time::Duration;

use domain::{Event, Task};
use store::{Store, StoreError, TaskKey};
use tokio::time::Instant;

/// The first look after news.
const SOON: Duration = Duration::from_millis(60);
/// The longest wait between two looks. News are on the page within a second, however long it was quiet before.
const SELDOM: Duration = Duration::from_millis(500);
/// Something is sent at least this often, or a proxy takes the connection for dead.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Most events of one look.
const LOOK_MAX: u32 = 100;

/// A task that is followed.
pub(crate) struct Tail {
    store: Store,
    key: TaskKey,
    task: Task,
    pause: Duration,
    deadline: Instant,
    spoke: Instant,
}

/// What following a task brought.
#[derive(Debug)]
pub(crate) enum News {
    /// These happened; the task is as it is after them.
    Events(Vec<Event>),
    /// Nothing, for so long that a sign of life is due.
    Quiet,
    /// The time is up.
    TimeUp,
}

impl Tail {
    /// Follows the task from the state it was read in, for at most `limit`.
    pub(crate) fn new(store: Store, task: Task, limit: Duration) -> Self {
        let now = Instant::now();
        let key = TaskKey::from(&task);
        Self {
            store,
            key,
            task,
            pause: SOON,
            deadline: now + limit,
            spoke: now,
        }
    }

    /// Follows another task from now on, for what is left of the time.
    pub(crate) fn turn_to(&mut self, task: Task) {
        self.key = TaskKey::from(&task);
        self.task = task;
        self.pause = SOON;
    }

    /// The task, after all events that were told.
    pub(crate) fn task(&self) -> &Task {
        &self.task
    }

    /// The next news.
    pub(crate) async fn next(&mut self) -> Result<News, StoreError> {
        self.next_until(self.deadline).await
    }

    /// The next news, or [`News::TimeUp`] already at this moment.
    pub(crate) async fn next_until(&mut self, until: Instant) -> Result<News, StoreError> {
        let until = until.min(self.deadline);
        loop {
            let now = Instant::now();
            if now >= until {
                return Ok(News::TimeUp);
            }
            if now >= self.spoke + HEARTBEAT {
                self.spoke = now;
                return Ok(News::Quiet);
            }
            // The task was read, or its last news, just now: to look again at once would find nothing.
            let wake = (now + self.pause).min(until).min(self.spoke + HEARTBEAT);
            tokio::time::sleep_until(wake).await;
            let events = self
                .store
                .tasks()
                .events(&self.key, self.task.rev, LOOK_MAX)
                .await?;
            if !events.is_empty() {
                self.apply(&events)?;
                (self.pause, self.spoke) = (SOON, Instant::now());
                return Ok(News::Events(events));
            }
            self.pause = (self.pause * 3 / 2).min(SELDOM);
        }
    }

    fn apply(&mut self, events: &[Event]) -> Result<(), StoreError> {
        for event in events {
            let applied = self.task.record(event.kind.clone(), event.at);
            if !applied.is_ok_and(|applied| applied.seq == event.seq) {
                return Err(StoreError::Inconsistent {
                    table: "tasks".to_owned(),
                    key: format!("{} event {}", self.task.id, event.seq),
                    reason: "the event does not follow from the one before".to_owned(),
                });
            }
        }
        Ok(())
    }
}
