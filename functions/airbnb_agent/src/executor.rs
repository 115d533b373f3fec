//! The agent's work on one task: read what is wanted, search, look at the best, tell.

use agent::{ExecuteError, Executor, Outcome, Run, measure};
use async_trait::async_trait;
use domain::{AgentName, Message, Role, TaskState, UserContext};
use outbound::mcp::McpError;
use serde::{Deserialize, Serialize};

use crate::answer;
use crate::listing::Listing;
use crate::server::Homes;
use crate::wanted::{Reading, Wanted};

/// Counted where the server's tools are not those that the operator has allowed.
const TOOLS_CHANGED: &str = "McpToolsChanged";

/// Finds places to stay.
pub(crate) struct StayExecutor {
    homes: Homes,
    name: AgentName,
}

/// What the search found, and for whom: a repeat of the execution goes on from here.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    wanted: Wanted,
    listings: Vec<Listing>,
}

impl StayExecutor {
    pub(crate) fn new(homes: Homes, name: AgentName) -> Self {
        Self { homes, name }
    }

    /// What a call that failed means for the task.
    fn failed(&self, error: &McpError) -> Result<Outcome, ExecuteError> {
        tracing::warn!(
            error = error as &dyn std::error::Error,
            "the server of accommodation gave no answer"
        );
        if error.is_unpinned() {
            measure::record(TOOLS_CHANGED, 1, "Count", &self.name);
            return Ok(Outcome::Failed(
                "The accommodation service has changed what it offers since its operator last looked at it, so it was \
                 not asked. Its operator has to look at it again."
                    .to_owned(),
            ));
        }
        if error.is_retryable() {
            return Err(ExecuteError::Retry(
                "The accommodation service cannot be reached at the moment.".to_owned(),
            ));
        }
        Ok(Outcome::Failed(match error {
            McpError::Failed(_) => "The accommodation service could not search.".to_owned(),
            McpError::Asks(_) => {
                "The accommodation service asks for something that is not handed to it.".to_owned()
            }
            _ => "The accommodation service gave an answer that cannot be used.".to_owned(),
        }))
    }
}

#[async_trait]
impl Executor for StayExecutor {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let history = &run.task().history;
        let user = UserContext::newest(history.iter());
        let said: Vec<&Message> = history
            .iter()
            .filter(|message| message.role == Role::User)
            .collect();
        let wanted = match Reading::of(&user, run.now()).read(&said) {
            Ok(wanted) => wanted,
            Err(question) => return Ok(Outcome::InputRequired(question)),
        };
        let before = run.checkpoint::<Found>().filter(|found| found.wanted == wanted);
        let listings = match before {
            Some(found) => found.listings,
            None => {
                // Said once: each news of a task is written, pushed, and written down again by whoever asked.
                if run.task().status.state != TaskState::Working {
                    let doing = format!("Looking for places to stay in {} …", wanted.place);
                    run.working(&doing).await?;
                }
                let listings = match self.homes.search(&wanted).await {
                    Ok(listings) => listings,
                    Err(error) => return self.failed(&error),
                };
                let found = Found {
                    wanted: wanted.clone(),
                    listings,
                };
                run.save_checkpoint(&found).await?;
                found.listings
            }
        };
        let listings = self.homes.with_details(&wanted, listings).await;
        Ok(Outcome::Completed {
            artifacts: vec![answer::artifact(&wanted, &listings)],
            say: None,
        })
    }
}
