//! The task: its log of events, and the revision that a store writes by compare-and-swap.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::job::is_zero;
use crate::plan::{PLAN_RECORDS, next_number};
use crate::rest::{RECORDS, Rest};
use crate::unkept::{self, RESULTS_MAX};
use crate::{
    AgentName, Artifact, ContextId, InvalidTransition, Job, JobChange, Message, MessageId, ModelTurn, Owner,
    PushConfigId, StepState, TaskId, TaskPlan, TaskState, Tenant, Timestamp, TraceParent,
};

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

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stumble {
    /// Its number since the work last came to an outcome, from 1.
    pub attempt: u32,
    /// Why it failed.
    pub reason: String,
}

/// What an agent notes of its own work on a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum WorkNote {
    /// How far it got; replaces what was noted before.
    Checkpoint {
        /// In the agent's own words.
        reached: Value,
    },
    /// An attempt failed; another follows, or the task ends.
    Stumbled {
        /// Which, and why.
        stumble: Stumble,
    },
    /// A language model answered. Replaces the turn of the same number.
    Turn {
        /// What.
        turn: Box<ModelTurn>,
    },
    /// What is to be done, step by step; replaces what was planned before.
    Plan {
        /// What.
        plan: Box<TaskPlan>,
    },
    /// The answer that follows is a direct message, not the result of a task.
    Direct,
    /// A note of a kind that this release does not know.
    #[serde(other)]
    Unknown,
}

/// One entry of a task's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its number within the task, from 1, without gaps; equal to the task's `rev` after it.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// The state or its message changed.
    Status {
        /// The new state.
        state: TaskState,
        /// What the agent says of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Message>,
    },
    /// A result, or a piece of one, came.
    Artifact {
        /// The result.
        artifact: Artifact,
        /// Its parts go behind those that are there.
        append: bool,
        /// Nothing more follows for it.
        last_chunk: bool,
    },
    /// Somebody said something more: a follow-up of the user.
    Said {
        /// What was said.
        message: Message,
    },
    /// A job's record changed: prepared, linked, updated or settled. Not shown as an A2A event.
    Job {
        /// The whole job as it is now.
        job: Box<Job>,
    },
    /// What changed of a job. Not shown as an A2A event.
    JobChanged {
        /// What.
        change: Box<JobChange>,
    },
    /// The agent noted something of its own work. Not shown as an A2A event.
    Work {
        /// What.
        note: WorkNote,
    },
    /// Something that this release does not know. Not shown as an A2A event.
    #[serde(other)]
    Unknown,
}

impl EventKind {
    /// A change of state.
    #[must_use]
    pub fn status(state: TaskState, message: Option<Message>) -> Self {
        Self::Status { state, message }
    }

    /// True for what clients are told of; the rest is between the agent and its store.
    #[must_use]
    pub fn is_public(&self) -> bool {
        matches!(self, Self::Status { .. } | Self::Artifact { .. })
    }

    /// A whole artifact at once.
    #[must_use]
    pub fn artifact(artifact: Artifact) -> Self {
        Self::Artifact {
            artifact,
            append: false,
            last_chunk: true,
        }
    }
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

    /// How many bytes the results of the other jobs leave for those of this one.
    fn room_for(&self, number: u32) -> usize {
        let others = self.jobs.iter().filter(|job| job.number != number);
        let taken: usize = others.map(|job| unkept::size(&job.artifacts)).sum();
        RESULTS_MAX.saturating_sub(taken)
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

/// A task on its way from the revision that was read to the next: what a store writes as one compare-and-swap.
#[derive(Debug, Clone)]
pub struct Revision {
    seen: u64,
    began: (TaskState, Timestamp),
    task: Task,
    events: Vec<Event>,
}

impl Revision {
    /// Starts from the task as it was read.
    #[must_use]
    pub fn of(task: Task) -> Self {
        Self {
            seen: task.rev,
            began: (task.status.state, task.status.at),
            task,
            events: Vec::new(),
        }
    }

    /// Records one more event.
    ///
    /// # Errors
    /// As [`Task::record`].
    pub fn record(&mut self, kind: EventKind, now: Timestamp) -> Result<(), InvalidTransition> {
        let event = self.task.record(kind, now)?;
        self.events.push(event);
        Ok(())
    }

    /// The revision that was read: the write must find it unchanged.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The task after all that was recorded.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// What was recorded, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The states that the task left with what was recorded, each with the one that followed and the time spent in
    /// it since its last status.
    #[must_use]
    pub fn left(&self) -> Vec<(TaskState, TaskState, Duration)> {
        let (mut state, mut since) = self.began;
        let mut left = Vec::new();
        for event in &self.events {
            if let EventKind::Status { state: next, .. } = &event.kind {
                if *next != state {
                    left.push((state, *next, event.at.since(since)));
                }
                (state, since) = (*next, event.at);
            }
        }
        left
    }

    /// True where nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The task after all that was recorded.
    #[must_use]
    pub fn into_task(mut self) -> Task {
        let written = !self.events.is_empty();
        if let Some(keeping) = self.task.kept.keeping.as_mut().filter(|_| written) {
            keeping.revisions.push(self.task.rev);
        }
        self.task
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{MessageId, Part};

    fn task() -> Task {
        Task::create(
            NewTask {
                id: TaskId::from_bytes([1; 16]),
                tenant: Tenant::parse("acme").unwrap(),
                agent: AgentName::parse("weather").unwrap(),
                context_id: ContextId::parse("c").unwrap(),
                owner: Owner::parse("o").unwrap(),
                message: Message::user(MessageId::parse("m").unwrap(), vec![Part::text("hi")]),
                trace: None,
            },
            Timestamp::from_millis(0),
        )
    }

    fn any_note() -> impl Strategy<Value = WorkNote> {
        prop_oneof![
            (0..9_u32).prop_map(|step| WorkNote::Checkpoint {
                reached: serde_json::json!({ "step": step }),
            }),
            (1..9_u32).prop_map(|attempt| WorkNote::Stumbled {
                stumble: Stumble {
                    attempt,
                    reason: "away".into(),
                },
            }),
            (0..3_u32).prop_map(|number| WorkNote::Turn {
                turn: Box::new(crate::ModelTurn {
                    number,
                    said: None,
                    model: "m".into(),
                    text: "well".into(),
                    calls: Vec::new(),
                    refused: false,
                    usage: crate::TokenUsage::default(),
                    opaque: None,
                }),
            }),
            Just(WorkNote::Direct),
        ]
    }

    fn any_kind() -> impl Strategy<Value = EventKind> {
        let state = proptest::sample::select(TaskState::ALL.to_vec());
        prop_oneof![
            (state, any::<bool>()).prop_map(|(state, said)| {
                let message = said.then(|| Message::agent_text(MessageId::derived("x"), "x"));
                EventKind::status(state, message)
            }),
            (0..3_u8, any::<bool>()).prop_map(|(id, append)| EventKind::Artifact {
                artifact: Artifact::new(id.to_string(), vec![Part::text("a")]),
                append,
                last_chunk: true,
            }),
            Just(EventKind::Said {
                message: Message::user(MessageId::derived("y"), vec![Part::text("y")])
            }),
            any_note().prop_map(|note| EventKind::Work { note }),
        ]
    }

    #[test]
    fn a_jobs_token_stands_in_the_log_once_and_readers_get_it_whole_all_the_same() {
        let at = Timestamp::from_millis;
        let mut revision = Revision::of(task());
        let mut job = crate::testing::job(at(0));
        for attempts in 0..3 {
            job.attempts = attempts;
            job.updated_at = at(i64::from(attempts));
            let kind = EventKind::Job {
                job: Box::new(job.clone()),
            };
            revision.record(kind, at(3)).unwrap();
        }
        let log = serde_json::to_string(revision.events()).unwrap();
        assert_eq!(log.matches("sealed").count(), 1, "{log}");
        let mut jobs = crate::JobLog::default();
        let whole = revision
            .events()
            .iter()
            .map(|event| jobs.whole(event.clone()).kind);
        let told: Vec<_> = whole
            .map(|kind| match kind {
                EventKind::Job { job } => (job.attempts, job.webhook),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(told, [0, 1, 2].map(|attempts| (attempts, job.webhook.clone())));
        assert_eq!(revision.task().jobs, [job]);
    }

    #[test]
    fn a_state_is_followed_by_those_of_the_table_and_by_no_other() {
        for from in TaskState::ALL {
            for to in TaskState::ALL {
                let over = ["completed", "canceled", "failed", "rejected"].contains(&from.as_str());
                let can = !over && to.as_str() != "submitted";
                assert_eq!(from.can_become(to), can, "{from:?} to {to:?}");
                let mut task = task();
                task.status.state = from;
                let before = task.clone();
                let recorded = task.record(EventKind::status(to, None), Timestamp::from_millis(1));
                match can {
                    true => assert_eq!((recorded.map(|event| event.seq), task.status.state), (Ok(2), to)),
                    false => {
                        assert_eq!(recorded, Err(InvalidTransition::Task { from, to }));
                        assert_eq!(task, before);
                    }
                }
            }
        }
    }

    #[test]
    fn a_job_that_is_over_does_not_begin_again() {
        let now = Timestamp::from_millis(1);
        let job = crate::testing::job(now);
        let mut over = job.clone();
        over.give_up(TaskState::Failed, "gone", now);
        let mut task = task();
        for told in [&job, &over] {
            let kind = EventKind::Job {
                job: Box::new(told.clone()),
            };
            task.record(kind, now).unwrap();
        }
        let before = task.clone();
        let again = EventKind::Job { job: Box::new(job) };
        let refused = task.record(again, now).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a job that is settled cannot become prepared"
        );
        assert_eq!(task, before);
    }

    proptest! {
        #[test]
        fn no_sequence_of_events_reaches_an_impossible_state(kinds in prop::collection::vec(any_kind(), 0..40)) {
            let mut revision = Revision::of(task());
            let mut ended: Option<Task> = None;
            for (step, kind) in kinds.into_iter().enumerate() {
                let before = revision.task().clone();
                let now = Timestamp::from_millis(i64::try_from(step).unwrap_or(0));
                match revision.record(kind, now) {
                    Ok(()) => {
                        prop_assert!(ended.is_none(), "a finished task changed");
                        prop_assert_eq!(revision.task().rev, before.rev + 1);
                        prop_assert!(before.status.state == revision.task().status.state
                            || revision.task().status.state != TaskState::Submitted);
                    }
                    Err(_) => prop_assert_eq!(revision.task(), &before, "a refused event left a trace"),
                }
                if revision.task().status.state.is_terminal() && ended.is_none() {
                    ended = Some(revision.task().clone());
                }
            }
            // The log is gapless, and replaying it gives the same task.
            let mut replayed = task();
            for (index, event) in revision.events().iter().enumerate() {
                prop_assert_eq!(event.seq, index as u64 + 2);
                prop_assert!(replayed.record(event.kind.clone(), event.at).is_ok());
            }
            prop_assert_eq!(&replayed, revision.task());
            let again = revision.task().replayed(revision.events());
            prop_assert_eq!(again.as_ref(), Ok(revision.task()));
            if let [first, ..] = revision.events() {
                let early = revision.task().replayed(std::slice::from_ref(first)).map(|task| task.rev);
                prop_assert_eq!(early, Ok(first.seq));
            }
            if let Some(ended) = ended { prop_assert_eq!(&ended, revision.task()); }
        }

        #[test]
        fn a_task_survives_its_json(kinds in prop::collection::vec(any_kind(), 0..10)) {
            let mut task = task();
            for kind in kinds { let _ = task.record(kind, Timestamp::from_millis(1)); }
            let text = serde_json::to_string(&task).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let back: Task = serde_json::from_str(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(back, task);
        }
    }
}
