//! The host as an executor: what one look at a task does.

use std::sync::Arc;
use std::time::Duration;

use agent::{ExecuteError, Executor, Outcome, Run, WakeDoor};
use async_trait::async_trait;
use auth::Sealer;
use consent::Consents;
use domain::{Clock, Entropy, EventKind, PartContent, Task, Tenant};
use llm::{Ended, Limits, LoopError, Model, ModelError, Prompt, Rules, Turn};
use outbound::{Outbound, PushKeys};
use store::Store;
use url::Url;

use crate::access::Access;
use crate::one_agent::OneAgent;
use crate::patience::is_over;
use crate::tools::Tools;
use crate::{Directory, Parts, Patience, transcript};

/// Longest text that is taken, in characters.
const TEXT_MAX: usize = 32_000;

pub(crate) struct Host {
    pub(crate) tenant: Tenant,
    pub(crate) url: Url,
    pub(crate) webhook: Url,
    pub(crate) access: Access,
    pub(crate) directory: Directory,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) store: Store,
    pub(crate) wake: Arc<dyn WakeDoor>,
    pub(crate) outbound: Outbound,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) patience: Patience,
    pub(crate) enabled: bool,
    pub(crate) consents: Consents,
    pub(crate) push_keys: PushKeys,
}

/// How long an agent's keys are waited for before its message leaves without them.
const KEYS_LIMIT: Duration = Duration::from_secs(2);

impl Host {
    pub(crate) fn new(parts: Parts) -> Self {
        let access = Access {
            issuer: parts.issuer,
            tenant: parts.tenant.clone(),
            key: parts.key,
            entropy: Arc::clone(&parts.entropy),
        };
        let model: Arc<dyn Model> = match parts.directory {
            Directory::Fixed { .. } => Arc::new(OneAgent(parts.model)),
            Directory::Registry { .. } => parts.model,
        };
        let consents = Consents {
            tenant: parts.tenant.clone(),
            store: parts.store.clone(),
            sealer: Arc::clone(&parts.sealer),
            providers: Arc::new(parts.providers),
            outbound: parts.outbound.clone(),
            clock: Arc::clone(&parts.clock),
            entropy: Arc::clone(&parts.entropy),
        };
        Self {
            tenant: parts.tenant,
            url: parts.url,
            webhook: parts.webhook,
            access,
            directory: parts.directory,
            sealer: parts.sealer,
            store: parts.store,
            wake: parts.wake,
            push_keys: PushKeys::new(parts.outbound.clone()),
            outbound: parts.outbound,
            model,
            clock: parts.clock,
            entropy: parts.entropy,
            patience: parts.patience,
            enabled: parts.enabled,
            consents,
        }
    }

    /// The keys that an agent signs its notifications with. An agent that does not say in time has none for this job:
    /// its token alone must do, and no user waits for the document.
    pub(crate) async fn sender_keys(&self, agent: &Url) -> Vec<String> {
        let asking = self.push_keys.of(agent, self.clock.now());
        tokio::time::timeout(KEYS_LIMIT, asking).await.unwrap_or_default()
    }

    /// A new task: what was said earlier, who there is, and then the model.
    async fn begin(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
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
        let known = self.discover(run.task().trace.as_ref()).await?;
        let agents = known.briefs(&self.tenant, &self.url);
        let mut turns = self.earlier(run.task(), run.now()).await?;
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
        known: Option<Arc<crate::directory::Known>>,
    ) -> Result<Outcome, ExecuteError> {
        let mut tools = Tools {
            host: self,
            run,
            known,
        };
        let ended = llm::run(self.model.as_ref(), prompt, &mut tools, Limits::default()).await;
        match ended {
            Ok(Ended::Said(text)) => Ok(self.answer(run.task(), text)),
            Ok(Ended::Parked) => self.wait(run).await,
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

/// The numbers of the jobs that wait for consent.
fn awaiting_consent(task: &Task) -> Vec<u32> {
    let waiting = task.jobs.iter().filter(|job| job.awaited_consent().is_some());
    waiting.map(|job| job.number).collect()
}

fn has_text(message: &domain::Message) -> bool {
    message
        .parts
        .iter()
        .any(|part| matches!(part.content, PartContent::Text(_)))
}

#[async_trait]
impl Executor for Host {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        if run.task().jobs.is_empty() {
            return self.begin(run).await;
        }
        let task = run.task();
        let waved_off = transcript::pending_answer(task)
            .filter(|_| transcript::asking(task).is_some() || transcript::unconsented(task).is_some())
            .is_some_and(|said| Rules::calls_off(&said.text()));
        if waved_off {
            return Ok(Outcome::Canceled("Canceled as you asked.".to_owned()));
        }
        let awaited = awaiting_consent(task);
        self.look_at_consents(run).await?;
        // What has just been consented to was certainly not sent before.
        let still = awaiting_consent(run.task());
        let fresh: Vec<u32> = awaited
            .into_iter()
            .filter(|number| !still.contains(number))
            .collect();
        self.advance(run, &fresh).await?;
        if run.task().jobs.iter().all(is_over) {
            return self.resume(run).await;
        }
        self.wait(run).await
    }

    async fn cancel(&self, run: &mut Run) -> Result<(), ExecuteError> {
        self.cancel_downstream(run.task()).await
    }

    async fn retry(&self, run: &mut Run) -> Result<Vec<EventKind>, ExecuteError> {
        Ok(self.ask_again(run).await)
    }

    async fn refresh(&self, run: &mut Run) -> Result<(), ExecuteError> {
        let now = run.now();
        let jobs = self.look_at_all(run.task(), now).await;
        if !jobs.is_empty() {
            let kinds = self.news(run.task(), &jobs);
            run.record(kinds).await?;
        }
        if transcript::wants_a_look(run.task()) {
            self.nudge(run.task(), std::time::Duration::ZERO).await;
        }
        Ok(())
    }
}
