//! The access token that goes to an agent with a call: ours for our own, the user's grant for one that is protected.

use std::future::Future;

use consent::{GrantNeed, Obstacle};
use domain::{Job, Protection, SecretString, Task, Timestamp};
use outbound::CallError;

use crate::host::Host;

impl Host {
    /// Makes a call with the token that the job's agent takes; once more where that token has run out.
    pub(crate) async fn with_token<T, F>(
        &self,
        task: &Task,
        job: &Job,
        now: Timestamp,
        call: impl Fn(SecretString) -> F,
    ) -> Result<T, Obstacle>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        if let Some(protection) = &job.protection {
            return self.consents.with_token(need(task, job, protection), call).await;
        }
        match call(self.own_token(task, job, now)?).await {
            // The agent's clock is ahead of ours, or the call waited too long: once more with a fresh token.
            Err(CallError::Unauthorized { expired: true, .. }) => {
                Ok(call(self.own_token(task, job, self.clock.now())?).await?)
            }
            answered => Ok(answered?),
        }
    }

    fn own_token(&self, task: &Task, job: &Job, now: Timestamp) -> Result<SecretString, CallError> {
        let signed = self.access.agent(&task.owner, job.endpoint.url.as_str(), now);
        signed.map_err(|error| CallError::NotAllowed(error.to_string()))
    }
}

/// The grant that a job's calls need: of the task's owner, for that agent alone.
pub(crate) fn need<'a>(task: &'a Task, job: &'a Job, protection: &'a Protection) -> GrantNeed<'a> {
    GrantNeed {
        owner: &task.owner,
        provider: &protection.provider,
        resource: job.endpoint.url.as_str(),
        scopes: &protection.scopes,
        trace: task.trace.as_ref(),
    }
}
