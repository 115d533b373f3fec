//! How work on a task ends for now: an outcome, a wait, another attempt, somebody else's turn.

use std::time::Duration;

use domain::{EventKind, Job, Message, Part, Stumble, TaskState, Timestamp, WorkNote};
use nlu::InputSchema;
use store::{Attempts, Due, LeaseAfter};

use super::reading::{FORM, form_question};
use super::{Executed, Work};
use crate::{ExecuteError, Outcome, Run, Wake, measure, wake_or_log};

/// The longest wait that a queue carries; beyond it the sweeper wakes.
const LONGEST_DELAY: Duration = Duration::from_secs(900);

/// When a task that needs a newer release is looked at again; one that is over or waits for its user, after a while, less
/// often.
const NEWER: Duration = Duration::from_secs(30);
const NEWER_LATER: Duration = Duration::from_secs(3600);

/// What is said of a task that no newer release came to.
pub(super) const NEEDS_NEWER: &str = "This task needs a newer release.";

/// What is parked for less is woken by the queue, and not only when the sweeper comes by.
const SOON: Duration = Duration::from_secs(60);

/// A question, with what its answer may fill in.
fn asking(run: &Run, question: &str, schema: &InputSchema) -> Message {
    let mut message = run.message(question);
    message.parts.push(Part::form(schema.as_json().clone()));
    message
}

impl Work<'_> {
    /// Writes an outcome and lets the lease go, in one write.
    pub(super) async fn settle(&self, run: &mut Run, outcome: Outcome) -> Result<Executed, ExecuteError> {
        let mut kinds = run.take_with_outcome();
        let (state, message) = match outcome {
            Outcome::Parked { until } => return self.park(run, until).await,
            Outcome::AuthRequired { message, until } => {
                return self.ask_consent(run, (kinds, message), until).await;
            }
            Outcome::Message(message) => {
                kinds.push(EventKind::Work {
                    note: WorkNote::Direct,
                });
                (TaskState::Completed, Some(message))
            }
            Outcome::Completed { artifacts, say } => {
                kinds.extend(artifacts.into_iter().map(EventKind::artifact));
                (TaskState::Completed, say.map(|text| run.message(&text)))
            }
            Outcome::Failed(text) => (TaskState::Failed, Some(run.message(&text))),
            Outcome::Rejected(text) => (TaskState::Rejected, Some(run.message(&text))),
            Outcome::Canceled(text) => (TaskState::Canceled, Some(run.message(&text))),
            Outcome::InputRequired(text) => (TaskState::InputRequired, Some(run.message(&text))),
            Outcome::Missing { question, schema } => {
                (TaskState::InputRequired, Some(asking(run, &question, &schema)))
            }
            Outcome::Form { lead, schema } => {
                let mut message = asking(run, &form_question(&lead, &schema), &schema);
                message.metadata.insert(FORM.to_owned(), lead.into());
                (TaskState::InputRequired, Some(message))
            }
            Outcome::Unknown(text) => (TaskState::Unknown, Some(run.message(&text))),
        };
        if matches!(
            state,
            TaskState::Failed | TaskState::Rejected | TaskState::Canceled
        ) {
            kinds.extend(run.task().results_at_end());
        }
        kinds.push(EventKind::status(state, message));
        let release = LeaseAfter::Release { holder: &self.holder };
        // Who works on parts of it for nothing now is to be told.
        let parts = state.is_terminal() && run.task().jobs.iter().any(|job| !job.is_settled());
        let due = match (state, Self::patience(run)) {
            _ if parts => Due::At(run.now()),
            (TaskState::InputRequired, Some(patience)) => Due::At(run.now().after(patience)),
            _ => Due::Never,
        };
        run.write(kinds, due, release).await?;
        if parts {
            self.wake(run, Duration::ZERO).await;
        }
        let task = run.task();
        tracing::info!(
            tenant.id = task.tenant.name(), agent = %task.agent, task.id = %task.id, task.state = state.as_str(),
            duration_ms = u64::try_from(run.now().since(task.created_at).as_millis()).unwrap_or(u64::MAX),
            "task settled"
        );
        Ok(Executed::Settled(Box::new(task.clone())))
    }

    /// How long the task waits for its user: as long as it would be kept once it is over.
    fn patience(run: &Run) -> Option<Duration> {
        run.task().kept.keeping.as_ref().map(|keeping| keeping.retention)
    }

    /// For how many days nobody has answered, where that is long enough: an answer would have made it go on.
    pub(super) fn unanswered(run: &Run) -> Option<u64> {
        let (task, patience) = (run.task(), Self::patience(run)?);
        let waits = task.status.state == TaskState::InputRequired;
        let is_over = waits && run.now().since(task.updated_at) >= patience;
        is_over.then(|| patience.as_secs().div_ceil(86_400))
    }

    async fn park(&self, run: &Run, until: Timestamp) -> Result<Executed, ExecuteError> {
        // Waiting is no failure: what comes next has all its attempts again.
        if !self.release(run, Due::At(until), Attempts::Reset).await? {
            return Err(ExecuteError::Stale);
        }
        let task = run.task();
        let nobody = task.jobs.iter().all(Job::is_settled);
        // Whoever is reminded tomorrow may ask for something else today.
        if task.kept.admitted && nobody && until.since(run.now()) > LONGEST_DELAY {
            let rests = self.agent.store.ledger().rests(task, run.now()).await;
            if let Err(error) = rests {
                tracing::warn!(tenant.id = task.tenant.name(), task.id = %task.id, %error, "a task that rests keeps its place");
            }
        }
        Ok(self.parked(run, until).await)
    }

    /// Says where the user consents, and parks the task, in one write.
    async fn ask_consent(
        &self,
        run: &mut Run,
        (mut kinds, message): (Vec<EventKind>, Message),
        until: Timestamp,
    ) -> Result<Executed, ExecuteError> {
        kinds.push(EventKind::status(TaskState::AuthRequired, Some(message)));
        let release = LeaseAfter::Release { holder: &self.holder };
        run.write(kinds, Due::At(until), release).await?;
        Ok(self.parked(run, until).await)
    }

    /// The task rests, and the lease is given up.
    pub(super) async fn parked(&self, run: &Run, until: Timestamp) -> Executed {
        // The sweeper would, but not as soon.
        let wait = until.since(run.now());
        if wait < SOON {
            self.wake(run, wait).await;
        }
        Executed::Waits(Box::new(run.task().clone()))
    }

    /// Notes the failure and tries again later, or gives up when the attempts are used up.
    pub(super) async fn retry(&self, run: &mut Run, reason: String) -> Result<Executed, ExecuteError> {
        let attempt = run.attempt();
        let tried = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(wait) = self.agent.settings.retries.get(tried).copied() else {
            let outcome = self.agent.executor.give_up(run.task(), reason);
            return self.settle(run, outcome).await;
        };
        tracing::info!(task.id = %self.key.id, attempt, "attempt failed; tried again later");
        measure::count(measure::RETRIED, self.agent);
        let due = Due::At(run.now().after(wait));
        let stumble = Stumble { attempt, reason };
        let note = WorkNote::Stumbled { stumble };
        run.write(vec![EventKind::Work { note }], due, LeaseAfter::Keep)
            .await?;
        if !self.release(run, due, Attempts::Keep).await? {
            return Err(ExecuteError::Stale);
        }
        self.wake(run, wait).await;
        Ok(Executed::Waits(Box::new(run.task().clone())))
    }

    /// The time is up: somebody else goes on, at once. An execution that brought nothing counts as an attempt.
    pub(super) async fn hand_over(&self, run: &mut Run, begun: u64) -> Result<Executed, ExecuteError> {
        // What an execution wrote just before it was stopped may be newer than what it knew.
        run.reload().await?;
        // Only a stretch that wrote nothing counts as an attempt; long work would run out of them.
        let attempts = match run.task().rev == begun {
            true => Attempts::Keep,
            false => Attempts::Reset,
        };
        if !self.release(run, Due::At(run.now()), attempts).await? {
            return Err(ExecuteError::Stale);
        }
        tracing::info!(task.id = %self.key.id, "time is up; somebody else goes on");
        self.wake(run, Duration::ZERO).await;
        Ok(Executed::Waits(Box::new(run.task().clone())))
    }

    /// Leaves the task to a newer release, untouched: this one cannot tell what it would do twice or undo. The look is no
    /// attempt. After some time without that release the user is told.
    pub(super) async fn leave(&self, run: &mut Run) -> Result<Executed, ExecuteError> {
        measure::count(measure::NEEDS_NEWER, self.agent);
        let task = run.task();
        let state = task.status.state;
        let told = task
            .status
            .message
            .as_ref()
            .is_some_and(|message| message.text() == NEEDS_NEWER);
        let late = run.now().since(task.updated_at) >= self.agent.settings.newer_release;
        tracing::warn!(tenant.id = task.tenant.name(), task.id = %task.id, late, "a task is left to a newer release");
        if late && !told && !state.is_terminal() && !state.is_interrupted() {
            return self.settle(run, Outcome::Unknown(NEEDS_NEWER.to_owned())).await;
        }
        let due = match (late, told) {
            (_, true) => Due::Never,
            (true, false) => Due::At(run.now().after(NEWER_LATER)),
            (false, false) => Due::At(run.now().after(NEWER)),
        };
        if !self.release(run, due, Attempts::Uncounted).await? {
            return Err(ExecuteError::Stale);
        }
        Ok(Executed::Waits(Box::new(run.task().clone())))
    }

    /// The task is over: whoever works on parts of it is told, again and again where that fails.
    pub(super) async fn clean_up(&self, run: &mut Run) -> Result<Executed, ExecuteError> {
        // A long log does not fit into the transaction that finished the task; it gets its end here.
        self.agent.store.tasks().end(run.task()).await?;
        let told = tokio::select! {
            told = self.agent.executor.cancel(run) => told,
            () = self.beats() => return Ok(Executed::Elsewhere),
            () = self.stop.come() => Err(ExecuteError::Retry("the time was up".to_owned())),
        };
        let tried = usize::try_from(self.told).unwrap_or(usize::MAX);
        let wait = match &told {
            Ok(()) => None,
            Err(error) => {
                let wait = self.agent.settings.tell_again.get(tried).copied();
                tracing::warn!(
                    tenant.id = self.key.tenant.name(), task.id = %self.key.id, error = %error, given_up = wait.is_none(),
                    "the end of a task did not reach everybody who works on it"
                );
                wait
            }
        };
        let (due, attempts) = match wait {
            Some(wait) => (Due::At(run.now().after(wait)), Attempts::Keep),
            None => (Due::Never, Attempts::Reset),
        };
        self.release(run, due, attempts).await?;
        if let Some(wait) = wait {
            self.wake(run, wait).await;
        }
        Ok(Executed::Settled(Box::new(run.task().clone())))
    }

    async fn wake(&self, run: &Run, wait: Duration) {
        // SQS delays nothing for longer; the sweeper finds the task by its due time.
        if wait <= LONGEST_DELAY {
            let wake = Wake::for_task(run.task());
            wake_or_log(self.agent.wake.as_ref(), &wake, wait).await;
        }
    }
}
