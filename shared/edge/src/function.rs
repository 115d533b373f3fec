//! What a function is, whoever starts it: Lambda's entry, the local system, a test.

use std::error::Error as StdError;
use std::sync::Arc;

use a2a::mqtt::Publication;
use async_trait::async_trait;
use axum::Router;
use domain::{Timestamp, TraceParent};
use serde_json::Value;
use tokio::sync::watch;

/// What a function is made of. Events for a part that is `None` are refused.
#[derive(Clone)]
pub struct Function {
    /// Answers HTTP; it is behind [`crate::front()`].
    pub router: Router,
    /// Handles the messages of its queue.
    pub queue: Option<Arc<dyn QueueHandler>>,
    /// Handles the messages of its queue a batch at a time, where it has no `queue`.
    pub batches: Option<Arc<dyn BatchHandler>>,
    /// Says who may go on to an API's other functions.
    pub authorizer: Option<Arc<dyn Authorizer>>,
    /// Runs on its schedule.
    pub schedule: Option<Arc<dyn ScheduleHandler>>,
    /// Handles what rules of AWS IoT Core hand over.
    pub iot: Option<Arc<dyn IotHandler>>,
    /// Runs as long as its process does, where that is for long: not on Lambda.
    pub background: Option<Arc<dyn Background>>,
}

impl Function {
    /// A function of HTTP events alone; `router` is already behind [`crate::front()`].
    #[must_use]
    pub fn new(router: Router) -> Self {
        Self {
            router,
            queue: None,
            batches: None,
            authorizer: None,
            schedule: None,
            iot: None,
            background: None,
        }
    }

    /// The same, with its queue.
    #[must_use]
    pub fn with_queue(self, handler: impl QueueHandler + 'static) -> Self {
        let queue = Some(Arc::new(handler) as Arc<dyn QueueHandler>);
        Self { queue, ..self }
    }

    /// The same, with what takes its queue's messages a batch at a time.
    #[must_use]
    pub fn with_batches(self, handler: impl BatchHandler + 'static) -> Self {
        let batches = Some(Arc::new(handler) as Arc<dyn BatchHandler>);
        Self { batches, ..self }
    }

    /// The same, as the authorizer of an API.
    #[must_use]
    pub fn with_authorizer(self, authorizer: impl Authorizer + 'static) -> Self {
        let authorizer = Some(Arc::new(authorizer) as Arc<dyn Authorizer>);
        Self { authorizer, ..self }
    }

    /// The same, with its schedule.
    #[must_use]
    pub fn with_schedule(self, handler: impl ScheduleHandler + 'static) -> Self {
        let schedule = Some(Arc::new(handler) as Arc<dyn ScheduleHandler>);
        Self { schedule, ..self }
    }

    /// The same, with what handles the publications of IoT Core.
    #[must_use]
    pub fn with_iot(self, handler: impl IotHandler + 'static) -> Self {
        let iot = Some(Arc::new(handler) as Arc<dyn IotHandler>);
        Self { iot, ..self }
    }

    /// The same, with what runs as long as its process does.
    #[must_use]
    pub fn with_background(self, background: impl Background + 'static) -> Self {
        let background = Some(Arc::new(background) as Arc<dyn Background>);
        Self { background, ..self }
    }
}

/// Runs beside a function's events, in a process that stays. What it does must not be missed where there is none.
#[async_trait]
pub trait Background: Send + Sync {
    /// Runs until `stop` says so, and then ends in order.
    async fn run(&self, stop: watch::Receiver<bool>);
}

/// Handles the messages of a queue, at least once each, in any order.
#[async_trait]
pub trait QueueHandler: Send + Sync {
    /// Handles one message. It must be idempotent. What it records on the current span as `tenant.id`, `task.id` and
    /// `trace_id` is in the message's log line.
    ///
    /// # Errors
    /// [`QueueError`]: this message alone comes again, or goes to the dead-letter queue.
    async fn handle(&self, body: &str) -> Result<(), QueueError>;

    /// The trace that the message belongs to, where it says so.
    fn trace(&self, _body: &str) -> Option<TraceParent> {
        None
    }
}

/// Handles the messages of a queue as they come, a batch at a time; at least once each, in any order.
#[async_trait]
pub trait BatchHandler: Send + Sync {
    /// Handles the messages with these bodies, and says for each, in their order, whether it is done. It must be idempotent.
    async fn handle(&self, bodies: &[&str]) -> Vec<Result<(), QueueError>>;
}

/// Says who may go on to an API's other functions.
#[async_trait]
pub trait Authorizer: Send + Sync {
    /// What is to be said of a path with this segment in place of `{tenant}`: what the API hands to its integrations by these names, or
    /// nothing where nobody is let through.
    ///
    /// # Errors
    /// Whatever keeps it from knowing; nobody is let through then either.
    async fn authorize(&self, tenant: &str) -> Result<Option<Vec<(&'static str, String)>>, crate::Error>;
}

/// Why a message was not handled.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The message is none that this function knows; it will not get better.
    #[error("the message cannot be read: {0}")]
    Unreadable(String),
    /// The work failed and is worth another try.
    #[error("the work failed")]
    Failed(#[source] Box<dyn StdError + Send + Sync>),
}

/// Runs on a schedule, at least once each time.
#[async_trait]
pub trait ScheduleHandler: Send + Sync {
    /// Does what is due. The report is the invocation's answer.
    ///
    /// # Errors
    /// [`ScheduleError`] fails the invocation, which the scheduler repeats.
    async fn run(&self) -> Result<Value, ScheduleError>;
}

/// Why a scheduled run failed.
#[derive(Debug, thiserror::Error)]
#[error("the scheduled run failed")]
pub struct ScheduleError(#[source] pub Box<dyn StdError + Send + Sync>);

/// A publication that a rule of AWS IoT Core handed over.
#[derive(Debug, Clone)]
pub struct IotMessage {
    /// The publication.
    pub publication: Publication,
    /// When IoT Core received it, where the rule says so.
    pub received_at: Option<Timestamp>,
}

/// Handles what rules of AWS IoT Core hand over, at least once each, in any order.
#[async_trait]
pub trait IotHandler: Send + Sync {
    /// Handles one publication. It must be idempotent.
    ///
    /// # Errors
    /// [`IotHandlerError`] fails the invocation, which Lambda repeats.
    async fn handle(&self, message: IotMessage) -> Result<(), IotHandlerError>;
}

/// Why a publication was not handled.
#[derive(Debug, thiserror::Error)]
#[error("the publication was not handled")]
pub struct IotHandlerError(#[source] pub Box<dyn StdError + Send + Sync>);
