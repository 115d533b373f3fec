//! What a job's phase says, and how it follows from the rest of the job.

use super::{AwaitedConsent, Job, JobState, RemoteUpdate};
use crate::{Heard, RemoteTaskId, TaskState, Timestamp, unkept};

impl Job {
    /// The agent's own task, once known.
    #[must_use]
    pub fn remote_task_id(&self) -> Option<&RemoteTaskId> {
        match &self.state {
            JobState::Prepared | JobState::Unknown => None,
            JobState::Linked { remote_task_id, .. } | JobState::Fetching { remote_task_id, .. } => {
                Some(remote_task_id)
            }
            JobState::AwaitingConsent { remote_task_id, .. } | JobState::Settled { remote_task_id, .. } => {
                remote_task_id.as_ref()
            }
        }
    }

    /// What the agent last said, once it said anything.
    #[must_use]
    pub fn remote(&self) -> Option<&RemoteUpdate> {
        match &self.state {
            JobState::Prepared | JobState::Unknown => None,
            JobState::AwaitingConsent { remote, .. } => remote.as_ref(),
            JobState::Linked { remote, .. }
            | JobState::Fetching { remote, .. }
            | JobState::Settled { remote, .. } => Some(remote),
        }
    }

    /// True where its agent is through with it; it may be that the result is still to be fetched.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self.state, JobState::Fetching { .. } | JobState::Settled { .. })
    }

    /// The request for consent that the job waits for.
    #[must_use]
    pub fn awaited_consent(&self) -> Option<&AwaitedConsent> {
        let open = self.protection.as_ref().filter(|_| !self.is_settled());
        open?.consent.as_ref()
    }

    /// True where an end came without a result that its agent may have: it was not asked yet, or in vain.
    fn lacks_result(&self, remote: &RemoteUpdate) -> bool {
        let bare = self.artifacts.is_empty() && !self.fetched;
        // A completed job should have something to show; of every other end its words are enough.
        bare && (remote.state == TaskState::Completed || remote.text.is_none())
    }

    /// A job that is over and whose result could not be kept has failed, in words that say so.
    fn tell_unkept(&mut self) {
        let (JobState::Settled { remote, .. } | JobState::Fetching { remote, .. }) = &mut self.state else {
            return;
        };
        if !self.unkept.is_empty() && remote.state == TaskState::Completed {
            remote.state = TaskState::Failed;
            remote.text = Some(unkept::words(remote.text.as_ref(), &self.artifacts, &self.unkept));
        }
    }

    /// Brings the phase in line with the rest: whether a consent is waited for, whether the result is there. What has no
    /// use once the job is over goes: its message is never sent again, and news change nothing, also what was heard
    /// before. Release 0.2 reads phases of ours and does not write all of them, so that this is done with each reading.
    pub fn tidy(&mut self) {
        self.tell_unkept();
        let awaits = self
            .protection
            .as_ref()
            .is_some_and(|protection| protection.consent.is_some());
        self.state = match std::mem::replace(&mut self.state, JobState::Unknown) {
            JobState::Prepared if awaits => JobState::AwaitingConsent {
                remote_task_id: None,
                remote: None,
            },
            JobState::Linked {
                remote_task_id,
                remote,
            } if awaits => JobState::AwaitingConsent {
                remote_task_id: Some(remote_task_id),
                remote: Some(remote),
            },
            JobState::AwaitingConsent {
                remote_task_id,
                remote,
            } if !awaits => match remote_task_id.zip(remote) {
                Some((remote_task_id, remote)) => JobState::Linked {
                    remote_task_id,
                    remote,
                },
                None => JobState::Prepared,
            },
            JobState::Settled {
                remote_task_id: Some(remote_task_id),
                remote,
            } if self.lacks_result(&remote) => JobState::Fetching {
                remote_task_id,
                remote,
            },
            JobState::Fetching {
                remote_task_id,
                remote,
            } if !self.lacks_result(&remote) => JobState::Settled {
                remote_task_id: Some(remote_task_id),
                remote,
            },
            fits => fits,
        };
        if self.is_settled() {
            self.webhook.sealed = None;
            self.heard = Heard::default();
        }
    }

    /// Ends the job without its agent: it could not be reached, or the task was called off.
    pub fn give_up(&mut self, state: TaskState, reason: impl Into<String>, now: Timestamp) {
        if !self.is_settled() {
            let remote = RemoteUpdate {
                text: Some(reason.into()),
                at: Some(now),
                ..RemoteUpdate::of(state)
            };
            self.state = JobState::Settled {
                remote_task_id: self.remote_task_id().cloned(),
                remote,
            };
            self.updated_at = now;
            self.tidy();
        }
    }
}
