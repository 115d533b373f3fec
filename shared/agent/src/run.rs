//! One execution's view of its task: what it may read, and how it records what happened.

use std::sync::Arc;

use domain::{
    Artifact, Caller, Clock, Entropy, EventKind, Message, MessageId, Revision, Scopes, Task, TaskState,
    Timestamp,
};
use store::{Committed, Due, LeaseAfter, TaskKey};

use crate::{Agent, ExecuteError, push};

/// What an [`Executor`](crate::Executor) works with. Every record is one compare-and-swap write: nothing an executor
/// reported is lost, and nothing it decided on an old view is written.
pub struct Run {
    agent: Arc<Agent>,
    task: Task,
    attempt: u32,
}

impl Run {
    pub(crate) fn new(agent: Arc<Agent>, task: Task, attempt: u32) -> Self {
        Self { agent, task, attempt }
    }

    /// The task, with everything this execution has recorded.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
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

    /// The time.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        self.agent.clock.as_ref()
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.agent.clock.now()
    }

    /// Chance.
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
        let now = self.now();
        let mut revision = Revision::of(self.task.clone());
        for kind in kinds {
            revision.record(kind, now)?;
        }
        if revision.is_empty() {
            return Ok(());
        }
        match self.agent.store.tasks().commit(&revision, due, lease).await? {
            Committed::Conflict => Err(ExecuteError::Stale),
            Committed::Yes => {
                self.task = revision.into_task();
                push::announce(&self.agent, &self.task).await;
                Ok(())
            }
        }
    }

    /// Takes the task as it is stored now.
    pub(crate) async fn reload(&mut self) -> Result<(), ExecuteError> {
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
