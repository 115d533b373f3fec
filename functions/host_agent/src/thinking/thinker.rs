//! The model at work on one task.

use std::sync::Arc;

use agent::{ExecuteError, Outcome, Run};
use domain::{Message, PartContent};
use llm::{Ended, Limits, LoopError, Model, ModelError, Prompt, Turn};

use crate::deps::Deps;
use crate::rules::outcome::outcome;
use crate::rules::transcript;
use crate::thinking::directory::{Directory, KnownAgents};
use crate::thinking::discovery::Discovery;
use crate::thinking::one_agent::OneAgent;
use crate::thinking::tools::Tools;
use crate::waiting::wait;

/// Longest text that is taken, in characters.
const TEXT_MAX: usize = 32_000;
/// Most earlier tasks of the conversation that a model sees.
const EARLIER_MAX: usize = 6;

pub(crate) struct Thinker {
    agents: Discovery,
    model: Arc<dyn Model>,
    /// False where nothing may be delegated for now.
    enabled: bool,
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

    /// True where the text only cancels what was asked before.
    pub(crate) fn calls_off(&self, text: &str) -> bool {
        self.model.calls_off(text)
    }

    /// A new task: what was said earlier, who there is, and then the model.
    pub(crate) async fn begin(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let deps = self.deps();
        if !self.enabled {
            return Ok(Outcome::Rejected(
                "Delegating to agents is switched off here at the moment.".to_owned(),
            ));
        }
        let text = transcript::asked(run.task());
        if text.trim().is_empty() && !run.task().history.iter().any(has_text) {
            return Ok(Outcome::Rejected(
                "I need some text to know what is wanted; the message has none.".to_owned(),
            ));
        }
        if text.chars().count() > TEXT_MAX {
            return Ok(Outcome::Rejected(format!(
                "The message is too long: I take up to {TEXT_MAX} characters."
            )));
        }
        let known = self.agents.discover().await?;
        let agents = known.briefs(&deps.tenant, &deps.url);
        let before = deps
            .store
            .tasks()
            .beside(run.task(), EARLIER_MAX, run.now())
            .await?;
        let mut turns = transcript::of_earlier(&before);
        turns.push(Turn::User(text));
        let prompt = Prompt { agents, turns };
        self.think(run, prompt, Some(known)).await
    }

    /// Every job is over: the model phrases the answer, or goes on.
    pub(crate) async fn resume(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        // Agents are looked up only if the model wants to send once more, so that an answer never waits for a registry.
        let prompt = Prompt {
            agents: Vec::new(),
            turns: transcript::of_work(run.task()),
        };
        self.think(run, prompt, None).await
    }

    async fn think(
        &self,
        run: &mut Run,
        prompt: Prompt,
        known: Option<Arc<KnownAgents>>,
    ) -> Result<Outcome, ExecuteError> {
        let mut tools = Tools {
            agents: &self.agents,
            run,
            known,
        };
        let ended = llm::run(self.model.as_ref(), prompt, &mut tools, Limits::default()).await;
        match ended {
            Ok(Ended::Said(text)) => Ok(outcome(run.task(), text)),
            Ok(Ended::Parked) => wait(self.deps(), run).await,
            Err(LoopError::Tool(error)) => Err(error),
            Err(LoopError::Model(ModelError::Unavailable(reason))) => {
                tracing::warn!(task.id = %run.task().id, reason, "the model cannot be asked");
                Err(ExecuteError::Retry(
                    "I cannot think at the moment; please try again later.".to_owned(),
                ))
            }
            Err(error @ (LoopError::Model(_) | LoopError::TooMuch)) => {
                tracing::warn!(task.id = %run.task().id, error = %error, "the model came to no answer");
                Ok(Outcome::Failed("I came to no answer for this.".to_owned()))
            }
        }
    }
}

fn has_text(message: &Message) -> bool {
    message
        .parts
        .iter()
        .any(|part| matches!(part.content, PartContent::Text(_)))
}
