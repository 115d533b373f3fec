//! News of a job from its agent, and what they change.

use url::Url;

use super::{Endpoint, Job, JobState, RemoteUpdate};
use crate::{Artifact, RemoteTaskId, TaskState, Timestamp};

/// News of a job from its agent: an acknowledgement, a push notification, or the answer to a look-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// The agent's task; absent where it answered with a mere message.
    pub remote_task_id: Option<RemoteTaskId>,
    /// The state, where the news has one (an artifact update has none).
    pub update: Option<RemoteUpdate>,
    /// Results. With `snapshot` they are all there are; otherwise each replaces or extends its own id.
    pub artifacts: Vec<(Artifact, bool)>,
    /// True where the news is the whole task, not one change of it.
    pub snapshot: bool,
    /// Who has the task, where that is another agent than the one that was asked.
    pub responder: Option<Responder>,
}

/// An agent that has a task which another address was asked for: the member of a pool that took it, or the agent that it was handed
/// over to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Responder {
    /// The interface that was asked. An answer of one that is no longer the job's moves nothing.
    pub asked: Url,
    /// The interface of the agent that has the task.
    pub url: Url,
}

/// What news did to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noted {
    /// Nothing: a duplicate, or older than what is known.
    Nothing,
    /// The job changed but goes on.
    Progress,
    /// The agent now waits for the user.
    Interrupted,
    /// The job is over.
    Settled,
    /// The news is of another remote task than the linked one.
    Foreign,
}

impl Job {
    /// Takes news in: idempotent, and in any order. A settled job ignores everything; `submitted` never follows
    /// anything else; news that its agent dates before what is known changes nothing.
    pub fn note(&mut self, news: Notification, now: Timestamp) -> Noted {
        let (known_id, known) = match &self.state {
            JobState::Fetching { .. } | JobState::Settled { .. } | JobState::Unknown => {
                return Noted::Nothing;
            }
            JobState::Prepared => (None, None),
            JobState::AwaitingConsent {
                remote_task_id,
                remote,
            } => (remote_task_id.as_ref(), remote.as_ref()),
            JobState::Linked {
                remote_task_id,
                remote,
            } => (Some(remote_task_id), Some(remote)),
        };
        if let (Some(known), Some(told)) = (known_id, &news.remote_task_id)
            && known != told
        {
            return Noted::Foreign;
        }
        let moved = news.responder.and_then(|responder| self.endpoint.of(responder));
        let remote_task_id = known_id.cloned().or_else(|| news.remote_task_id.clone());
        let update = news.update.filter(|update| is_newer(known, update));

        let artifacts_before = self.artifacts.len();
        let mut artifacts = self.artifacts.clone();
        if news.snapshot && !news.artifacts.is_empty() {
            // All there is comes once more, so that what is too large is counted anew.
            self.unkept.clear();
        }
        if news.snapshot && (update.is_some() || known.is_none()) && !news.artifacts.is_empty() {
            artifacts = news.artifacts.into_iter().map(|(artifact, _)| artifact).collect();
        } else if !news.snapshot {
            let more_left_out = self.unkept.iter().any(|unkept| unkept.results > 0);
            for (artifact, append) in news.artifacts {
                // A further piece of a result that is left out is no other result.
                let is_known = artifacts
                    .iter()
                    .any(|known| known.artifact_id == artifact.artifact_id);
                if append && more_left_out && !is_known {
                    continue;
                }
                artifact.merge_into(&mut artifacts, append);
            }
        }
        let artifacts_changed = artifacts.len() != artifacts_before || artifacts != self.artifacts;
        let linked_now = known_id.is_none() && remote_task_id.is_some();
        if update.is_none() && !artifacts_changed && !linked_now && moved.is_none() {
            return Noted::Nothing;
        }
        let remote = update
            .clone()
            .or_else(|| known.cloned())
            .unwrap_or(RemoteUpdate::of(TaskState::Submitted));
        self.artifacts = artifacts;
        if let Some(endpoint) = moved {
            self.endpoint = endpoint;
        }
        self.updated_at = now;
        let state = remote.state;
        self.wants_sign_in |= state == TaskState::AuthRequired;
        match (remote_task_id, state.is_terminal()) {
            (remote_task_id, true) => {
                self.state = JobState::Settled {
                    remote_task_id,
                    remote,
                }
            }
            (Some(remote_task_id), false) => {
                // From here on looks are counted: sends that failed before say nothing about when to look.
                if linked_now {
                    self.attempts = 0;
                }
                self.state = JobState::Linked {
                    remote_task_id,
                    remote,
                }
            }
            // News without a task id cannot link; what it brought besides is kept.
            (None, false) => {}
        }
        self.tidy();
        match state {
            _ if state.is_terminal() => Noted::Settled,
            _ if state.is_interrupted() && update.is_some() => Noted::Interrupted,
            _ => Noted::Progress,
        }
    }
}

impl Endpoint {
    /// How the agent that has a task is called, where that is another one. The audience of tokens stays the one that was consented
    /// to: whoever took the task with such a token takes the next one too.
    fn of(&self, responder: Responder) -> Option<Self> {
        let moves = responder.asked == self.url && responder.url != self.url;
        moves.then(|| Self {
            url: responder.url,
            resource: Some(self.audience().clone()),
            ..self.clone()
        })
    }
}

fn is_newer(known: Option<&RemoteUpdate>, told: &RemoteUpdate) -> bool {
    let Some(known) = known else { return true };
    if known == told || told.state == TaskState::Submitted {
        return false;
    }
    match (known.at, told.at) {
        _ if told.state.is_terminal() => true,
        (Some(known_at), Some(told_at)) => told_at >= known_at,
        _ => true,
    }
}
