//! An agent on the broker: its connection, its card and whether it is there.

use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{AgentAddress, CARD_MAX, Properties, Publication, property};
use agent::measure::METRICS;
use async_trait::async_trait;
use bytes::Bytes;
use domain::SecretString;
use mqtt::{BrokerUrl, Inbox, Options, Publisher as _, Received, Session, SessionEnd, SessionState};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::bridge::Bridge;
use crate::config::AgentPlace;
use crate::handle::{Handled, handle};

/// For how long the broker keeps requests for an agent that is not connected.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// Most requests of an agent that are worked on at once; what is beyond stays at the broker.
const AT_ONCE: u16 = 64;
/// Most bytes of a request, with all that stands beside it.
const PACKET: u32 = 1024 * 1024;
/// How often an agent's card is looked at.
const LOOK: Duration = Duration::from_secs(60);
/// How soon a card that could not be had is asked for again.
const AGAIN: Duration = Duration::from_secs(1);

/// What the bridge connects with.
pub struct Connection {
    /// The broker.
    pub broker: BrokerUrl,
    /// The agent's password there; its address is the user name.
    pub password: Option<SecretString>,
}

/// Keeps an agent on the broker until `stop` says otherwise: connects it, publishes its card, hands on what comes in.
pub async fn keep(
    bridge: Arc<Bridge>,
    place: AgentPlace,
    connection: Connection,
    mut stop: watch::Receiver<bool>,
) {
    let Some(card) = first_card(&bridge, &place, &mut stop).await else {
        return;
    };
    let topic = bridge.prefix.discovery(&place.address);
    let address = place.address.to_string();
    let options = Options {
        broker: connection.broker,
        client_id: address.clone(),
        credentials: connection.password.map(|password| (address, password)),
        will: Some(told(&topic, &card, "offline", "lwt")),
        filters: vec![
            bridge
                .prefix
                .request(&a2a::mqtt::Recipient::Agent(place.address.clone())),
        ],
        kept_for: Some(KEPT),
        receive_maximum: AT_ONCE,
        max_packet: PACKET,
    };
    let inbox = Arc::new(Requests {
        bridge: Arc::clone(&bridge),
        agent: place.address.clone(),
    });
    let session = match Session::open(options, inbox) {
        Ok(session) => session,
        Err(end) => {
            tracing::error!(mqtt.agent = %place.address, error = %end, "the agent is not on the broker");
            return;
        }
    };
    bridge.publishes(&place.address, Arc::new(session.clone()));
    let presence = Presence {
        bridge,
        place,
        topic,
        session,
    };
    presence.keep(card, &mut stop).await;
}

/// The agent's card; asked for until it comes.
async fn first_card(bridge: &Bridge, place: &AgentPlace, stop: &mut watch::Receiver<bool>) -> Option<Bytes> {
    let mut is_told = false;
    loop {
        match card(bridge, place).await {
            Ok(card) => return Some(card),
            Err(reason) if !is_told => {
                tracing::info!(mqtt.agent = %place.address, reason, "the agent's card cannot be had yet");
                is_told = true;
            }
            Err(_) => {}
        }
        tokio::select! {
            () = tokio::time::sleep(AGAIN) => {}
            () = stopped(stop) => return None,
        }
    }
}

async fn card(bridge: &Bridge, place: &AgentPlace) -> Result<Bytes, String> {
    let card = bridge
        .outbound
        .published_card(&place.url)
        .await
        .map_err(|error| error.to_string())?;
    match card.len() <= CARD_MAX {
        true => Ok(card),
        false => Err(format!("it has {} bytes, and may have {CARD_MAX}", card.len())),
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Whoever could say so is gone: that is a stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// A card on its topic, and whether its agent is there.
fn told(topic: &str, card: &Bytes, status: &str, source: &str) -> Publication {
    let user = [(property::STATUS, status), (property::STATUS_SOURCE, source)];
    Publication {
        topic: topic.to_owned(),
        payload: card.clone(),
        retain: true,
        properties: Properties {
            content_type: Some("application/json".to_owned()),
            is_text: true,
            user: user
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            ..Properties::default()
        },
    }
}

struct Presence {
    bridge: Arc<Bridge>,
    place: AgentPlace,
    topic: String,
    session: Session,
}

impl Presence {
    async fn keep(self, mut card: Bytes, stop: &mut watch::Receiver<bool>) {
        let mut state = self.session.watch();
        let mut looks = tokio::time::interval_at(Instant::now() + LOOK, LOOK);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let now = state.borrow_and_update().clone();
            match now {
                // With each new connection: when the one before was lost, the broker said that the agent is gone.
                SessionState::Ready { .. } => self.publish(&card, "online").await,
                SessionState::Ended(end) => {
                    if end != SessionEnd::Closed {
                        tracing::warn!(mqtt.agent = %self.place.address, reason = %end, "the agent is off the broker");
                    }
                    return;
                }
                SessionState::Connecting => {}
            }
            loop {
                tokio::select! {
                    changed = state.changed() => match changed {
                        Ok(()) => break,
                        Err(_) => return,
                    },
                    _ = looks.tick() => {
                        if let Ok(newer) = self::card(&self.bridge, &self.place).await && newer != card {
                            card = newer;
                            self.publish(&card, "online").await;
                        }
                    }
                    () = stopped(stop) => {
                        self.publish(&card, "offline").await;
                        self.session.close().await;
                        return;
                    }
                }
            }
        }
    }

    /// Nobody may look: that a card has no subscribers (0x10) is no error.
    async fn publish(&self, card: &Bytes, status: &str) {
        let told = told(&self.topic, card, status, "agent");
        if let Err(error) = self.session.publish(told).await {
            tracing::warn!(mqtt.agent = %self.place.address, error = %error, "the agent's card was not published");
        }
    }
}

/// Takes an agent's requests.
struct Requests {
    bridge: Arc<Bridge>,
    agent: AgentAddress,
}

#[async_trait]
impl Inbox for Requests {
    async fn take(&self, received: Received) {
        // It lay nowhere in between: what is not worked on yet is still the broker's.
        let handled = Box::pin(handle(
            &self.bridge,
            &self.agent,
            &received.publication,
            Duration::ZERO,
        ))
        .await;
        match handled {
            Handled::Dropped(reason) => {
                // No agent of the platform's measures it: the name is the bridge's own.
                tracing::info!(target: METRICS, metric = "MqttDropped", value = 1, unit = "Count", agent = %self.agent);
                tracing::info!(mqtt.agent = %self.agent, reason, "publication dropped");
            }
            Handled::Unanswered => tracing::warn!(mqtt.agent = %self.agent, "a request has no answer"),
            Handled::Answered | Handled::Refused => {}
        }
    }
}
