//! The worker: takes a task's lease, runs the executor, writes how it ended, lets the lease go.
//!
//! ```text
//! wake ─► lease (conditional write) ─► execute ─► outcome + release (one write)
//!              │ held: somebody works          │ stale: reload, decide again
//!              │ missing: nothing to do        │ parked: release, due again later
//! ```

use std::sync::Arc;
use std::time::Duration;

use domain::{EventKind, MessageId, TaskState};
use store::{Attempts, Beat, Due, LeaseAfter, Leased, StoreError, TaskKey};

use crate::{Agent, ExecuteError, Outcome, Run, Wake, push, wake_or_log};

/// Why a wake could not be worked on; the queue should bring it again.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The store failed.
    #[error("the store failed while working on a wake")]
    Store(#[from] StoreError),
    /// The wake is for another agent.
    #[error("a wake for agent {0} came to another one")]
    WrongAgent(String),
}

/// How often an execution may find its task changed under it before it leaves the task to a later wake.
const STALE_ROUNDS: u32 = 8;

/// Works on one wake until there is nothing more to do for it now.
///
/// # Errors
/// [`WorkError`] when the wake should come again; whatever was done until then is stored.
pub async fn handle(agent: &Arc<Agent>, wake: &Wake) -> Result<(), WorkError> {
    let key = wake.key();
    let own = agent.own_tenant.as_ref().is_none_or(|own| *own == key.tenant);
    if key.agent != agent.name || !own {
        return Err(WorkError::WrongAgent(key.agent.to_string()));
    }
    match wake {
        Wake::Task(_) => work(agent, &key).await.map_err(WorkError::Store),
        Wake::Push(wake) => push::deliver(agent, &key, &wake.config_id)
            .await
            .map_err(WorkError::Store),
    }
}

/// Takes the lease and works on the task.
pub(crate) async fn work(agent: &Arc<Agent>, key: &TaskKey) -> Result<(), StoreError> {
    let holder = MessageId::random(agent.entropy.as_ref()).to_string();
    work_as(agent, key, &holder).await
}

/// As [`work`], under a name for the lease that the caller knows, so that it can let go when it stops waiting.
pub(crate) async fn work_as(agent: &Arc<Agent>, key: &TaskKey, holder: &str) -> Result<(), StoreError> {
    let now = agent.clock.now();
    let stored = match agent
        .store
        .tasks()
        .lease(key, holder, now, now.after(agent.settings.lease))
        .await?
    {
        Leased::Taken(stored) => stored,
        Leased::Held | Leased::Missing => return Ok(()),
    };
    let attempt = stored.attempts;
    let mut run = Run::new(Arc::clone(agent), stored.task, attempt);
    for _ in 0..STALE_ROUNDS {
        if run.task().status.state.is_terminal() {
            let rev = run.task().rev;
            agent
                .store
                .tasks()
                .release(key, holder, rev, Due::Never, Attempts::Reset)
                .await?;
            return Ok(());
        }
        if attempt > agent.settings.max_attempts {
            let poison = "The task was given up: it was started again and again without an end.".to_owned();
            match settle(agent, &mut run, holder, Outcome::Failed(poison)).await {
                Err(ExecuteError::Stale) => {}
                other => return after(other),
            }
        } else {
            let executed = guard(agent, key, holder, &mut run).await;
            let settled = match executed {
                Ok(outcome) => settle(agent, &mut run, holder, outcome).await,
                Err(Stopped::Error(ExecuteError::Retry(reason))) => {
                    retry(agent, &mut run, holder, reason).await
                }
                Err(Stopped::Error(error)) => Err(error),
                Err(Stopped::LeaseLost) => return Ok(()),
            };
            match settled {
                Err(ExecuteError::Stale) => {}
                Err(ExecuteError::Transition(error)) => {
                    tracing::error!(task.id = %key.id, error = %error, "executor asked for an impossible step");
                    let broken = Outcome::Failed("The agent made an error of its own.".to_owned());
                    match settle(agent, &mut run, holder, broken).await {
                        Err(ExecuteError::Stale) => {}
                        other => return after(other),
                    }
                }
                other => return after(other),
            }
        }
        match run.reload().await {
            Err(ExecuteError::Store(error)) => return Err(error),
            Err(_) => return Ok(()),
            Ok(()) => {}
        }
    }
    tracing::warn!(task.id = %key.id, "task kept changing while it was worked on; left to its lease's end");
    Ok(())
}

fn after(settled: Result<(), ExecuteError>) -> Result<(), StoreError> {
    match settled {
        Err(ExecuteError::Store(error)) => Err(error),
        _ => Ok(()),
    }
}

enum Stopped {
    Error(ExecuteError),
    LeaseLost,
}

/// Runs the executor; meanwhile renews the lease and looks whether the task was called off.
async fn guard(agent: &Arc<Agent>, key: &TaskKey, holder: &str, run: &mut Run) -> Result<Outcome, Stopped> {
    let executing = agent.executor.execute(run);
    let watching = watch(agent, key, holder);
    tokio::select! {
        biased;
        executed = executing => executed.map_err(Stopped::Error),
        stopped = watching => Err(stopped),
    }
}

/// Ends only when the execution must stop.
async fn watch(agent: &Agent, key: &TaskKey, holder: &str) -> Stopped {
    let mut since_beat = Duration::ZERO;
    loop {
        tokio::time::sleep(agent.settings.cancel_check).await;
        since_beat += agent.settings.cancel_check;
        let now = agent.clock.now();
        match agent.store.tasks().find(key, now).await {
            Ok(Some(stored)) if stored.task.status.state.is_terminal() => {
                return Stopped::Error(ExecuteError::Stale);
            }
            Ok(None) => return Stopped::LeaseLost,
            Ok(Some(_)) | Err(_) => {}
        }
        if since_beat >= agent.settings.heartbeat {
            match agent
                .store
                .tasks()
                .heartbeat(key, holder, now.after(agent.settings.lease))
                .await
            {
                Ok(Beat::Lost) => return Stopped::LeaseLost,
                Ok(Beat::Kept) => since_beat = Duration::ZERO,
                // A beat that failed is tried again at the next look; the lease outlasts a few of them.
                Err(error) => tracing::warn!(task.id = %key.id, error = %error, "heartbeat failed"),
            }
        }
    }
}

/// Writes an outcome and lets the lease go, in one write.
async fn settle(
    agent: &Arc<Agent>,
    run: &mut Run,
    holder: &str,
    outcome: Outcome,
) -> Result<(), ExecuteError> {
    let release = LeaseAfter::Release { holder };
    let (state, text, artifacts) = match outcome {
        Outcome::Parked { until } => return park(agent, run, holder, until).await,
        Outcome::Completed { artifacts, say } => (TaskState::Completed, say, artifacts),
        Outcome::Failed(text) => (TaskState::Failed, Some(text), Vec::new()),
        Outcome::Rejected(text) => (TaskState::Rejected, Some(text), Vec::new()),
        Outcome::Canceled(text) => (TaskState::Canceled, Some(text), Vec::new()),
        Outcome::InputRequired(text) => (TaskState::InputRequired, Some(text), Vec::new()),
        Outcome::Unknown(text) => (TaskState::Unknown, Some(text), Vec::new()),
    };
    let message = text.map(|text| run.message(&text));
    let mut kinds: Vec<EventKind> = artifacts.into_iter().map(EventKind::artifact).collect();
    kinds.push(EventKind::status(state, message));
    run.write(kinds, Due::Never, release).await?;
    let task = run.task();
    tracing::info!(
        tenant.id = %task.tenant, agent = %task.agent, task.id = %task.id, task.state = state.as_str(),
        duration_ms = u64::try_from(run.now().since(task.created_at).as_millis()).unwrap_or(u64::MAX),
        "task settled"
    );
    Ok(())
}

async fn park(agent: &Agent, run: &Run, holder: &str, until: domain::Timestamp) -> Result<(), ExecuteError> {
    let key = TaskKey::from(run.task());
    let released = agent
        .store
        .tasks()
        .release(&key, holder, run.task().rev, Due::At(until), Attempts::Reset)
        .await?;
    if released {
        Ok(())
    } else {
        Err(ExecuteError::Stale)
    }
}

/// Tries again later, or fails the task when the attempts are used up.
async fn retry(agent: &Arc<Agent>, run: &mut Run, holder: &str, reason: String) -> Result<(), ExecuteError> {
    let tried = usize::try_from(run.attempt().saturating_sub(1)).unwrap_or(usize::MAX);
    let Some(wait) = agent.settings.retries.get(tried).copied() else {
        return settle(agent, run, holder, Outcome::Failed(reason)).await;
    };
    let key = TaskKey::from(run.task());
    let due = Due::At(run.now().after(wait));
    tracing::info!(task.id = %key.id, attempt = run.attempt(), "attempt failed; tried again later");
    if !agent
        .store
        .tasks()
        .release(&key, holder, run.task().rev, due, Attempts::Keep)
        .await?
    {
        return Err(ExecuteError::Stale);
    }
    wake_or_log(
        agent.wake.as_ref(),
        &Wake::task(&key, run.task().trace.clone()),
        wait,
    )
    .await;
    Ok(())
}
