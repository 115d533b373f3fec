//! Looking for agents, in the host's own name.

use std::sync::Arc;

use agent::ExecuteError;

use crate::deps::Deps;
use crate::thinking::directory::{Directory, KnownAgents};

pub(crate) struct Discovery {
    pub(crate) deps: Arc<Deps>,
    pub(crate) directory: Directory,
}

impl Discovery {
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
