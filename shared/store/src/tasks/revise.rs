//! The one loop of compare-and-swap: read, decide, commit; where somebody else was faster, again.

use domain::{Revision, Task, Timestamp};

use super::{Committed, Due, LeaseAfter, TaskKey, Tasks};
use crate::StoreError;
use crate::dynamo::pause;

/// How often is decided anew before a task counts as contended: with the growing pauses, a second and a half.
const ROUNDS: u32 = 8;

/// What is to become of a task.
#[derive(Debug)]
pub enum Decision<T> {
    /// It stays as it is, and the caller gets this.
    Leave(T),
    /// This is written.
    Write {
        /// The task with what is new.
        revision: Box<Revision>,
        /// When it is to be looked at next.
        due: Due,
    },
}

/// What became of it.
#[derive(Debug)]
pub enum Revised<T> {
    /// There is no such task any more.
    Missing,
    /// Nothing was to be written.
    Left(T),
    /// It is written.
    Written(Box<Revision>),
}

impl Tasks<'_> {
    /// Asks `decide` what becomes of the task, beginning with `seen`, and writes that. Where the task has changed
    /// meanwhile, it is read and decided anew, so that a decision must follow from the task alone.
    ///
    /// # Errors
    /// [`StoreError::Throttled`] where others were faster again and again; otherwise as [`Tasks::commit`].
    pub async fn revise<T>(
        self,
        seen: Task,
        now: Timestamp,
        mut decide: impl FnMut(Task) -> Decision<T>,
    ) -> Result<Revised<T>, StoreError> {
        let key = TaskKey::from(&seen);
        let mut task = seen;
        for round in 1..=ROUNDS {
            let (revision, due) = match decide(task) {
                Decision::Leave(told) => return Ok(Revised::Left(told)),
                Decision::Write { revision, due } => (revision, due),
            };
            if self.commit(&revision, due, LeaseAfter::Keep).await? == Committed::Yes {
                return Ok(Revised::Written(revision));
            }
            pause(round).await;
            task = match self.find(&key, now).await? {
                Some(stored) => stored.task,
                None => return Ok(Revised::Missing),
            };
        }
        tracing::warn!(tenant.id = key.tenant.name(), task.id = %key.id, "a task kept changing while it was decided on");
        let operation = "TransactWriteItems";
        Err(StoreError::Throttled { operation })
    }
}
