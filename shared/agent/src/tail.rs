//! Following a task: its events as they are stored, from whatever instance, for a bounded time.
//!
//! Nobody tells a function that the table changed, so it looks: soon after news, ever more seldom while it is quiet.
//! What an execution in the same invocation records comes without a look ([`Inbox`]). The log has no gaps, so that
//! nothing is lost between the two.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{Clock, Event, EventKind, Task, TaskState, Timestamp, WorkNote};
use store::{AnswerDraft, Store, StoreError, TaskKey};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Shutdown;

/// The first look after news.
const SOON: Duration = Duration::from_millis(100);
/// The longest wait between two looks while somebody works on the task.
const SELDOM: Duration = Duration::from_secs(2);
/// The same while it waits for its user.
const RARELY: Duration = Duration::from_secs(5);
/// How often a draft of the answer is looked for, where its words are wanted.
const DRAFTS_EVERY: Duration = Duration::from_millis(300);
/// Most events of one look.
const LOOK_MAX: u32 = 100;

tokio::task_local! {
    static LISTENER: Inbox;
}

/// Tells whoever follows the task in this invocation of what was stored just now.
pub(crate) fn tell(events: &[Event]) {
    // Where nobody listens there is nobody to tell.
    let _ = LISTENER.try_with(|inbox| {
        let mut waiting = inbox.0.events.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend_from_slice(events);
        inbox.0.news.notify_one();
    });
}

/// Where an execution in this invocation leaves what it stored.
#[derive(Clone, Default)]
pub(crate) struct Inbox(Arc<Waiting>);

#[derive(Default)]
struct Waiting {
    events: Mutex<Vec<Event>>,
    news: Notify,
}

impl Inbox {
    /// Does work whose events come here.
    pub(crate) async fn scope<F: Future>(&self, work: F) -> F::Output {
        LISTENER.scope(self.clone(), work).await
    }

    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A task that is followed.
pub(crate) struct Tail {
    store: Store,
    key: TaskKey,
    inbox: Inbox,
    seen: u64,
    state: TaskState,
    pause: Duration,
    look_at: Instant,
    spoke: Instant,
    heartbeat: Duration,
    deadline: Instant,
    stop: Shutdown,
    drafts: Option<Drafts>,
}

/// What was seen of the answer's drafts.
struct Drafts {
    clock: Arc<dyn Clock>,
    look_at: Instant,
    seen: (u64, usize),
    /// How many turns of its model are stored: drafts of those are over.
    turns: u32,
}

/// What following a task brought.
#[derive(Debug)]
pub(crate) enum News {
    /// These happened, in order and without a gap.
    Events(Vec<Event>),
    /// These words have come of its answer.
    Draft(AnswerDraft, Timestamp),
    /// Nothing, for so long that a sign of life is due.
    Quiet,
    /// The time is up.
    TimeUp,
}

/// How long a task is followed, and how often a sign of life is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TailLimits {
    pub(crate) time: Duration,
    pub(crate) heartbeat: Duration,
}

impl Tail {
    /// Follows the task from behind event `seen`, as it was read; `stop` ends it earlier.
    pub(crate) fn new(store: Store, task: &Task, seen: u64, limits: TailLimits, stop: Shutdown) -> Self {
        let now = Instant::now();
        let is_behind = seen < task.rev;
        Self {
            store,
            key: TaskKey::from(task),
            inbox: Inbox::default(),
            seen,
            state: task.status.state,
            pause: SOON,
            // What was missed lies in the table already; otherwise there can be nothing yet.
            look_at: if is_behind { now } else { now + SOON },
            spoke: now,
            heartbeat: limits.heartbeat,
            deadline: now + limits.time,
            stop,
            drafts: None,
        }
    }

    /// The same with the drafts of its answer.
    pub(crate) fn with_drafts(self, clock: Arc<dyn Clock>, task: &Task) -> Self {
        let drafts = Drafts {
            clock,
            look_at: Instant::now() + DRAFTS_EVERY,
            seen: (0, 0),
            turns: u32::try_from(task.turns.len()).unwrap_or(u32::MAX),
        };
        Self {
            drafts: Some(drafts),
            ..self
        }
    }

    /// For an execution in this invocation. While there is one the table is looked at seldom: it only knows more where
    /// others write.
    pub(crate) fn inbox(&mut self) -> Inbox {
        // The execution tells by itself; looks only find what others write.
        self.pause = SELDOM;
        self.look_at = Instant::now() + SELDOM;
        self.inbox.clone()
    }

    /// The execution is over: others go on, if anybody does.
    pub(crate) fn alone(&mut self) {
        self.pause = SOON;
        self.look_at = self.look_at.min(Instant::now() + SOON);
    }

    /// What an execution in this invocation has left, without waiting for more.
    pub(crate) fn waiting(&mut self) -> Option<Vec<Event>> {
        let told = self.inbox.take();
        if told.is_empty() { None } else { self.follow(told) }
    }

    /// The number of the last event that was told.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// The task's state after all that was told, or as it was read where it is behind that still.
    pub(crate) fn state(&self) -> TaskState {
        self.state
    }

    /// The next news. Nothing is lost where the wait is given up and begun again.
    pub(crate) async fn next(&mut self) -> Result<News, StoreError> {
        loop {
            let now = Instant::now();
            let told = self.inbox.take();
            if !told.is_empty() {
                match self.follow(told) {
                    Some(events) => return Ok(News::Events(events)),
                    // Somebody else wrote in between: the table has it all.
                    None => self.look_at = now,
                }
            }
            if now >= self.deadline {
                return Ok(News::TimeUp);
            }
            if now >= self.spoke + self.heartbeat {
                self.spoke = now;
                return Ok(News::Quiet);
            }
            if now >= self.look_at {
                let tasks = self.store.tasks();
                let found = tasks.events(&self.key, self.seen, LOOK_MAX).await?;
                match self.follow(found) {
                    Some(events) => {
                        self.pause = SOON;
                        self.look_at = Instant::now() + SOON;
                        return Ok(News::Events(events));
                    }
                    None => {
                        self.look_at = Instant::now() + self.pause;
                        self.pause = longer(self.pause, self.state);
                    }
                }
                continue;
            }
            if let Some((draft, at)) = self.draft(now).await? {
                self.spoke = Instant::now();
                return Ok(News::Draft(draft, at));
            }
            let wake = self.look_at.min(self.deadline).min(self.spoke + self.heartbeat);
            let wake = self.draft_at().map_or(wake, |at| wake.min(at));
            tokio::select! {
                biased;
                () = self.inbox.0.news.notified() => {}
                () = self.stop.come() => return Ok(News::TimeUp),
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }

    /// When a draft is looked for next. There is none of a task that nobody works on.
    fn draft_at(&self) -> Option<Instant> {
        let works = matches!(self.state, TaskState::Submitted | TaskState::Working);
        self.drafts
            .as_ref()
            .filter(|_| works)
            .map(|drafts| drafts.look_at)
    }

    /// A draft that has more than was seen, where it is time to look for one.
    async fn draft(&mut self, now: Instant) -> Result<Option<(AnswerDraft, Timestamp)>, StoreError> {
        let is_time = self.draft_at().is_some_and(|at| now >= at);
        let Some(drafts) = self.drafts.as_mut().filter(|_| is_time) else {
            return Ok(None);
        };
        let at = drafts.clock.now();
        let found = self.store.tasks().draft(&self.key, at).await?;
        drafts.look_at = Instant::now() + DRAFTS_EVERY;
        let is_new = |draft: &AnswerDraft| {
            draft.turn >= drafts.turns && (draft.attempt, draft.text.len()) > drafts.seen
        };
        let fresh = found.filter(is_new);
        if let Some(draft) = &fresh {
            drafts.seen = (draft.attempt, draft.text.len());
        }
        Ok(fresh.map(|draft| (draft, at)))
    }

    /// Takes the events that follow on what was told; `None` where there is none, or one is missing.
    fn follow(&mut self, events: Vec<Event>) -> Option<Vec<Event>> {
        let fresh: Vec<Event> = events.into_iter().filter(|event| event.seq > self.seen).collect();
        let gapless = fresh
            .iter()
            .zip(self.seen.saturating_add(1)..)
            .all(|(event, seq)| event.seq == seq);
        if !gapless {
            return None;
        }
        self.seen = fresh.last()?.seq;
        for event in &fresh {
            match (&event.kind, &mut self.drafts) {
                (EventKind::Status { state, .. }, _) => self.state = *state,
                (
                    EventKind::Work {
                        note: WorkNote::Turn { .. },
                    },
                    Some(drafts),
                ) => drafts.turns = drafts.turns.saturating_add(1),
                _ => {}
            }
        }
        self.spoke = Instant::now();
        Some(fresh)
    }
}

/// The wait after one that brought nothing.
fn longer(pause: Duration, state: TaskState) -> Duration {
    // A task that waits for its user changes when a person answers, not within a second.
    let longest = if state.is_interrupted() { RARELY } else { SELDOM };
    (pause * 5 / 4).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks in a minute without news.
    fn looks(state: TaskState) -> usize {
        let (mut at, mut pause, mut looks) = (SOON, SOON, 0);
        while at < Duration::from_secs(60) {
            looks += 1;
            at += pause;
            pause = longer(pause, state);
        }
        looks
    }

    #[test]
    fn a_quiet_task_is_looked_at_less_than_once_a_second() {
        assert_eq!(looks(TaskState::Working), 40);
        assert_eq!(looks(TaskState::InputRequired), 26);
    }
}
