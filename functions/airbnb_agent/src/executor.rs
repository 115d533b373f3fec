//! The agent's work on one task: read what is wanted, search, look at the best, tell.

use agent::{ExecuteError, Executor, Outcome, Run, measure};
use async_trait::async_trait;
use domain::{AgentName, PartContent, Role, Task, TaskState, UserContext};
use nlu::Takes;
use outbound::mcp::{McpError, McpForm};
use serde::{Deserialize, Serialize};

use crate::listing::Listing;
use crate::server::{Homes, Searched};
use crate::wanted::Wanted;
use crate::{answer, form};

/// Counted where the server's tools are not those that the operator has allowed.
const TOOLS_CHANGED: &str = "McpToolsChanged";

/// How far back a follow-up reaches, in searches.
const EARLIER_MAX: usize = 4;
/// Most forms of one search.
const FORMS_MAX: u32 = 4;

/// Finds places to stay.
pub(crate) struct StayExecutor {
    homes: Homes,
    name: AgentName,
    takes: Takes,
}

/// How far the work got: a repeat of the execution goes on from here.
#[derive(Debug, Serialize, Deserialize)]
struct Reached {
    wanted: Wanted,
    /// How many messages of the user it is about: those that follow are for a form, or change what is wanted.
    said: usize,
    step: Step,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Step {
    /// The search found this.
    Found(Vec<Listing>),
    /// The server wants this to be filled in first, the so manieth form.
    Asked(McpForm, u32),
}

impl StayExecutor {
    pub(crate) fn new(homes: Homes, name: AgentName, takes: Takes) -> Self {
        Self { homes, name, takes }
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

impl StayExecutor {
    /// What is wanted, and what there is of it; or how this execution ends without that. An execution before this one may have
    /// got that far.
    async fn found(&self, run: &mut Run) -> Result<Result<(Wanted, Vec<Listing>), Outcome>, ExecuteError> {
        let history = run.task().history.iter();
        let said = history.filter(|message| message.role == Role::User).count();
        let (wanted, filled, forms) = match run.checkpoint() {
            Some(Reached {
                wanted,
                step: Step::Asked(form, forms),
                ..
            }) => match &run.taken().form {
                Some(filled) => (wanted, Some((form, form::answer(filled))), forms),
                None => return self.ask(&form).map(Err),
            },
            Some(Reached {
                wanted,
                said: before,
                step: Step::Found(listings),
            }) if before == said => return Ok(Ok((wanted, listings))),
            _ => {
                let user = UserContext::newest(run.task().history.iter());
                match Wanted::of(run.taken(), (&user, run.now()), self.homes.currency()) {
                    Ok(wanted) => (wanted, None, 0),
                    Err((question, schema)) => return Ok(Err(Outcome::Missing { question, schema })),
                }
            }
        };
        if let Some(pick) = wanted.said.pick() {
            let earlier = run.earlier(EARLIER_MAX).await?;
            let mut lists = earlier.iter().rev().filter_map(shown);
            if let Some(one) = lists.find_map(|mut list| (pick < list.len()).then(|| list.swap_remove(pick)))
            {
                return Ok(Ok((wanted, vec![one])));
            }
        }
        // Said once: each news of a task is written, pushed, and written down again by whoever asked.
        if run.task().status.state != TaskState::Working {
            let doing = format!("Looking for places to stay in {} …", wanted.whole_place());
            run.working(&doing).await?;
        }
        let filled = filled.as_ref().map(|(form, filled)| (form, filled));
        let step = match self.homes.search(&wanted, filled).await {
            Ok(Searched::Found(mut listings)) => {
                if wanted.said.order.is_some() {
                    listings.sort_by_key(Listing::amount);
                }
                Step::Found(listings)
            }
            Ok(Searched::Asks(form)) if forms < FORMS_MAX => Step::Asked(form, forms + 1),
            Ok(Searched::Asks(_)) => return self.failed(&McpError::Asks("ever more".to_owned())).map(Err),
            Err(error) => return self.failed(&error).map(Err),
        };
        let reached = Reached { wanted, said, step };
        match &reached.step {
            Step::Found(listings) => {
                run.save_checkpoint(&reached).await?;
                let listings = listings.clone();
                Ok(Ok((reached.wanted, listings)))
            }
            // In the write that asks it, so that what is said is the answer to this form and no other.
            Step::Asked(form, _) => {
                run.record_with_outcome(Run::checkpoint_event(&reached)?);
                self.ask(form).map(Err)
            }
        }
    }

    /// Has its user fill the server's form in.
    fn ask(&self, asked: &McpForm) -> Result<Outcome, ExecuteError> {
        match form::schema(asked) {
            Some(schema) => Ok(Outcome::Form {
                lead: form::lead(asked),
                schema,
            }),
            None => self.failed(&McpError::Asks("a form that cannot be shown".to_owned())),
        }
    }
}

/// The list that a task ended with.
fn shown(task: &Task) -> Option<Vec<Listing>> {
    let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
    let mut lists = parts.filter_map(|part| match &part.content {
        PartContent::Data(data) => data.get("listings").cloned(),
        _ => None,
    });
    serde_json::from_value(lists.next()?).ok()
}

#[async_trait]
impl Executor for StayExecutor {
    fn takes(&self) -> Option<&Takes> {
        Some(&self.takes)
    }

    fn recalls(&self) -> usize {
        EARLIER_MAX
    }

    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let (wanted, listings) = match self.found(run).await? {
            Ok(found) => found,
            Err(outcome) => return Ok(outcome),
        };
        let listings = self.homes.with_details(&wanted, listings).await;
        Ok(Outcome::Completed {
            artifacts: vec![answer::artifact(&wanted, listings, self.homes.currency())],
            say: None,
        })
    }
}
