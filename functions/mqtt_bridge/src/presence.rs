//! An agent on the broker: its connection, its card and whether it is there.

use std::sync::Arc;
use std::time::Duration;

use a2a::mqtt::{AgentAddress, CARD_MAX, Properties, Publication, Recipient, Topic, property};
use bytes::Bytes;
use domain::SecretString;
use mqtt::{
    BrokerUrl, Inbox, Options, PublishError, Published, Publisher as _, Received, Session, SessionEnd,
    SessionState, Taking,
};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::bridge::Bridge;
use crate::config::AgentPlace;
use crate::drops::dropped;
use crate::handle::{Handled, handle};
use crate::replies;

/// For how long the broker keeps requests for an agent that is not connected.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// Most requests of an agent that are worked on at once; what is beyond stays at the broker.
const AT_ONCE: u16 = 64;
/// Most bytes of a request, with all that stands beside it.
const PACKET: u32 = 1024 * 1024;
/// How often an agent's card is looked at.
const LOOK: Duration = Duration::from_secs(60);
/// How soon a card that could not be had is asked for again, and one that could not be published is published again at first.
const AGAIN: Duration = Duration::from_secs(1);
/// How long the broker may take to acknowledge that an agent leaves.
const LEAVE: Duration = Duration::from_secs(2);

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
        filters: filters(&bridge, &place),
        kept_for: Some(KEPT),
        receive_maximum: AT_ONCE,
        max_packet: PACKET,
        settle: None,
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
    let _publishing = Publishing::begin(&bridge, &place.address, &session);
    let presence = Presence {
        bridge: Arc::clone(&bridge),
        place: place.clone(),
        topic,
        session,
        card,
        due: None,
        wait: AGAIN,
    };
    presence.keep(&mut stop).await;
}

/// Requests for the agent and for its pools, and for a host the replies to its own calls.
fn filters(bridge: &Bridge, place: &AgentPlace) -> Vec<String> {
    let own = bridge.prefix.request(&Recipient::Agent(place.address.clone()));
    let pools = place.pools.iter().map(|pool| bridge.prefix.shared(pool));
    let topics = place.webhook.iter().map(|_| bridge.reply_topics(&place.address));
    std::iter::once(own)
        .chain(pools)
        .chain(topics.flatten())
        .collect()
}

/// The agent's card; asked for until it comes, or nobody wants it any more.
async fn first_card(bridge: &Bridge, place: &AgentPlace, stop: &mut watch::Receiver<bool>) -> Option<Bytes> {
    let asked = async {
        let mut is_told = false;
        loop {
            match card(bridge, place).await {
                Ok(card) => return card,
                Err(reason) if !is_told => {
                    tracing::info!(mqtt.agent = %place.address, reason, "the agent's card cannot be had yet");
                    is_told = true;
                }
                Err(_) => {}
            }
            tokio::time::sleep(AGAIN).await;
        }
    };
    tokio::select! {
        biased;
        () = stopped(stop) => None,
        card = asked => Some(card),
    }
}

pub(crate) async fn card(bridge: &Bridge, place: &AgentPlace) -> Result<Bytes, String> {
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
pub(crate) fn told(topic: &str, card: &Bytes, status: &str, source: &str) -> Publication {
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

/// An agent's presence: what its card's topic is to say, told until the broker has acknowledged it.
struct Presence {
    bridge: Arc<Bridge>,
    place: AgentPlace,
    topic: String,
    session: Session,
    card: Bytes,
    /// When the card is to be published; never, while the broker has it or there is no connection.
    due: Option<Instant>,
    /// How long the next failure waits.
    wait: Duration,
}

/// What comes next in the life of a [`Presence`].
enum Next {
    Stop,
    /// How the session stands has changed.
    Session,
    /// The card is another one.
    Card(Bytes),
    /// The card was published, or not.
    Told(Result<Published, PublishError>),
}

impl Presence {
    async fn keep(mut self, stop: &mut watch::Receiver<bool>) {
        let mut state = self.session.watch();
        state.mark_changed();
        let mut looks = tokio::time::interval_at(Instant::now() + LOOK, LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let next = tokio::select! {
                biased;
                () = stopped(stop) => Next::Stop,
                _ = state.changed() => Next::Session,
                told = self.tell() => Next::Told(told),
                newer = self.newer(&mut looks), if self.due.is_none() => Next::Card(newer),
            };
            match next {
                Next::Stop => return self.leave().await,
                Next::Session => match state.borrow_and_update().clone() {
                    // With each new connection: when the one before was lost, the broker said that the agent is gone.
                    SessionState::Ready { .. } => self.is_due(),
                    SessionState::Connecting => self.due = None,
                    SessionState::Ended(end @ SessionEnd::QosNotSupported) => {
                        tracing::error!(mqtt.agent = %self.place.address, reason = %end, "agents cannot be on this broker");
                        return;
                    }
                    SessionState::Ended(end) => {
                        tracing::warn!(mqtt.agent = %self.place.address, reason = %end, "the agent is off the broker");
                        return;
                    }
                },
                Next::Card(newer) => {
                    self.card = newer;
                    if matches!(*state.borrow(), SessionState::Ready { .. }) {
                        self.is_due();
                    }
                }
                // Nobody may look: that a card has no subscribers (0x10) is no error.
                Next::Told(Ok(_)) => self.due = None,
                Next::Told(Err(error)) => self.failed(&error),
            }
        }
    }

    fn is_due(&mut self) {
        (self.due, self.wait) = (Some(Instant::now()), AGAIN);
    }

    /// Publishes the card once it is due.
    async fn tell(&self) -> Result<Published, PublishError> {
        match self.due {
            Some(due) => {
                tokio::time::sleep_until(due).await;
                self.publish("online").await
            }
            None => std::future::pending().await,
        }
    }

    /// Not often: a broker may refuse whoever publishes more than ten cards a minute.
    fn failed(&mut self, error: &PublishError) {
        tracing::warn!(mqtt.agent = %self.place.address, error = %error, "the agent's card was not published");
        let wait = if error.is_transient() { self.wait } else { LOOK };
        self.due = Some(Instant::now() + wait);
        self.wait = (self.wait * 2).min(LOOK);
    }

    /// The agent's card, once it is another one.
    async fn newer(&self, looks: &mut Interval) -> Bytes {
        loop {
            looks.tick().await;
            match self::card(&self.bridge, &self.place).await {
                Ok(newer) if newer != self.card => return newer,
                _ => {}
            }
        }
    }

    /// Says that the agent leaves; where the broker does not acknowledge that, it gets no DISCONNECT either, and the will says it.
    async fn leave(self) {
        let said = tokio::time::timeout(LEAVE, self.publish("offline")).await;
        match said {
            // Where nothing is retained there is no card that says otherwise, and no will.
            Ok(Ok(_) | Err(PublishError::RetainNotSupported)) => self.session.close().await,
            Ok(Err(error)) => {
                tracing::warn!(mqtt.agent = %self.place.address, error = %error, "the agent leaves to its will to say so");
                self.session.abandon().await;
            }
            Err(_) => {
                tracing::warn!(mqtt.agent = %self.place.address, "the agent leaves to its will to say so");
                self.session.abandon().await;
            }
        }
    }

    async fn publish(&self, status: &str) -> Result<Published, PublishError> {
        let told = told(&self.topic, &self.card, status, "agent");
        self.session.publish(told).await
    }
}

/// An agent's session, as long as the bridge publishes by it; however that ends, the session ends with it.
struct Publishing<'b> {
    bridge: &'b Bridge,
    agent: &'b AgentAddress,
}

impl<'b> Publishing<'b> {
    fn begin(bridge: &'b Bridge, agent: &'b AgentAddress, session: &Session) -> Self {
        bridge.publishes(agent, Arc::new(session.clone()));
        Self { bridge, agent }
    }
}

impl Drop for Publishing<'_> {
    fn drop(&mut self) {
        self.bridge.publishes_no_more(self.agent);
    }
}

/// Takes an agent's requests.
struct Requests {
    bridge: Arc<Bridge>,
    agent: AgentAddress,
}

impl Inbox for Requests {
    fn take(&self, received: Received) -> Taking {
        let (bridge, agent) = (Arc::clone(&self.bridge), self.agent.clone());
        let topic = bridge.prefix.read(&received.publication.topic);
        if matches!(topic, Some(Topic::Reply(..))) {
            return replies::take(&bridge, &agent, &received);
        }
        Box::pin(async move {
            // It lay nowhere in between: what is not worked on yet is still the broker's.
            match handle(&bridge, &agent, &received.publication, Duration::ZERO).await {
                Handled::Dropped(reason) => dropped(&agent, reason),
                Handled::Unanswered => tracing::warn!(mqtt.agent = %agent, "a request has no answer"),
                Handled::Answered | Handled::Refused => {}
            }
        })
    }
}
