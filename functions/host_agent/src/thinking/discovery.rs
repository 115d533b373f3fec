//! Looking for agents, in the host's own name.

use std::sync::Arc;

use agent::ExecuteError;
use domain::{JobState, Task};
use futures_util::future::join_all;

use crate::deps::Deps;
use crate::thinking::directory::{Directory, KnownAgents};

pub(crate) struct Discovery {
    pub(crate) deps: Arc<Deps>,
    pub(crate) directory: Directory,
}

impl Discovery {
    /// Tells the registry of the agents of a task that cannot be reached, so that other tasks go to others.
    pub(crate) async fn report_unreached(&self, task: &Task) {
        let now = self.deps.clock.now();
        let is_out_of_reach = |job: &&domain::Job| {
            let tried = matches!(job.state, JobState::Prepared) && job.attempts > 0;
            tried && job.failing_since.is_some()
        };
        let token = |url: &url::Url| self.deps.tokens.registry(url.as_str(), now);
        let reports = task.jobs.iter().filter(is_out_of_reach);
        let reports = reports.map(|job| self.directory.report(job.agent_id, token, now));
        // All at once: a registry that is silent holds the task up for one of them.
        for report in join_all(reports).await {
            if let Err(error) = report {
                tracing::error!(error = %error, "no token for the registry");
            }
        }
    }

    /// Finds the agents, with the host's own token.
    pub(crate) async fn discover(&self) -> Result<Arc<KnownAgents>, ExecuteError> {
        let now = self.deps.clock.now();
        let token = |url: &url::Url| self.deps.tokens.registry(url.as_str(), now);
        let unusable =
            || ExecuteError::Retry("The registry of agents cannot be asked at the moment.".to_owned());
        let found = self.directory.discover(token).await.map_err(|error| {
            tracing::error!(error = %error, "no token for the registry");
            unusable()
        })?;
        found.map_err(|error| {
            tracing::warn!(error = %error, "the registry cannot be asked");
            unusable()
        })
    }
}
