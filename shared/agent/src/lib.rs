//! What an A2A agent is: the [`Executor`] its author writes, and around it everything an agent has to do right once:
//! taking calls ([`router`]), working on tasks under a lease ([`handle`]), telling clients of changes.
//!
//! The room knows no Lambda and no queue product: a queue is a [`WakeDoor`]. It holds no work in memory: before any
//! answer leaves, the task and its next step are in the store.
//!
//! One agent is one [`Agent`] value; its function's `main.rs` builds it and hands it to [`router`] for HTTP events
//! and to [`handle`] for queue events.

pub mod data;
mod detached;
mod drafting;
mod execute_error;
mod executor;
mod heap;
pub mod measure;
mod push;
mod run;
mod schedule;
mod serve;
mod shutdown;
mod tail;
mod taken;
mod wake;
pub mod wakes;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use auth::{Sealer, TokenValidator};
use domain::{AgentName, Clock, Entropy, Tenant};
use outbound::Outbound;
use store::Store;

pub use detached::{ALONE, DetachedFile, detached_name};
pub use drafting::{DraftPen, Drafting};
pub use execute_error::ExecuteError;
pub use executor::{Executor, Outcome};
pub use heap::on_heap;
pub use push::{PushSchedule, wake_deliveries};
pub use run::{Run, Undisturbed};
pub use schedule::{BadSchedule, RetrySchedule};
pub use serve::cancel::cancel_task;
pub use serve::rehearsal::{Rehearsal, Rehearsed, RehearsedSend};
pub use serve::send::take_message;
pub use serve::{router, routes};
pub use shutdown::Shutdown;
pub use taken::{Filled, Taken};
pub use wake::{PushWake, TaskWake, Wake, WakeDoor, WakeError, wake_each, wake_or_log};
pub use worker::{WorkError, handle};

/// The scope that every call of an agent's A2A operations needs.
pub const TASKS_SCOPE: &str = "tasks";

/// The scope of those who look after a tenant's deliveries of push notifications.
pub const DELIVERIES_SCOPE: &str = auth::scope::DELIVERIES;

pub use domain::SCHEMA_MEDIA_TYPE;

/// One agent: its card, its executor, and what both work with.
pub struct Agent {
    /// The agent's name in keys and on queues.
    pub name: AgentName,
    /// What it publishes of itself; its URL is the audience of tokens for it.
    pub card: a2a::card::Card,
    /// The tenant it is deployed for; `None` for an agent that works in its caller's tenant.
    pub own_tenant: Option<Tenant>,
    /// Who may call.
    pub access: Access,
    /// The database, through the one room that names it.
    pub store: Store,
    /// The queues.
    pub wake: Arc<dyn WakeDoor>,
    /// What it does.
    pub executor: Arc<dyn Executor>,
    /// Whose tokens it takes.
    pub validator: Arc<dyn TokenValidator>,
    /// Seals what clients entrust to it: tokens of push configurations.
    pub sealer: Arc<Sealer>,
    /// The way out, for push notifications.
    pub outbound: Outbound,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The RNG.
    pub entropy: Arc<dyn Entropy>,
    /// Times and bounds.
    pub settings: Settings,
}

/// Who may call an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody, where [`Settings::public`] says so: without a token a caller can read a task by its id and list nothing. A token that is
    /// there must be good.
    Open,
    /// Only callers with a good token.
    Secured,
}

/// Times and bounds of an agent.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whether an open agent takes callers without a token.
    pub public: bool,
    /// How long a lease lasts without a heartbeat.
    pub lease: Duration,
    /// How often a lease is renewed.
    pub heartbeat: Duration,
    /// How often a running execution looks whether its task was called off.
    pub cancel_check: Duration,
    /// A task is born due: when the wake is lost, the sweeper finds it after this long.
    pub born_due: Duration,
    /// How long a blocking call waits before it answers with the working task (the gateway's limit less 2 s).
    pub blocking_limit: Duration,
    /// How long a stream stays open while its task goes on; then its client comes back.
    pub stream_limit: Duration,
    /// A stream is never silent for longer: a proxy would take its connection for dead.
    pub stream_heartbeat: Duration,
    /// How long a task is kept.
    pub retention: Duration,
    /// Waits before the next attempt of an execution that may work later; after the last [`Executor::give_up`] says how its task
    /// stands.
    pub retries: Vec<Duration>,
    /// Executions that end without a word (crashes) before the task fails as poisonous.
    pub max_attempts: u32,
    /// Waits before those who work on parts of a task that is over are told once more. After the last one they are left
    /// to end by themselves; what they still say is ignored.
    pub tell_again: Vec<Duration>,
    /// How long a task that needs a newer release than this one is left to it before it is `unknown`.
    pub newer_release: Duration,
    /// When a delivery that failed is tried again, and when it is parked.
    pub push_schedule: PushSchedule,
}

impl Settings {
    /// These, with what somebody set.
    #[must_use]
    pub fn with(self, push: Option<PushSchedule>, retry: Option<RetrySchedule>) -> Self {
        let retries = retry.map_or(self.retries, |retry| retry.waits().to_vec());
        let attempts = u32::try_from(retries.len()).unwrap_or(u32::MAX);
        Self {
            push_schedule: push.unwrap_or(self.push_schedule),
            // A crash now and then must not cost a task the attempts that it has.
            max_attempts: self.max_attempts.max(attempts.saturating_add(3)),
            retries,
            ..self
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            public: true,
            lease: seconds(30),
            heartbeat: seconds(10),
            // Whoever calls a task off sees it stop within a second.
            cancel_check: Duration::from_millis(700),
            born_due: seconds(10),
            blocking_limit: seconds(27),
            stream_limit: seconds(60),
            stream_heartbeat: seconds(10),
            retention: seconds(30 * 24 * 3600),
            retries: RetrySchedule::default().waits().to_vec(),
            max_attempts: 10,
            tell_again: [1, 5, 30, 300, 1_800, 7_200, 18_000].map(seconds).to_vec(),
            newer_release: seconds(30 * 60),
            push_schedule: PushSchedule::default(),
        }
    }
}
