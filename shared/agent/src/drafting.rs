//! Words of an answer as they come, for those who follow a task and asked for them: kept beside the task while its executor
//! asks a language model, and nothing but a look ahead at the answer. Where nobody asked, nothing is written.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{Clock, Task};
use store::{AnswerDraft, DRAFT_MAX, Store, TaskKey};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The words of an attempt are first shown after this long: what is whole by then needs no draft.
const FIRST: Duration = Duration::from_millis(300);
/// Then they are written at most this often.
const EVERY: Duration = Duration::from_secs(1);
/// How many attempts of a worker are told apart at one revision of a task, and how many of the model in each.
const ATTEMPTS: u64 = 100;

/// The writing of one answer's drafts.
pub struct Drafting {
    store: Store,
    clock: Arc<dyn Clock>,
    key: TaskKey,
    turn: u32,
    /// What the attempts of the model at this answer are counted from.
    attempts: u64,
    growing: Arc<Growing>,
}

/// Takes the words down as they come. It never blocks.
#[derive(Clone)]
pub struct DraftPen(Arc<Growing>);

#[derive(Default)]
struct Growing {
    said: Mutex<Said>,
    news: Notify,
}

#[derive(Default)]
struct Said {
    attempt: u32,
    text: String,
}

impl Growing {
    fn change(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner));
        self.news.notify_one();
    }
}

impl DraftPen {
    /// The model begins its answer, for the first, second, … time; what it said before does not count.
    pub fn begins(&self, attempt: u32) {
        self.0.change(|said| {
            said.attempt = attempt;
            said.text.clear();
        });
    }

    /// It goes on.
    pub fn grows(&self, text: &str) {
        self.0.change(|said| said.text.push_str(text));
    }
}

impl Drafting {
    /// Of the model's turn `turn`, asked for by the `attempt`th worker at this task as it is.
    pub(crate) fn new(
        (store, clock): (Store, Arc<dyn Clock>),
        task: &Task,
        (turn, attempt): (u32, u32),
    ) -> Self {
        // Both grow whenever it is asked again, so that a later attempt never counts for less: a worker's attempts begin
        // anew only with a new revision.
        let worker = u64::from(attempt).min(ATTEMPTS - 1);
        Self {
            store,
            clock,
            key: TaskKey::from(task),
            turn,
            attempts: (task.rev.saturating_mul(ATTEMPTS).saturating_add(worker)).saturating_mul(ATTEMPTS),
            growing: Arc::default(),
        }
    }

    /// What takes the words down.
    #[must_use]
    pub fn pen(&self) -> DraftPen {
        DraftPen(Arc::clone(&self.growing))
    }

    /// Asks, and writes beside that what has come so far. Both end with the answer, or where this is dropped.
    pub async fn beside<F: Future>(&self, asking: F) -> F::Output {
        tokio::select! {
            biased;
            answer = asking => answer,
            never = self.write() => match never {},
        }
    }

    async fn write(&self) -> Infallible {
        let mut last: Option<AnswerDraft> = None;
        let mut earliest = Instant::now();
        loop {
            self.growing.news.notified().await;
            tokio::time::sleep_until(earliest.max(Instant::now() + self.pause(last.as_ref()))).await;
            let draft = self.draft();
            if draft.text.is_empty() || last.as_ref() == Some(&draft) {
                continue;
            }
            earliest = Instant::now() + EVERY;
            match self
                .store
                .tasks()
                .put_draft(&self.key, &draft, self.clock.now())
                .await
            {
                Ok(true) => last = Some(draft),
                // Somebody else works on the task by now.
                Ok(false) => return std::future::pending().await,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::debug!(task.id = %self.key.id, error, "a draft is not shown");
                }
            }
        }
    }

    /// How long words are gathered before they are written, beside the time that writes are apart.
    fn pause(&self, last: Option<&AnswerDraft>) -> Duration {
        match last {
            Some(last) if last.attempt == self.draft().attempt => Duration::ZERO,
            _ => FIRST,
        }
    }

    fn draft(&self) -> AnswerDraft {
        let said = self.growing.said.lock().unwrap_or_else(PoisonError::into_inner);
        // An answer has no space around it: a draft without it is how the answer begins.
        let text = said.text.trim();
        let text = text
            .get(..text.floor_char_boundary(DRAFT_MAX))
            .unwrap_or_default();
        AnswerDraft {
            turn: self.turn,
            attempt: self
                .attempts
                .saturating_add(u64::from(said.attempt).min(ATTEMPTS - 1)),
            text: text.to_owned(),
        }
    }
}
