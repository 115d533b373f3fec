//! The task: its log of events, and the revision that a store writes by compare-and-swap.

mod event;
mod revision;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::{PLAN_RECORDS, next_number};
use crate::rest::is_zero;
use crate::rest::{RECORDS, Rest};
use crate::unkept::Room;
use crate::{
    AgentName, Artifact, ContextId, InvalidTransition, Job, JobChange, Message, MessageId, ModelTurn, Owner,
    PushConfigId, StepState, TaskId, TaskPlan, TaskState, Tenant, Timestamp, TraceParent,
};

pub use event::{Event, EventKind, Stumble, WorkNote};
pub use revision::Revision;

/// The state of a task with the message that explains it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The state.
    pub state: TaskState,
    /// What the agent says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Since when.
    pub at: Timestamp,
}

/// What a new task is made of.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// Its id.
    pub id: TaskId,
    /// Whose data it is.
    pub tenant: Tenant,
    /// The agent that does it.
    pub agent: AgentName,
    /// The conversation.
    pub context_id: ContextId,
    /// Whose it is within the tenant.
    pub owner: Owner,
    /// The message that asked for it.
    pub message: Message,
    /// The trace the asking call belonged to.
    pub trace: Option<TraceParent>,
}

/// A task: the current state, as the sum of its events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// The version of its record, at least [`RECORDS`]; see [`Task::from_stored`].
    #[serde(default)]
    pub v: u32,
    /// The version that whoever acts on it must know: a release that records something that older ones must not act
    /// beside raises it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub needs: u32,
    /// Its id.
    pub id: TaskId,
    /// Whose data it is; `public` where an open agent was called without a token.
    #[serde(deserialize_with = "Tenant::deserialize_stored")]
    pub tenant: Tenant,
    /// The agent that does it.
    pub agent: AgentName,
    /// The conversation.
    pub context_id: ContextId,
    /// Whose it is within the tenant.
    pub owner: Owner,
    /// The number of its newest event; compare-and-swap goes by it. Starts at 1, has no gaps.
    pub rev: u64,
    /// Its state.
    pub status: Status,
    /// The messages of both sides, oldest first.
    pub history: Vec<Message>,
    /// Its results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What was delegated to other agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// What a language model answered while it worked on it, oldest first. Empty where the rules decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<ModelTurn>,
    /// What is to be done step by step, where its pieces of work wait for one another or for their user's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<TaskPlan>,
    /// Who wants to be told of changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub push_configs: Vec<PushConfigId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The trace the asking call belonged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceParent>,
    /// How far the work got, in the words of the agent that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Value>,
    /// The last attempt that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stumble: Option<Stumble>,
    /// True where the agent answered with a mere message; see [`Task::direct_message`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// The user's message that nothing was done about yet: a follow-up since which no status said anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<MessageId>,
    /// The store's own note; see [`Kept`].
    #[serde(skip)]
    pub kept: Kept,
}

/// What a store notes beside a task it has read, for the next write of it; empty in a task that was never read.
///
/// It is no part of what a task says: not in its JSON, and any two of them are equal.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// How it is kept.
    pub keeping: Option<Keeping>,
    /// Whether it was admitted by the ledger, which hears of its end then. A delegation is not: what it is done for was.
    pub admitted: bool,
    /// What of it lies in a blob store: the length of each, by its hash.
    pub beside: BTreeMap<String, usize>,
    /// What a newer release said of it.
    pub(crate) rest: Option<Arc<Rest>>,
}

impl PartialEq for Kept {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// How a task is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    /// How long it is kept once it is finished.
    pub retention: Duration,
    /// The idempotency key it was made under.
    pub message_id: MessageId,
    /// In how many pieces its body lies beside its item; 0 where it lies in it.
    pub pieces: u32,
    /// The revisions that its log was written in, one entry of it each. Of a long log only the first are known.
    pub revisions: Vec<u64>,
}

impl Task {
    /// A new task, `submitted`, with its first event counted (`rev` 1).
    #[must_use]
    pub fn create(new: NewTask, now: Timestamp) -> Self {
        let NewTask {
            id,
            tenant,
            agent,
            context_id,
            owner,
            message,
            trace,
        } = new;
        let message = Message {
            task_id: Some(id),
            context_id: Some(context_id.clone()),
            ..message
        };
        Self {
            v: RECORDS,
            needs: 0,
            id,
            tenant,
            agent,
            context_id,
            owner,
            rev: 1,
            status: Status {
                state: TaskState::Submitted,
                message: None,
                at: now,
            },
            history: vec![message],
            artifacts: Vec::new(),
            jobs: Vec::new(),
            turns: Vec::new(),
            plan: None,
            push_configs: Vec::new(),
            created_at: now,
            updated_at: now,
            trace,
            checkpoint: None,
            stumble: None,
            direct: false,
            unanswered: None,
            kept: Kept::default(),
        }
    }

    /// The event a new task starts with.
    #[must_use]
    pub fn first_event(&self) -> Event {
        Event {
            seq: 1,
            at: self.created_at,
            kind: EventKind::status(TaskState::Submitted, None),
        }
    }

    /// Records one event: checks it against the state machine, applies it, counts it.
    ///
    /// A status message joins the history when the next one replaces it, as A2A wants.
    ///
    /// # Errors
    /// [`InvalidTransition`] where the state machine has no such step; the task is then unchanged. A finished task
    /// takes nothing more of any kind.
    pub fn record(&mut self, kind: EventKind, now: Timestamp) -> Result<Event, InvalidTransition> {
        let from = self.status.state;
        let to = match &kind {
            EventKind::Status { state, .. } => *state,
            _ => from,
        };
        let fits = match &kind {
            EventKind::Status { state, .. } => from.can_become(*state),
            _ => !from.is_terminal(),
        };
        if !fits {
            return Err(InvalidTransition::Task { from, to });
        }
        let kind = self.brief(kind)?;
        match &kind {
            EventKind::Status { state, message } => {
                if let Some(said) = self.status.message.take() {
                    self.history.push(said);
                }
                let message = message.clone().map(|message| self.own(message));
                if message.is_some() {
                    self.unanswered = None;
                }
                self.status = Status {
                    state: *state,
                    message,
                    at: now,
                };
            }
            EventKind::Artifact { artifact, append, .. } => {
                artifact.clone().merge_into(&mut self.artifacts, *append);
            }
            EventKind::Said { message } => {
                if let Some(said) = self.status.message.take() {
                    self.history.push(said);
                }
                let message = self.own(message.clone());
                let asks = message.role == crate::Role::User;
                self.unanswered = asks.then(|| message.message_id.clone());
                self.history.push(message);
            }
            EventKind::Job { job } => {
                if job.data.is_some() {
                    // An older release would send its message again without the data, as another one.
                    self.needs = self.needs.max(PLAN_RECORDS);
                }
                match self.jobs.iter_mut().find(|known| known.number == job.number) {
                    Some(known) => known.clone_from(job),
                    None => self.jobs.push((**job).clone()),
                }
            }
            EventKind::JobChanged { change } => {
                if let Some(job) = self.jobs.iter_mut().find(|job| job.number == change.number) {
                    job.apply(change);
                }
            }
            EventKind::Work { note } => match note {
                WorkNote::Checkpoint { reached } => self.checkpoint = Some(reached.clone()),
                WorkNote::Stumbled { stumble } => self.stumble = Some(stumble.clone()),
                WorkNote::Turn { turn } => {
                    match self.turns.iter_mut().find(|known| known.number == turn.number) {
                        Some(known) => known.clone_from(turn),
                        None => self.turns.push((**turn).clone()),
                    }
                }
                WorkNote::Plan { plan } => {
                    self.needs = self.needs.max(PLAN_RECORDS);
                    self.plan = Some((**plan).clone());
                }
                WorkNote::Direct => self.direct = true,
                WorkNote::Unknown => {}
            },
            EventKind::Unknown => {}
        }
        self.rev += 1;
        self.updated_at = now;
        Ok(Event {
            seq: self.rev,
            at: now,
            kind,
        })
    }

    /// The task as these first events of its own log made it, in their order and without gaps.
    ///
    /// # Errors
    /// [`InvalidTransition`] where the events are not those of one task.
    pub fn replayed(&self, events: &[Event]) -> Result<Self, InvalidTransition> {
        let asked = self
            .history
            .iter()
            .find(|message| message.role == crate::Role::User);
        let mut task = Self {
            history: asked.cloned().into_iter().collect(),
            status: Status {
                state: TaskState::Submitted,
                message: None,
                at: self.created_at,
            },
            rev: 1,
            needs: 0,
            artifacts: Vec::new(),
            jobs: Vec::new(),
            turns: Vec::new(),
            plan: None,
            updated_at: self.created_at,
            checkpoint: None,
            stumble: None,
            direct: false,
            unanswered: None,
            ..self.clone()
        };
        for event in events.iter().filter(|event| event.seq > 1) {
            task.record(event.kind.clone(), event.at)?;
        }
        Ok(task)
    }

    /// What the results of the other jobs leave for those of this one.
    fn room_for(&self, number: u32) -> Room {
        let others = self.jobs.iter().filter(|job| job.number != number);
        Room::beside(others.map(|job| &job.artifacts))
    }

    /// The same event in fewer words: of a job that is known, what changed. Its token, its endpoint and its results then
    /// stand in the log once.
    fn brief(&self, kind: EventKind) -> Result<EventKind, InvalidTransition> {
        let EventKind::Job { mut job } = kind else {
            return Ok(kind);
        };
        job.tidy();
        job.keep_within(self.room_for(job.number));
        let known = self.jobs.iter().find(|known| known.number == job.number);
        if let Some(known) = known.filter(|known| !known.state.can_become(&job.state)) {
            let (from, to) = (known.state.phase(), job.state.phase());
            return Err(InvalidTransition::Job { from, to });
        }
        let change = known.and_then(|known| JobChange::between(known, &job));
        Ok(match change.map(Box::new) {
            Some(change) => EventKind::JobChanged { change },
            None => EventKind::Job { job },
        })
    }

    /// The number of its next piece of work.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        next_number(&self.jobs, self.plan.as_ref())
    }

    /// Whether a job was tried again as another one, which then counts in its place.
    #[must_use]
    pub fn is_replaced(&self, job: &Job) -> bool {
        let step = self.plan.as_ref().and_then(|plan| plan.step(job.number));
        step.is_some_and(|step| step.state == StepState::Dropped)
    }

    /// Whether a job waits for others before it may be sent.
    #[must_use]
    pub fn holds(&self, job: &Job) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.holds(job, &self.jobs))
    }

    /// The newest message of the user.
    #[must_use]
    pub fn last_user_message(&self) -> Option<&Message> {
        self.history
            .iter()
            .rev()
            .find(|message| message.role == crate::Role::User)
    }

    /// The answer of an agent that answered with a mere message: its caller gets that, and not the task. The task is
    /// kept all the same, so that a repeat of the caller's message gets the same answer.
    #[must_use]
    pub fn direct_message(&self) -> Option<&Message> {
        let answered = self.direct && self.status.state == TaskState::Completed;
        self.status.message.as_ref().filter(|_| answered)
    }

    fn own(&self, message: Message) -> Message {
        Message {
            task_id: Some(self.id),
            context_id: Some(self.context_id.clone()),
            ..message
        }
    }
}

#[cfg(test)]
mod tests;
