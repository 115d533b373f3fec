//! A task's log with whole jobs, where it tells what changed of them.

use std::collections::BTreeMap;

use crate::{Event, EventKind, Job};

/// The jobs of a task's log as they were after each of its events: for readers that show whole jobs.
#[derive(Debug, Clone, Default)]
pub struct JobLog(BTreeMap<u32, Job>);

impl JobLog {
    /// The next event, with the whole job where it tells what changed of one.
    pub fn whole(&mut self, event: Event) -> Event {
        let job = match &event.kind {
            EventKind::Job { job } => (**job).clone(),
            EventKind::JobChanged { change } => match self.0.get(&change.number) {
                Some(known) => {
                    let mut job = known.clone();
                    job.apply(change);
                    job
                }
                None => return event,
            },
            _ => return event,
        };
        self.0.insert(job.number, job.clone());
        Event {
            kind: EventKind::Job { job: Box::new(job) },
            ..event
        }
    }
}
