//! The result of a call.

use consent::Obstacle;
use domain::{Job, MessageId, Notification};
use outbound::CallError;

/// What a call did to its job.
pub(crate) struct Done {
    /// The job as it is now.
    pub(crate) job: Job,
    /// What the agent said, kept in case the job cannot be recorded at once.
    pub(crate) heard: Option<Notification>,
    /// The user's message that the agent got, or perhaps.
    pub(crate) took: Option<MessageId>,
    /// The call is worth another try of the whole execution.
    pub(crate) again: Option<String>,
    /// The user must consent to these scopes before the agent can be called.
    pub(crate) needs: Option<Vec<String>>,
    /// What is known of a send or a look that failed.
    pub(crate) trouble: Option<&'static str>,
}

impl Done {
    pub(crate) fn of(job: Job) -> Self {
        Self {
            job,
            heard: None,
            took: None,
            again: None,
            needs: None,
            trouble: None,
        }
    }

    pub(crate) fn heard(job: Job, news: Notification) -> Self {
        Self {
            heard: Some(news),
            ..Self::of(job)
        }
    }

    pub(crate) fn again(job: Job, reason: String) -> Self {
        Self {
            again: Some(reason),
            ..Self::of(job)
        }
    }

    /// What follows from an obstacle; a failed call's meaning is the caller's to say.
    pub(crate) fn hindered(
        job: Job,
        obstacle: Obstacle,
        failed: impl FnOnce(Job, CallError) -> Self,
    ) -> Self {
        match obstacle {
            Obstacle::Consent(scopes) => Self {
                needs: Some(scopes),
                ..Self::of(job)
            },
            Obstacle::Later(reason) => Self::again(job, reason.to_owned()),
            Obstacle::Call(error) => failed(job, error),
        }
    }
}
