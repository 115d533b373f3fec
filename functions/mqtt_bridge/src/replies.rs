//! Replies to the calls of hosts: the first goes to whoever waits for it, every other to the webhook that its correlation holds.
//! A reply is acknowledged to the broker when its receiver has it, or when nobody ever will.

use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{
    AgentAddress, BindingError, CallWebhook, Properties, Recipient, ReplyItem, Topic, is_for_webhook,
    property, read_reply,
};
use domain::{Generation, Tenant};
use mqtt::{Received, Taking};
use outbound::{CallError, PushDelivery, PushError};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::bridge::Bridge;
use crate::correlation::{Correlation, ReplyPlace};
use crate::drops::dropped;
use crate::lines::Place;
use crate::waiting::Reply;

/// Most bytes of a reply.
const REPLY_MAX: usize = 512 * 1024;
/// The user property that numbers the pieces of an event that did not fit into a packet: two that are alike are two.
pub(crate) const PIECE: &str = "switchyard-piece";
/// Waits between two tries of a webhook: the first, and the longest.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));
/// For how long a webhook is tried: then its host finds out by itself, by asking for the task.
const TRIED: Duration = Duration::from_secs(600);

/// Takes a reply to one of this host's calls. What it is and where it stands in its job's line is decided here, in the order of
/// receipt.
pub(crate) fn take(bridge: &Arc<Bridge>, host: &AgentAddress, received: &Received) -> Taking {
    match read(bridge, host, received) {
        Ok(None) => Box::pin(async {}),
        Ok(Some(delivery)) => {
            let place = bridge.lines.join(delivery.line.clone());
            let (bridge, host) = (Arc::clone(bridge), host.clone());
            Box::pin(async move { delivered(&bridge, &host, delivery, place).await })
        }
        Err(reason) => {
            dropped(host, reason);
            Box::pin(async {})
        }
    }
}

/// An item on its way to a webhook.
struct Delivery {
    webhook: CallWebhook,
    body: Value,
    id: String,
    /// What keeps it in order with others: its job.
    line: String,
    tenant: Tenant,
    /// Who has the task, where the reply says so.
    responder: Option<AgentAddress>,
}

/// What is left to be done about a reply; nothing where whoever waited for it has it.
fn read(bridge: &Bridge, host: &AgentAddress, received: &Received) -> Result<Option<Delivery>, &'static str> {
    let publication = &received.publication;
    let is_own = bridge.reply_topics(host).contains(&publication.topic);
    if !is_own || !matches!(bridge.prefix.read(&publication.topic), Some(Topic::Reply(..))) {
        return Err("foreign_reply_topic");
    }
    if publication.payload.len() > REPLY_MAX {
        return Err("reply_too_large");
    }
    let data = publication.properties.correlation.as_deref();
    let data = data.ok_or("no_correlation")?;
    let place = ReplyPlace {
        requester: host,
        topic: &publication.topic,
    };
    let opened = Correlation::open(data, &bridge.sealer, place).ok_or("foreign_correlation")?;
    if opened.expires_at <= bridge.clock.now() {
        return Err("expired_correlation");
    }
    let item = read_reply(&publication.payload).ok_or("no_reply")?;
    let correlation = String::from_utf8_lossy(data).into_owned();
    let responder = responder(&publication.properties, &opened.asked).inspect_err(|reason| {
        // A pool's member that does not say who it is has broken the profile: whoever waits is not left to wait.
        if *reason == NAMELESS {
            let item = ReplyItem::Error(BindingError::Protocol("no a2a-responder-agent-id").to_json());
            let _ = bridge.waiting.answer(
                &correlation,
                Reply {
                    item,
                    responder: None,
                },
            );
        }
    })?;
    let reply = Reply { item, responder };
    let reply = match &reply.item {
        ReplyItem::Result(result) if is_for_webhook(result) => {
            // Whoever waits learns that there is work; the result itself is news like any other.
            let _ = bridge.waiting.answer(&correlation, reply.clone());
            reply
        }
        _ => match bridge.waiting.answer(&correlation, reply) {
            Ok(()) => return Ok(None),
            Err(reply) => reply,
        },
    };
    let Reply {
        item: ReplyItem::Result(result),
        responder,
    } = reply
    else {
        // Its host finds out what became of the task by asking for it.
        return Err("late_error");
    };
    let webhook = opened.webhook.ok_or("late_answer")?;
    let tenant = Tenant::from_prefix(host.unit()).map_err(|_| "no_tenant")?;
    let line = line(&webhook);
    let id = match a2a::event_number(&result) {
        // An event whose acknowledgement was lost is published again, as another packet; of its pieces each has a number of its own.
        Some(number) => {
            let piece = publication.properties.one(PIECE);
            let piece = piece.map_err(|_| "doubled_property")?.unwrap_or_default();
            format!("{line}/event/{number}/{piece}/{result}")
        }
        // One that comes again has the same packet id; two pieces that are alike have not.
        None => {
            let payload = String::from_utf8_lossy(&publication.payload);
            format!("{correlation}/{}/{payload}", received.packet_id)
        }
    };
    Ok(Some(Delivery {
        id: auth::token::hash(&id),
        line,
        body: notification(result),
        webhook,
        tenant,
        responder,
    }))
}

/// Why a reply of a pool is dropped that does not say whose it is.
const NAMELESS: &str = "no_responder";

/// Who has the task, where the reply says so: an agent of the unit that was asked. Of a pool each reply must.
fn responder(told: &Properties, asked: &Recipient) -> Result<Option<AgentAddress>, &'static str> {
    match (
        told.one(property::RESPONDER).map_err(|_| "doubled_property")?,
        asked,
    ) {
        (Some(name), _) => asked.responder(name).ok_or("foreign_responder").map(Some),
        (None, Recipient::Pool(_)) => Err(NAMELESS),
        (None, Recipient::Agent(_)) => Ok(None),
    }
}

fn line(webhook: &CallWebhook) -> String {
    use domain::ExposeSecret as _;
    auth::token::hash(webhook.token.expose_secret())
}

/// An item as a push notification: a task that comes without its envelope gets one.
fn notification(result: Value) -> Value {
    match result.get("status").is_some() && result.get("id").is_some() {
        true => json!({ "task": result }),
        false => result,
    }
}

async fn delivered(bridge: &Bridge, host: &AgentAddress, delivery: Delivery, mut place: Place) {
    place.turn().await;
    let Delivery {
        webhook,
        body,
        id,
        tenant,
        responder,
        ..
    } = delivery;
    let push = PushDelivery {
        tenant,
        url: webhook.url,
        token: Some(webhook.token.clone()),
        scheme: Some("Bearer".to_owned()),
        credentials: Some(webhook.token),
        body,
        generation: Generation::V1_0,
        id,
        responder: responder.map(|agent| agent.to_string()),
    };
    let (begun, mut wait) = (Instant::now(), AGAIN.0);
    loop {
        // In turn: acknowledgements keep the order of receipt, so that all that came later waits for the one that came first.
        let turn = bridge.turn(host).await;
        let sent = bridge.outbound.push(&push, &bridge.sender, bridge.clock.as_ref());
        let sent = sent.await;
        drop(turn);
        match sent {
            Ok(()) => return,
            Err(error) if is_final(&error) => {
                tracing::info!(mqtt.agent = %host, error = %error, "a reply was refused by its webhook");
                return dropped(host, "refused_by_webhook");
            }
            Err(error) if begun.elapsed() > TRIED => {
                tracing::warn!(mqtt.agent = %host, error = %error, "a reply did not reach its webhook");
                return dropped(host, "webhook_away");
            }
            // It was not tried, so that there is no reason to wait for longer the next time.
            Err(PushError::NotNow { until }) => {
                let rest = until.since(bridge.clock.now());
                tokio::time::sleep(rest.clamp(AGAIN.0, AGAIN.1)).await;
            }
            Err(error) => {
                tracing::debug!(mqtt.agent = %host, error = %error, "a webhook is tried again");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(AGAIN.1);
            }
        }
    }
}

/// Whether the same would be refused again.
fn is_final(error: &PushError) -> bool {
    match error {
        PushError::NotNow { .. } => false,
        PushError::Failed(error) => match error {
            CallError::Status(status) => (400..500).contains(status) && !matches!(status, 408 | 425 | 429),
            CallError::Unauthorized { .. }
            | CallError::Forbidden { .. }
            | CallError::NotAllowed(_)
            | CallError::TooLarge(_) => true,
            _ => false,
        },
    }
}
