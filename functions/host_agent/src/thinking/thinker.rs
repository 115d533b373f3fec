//! The model at work on one task.

use std::sync::Arc;

use agent::{ExecuteError, Outcome, Run};
use domain::UserContext;
use llm::{Answer, Ended, LoopError, LoopLimits, Model, ModelError, NoDraft, Prompt, Today};

use crate::deps::Deps;
use crate::rules::note::Note;
use crate::rules::outcome::outcome;
use crate::rules::transcript::{self, has_file};
use crate::thinking::directory::{Directory, KnownAgents};
use crate::thinking::discovery::Discovery;
use crate::thinking::one_agent::OneAgent;
use crate::thinking::tools::Tools;
use crate::waiting::wait;

/// Most characters of a model's refusal that a user is told.
const REFUSAL_MAX: usize = 400;

pub(crate) struct Thinker {
    agents: Discovery,
    model: Arc<dyn Model>,
    /// False where nothing may be delegated for now.
    enabled: bool,
}

/// What a model is to think about.
pub(crate) struct Thought {
    pub(crate) prompt: Prompt,
    /// Its first answer, where that is known already.
    pub(crate) first: Option<Answer>,
    /// Who there is; looked up when it is needed.
    pub(crate) known: Option<Arc<KnownAgents>>,
    pub(crate) note: Note,
}

impl Thinker {
    pub(crate) fn new(deps: Arc<Deps>, directory: Directory, model: Arc<dyn Model>, enabled: bool) -> Self {
        let model: Arc<dyn Model> = match directory {
            Directory::Fixed { .. } => Arc::new(OneAgent(model)),
            Directory::Registry { .. } => model,
        };
        Self {
            agents: Discovery { deps, directory },
            model,
            enabled,
        }
    }

    pub(crate) fn deps(&self) -> &Deps {
        &self.agents.deps
    }

    /// True where one agent gets whatever is said.
    pub(crate) fn has_one_agent(&self) -> bool {
        matches!(self.agents.directory, Directory::Fixed { .. })
    }

    /// Finds the agents.
    pub(crate) async fn discover(&self) -> Result<Arc<KnownAgents>, ExecuteError> {
        self.agents.discover().await
    }

    /// False where nothing may be delegated for now.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Every job is over: the model phrases the answer, or goes on.
    pub(crate) async fn resume(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        // Looked up only for a model that may want to send once more: an answer never waits for a registry.
        let known = match self.model.goes_on() {
            true => self.discover().await.ok(),
            false => None,
        };
        let deps = self.deps();
        let agents = known.as_ref().map(|known| known.briefs(&deps.tenant, &deps.url));
        let prompt = Prompt {
            agents: agents.unwrap_or_default(),
            turns: transcript::of_work(run.task()),
            today: Some(today(run)),
        };
        let thought = Thought {
            prompt,
            first: None,
            known,
            note: Note::of(run.task()).unwrap_or_default(),
        };
        self.think(run, thought).await
    }

    /// The model's first answer, or how the task ends because there is none.
    pub(crate) async fn first_step(
        &self,
        run: &Run,
        prompt: &Prompt,
    ) -> Result<Result<Answer, Outcome>, ExecuteError> {
        match self.model.step(prompt, &mut NoDraft).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) => failed(run, LoopError::Model(error)).map(Err),
        }
    }

    pub(crate) async fn think(&self, run: &mut Run, thought: Thought) -> Result<Outcome, ExecuteError> {
        let Thought {
            prompt,
            first,
            known,
            note,
        } = thought;
        let mut tools = Tools {
            agents: &self.agents,
            run,
            known,
            note: note.clone(),
        };
        let ended = Box::pin(llm::run(
            (self.model.as_ref(), &mut NoDraft),
            prompt,
            first,
            &mut tools,
            LoopLimits::default(),
        ))
        .await;
        match ended {
            Ok(Ended::Said(text)) if run.task().jobs.is_empty() => {
                let text = match run.task().history.iter().any(has_file) {
                    true => format!("Nobody I can reach takes the file that you sent. {text}"),
                    false => text,
                };
                Ok(Outcome::Message(run.message(&note.around(text))))
            }
            Ok(Ended::Said(text)) => Ok(outcome(run.task(), &note, text)),
            Ok(Ended::Parked) => wait(self.deps(), run).await,
            Err(error) => failed(run, error),
        }
    }
}

/// The day on which the task was asked for: what it calls tomorrow stays that day, however long it waits.
pub(crate) fn today(run: &Run) -> Today {
    let task = run.task();
    Today::at(
        task.created_at,
        UserContext::newest(task.history.iter()).time_zone,
    )
}

/// How a task ends that the model did not bring to an end.
fn failed(run: &Run, error: LoopError<ExecuteError>) -> Result<Outcome, ExecuteError> {
    match error {
        LoopError::Tool(error) => Err(error),
        LoopError::Model(ModelError::Unavailable(reason)) => {
            tracing::warn!(task.id = %run.task().id, reason, "the model cannot be asked");
            Err(ExecuteError::Retry(
                "I cannot think at the moment; please try again later.".to_owned(),
            ))
        }
        LoopError::Model(ModelError::Denied(reason)) => {
            tracing::error!(task.id = %run.task().id, reason, "the model does not take our requests");
            Ok(Outcome::Failed(
                "The language model here does not take requests as it is set up. Its operator has to see to that."
                    .to_owned(),
            ))
        }
        LoopError::Model(ModelError::Refused(words)) => {
            tracing::info!(task.id = %run.task().id, "the model refuses to answer");
            let words = llm::clean(&words, REFUSAL_MAX);
            Ok(Outcome::Rejected(match words.is_empty() {
                true => "The language model refuses to answer that.".to_owned(),
                false => format!("The language model refuses to answer that: {words}"),
            }))
        }
        error @ (LoopError::Model(ModelError::Unusable(_)) | LoopError::TooMuch) => {
            tracing::warn!(task.id = %run.task().id, error = %error, "the model came to no answer");
            Ok(Outcome::Failed("I came to no answer for this.".to_owned()))
        }
    }
}
