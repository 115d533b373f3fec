//! Following a task: its events as they are stored, from whatever instance, for a bounded time.
//!
//! Nobody tells a function that the table changed, so it looks: soon after news, more seldom while it is quiet. The
//! log has no gaps, so each event, applied to the task as it was read, gives the task as it is.

use std::time::Duration;

use std::sync::Arc;

use domain::{Clock, Event, Task};
use store::{AnswerDraft, Store, StoreError, TaskKey};
use tokio::time::Instant;

use crate::chat::turn;

/// The first look after news.
const SOON: Duration = Duration::from_millis(60);
/// The longest wait between two looks. News are on the page within a second, however long it was quiet before.
const SELDOM: Duration = Duration::from_millis(500);
/// How often words of an answer under way are looked for, where its host shows them.
const DRAFTS_EVERY: Duration = Duration::from_millis(300);
/// The same while the host waits for its next attempt, for half an hour perhaps.
const DRAFTS_SELDOM: Duration = Duration::from_secs(2);
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
    look_at: Instant,
    deadline: Instant,
    spoke: Instant,
    drafts: Option<Drafts>,
}

/// What was seen of the answer's drafts.
struct Drafts {
    clock: Arc<dyn Clock>,
    look_at: Instant,
    seen: (u64, usize),
}

/// What following a task brought.
#[derive(Debug)]
pub(crate) enum News {
    /// These happened; the task is as it is after them.
    Events(Vec<Event>),
    /// These words have come of its answer.
    Draft(AnswerDraft),
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
            look_at: now + SOON,
            deadline: now + limit,
            spoke: now,
            drafts: None,
        }
    }

    /// The same with the drafts of its answer.
    pub(crate) fn with_drafts(self, clock: Arc<dyn Clock>) -> Self {
        let drafts = Drafts {
            clock,
            look_at: Instant::now() + DRAFTS_EVERY,
            seen: (0, 0),
        };
        Self {
            drafts: Some(drafts),
            ..self
        }
    }

    /// Follows another task from now on, for what is left of the time.
    pub(crate) fn turn_to(&mut self, task: Task) {
        self.key = TaskKey::from(&task);
        self.task = task;
        self.pause = SOON;
        self.look_at = Instant::now() + SOON;
        if let Some(drafts) = &mut self.drafts {
            drafts.seen = (0, 0);
        }
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
            let look_at = self.look_at.min(until).min(self.spoke + HEARTBEAT);
            if let Some(draft_at) = self.draft_at().filter(|at| *at < look_at) {
                tokio::time::sleep_until(draft_at).await;
                match self.draft().await? {
                    Some(draft) => return Ok(News::Draft(draft)),
                    None => continue,
                }
            }
            tokio::time::sleep_until(look_at).await;
            let events = self
                .store
                .tasks()
                .without_files()
                .events(&self.key, self.task.rev, LOOK_MAX)
                .await?;
            if !events.is_empty() {
                self.apply(&events)?;
                (self.pause, self.spoke) = (SOON, Instant::now());
                // Its last news were read just now: to look again at once would find nothing.
                self.look_at = self.spoke + SOON;
                return Ok(News::Events(events));
            }
            self.pause = (self.pause * 3 / 2).min(SELDOM);
            self.look_at = Instant::now() + self.pause;
        }
    }

    /// When a draft is looked for next: only where the host shows any, and while it may be thinking.
    fn draft_at(&self) -> Option<Instant> {
        let drafts = self.drafts.as_ref()?;
        turn::may_draft(&self.task).then_some(drafts.look_at)
    }

    /// A draft that has more than was seen.
    async fn draft(&mut self) -> Result<Option<AnswerDraft>, StoreError> {
        let Some(drafts) = &mut self.drafts else {
            return Ok(None);
        };
        let found = self.store.tasks().draft(&self.key, drafts.clock.now()).await?;
        drafts.look_at = Instant::now()
            + match turn::is_held_up(&self.task) {
                true => DRAFTS_SELDOM,
                false => DRAFTS_EVERY,
            };
        // Of a turn that is stored the words are known to be its or not.
        let stored = u32::try_from(self.task.turns.len()).unwrap_or(u32::MAX);
        let fresh =
            found.filter(|draft| draft.turn >= stored && (draft.attempt, draft.text.len()) > drafts.seen);
        if let Some(draft) = &fresh {
            drafts.seen = (draft.attempt, draft.text.len());
            self.spoke = Instant::now();
        }
        Ok(fresh)
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
