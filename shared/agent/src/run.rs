//! One execution's view of its task: what it may read, and how it records what happened.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use domain::{
    Artifact, Caller, Clock, Entropy, EventKind, Message, MessageId, Revision, Scopes, Task, TaskState,
    Timestamp, WorkNote,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{Committed, Decision, Due, LeaseAfter, Revised, StoreError, TaskKey};
use tokio::sync::watch;

use crate::{Agent, Drafting, ExecuteError, Shutdown, Taken, measure, push, tail};

/// What an [`Executor`](crate::Executor) works with. Every record is one compare-and-swap write: nothing an executor
/// reported is lost, and nothing it decided on an old view is written.
pub struct Run {
    agent: Arc<Agent>,
    task: Task,
    attempt: u32,
    holds: Holds,
    /// Who holds the task's lease for this execution; none where it is no worker's.
    holder: Option<String>,
    /// When it has to stop.
    stop: Shutdown,
    /// Until when the task rests, once the lease is given up.
    parked: Option<Timestamp>,
    /// What is written with the outcome.
    with_outcome: Vec<EventKind>,
    /// What the executor keeps from one round to the next.
    kept: Option<Box<dyn Any + Send + Sync>>,
    /// What was asked for, as data.
    pub(crate) taken: Taken,
}

/// While it is there the execution is not stopped for a cancel, nor, for a little, at the end of its time.
#[must_use]
pub struct Undisturbed(Arc<watch::Sender<u32>>);

impl Drop for Undisturbed {
    fn drop(&mut self) {
        self.0.send_modify(|held| *held = held.saturating_sub(1));
    }
}

/// How many [`Undisturbed`] there are.
#[derive(Clone)]
pub(crate) struct Holds(Arc<watch::Sender<u32>>);

impl Holds {
    /// Resolves once there are none.
    pub(crate) async fn none(&self) {
        let mut held = self.0.subscribe();
        let _sender_is_here = held.wait_for(|held| *held == 0).await;
    }
}

impl Run {
    pub(crate) fn new(agent: Arc<Agent>, task: Task, attempt: u32) -> Self {
        let holds = Holds(Arc::new(watch::Sender::new(0)));
        Self {
            agent,
            task,
            attempt,
            holds,
            holder: None,
            stop: Shutdown::default(),
            parked: None,
            with_outcome: Vec::new(),
            kept: None,
            taken: Taken::default(),
        }
    }

    /// The same, of a worker who holds the task's lease.
    pub(crate) fn held_by(self, holder: &str) -> Self {
        Self {
            holder: Some(holder.to_owned()),
            ..self
        }
    }

    /// The same, of an execution that has to stop then.
    pub(crate) fn until(self, stop: &Shutdown) -> Self {
        Self {
            stop: stop.clone(),
            ..self
        }
    }

    /// How long this execution may go on; `None` where no time is set. What takes longer should not be begun:
    /// [`ExecuteError::TooLittleTime`].
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        self.stop.left()
    }

    /// Shows the words of the model's turn `turn` as they come; `None` where nobody asked for that.
    #[must_use]
    pub fn drafting(&self, turn: u32) -> Option<Drafting> {
        let parts = (self.agent.store.clone(), Arc::clone(&self.agent.clock));
        a2a::wants_drafts(&self.task).then(|| Drafting::new(parts, &self.task, (turn, self.attempt)))
    }

    pub(crate) fn holds(&self) -> Holds {
        self.holds.clone()
    }

    /// Begins something that must not be left halfway: a call to another agent whose answer has to be written down.
    /// Keep it for as long as that takes, and no longer: a cancel waits for it.
    pub fn undisturbed(&self) -> Undisturbed {
        self.holds.0.send_modify(|held| *held = held.saturating_add(1));
        Undisturbed(Arc::clone(&self.holds.0))
    }

    /// How far an earlier execution got, in the words of [`Run::save_checkpoint`]; `None` where none said, or where
    /// what it said cannot be read any more.
    #[must_use]
    pub fn checkpoint<T: DeserializeOwned>(&self) -> Option<T> {
        let reached = self.task.checkpoint.clone()?;
        serde_json::from_value(reached).ok()
    }

    /// Notes how far the execution got, for the one that may have to go on from here.
    ///
    /// # Errors
    /// As [`Run::record`].
    pub async fn save_checkpoint(&mut self, reached: &impl Serialize) -> Result<(), ExecuteError> {
        let kind = Self::checkpoint_event(reached)?;
        self.record(vec![kind]).await
    }

    /// The event of [`Run::save_checkpoint`], to be recorded together with others.
    ///
    /// # Errors
    /// [`ExecuteError::Retry`] for something that has no JSON.
    pub fn checkpoint_event(reached: &impl Serialize) -> Result<EventKind, ExecuteError> {
        let reached =
            serde_json::to_value(reached).map_err(|error| ExecuteError::Retry(error.to_string()))?;
        Ok(EventKind::Work {
            note: WorkNote::Checkpoint { reached },
        })
    }

    /// The task, with everything this execution has recorded.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// What was asked for, as data; nothing where the executor takes none ([`Executor::takes`](crate::Executor::takes)).
    #[must_use]
    pub fn taken(&self) -> &Taken {
        &self.taken
    }

    /// The other tasks of the same owner and context, newest last, at most the newest `most`.
    ///
    /// # Errors
    /// [`ExecuteError::Store`] when they cannot be read.
    pub async fn earlier(&self, most: usize) -> Result<Vec<Task>, ExecuteError> {
        let tasks = self.agent.store.tasks();
        Ok(tasks.beside(&self.task, (most, 0), self.now()).await?)
    }

    /// Whose task it is.
    #[must_use]
    pub fn caller(&self) -> Caller {
        Caller {
            tenant: self.task.tenant.clone(),
            owner: self.task.owner.clone(),
            scopes: Scopes::new(),
        }
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.agent.clock.as_ref()
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.agent.clock.now()
    }

    /// The RNG.
    #[must_use]
    pub fn entropy(&self) -> &dyn Entropy {
        self.agent.entropy.as_ref()
    }

    /// How many executions were started since the last that ended in an outcome, this one included; from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Says what it is doing: the task is `working`, with this text.
    ///
    /// # Errors
    /// As [`Run::record`].
    pub async fn working(&mut self, text: &str) -> Result<(), ExecuteError> {
        let message = self.message(text);
        self.record(vec![EventKind::status(TaskState::Working, Some(message))])
            .await
    }

    /// Publishes a whole artifact.
    ///
    /// # Errors
    /// As [`Run::record`].
    pub async fn artifact(&mut self, artifact: Artifact) -> Result<(), ExecuteError> {
        self.record(vec![EventKind::artifact(artifact)]).await
    }

    /// Records events, in order, all or none of them, in one write.
    ///
    /// # Errors
    /// [`ExecuteError::Stale`] when the task changed meanwhile, [`ExecuteError::Transition`] for a step that the state
    /// machine does not have, [`ExecuteError::Store`] when the store failed; nothing is recorded then.
    pub async fn record(&mut self, kinds: Vec<EventKind>) -> Result<(), ExecuteError> {
        self.write(kinds, Due::Keep, LeaseAfter::Keep).await
    }

    /// As [`Run::record`]; and where `rest` says until when the task, as it is with these events, may rest, the same
    /// write gives its lease up. That ends the execution: it should return [`Outcome::Parked`] with [`Run::parked`],
    /// and whatever else it returns is taken for that.
    ///
    /// # Errors
    /// As [`Run::record`].
    ///
    /// [`Outcome::Parked`]: crate::Outcome::Parked
    pub async fn record_and_park(
        &mut self,
        kinds: Vec<EventKind>,
        rest: impl FnOnce(&Task) -> Option<Timestamp>,
    ) -> Result<(), ExecuteError> {
        let revision = revised(self.task.clone(), kinds, self.now())?;
        // Without an event there is no write that the release could be part of.
        let until = rest(revision.task()).filter(|_| !revision.is_empty());
        match (self.holder.clone(), until) {
            (Some(holder), Some(until)) => {
                let release = LeaseAfter::Release { holder: &holder };
                self.commit(revision, Due::At(until), release).await?;
                self.parked = Some(until);
                Ok(())
            }
            _ => self.commit(revision, Due::Keep, LeaseAfter::Keep).await,
        }
    }

    /// Has an event recorded in the same write as the outcome that the execution ends with; it is lost where that is
    /// [`Outcome::Parked`](crate::Outcome::Parked), which writes nothing.
    pub fn record_with_outcome(&mut self, kind: EventKind) {
        self.with_outcome.push(kind);
    }

    pub(crate) fn take_with_outcome(&mut self) -> Vec<EventKind> {
        std::mem::take(&mut self.with_outcome)
    }

    /// Keeps something for the next round of this worker, where the task changes under this one: what was dear to learn, and can be
    /// learned again. In place of what was kept before.
    pub fn keep(&mut self, kept: impl Any + Send + Sync) {
        self.kept = Some(Box::new(kept));
    }

    /// What was kept last, where it is of this type.
    #[must_use]
    pub fn kept<T: Any>(&self) -> Option<&T> {
        self.kept.as_deref()?.downcast_ref()
    }

    /// Keeps nothing any more.
    pub fn forget(&mut self) {
        self.kept = None;
    }

    /// Until when the task rests, where [`Run::record_and_park`] has given its lease up.
    #[must_use]
    pub fn parked(&self) -> Option<Timestamp> {
        self.parked
    }

    /// Writes news down that are true however the task changed meanwhile: `news` is asked what they mean for the task
    /// as it is now, again and again until that is stored. Nothing is written where it has nothing to say.
    ///
    /// # Errors
    /// [`ExecuteError::Stale`] where the task is over or gone, or kept changing; otherwise as [`Run::record`].
    pub async fn amend(&mut self, mut news: impl FnMut(&Task) -> Vec<EventKind>) -> Result<(), ExecuteError> {
        let now = self.now();
        let revised = self.agent.store.tasks().revise(self.task.clone(), now, |task| {
            let kinds = news(&task);
            match revised(task, kinds, now) {
                Ok(revision) if !revision.is_empty() => Decision::Write {
                    revision: Box::new(revision),
                    due: Due::Keep,
                },
                Ok(revision) => Decision::Leave(Ok(revision.into_task())),
                Err(error) => Decision::Leave(Err(error)),
            }
        });
        match revised.await {
            Ok(Revised::Written(revision)) => self.written(*revision).await,
            Ok(Revised::Left(Ok(task))) => self.task = task,
            // That the task ended meanwhile is no fault of the executor; any other impossible step is.
            Ok(Revised::Left(Err(ExecuteError::Transition(error)))) if !error.is_over() => {
                return Err(error.into());
            }
            Ok(Revised::Left(Err(_)) | Revised::Missing) | Err(StoreError::Throttled { .. }) => {
                return Err(ExecuteError::Stale);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// A message of the agent about this task.
    #[must_use]
    pub fn message(&self, text: &str) -> Message {
        Message::agent_text(MessageId::random(self.agent.entropy.as_ref()), text)
    }

    pub(crate) async fn write(
        &mut self,
        kinds: Vec<EventKind>,
        due: Due,
        lease: LeaseAfter<'_>,
    ) -> Result<(), ExecuteError> {
        let revision = revised(self.task.clone(), kinds, self.now())?;
        self.commit(revision, due, lease).await
    }

    async fn commit(
        &mut self,
        revision: Revision,
        due: Due,
        lease: LeaseAfter<'_>,
    ) -> Result<(), ExecuteError> {
        if revision.is_empty() {
            return Ok(());
        }
        match self.agent.store.tasks().commit(&revision, due, lease).await? {
            Committed::Conflict => Err(ExecuteError::Stale),
            Committed::Yes => {
                self.written(revision).await;
                Ok(())
            }
        }
    }

    /// Tells of what was stored, and goes on from there.
    async fn written(&mut self, revision: Revision) {
        measure::moved(&revision);
        tail::tell(revision.events());
        if !push::live::tell(&revision) {
            push::announce(&self.agent, &revision).await;
        }
        self.task = revision.into_task();
    }

    /// Takes the task as it is stored now.
    ///
    /// # Errors
    /// [`ExecuteError::Stale`] where it is gone, [`ExecuteError::Store`] when the store failed.
    pub async fn reload(&mut self) -> Result<(), ExecuteError> {
        let found = self
            .agent
            .store
            .tasks()
            .find(&TaskKey::from(&self.task), self.now())
            .await?;
        self.task = found.ok_or(ExecuteError::Stale)?.task;
        Ok(())
    }
}

/// The task with these events.
fn revised(task: Task, kinds: Vec<EventKind>, now: Timestamp) -> Result<Revision, ExecuteError> {
    let mut revision = Revision::of(task);
    for kind in kinds {
        revision.record(kind, now)?;
    }
    Ok(revision)
}
