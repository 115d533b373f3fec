//! Wakes: the only thing a queue carries. A wake says which task or delivery is worth a look; the truth is in the
//! table, so a lost, doubled or late wake harms nothing.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AgentName, PushConfigId, Task, TaskId, Tenant, TraceParent};
use serde::{Deserialize, Serialize};
use store::TaskKey;
use tracing::Instrument as _;

use crate::measure;

/// A message on an agent's queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Wake {
    /// Look at a task: work on it if nobody does.
    Task(TaskWake),
    /// Deliver what a task's push configuration has not been told yet.
    Push(PushWake),
}

/// See [`Wake::Task`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskWake {
    /// The task's tenant.
    #[serde(deserialize_with = "Tenant::deserialize_stored")]
    pub tenant: Tenant,
    /// The agent whose task it is.
    pub agent: AgentName,
    /// The task.
    pub task_id: TaskId,
    /// The trace it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceParent>,
    /// How many wakes, each sent by the work on the one before, led to it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub hops: u32,
}

/// See [`Wake::Push`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushWake {
    /// The task's tenant.
    #[serde(deserialize_with = "Tenant::deserialize_stored")]
    pub tenant: Tenant,
    /// The agent whose task it is.
    pub agent: AgentName,
    /// The task.
    pub task_id: TaskId,
    /// The configuration to deliver to.
    pub config_id: PushConfigId,
    /// The trace it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceParent>,
    /// How many wakes, each sent by the work on the one before, led to it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub hops: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_none(hops: &u32) -> bool {
    *hops == 0
}

/// Most wakes in a row: far more than honest work takes, and few enough that what goes round in circles costs nothing to speak of.
/// Lambda's own limit of sixteen is off in the templates, because work in steps is such a circle.
const MOST_HOPS: u32 = 1000;

tokio::task_local! {
    /// The hops of the wake that is worked on.
    static HOPS: u32;
}

/// The version of the queue's message form.
const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct Envelope<W> {
    v: u8,
    #[serde(flatten)]
    wake: W,
}

/// Why a wake could not be read or sent.
#[derive(Debug, thiserror::Error)]
pub enum WakeError {
    /// The message is no wake of a version known here.
    #[error("not a wake: {0}")]
    Malformed(String),
    /// The queue did not take it. The table still knows what is due.
    #[error("the queue did not take the wake")]
    Queue(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Wake {
    /// A wake for a task that has been read: it goes on in the task's own trace.
    #[must_use]
    pub fn for_task(task: &Task) -> Self {
        Self::of_task(&TaskKey::from(task), task.trace.clone())
    }

    /// A wake for a task of which nothing but its key is known here; its worker finds the trace.
    #[must_use]
    pub fn task(key: &TaskKey) -> Self {
        Self::of_task(key, None)
    }

    fn of_task(key: &TaskKey, trace: Option<TraceParent>) -> Self {
        Self::Task(TaskWake {
            tenant: key.tenant.clone(),
            agent: key.agent.clone(),
            task_id: key.id,
            trace,
            hops: 0,
        })
    }

    /// A wake for a delivery of a task that has been read.
    #[must_use]
    pub fn for_push(task: &Task, config_id: PushConfigId) -> Self {
        Self::of_push(&TaskKey::from(task), config_id, task.trace.clone())
    }

    /// A wake for a delivery, as [`Wake::task`].
    #[must_use]
    pub fn push(key: &TaskKey, config_id: PushConfigId) -> Self {
        Self::of_push(key, config_id, None)
    }

    pub(crate) fn of_push(key: &TaskKey, config_id: PushConfigId, trace: Option<TraceParent>) -> Self {
        let TaskKey { tenant, agent, id } = key.clone();
        Self::Push(PushWake {
            tenant,
            agent,
            task_id: id,
            config_id,
            trace,
            hops: 0,
        })
    }

    /// The task it is about.
    #[must_use]
    pub fn key(&self) -> TaskKey {
        let (tenant, agent, id) = match self {
            Self::Task(wake) => (&wake.tenant, &wake.agent, wake.task_id),
            Self::Push(wake) => (&wake.tenant, &wake.agent, wake.task_id),
        };
        TaskKey::new(tenant, agent, id)
    }

    /// The push configuration it is about, where it is for a delivery.
    #[must_use]
    pub fn delivery(&self) -> Option<&PushConfigId> {
        match self {
            Self::Task(_) => None,
            Self::Push(wake) => Some(&wake.config_id),
        }
    }

    /// The trace it belongs to.
    #[must_use]
    pub fn trace(&self) -> Option<&TraceParent> {
        match self {
            Self::Task(wake) => wake.trace.as_ref(),
            Self::Push(wake) => wake.trace.as_ref(),
        }
    }

    /// Does the work on it; wakes that are sent meanwhile follow it.
    pub(crate) async fn followed<F: Future>(&self, work: F) -> F::Output {
        let (Self::Task(TaskWake { hops, .. }) | Self::Push(PushWake { hops, .. })) = self;
        HOPS.scope(*hops, work).await
    }

    /// It, as the next after what is worked on; `None` where those are too many.
    fn next(&self) -> Option<Self> {
        let after = HOPS.try_with(|hops| hops.saturating_add(1)).unwrap_or(0);
        let mut next = self.clone();
        let (Self::Task(TaskWake { hops, .. }) | Self::Push(PushWake { hops, .. })) = &mut next;
        *hops = after;
        (after <= MOST_HOPS).then_some(next)
    }

    /// The queue message.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(&Envelope {
            v: VERSION,
            wake: self,
        })
        .unwrap_or_default()
    }

    /// Reads a queue message.
    ///
    /// # Errors
    /// [`WakeError::Malformed`] for anything but a wake of this version.
    pub fn parse(body: &str) -> Result<Self, WakeError> {
        let envelope: Envelope<Self> =
            serde_json::from_str(body).map_err(|error| WakeError::Malformed(error.to_string()))?;
        if envelope.v == VERSION {
            Ok(envelope.wake)
        } else {
            Err(WakeError::Malformed(format!("version {}", envelope.v)))
        }
    }
}

/// The door to the agents' queues: SQS on AWS, a channel in the local system.
#[async_trait]
pub trait WakeDoor: Send + Sync {
    /// Puts a wake on the queue of the agent it names, to arrive after `delay` (at most 15 minutes).
    ///
    /// # Errors
    /// [`WakeError::Queue`] when the queue did not take it.
    async fn wake(&self, wake: &Wake, delay: Duration) -> Result<(), WakeError>;

    /// Puts all of these on their queues at once, with fewer requests where the queue allows it; those that were not taken.
    async fn wake_all(&self, wakes: Vec<Wake>) -> Vec<(Wake, WakeError)> {
        let mut left = Vec::new();
        for wake in wakes {
            if let Err(error) = self.wake(&wake, Duration::ZERO).await {
                left.push((wake, error));
            }
        }
        left
    }
}

/// Sends a wake and only logs when that fails, or when too many came before: what is due is in the table, and the sweeper finds it.
pub async fn wake_or_log(door: &dyn WakeDoor, wake: &Wake, delay: Duration) {
    let key = wake.key();
    let Some(wake) = wake.next() else {
        measure::record("WakesEndless", 1, "Count", &key.agent);
        tracing::warn!(tenant.id = key.tenant.name(), task.id = %key.id, "too many wakes in a row; left to the sweeper");
        return;
    };
    let span = tracing::debug_span!(
        "agent.wake.send", tenant.id = key.tenant.name(), agent = %key.agent, task.id = %key.id
    );
    if let Err(error) = door.wake(&wake, delay).instrument(span).await {
        tracing::warn!(tenant.id = key.tenant.name(), task.id = %key.id, error = %error, "wake not sent; the sweeper will find the task");
    }
}

/// The same of tasks that are due already, at once.
pub async fn wake_each(door: &dyn WakeDoor, tasks: &[TaskKey]) {
    for key in tasks {
        wake_or_log(door, &Wake::task(key), Duration::ZERO).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_survives_the_queue_and_rubbish_does_not() {
        let key = TaskKey {
            tenant: Tenant::public(),
            agent: AgentName::parse("weather").unwrap(),
            id: TaskId::from_bytes([3; 16]),
        };
        let trace = TraceParent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        for wake in [
            Wake::task(&key),
            Wake::of_push(&key, PushConfigId::parse("p").unwrap(), trace),
        ] {
            assert_eq!(Wake::parse(&wake.to_json()).unwrap(), wake);
        }
        for rubbish in [
            "",
            "{}",
            "null",
            r#"{"v":2,"kind":"task"}"#,
            r#"{"v":1,"kind":"task","tenant":"A#"}"#,
        ] {
            assert!(Wake::parse(rubbish).is_err(), "{rubbish}");
        }
    }
}
