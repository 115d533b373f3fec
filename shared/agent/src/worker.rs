//! The worker: takes a task's lease, runs the executor, writes how it ended, lets the lease go.
//!
//! ```text
//! wake ─► lease (conditional write) ─► execute ─► outcome + release (one write)
//!              │ held: somebody works          │ stale: reload, decide again
//!              │ missing: nothing to do        │ parked: release, due again later
//!              │ over: tell whoever works on   │ time is up: release, due at once, wake
//!                parts of it, release          │ failed: note it, release, due after a back-off
//!              │ holds what only a newer release knows: release untouched, due again later
//! before it: the tenant is suspended: due again later; it is gone: ends, nothing is due
//! ```

mod guard;
mod reading;
mod settle;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use domain::trace::within;
use domain::{MessageId, Task, Timestamp};
use store::{Attempts, Due, Leased, Standing, StoreError, StoredTask, TaskKey};
use tracing::Instrument as _;

use crate::heap::on_heap;
use crate::shutdown::Shutdown;
use crate::{Agent, ExecuteError, Outcome, Run, Wake, measure, push};
use guard::Stopped;

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

/// What came of the wish to work on a task.
#[derive(Debug)]
pub(crate) enum Executed {
    /// It ended, or waits for its user.
    Settled(Box<Task>),
    /// It waits for an event or its next attempt, and goes on by itself; nobody works on it now.
    Waits(Box<Task>),
    /// Somebody else works on it.
    Elsewhere,
    /// There is no such task.
    Missing,
}

/// How often an execution may find its task changed under it before it leaves the task to a later wake.
const STALE_ROUNDS: u32 = 8;

/// Works on one wake until there is nothing more to do for it now, or until [`Shutdown`] says so.
///
/// # Errors
/// [`WorkError`] when the wake should come again; whatever was done until then is stored.
pub async fn handle(agent: &Arc<Agent>, wake: &Wake) -> Result<(), WorkError> {
    wake.followed(on_heap(|| look(agent, wake))).await
}

async fn look(agent: &Arc<Agent>, wake: &Wake) -> Result<(), WorkError> {
    let key = wake.key();
    let own = agent.own_tenant.as_ref().is_none_or(|own| *own == key.tenant);
    let namesake = agent.own_tenant.as_ref().map(domain::Tenant::name) == Some(key.tenant.name());
    if !own && namesake {
        // Queues have tenants' names: what is left of one that was removed is nobody's work.
        return Ok(());
    }
    // Here the wrong executor would work on another agent's task.
    if key.agent != agent.name || !own {
        return Err(WorkError::WrongAgent(key.agent.to_string()));
    }
    let (now, tenants, tasks) = (agent.clock.now(), agent.store.tenants(), agent.store.tasks());
    if key.is_ledger() {
        return Ok(agent
            .store
            .ledger()
            .look_after(&key.tenant, &key.agent, now)
            .await?);
    }
    match tenants.standing(&key.tenant, now).await? {
        Standing::Active => {}
        // Whoever resumes the tenant makes it due at once. What stayed due would keep the sweeper from others.
        Standing::Suspended => {
            let until = tenants.held_until(&key.tenant, now).await?;
            return Ok(tasks.put_off(&key, wake.delivery(), (now, until)).await?);
        }
        Standing::Gone => return Ok(tasks.end_left(&key, now).await?),
    }
    match wake {
        Wake::Task(_) => {
            let stop = Shutdown::current();
            let working = work(agent, &key, &stop);
            push::live::beside(agent, &key, &stop, working)
                .await
                .map(|_| ())?;
        }
        Wake::Push(wake) => push::deliver(agent, &key, &wake.config_id, None).await?,
    }
    Ok(())
}

/// Works on a task here and now, for a call that waits for it, and at most as long as such a call may take.
///
/// # Errors
/// [`WorkError::Store`]; whatever was done until then is stored.
pub(crate) async fn execute_here(agent: &Arc<Agent>, key: &TaskKey) -> Result<Executed, WorkError> {
    execute_within(agent, key, agent.settings.blocking_limit).await
}

/// As [`execute_here`], for a call that may take this long.
///
/// # Errors
/// [`WorkError::Store`]; whatever was done until then is stored.
pub(crate) async fn execute_within(
    agent: &Arc<Agent>,
    key: &TaskKey,
    limit: Duration,
) -> Result<Executed, WorkError> {
    let stop = Shutdown::current().within(limit);
    Ok(work(agent, key, &stop).await?)
}

/// One worker's hold on one task.
struct Work<'a> {
    agent: &'a Arc<Agent>,
    key: &'a TaskKey,
    holder: String,
    stop: &'a Shutdown,
    /// How often its end was told before, in vain; 0 where it was not over yet.
    told: u32,
}

/// Takes the lease and works on the task.
async fn work(agent: &Arc<Agent>, key: &TaskKey, stop: &Shutdown) -> Result<Executed, StoreError> {
    let holder = MessageId::random(agent.entropy.as_ref()).to_string();
    let now = agent.clock.now();
    let tasks = agent.store.tasks();
    let until = now.after(agent.settings.lease);
    let stored = match tasks.lease(key, &holder, now, until).await? {
        Leased::Taken(stored) => stored,
        Leased::Held => return Ok(Executed::Elsewhere),
        Leased::Over(stored) => return Ok(Executed::Settled(Box::new(stored.task))),
        Leased::Missing => return Ok(Executed::Missing),
        Leased::Expired => {
            tracing::warn!(task.id = %key.id, "a task has expired while it was due");
            measure::count(measure::EXPIRED, agent);
            return Ok(Executed::Missing);
        }
    };
    let over = stored.task.status.state.is_terminal();
    let work = Work {
        agent,
        key,
        holder,
        stop,
        // A finished task is leased only to tell others of its end; its attempts count those tries.
        told: if over {
            stored.attempts.saturating_sub(1)
        } else {
            0
        },
    };
    // The sweeper's wakes know no trace.
    if let Some(trace) = &stored.task.trace {
        tracing::Span::current().record("trace_id", trace.trace_id());
    }
    let trace = stored.task.trace.clone();
    within(trace, work.all(*stored, now)).await
}

impl Work<'_> {
    /// Executes until the task rests. In the task's own trace, whoever woke it.
    async fn all(&self, stored: StoredTask, now: Timestamp) -> Result<Executed, StoreError> {
        let (agent, key) = (self.agent, self.key);
        let begun = stored.task.rev;
        // Only the very first start says how long tasks wait for a worker.
        match (stored.attempts, stored.task.rev) {
            (1, 1) => measure::time(measure::STARTED, agent, now.since(stored.task.created_at)),
            (1, _) => {}
            _ => measure::count(measure::RESUMED, agent),
        }
        let mut run = Run::new(Arc::clone(agent), stored.task, stored.attempts)
            .held_by(&self.holder)
            .until(self.stop);
        for _ in 0..STALE_ROUNDS {
            let span = tracing::debug_span!(
                "agent.worker.round", tenant.id = key.tenant.name(), agent = %key.agent, task.id = %key.id, attempt = run.attempt()
            );
            match self.round(&mut run, begun).instrument(span).await {
                Ok(executed) => return Ok(executed),
                Err(ExecuteError::Store(error)) => return Err(error),
                Err(_) => {}
            }
            match run.reload().await {
                Err(ExecuteError::Store(error)) => return Err(error),
                Err(_) => return Ok(Executed::Missing),
                Ok(()) => {}
            }
        }
        tracing::warn!(task.id = %key.id, "task kept changing while it was worked on; left to its lease's end");
        Ok(Executed::Elsewhere)
    }

    /// Executes once, and writes down what came of it. [`ExecuteError::Stale`] wants another round.
    async fn round(&self, run: &mut Run, begun: u64) -> Result<Executed, ExecuteError> {
        // Before all else: what this release does not know it must not act on, not even to clean up.
        if run.task().needs_newer_release() {
            return self.leave(run).await;
        }
        if run.task().status.state.is_terminal() {
            return self.clean_up(run).await;
        }
        if run.attempt() > self.agent.settings.max_attempts {
            return self.settle(run, Outcome::Failed(poison(run.task()))).await;
        }
        if let Some(days) = Self::unanswered(run) {
            let outcome = self.agent.executor.unanswered(run.task(), days);
            return self.settle(run, outcome).await;
        }
        if let Some(question) = reading::read(self.agent.executor.as_ref(), run).await? {
            return self.settle(run, question).await;
        }
        let executed = on_heap(|| self.execute(run)).await;
        // It let go of the lease with its last words; what it returns after that comes too late.
        if let Some(until) = run.parked() {
            return Ok(self.parked(run, until).await);
        }
        let settled = match executed {
            Ok(outcome) => on_heap(|| self.settle(run, outcome)).await,
            Err(Stopped::Error(ExecuteError::Retry(reason))) => on_heap(|| self.retry(run, reason)).await,
            Err(Stopped::TimeUp | Stopped::Error(ExecuteError::TooLittleTime)) => {
                self.hand_over(run, begun).await
            }
            Err(Stopped::Error(error)) => Err(error),
            // Whoever holds the lease now writes the outcome.
            Err(Stopped::LeaseLost) => Ok(Executed::Elsewhere),
        };
        match settled {
            // Tried again it would ask for the same step.
            Err(ExecuteError::Transition(error)) => {
                tracing::error!(task.id = %self.key.id, error = %error, "executor asked for an impossible step");
                let broken = Outcome::Failed("The agent made an error of its own.".to_owned());
                self.settle(run, broken).await
            }
            settled => settled,
        }
    }

    /// Gives the lease up; false where the task changed since, or the lease is somebody else's.
    async fn release(&self, run: &Run, due: Due, attempts: Attempts) -> Result<bool, ExecuteError> {
        let tasks = self.agent.store.tasks();
        let released = tasks.release(self.key, &self.holder, run.task().rev, due, attempts);
        Ok(released.await?)
    }
}

/// What the user is told of a task that nobody could bring to an end.
fn poison(task: &Task) -> String {
    let told = "The task was given up: it was started again and again without an end.";
    match &task.stumble {
        Some(stumble) => format!("{told} The last error was: {}", stumble.reason),
        None => told.to_owned(),
    }
}
