//! What changed of a job between two writes.

use serde::{Deserialize, Serialize};

use super::{Endpoint, Job, JobState, Protection};
use crate::unkept::Unkept;
use crate::{Artifact, Heard, Timestamp};

/// What changed of a job between two writes: what is there took the place of what was there before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobChange {
    /// Which job.
    pub number: u32,
    /// When it changed.
    pub updated_at: Timestamp,
    /// How far it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
    /// The results that are new or other than before, each whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// The results that are gone, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// How many sends were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The consent its calls need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// The keys that its agent signs with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_keys: Option<Vec<String>>,
    /// What was heard of it lately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<Heard>,
    /// How often its result could not be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetches: Option<u32>,
    /// True where its agent gave what there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched: Option<bool>,
    /// How it is called, where its agent has moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Since when its send fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// What of its results was too large to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unkept: Option<Vec<Unkept>>,
    /// True where its agent got the words alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words_alone: Option<bool>,
    /// True where its message may have reached its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<bool>,
    /// True once its agent has asked for a sign-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wants_sign_in: Option<bool>,
}

impl JobChange {
    /// What changed; none where a change cannot say it.
    pub(crate) fn between(before: &Job, after: &Job) -> Option<Self> {
        let kept = |id: &str| after.artifacts.iter().any(|artifact| artifact.artifact_id == id);
        let ids = before.artifacts.iter().map(|artifact| &artifact.artifact_id);
        let change = Self {
            number: after.number,
            updated_at: after.updated_at,
            state: changed(&before.state, &after.state),
            artifacts: after
                .artifacts
                .iter()
                .filter(|artifact| !before.artifacts.contains(artifact))
                .cloned()
                .collect(),
            dropped: ids.filter(|id| !kept(id)).cloned().collect(),
            attempts: changed(&before.attempts, &after.attempts),
            protection: changed(&before.protection, &after.protection).flatten(),
            sender_keys: changed(&before.sender_keys, &after.sender_keys),
            heard: changed(&before.heard, &after.heard),
            fetches: changed(&before.fetches, &after.fetches),
            fetched: changed(&before.fetched, &after.fetched),
            endpoint: changed(&before.endpoint, &after.endpoint),
            failing_since: changed(&before.failing_since, &after.failing_since).flatten(),
            unkept: changed(&before.unkept, &after.unkept),
            words_alone: changed(&before.words_alone, &after.words_alone),
            delivered: changed(&before.delivered, &after.delivered),
            wants_sign_in: changed(&before.wants_sign_in, &after.wants_sign_in),
        };
        let mut applied = before.clone();
        applied.apply(&change);
        (applied == *after).then_some(change)
    }
}

fn changed<T: Clone + PartialEq>(before: &T, after: &T) -> Option<T> {
    (before != after).then(|| after.clone())
}

impl Job {
    /// Takes over what changed.
    pub(crate) fn apply(&mut self, change: &JobChange) {
        let change = change.clone();
        self.artifacts
            .retain(|artifact| !change.dropped.contains(&artifact.artifact_id));
        for artifact in change.artifacts {
            artifact.merge_into(&mut self.artifacts, false);
        }
        self.updated_at = change.updated_at;
        self.state = change.state.unwrap_or_else(|| self.state.clone());
        self.attempts = change.attempts.unwrap_or(self.attempts);
        self.protection = change.protection.or_else(|| self.protection.take());
        self.fetches = change.fetches.unwrap_or(self.fetches);
        self.fetched = change.fetched.unwrap_or(self.fetched);
        self.words_alone = change.words_alone.unwrap_or(self.words_alone);
        self.delivered = change.delivered.unwrap_or(self.delivered);
        self.wants_sign_in = change.wants_sign_in.unwrap_or(self.wants_sign_in);
        if let Some(keys) = change.sender_keys {
            self.sender_keys = keys;
        }
        if let Some(heard) = change.heard {
            self.heard = heard;
        }
        if let Some(endpoint) = change.endpoint {
            self.endpoint = endpoint;
        }
        if let Some(unkept) = change.unkept {
            self.unkept = unkept;
        }
        self.failing_since = change.failing_since.or(self.failing_since);
        self.tidy();
    }
}
