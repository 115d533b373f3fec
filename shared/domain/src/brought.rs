//! What a task's jobs brought, as the task's own results: its answer, and what is there where it ends without one.

use crate::unkept::size;
use crate::{Artifact, EventKind, Job, Task};

/// Most bytes of a finished task with the answer that is written into its log; the store takes a little more.
const TASK_MAX: usize = 3_600_000;

impl Task {
    /// What these of its jobs brought, under ids that do not collide.
    pub fn brought(&self, counts: impl Fn(&Job) -> bool) -> Vec<Artifact> {
        let several = self.jobs.len() > 1;
        let jobs = self.jobs.iter().filter(|job| counts(job));
        let all = jobs.flat_map(|job| job.artifacts.iter().map(move |artifact| (job.number, artifact)));
        let own = |(number, artifact): (u32, &Artifact)| {
            let mut artifact = artifact.clone();
            if several {
                artifact.artifact_id = format!("{number}-{}", artifact.artifact_id);
            }
            artifact
        };
        all.map(own).collect()
    }

    /// Whether there is room for these results and a text of so many bytes. A result is bounded where it comes in; here it is beside
    /// all that the user sent.
    #[must_use]
    pub fn has_room_for(&self, artifacts: &[Artifact], text: usize) -> bool {
        size(self) + size(&artifacts) + text <= TASK_MAX
    }

    /// What goes into the log before an end without an answer: failed, rejected and canceled tasks keep what was brought. What was
    /// tried again counts once. Nothing where there is no room for it beside the jobs that have it.
    #[must_use]
    pub fn results_at_end(&self) -> Vec<EventKind> {
        let brought = self.brought(|job| !self.is_replaced(job));
        match self.has_room_for(&brought, 0) {
            true => brought.into_iter().map(EventKind::artifact).collect(),
            false => Vec::new(),
        }
    }
}
