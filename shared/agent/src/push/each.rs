//! Deliveries to those who are told every event by itself.

use std::time::Duration;

use domain::trace::within;
use domain::{Event, MessageId, Task};
use store::{ClaimedPush, TaskKey};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::{NotDelivered, send};
use crate::{Agent, measure};

/// How long one claim is used. The claim must not end under a delivery: somebody else's would overtake it.
const TIME: Duration = Duration::from_secs(20);

/// How far a configuration was told.
pub(super) struct Told {
    /// The claim, with what was delivered by now.
    pub(super) claimed: ClaimedPush,
    /// Every event was told.
    pub(super) is_all: bool,
    /// One was told that ends it.
    pub(super) is_over: bool,
    /// Why the next one was not delivered.
    pub(super) failed: Option<NotDelivered>,
}

/// Tells these events one by one, in their order: a next one goes out when the one before it has arrived.
pub(super) async fn tell(agent: &Agent, task: &Task, events: &[Event], claimed: &ClaimedPush) -> Told {
    let (key, begun) = (TaskKey::from(task), Instant::now());
    let mut told = Told {
        claimed: claimed.clone(),
        is_all: true,
        is_over: false,
        failed: None,
    };
    for event in events {
        if begun.elapsed() > TIME {
            told.is_all = false;
            return told;
        }
        let number = told.claimed.numbered.saturating_add(1);
        let config = &claimed.config;
        let id = MessageId::derived(&format!("push/{}/{}/{}", key.id, config.id, event.seq));
        let body = a2a::numbered_push(task, event, number);
        let span = tracing::debug_span!(
            "agent.push.deliver", tenant.id = key.tenant.name(), agent = %key.agent, task.id = %key.id, seq = event.seq
        );
        let sending = send(agent, &key, config, (id, body)).instrument(span);
        if let Err(error) = within(task.trace.clone(), sending).await {
            told.failed = Some(error);
            return told;
        }
        measure::count("PushesDelivered", agent);
        told.claimed.delivered = event.seq;
        told.claimed.numbered = number;
        told.claimed.attempts = 0;
        if a2a::ends_task(event) {
            told.is_over = true;
            return told;
        }
    }
    told
}
