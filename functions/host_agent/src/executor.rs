//! The host as an [`Executor`]: what one look at a task does.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use a2a::card::Card;
use a2a::{Connections, Disconnected};
use agent::{ExecuteError, Executor, Outcome, Rehearsed, Run, on_heap};
use async_trait::async_trait;
use domain::{AgentType, Caller, EventKind, Job, Message, Task, Timestamp, UserContext};

use crate::advance::advance;
use crate::connections;
use crate::consents::look_at_consents;
use crate::declined::decline;
use crate::delegation::cancel::cancel_downstream;
use crate::delegation::look::look_at_all;
use crate::delegation::resend::ask_again;
use crate::deps::{Deps, OnTask};
use crate::meaning;
use crate::rules::patience::is_over;
use crate::rules::transcript::DECLINES;
use crate::rules::{plans, sentences, transcript, wording};
use crate::thinking::flows::open_agents;
use crate::thinking::thinker::Thinker;
use crate::waiting::wait;

pub(crate) struct HostExecutor(pub(crate) Thinker);

impl HostExecutor {
    /// One look at a task.
    async fn look(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let deps = self.0.deps();
        let task = run.task();
        let said = transcript::pending_answer(task).cloned();
        let choice = transcript::choosing(task);
        if task.jobs.is_empty() && task.turns.is_empty() && task.plan.is_none() && choice.is_none() {
            return on_heap(|| self.0.begin(run)).await;
        }
        if let Some(said) = &said
            && self.0.is_called_off(task, &said.text()).await
        {
            return Ok(Outcome::Canceled("Canceled as you asked.".to_owned()));
        }
        if let Some(choice) = choice {
            return on_heap(|| self.0.chosen(run, choice)).await;
        }
        let task = run.task();
        let declined =
            |said: &Message| said.metadata.contains_key(DECLINES) || meaning::declines(task, &said.text());
        let declined = said.as_ref().is_some_and(declined);
        if plans::asks(task).is_some() {
            match on_heap(|| self.0.answered(run, said, declined)).await? {
                Some(outcome) => return Ok(outcome),
                None => return on_heap(|| self.go_on(run)).await,
            }
        }
        if let Some(said) = said.filter(|_| declined) {
            let declined = meaning::declined(run.task(), &said.text());
            decline(deps, run, declined).await?;
        }
        let awaited = awaiting_consent(run.task());
        look_at_consents(deps, run).await?;
        // What has just been consented to was certainly not sent before.
        let still = awaiting_consent(run.task());
        let fresh: Vec<u32> = awaited
            .into_iter()
            .filter(|number| !still.contains(number))
            .collect();
        advance(deps, run, &fresh).await?;
        on_heap(|| self.0.walk(run, None)).await?;
        on_heap(|| self.go_on(run)).await
    }

    /// Ends the look at a task whose jobs were all moved as far as they go.
    async fn go_on(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let task = run.task();
        let over = run.parked().is_none() && task.jobs.iter().all(is_over);
        if over && plans::asks(task).is_none() {
            return self.0.resume(run).await;
        }
        wait(self.0.deps(), run).await
    }

    fn on<'a>(&'a self, run: &'a Run) -> OnTask<'a> {
        OnTask {
            deps: self.0.deps(),
            task: run.task(),
            now: run.now(),
        }
    }
}

#[async_trait]
impl Executor for HostExecutor {
    async fn execute(&self, run: &mut Run) -> Result<Outcome, ExecuteError> {
        let outcome = on_heap(|| self.look(run)).await;
        // Before the outcome is written: whoever asks later what is private finds it.
        note_private(self.0.deps(), run.task()).await?;
        self.0.agents().report_unreached(run.task()).await;
        outcome
    }

    fn runs_inline(&self) -> bool {
        !self.0.is_hosted()
    }

    fn give_up(&self, _task: &Task, reason: String) -> Outcome {
        // Nothing is lost: what the task needs may be there later, and what agents still say is taken.
        Outcome::Unknown(format!(
            "{reason} I have stopped trying. Say “try again” or “cancel”."
        ))
    }

    fn unanswered(&self, task: &Task, days: u64) -> Outcome {
        let days = days.to_string();
        Outcome::Canceled(sentences::told_of(task, "unanswered", &[("count", &days)]))
    }

    async fn cancel(&self, run: &mut Run) -> Result<(), ExecuteError> {
        cancel_downstream(self.on(run)).await
    }

    async fn extended_card(&self, _caller: &Caller, card: &Card) -> Result<Option<Card>, ExecuteError> {
        let (deps, known) = (self.0.deps(), self.0.discover().await?);
        let agents = known.briefs(&deps.tenant, &deps.url);
        let takes = |agent_type: &AgentType| known.input_modes(agent_type, &deps.tenant, &deps.url);
        let mut card = crate::card::extended(card, &agents, takes);
        card.extensions.push(open_agents(deps, &known).await?.extension());
        Ok(Some(card))
    }

    async fn retry(&self, run: &mut Run) -> Result<Vec<EventKind>, ExecuteError> {
        Ok(ask_again(self.on(run)).await)
    }

    async fn refresh(&self, run: &mut Run) -> Result<(), ExecuteError> {
        let deps = self.0.deps();
        let jobs = look_at_all(self.on(run)).await.changed;
        if !jobs.is_empty() {
            let kinds = wording::news(deps, run.task(), &jobs, &[]);
            run.record(kinds).await?;
        }
        if transcript::wants_a_look(run.task()) {
            deps.nudge(run.task(), Duration::ZERO).await;
        }
        Ok(())
    }

    fn rehearses(&self) -> bool {
        true
    }

    async fn rehearse(
        &self,
        text: &str,
        at: Timestamp,
        user: &UserContext,
    ) -> Result<Rehearsed, ExecuteError> {
        self.0.rehearse(text, at, user).await
    }

    fn connects(&self) -> bool {
        true
    }

    async fn connections(&self, caller: &Caller) -> Result<Connections, ExecuteError> {
        connections::list(&self.0, &caller.owner).await
    }

    async fn disconnect(&self, caller: &Caller, id: &str) -> Result<Option<Disconnected>, ExecuteError> {
        connections::end(&self.0, &caller.owner, id).await
    }
}

/// The numbers of the jobs that wait for consent.
fn awaiting_consent(task: &Task) -> Vec<u32> {
    let waiting = task.jobs.iter().filter(|job| job.awaited_consent().is_some());
    waiting.map(|job| job.number).collect()
}

/// Notes which agents have asked for a sign-in: what agents of their types say is private from now on.
async fn note_private(deps: &Deps, task: &Task) -> Result<(), ExecuteError> {
    let asked: Vec<&Job> = task.jobs.iter().filter(|job| job.wants_sign_in).collect();
    for job in asked {
        let is_noted = lock(&deps.noted).contains(&job.agent_type);
        if !is_noted {
            let types = deps.store.private_types();
            types
                .note(&deps.tenant, &job.agent_type, deps.clock.now())
                .await?;
            lock(&deps.noted).insert(job.agent_type.clone());
        }
    }
    Ok(())
}

fn lock(types: &Mutex<BTreeSet<AgentType>>) -> MutexGuard<'_, BTreeSet<AgentType>> {
    types.lock().unwrap_or_else(PoisonError::into_inner)
}
