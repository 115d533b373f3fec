//! Deliveries to those who are told every event by itself.

use std::time::Duration;

use domain::MessageId;
use domain::trace::within;
use store::{ClaimedPush, TaskKey};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::live::{Feed, News};
use super::{NotDelivered, send};
use crate::{Agent, measure};

/// How long one claim is used for what was owed. The claim must not end under a delivery: somebody else's would overtake it.
const TIME: Duration = Duration::from_secs(20);
/// How long one claim is used for what comes meanwhile. Whoever has moved the stream to themselves waits for so long at most.
const SERVES: Duration = Duration::from_secs(5);
/// How long it is kept while nothing comes.
const LINGERS: Duration = Duration::from_secs(1);

/// How far a configuration was told.
pub(super) struct Told {
    /// The claim, with what was delivered by now.
    pub(super) claimed: ClaimedPush,
    /// An event was told that ends it.
    pub(super) is_over: bool,
    /// Why the next one was not delivered.
    pub(super) failed: Option<NotDelivered>,
}

/// Tells these events one by one, in their order: a next one goes out when the one before it has arrived. Then those that the feed
/// brings.
pub(super) async fn tell(
    agent: &Agent,
    mut owed: News,
    claimed: &ClaimedPush,
    mut feed: Option<&mut Feed>,
) -> Told {
    let (key, begun) = (TaskKey::from(&owed.task), Instant::now());
    let mut told = Told {
        claimed: claimed.clone(),
        is_over: false,
        failed: None,
    };
    loop {
        let News { task, events } = &owed;
        for event in events {
            // The first event is the `submitted` that the client got as its answer.
            if event.seq == 1 || !event.kind.is_public() {
                told.claimed.delivered = event.seq;
                continue;
            }
            if begun.elapsed() > TIME || feed.as_ref().is_some_and(|feed| feed.is_late()) {
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
        let Some(feed) = feed.as_deref_mut() else {
            return told;
        };
        let wait = LINGERS.min(SERVES.saturating_sub(begun.elapsed()));
        match feed.after(told.claimed.delivered, wait).await {
            Some(more) => owed = more,
            None => return told,
        }
    }
}
