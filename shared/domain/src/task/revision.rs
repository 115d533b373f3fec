//! What was recorded since a task was read.

use std::time::Duration;

use super::{Event, EventKind, Task};
use crate::{InvalidTransition, TaskPlan, TaskState, Timestamp};

/// A task on its way from the revision that was read to the next: what a store writes as one compare-and-swap.
#[derive(Debug, Clone)]
pub struct Revision {
    seen: u64,
    began: (TaskState, Timestamp),
    /// What its user had agreed to.
    agreed: (bool, Vec<u32>),
    task: Task,
    events: Vec<Event>,
}

impl Revision {
    /// Starts from the task as it was read.
    #[must_use]
    pub fn of(task: Task) -> Self {
        Self {
            seen: task.rev,
            began: (task.status.state, task.status.at),
            agreed: task.plan.as_ref().map(TaskPlan::agreed).unwrap_or_default(),
            task,
            events: Vec::new(),
        }
    }

    /// Records one more event.
    ///
    /// # Errors
    /// As [`Task::record`].
    pub fn record(&mut self, kind: EventKind, now: Timestamp) -> Result<(), InvalidTransition> {
        let event = self.task.record(kind, now)?;
        self.events.push(event);
        Ok(())
    }

    /// The revision that was read: the write must find it unchanged.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The task after all that was recorded.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// What was recorded, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The states that the task left with what was recorded, each with the one that followed and the time spent in
    /// it since its last status.
    #[must_use]
    pub fn left(&self) -> Vec<(TaskState, TaskState, Duration)> {
        let (mut state, mut since) = self.began;
        let mut left = Vec::new();
        for event in &self.events {
            if let EventKind::Status { state: next, .. } = &event.kind {
                if *next != state {
                    left.push((state, *next, event.at.since(since)));
                }
                (state, since) = (*next, event.at);
            }
        }
        left
    }

    /// What its user agreed to with what was recorded: to its plan, and to these of its steps.
    #[must_use]
    pub fn agreed(&self) -> (bool, Vec<u32>) {
        let (was_given, before) = &self.agreed;
        let (is_given, mut steps) = self.task.plan.as_ref().map(TaskPlan::agreed).unwrap_or_default();
        steps.retain(|number| !before.contains(number));
        (is_given && !was_given, steps)
    }

    /// True where nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The task after all that was recorded.
    #[must_use]
    pub fn into_task(mut self) -> Task {
        let written = !self.events.is_empty();
        if let Some(keeping) = self.task.kept.keeping.as_mut().filter(|_| written) {
            keeping.revisions.push(self.task.rev);
        }
        self.task
    }
}
