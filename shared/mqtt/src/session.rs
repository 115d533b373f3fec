//! One client's session with a broker, through every break of its connection.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use a2a::mqtt::Publication;
use async_trait::async_trait;
use rumqttc::mqttbytes::QoS;
use rumqttc::mqttbytes::v5::{ConnAck, ConnectReturnCode, DisconnectReasonCode, Packet, SubscribeReasonCode};
use rumqttc::{AsyncClient, ConnectionError, Event, EventLoop, ManualAck, StateError, SubscribeFilterInput};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::options::{Options, SessionEnd};
use crate::window::Window;
use crate::{PublishError, Published, Publisher, connect, wire};

/// How long a publication waits for a connection.
const CONNECTED: Duration = Duration::from_secs(5);
/// How long it then waits for its PUBACK.
const ACKNOWLEDGED: Duration = Duration::from_secs(10);
/// Most publications that wait for their PUBACK at once.
const IN_FLIGHT: usize = 64;
/// Waits between two attempts to connect: the first, and the longest.
const AGAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));
/// Largest packet of a broker that says nothing of it.
const MAX_PACKET: usize = 256 * 1024;

/// Something that came in.
#[derive(Debug, Clone)]
pub struct Received {
    /// What.
    pub publication: Publication,
    /// The broker has sent it before, and got no acknowledgement.
    pub is_repeat: bool,
    /// Its packet id; 0 at QoS 0. Of two publications that wait for their acknowledgement it is not the same.
    pub packet_id: u16,
}

/// Who takes what comes in.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Takes it; when this returns, it is acknowledged, in the order of receipt. It is dropped with its connection: the broker
    /// then sends the same again.
    async fn take(&self, received: Received);
}

/// How a session stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    /// There is no connection at present.
    Connecting,
    /// There is one, and its subscriptions are answered; filters that were refused are named.
    Ready {
        /// Refused filters.
        refused: Vec<String>,
    },
    /// It has ended for good.
    Ended(SessionEnd),
}

/// A session. Clones share it; it ends with [`Session::close`].
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

struct Shared {
    client_id: String,
    client: Mutex<AsyncClient>,
    window: Mutex<Window<ManualAck>>,
    state: watch::Sender<SessionState>,
    in_flight: Semaphore,
    max_packet: AtomicUsize,
}

impl Session {
    /// Opens a session: connects, subscribes, and does so again whenever the connection breaks.
    ///
    /// # Errors
    /// [`SessionEnd::Misconfigured`]; a broker that cannot be reached is no error, and is tried again.
    pub fn open(options: Options, inbox: Arc<dyn Inbox>) -> Result<Self, SessionEnd> {
        let (client, events) = connect::build(&options, true)?;
        let shared = Arc::new(Shared {
            client_id: options.client_id.clone(),
            client: Mutex::new(client),
            window: Mutex::default(),
            state: watch::Sender::new(SessionState::Connecting),
            in_flight: Semaphore::new(IN_FLIGHT),
            max_packet: AtomicUsize::new(MAX_PACKET),
        });
        let runner = Runner {
            shared: Arc::clone(&shared),
            options,
            inbox,
            work: JoinSet::new(),
        };
        tokio::spawn(runner.run(events));
        Ok(Self { shared })
    }

    /// Waits until the session is ready, or has ended.
    pub async fn ready(&self) -> SessionState {
        let mut state = self.shared.state.subscribe();
        let settled = state.wait_for(|state| *state != SessionState::Connecting).await;
        settled.map_or(SessionState::Ended(SessionEnd::Closed), |state| state.clone())
    }

    /// How it stands, now and from now on.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<SessionState> {
        self.shared.state.subscribe()
    }

    /// Ends it with a DISCONNECT: no will is published.
    pub async fn close(&self) {
        let client = self.shared.client();
        let _ = client.disconnect().await;
        let mut state = self.shared.state.subscribe();
        let ended = state.wait_for(|state| matches!(state, SessionState::Ended(_)));
        let _ = tokio::time::timeout(CONNECTED, ended).await;
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("client_id", &self.shared.client_id)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Publisher for Session {
    async fn publish(&self, publication: Publication) -> Result<Published, PublishError> {
        if wire::packet_size(&publication) > self.max_packet() {
            return Err(PublishError::TooLarge);
        }
        let Ok(_place) = self.shared.in_flight.acquire().await else {
            return Err(PublishError::Disconnected);
        };
        // What would wait in the client's own queue could go out long after its publisher has given up.
        match tokio::time::timeout(CONNECTED, self.ready()).await {
            Ok(SessionState::Ready { .. }) => {}
            _ => return Err(PublishError::Disconnected),
        }
        let options = wire::options(&publication);
        let Publication { topic, payload, .. } = publication;
        let sent = self
            .shared
            .client()
            .publish_tracked(topic, payload, options)
            .await;
        let notice = sent.map_err(|_| PublishError::Disconnected)?;
        match tokio::time::timeout(ACKNOWLEDGED, notice.wait_async()).await {
            Ok(Ok(told)) => wire::result(told),
            Ok(Err(_)) => Err(PublishError::Disconnected),
            Err(_) => Err(PublishError::Timeout),
        }
    }

    fn max_packet(&self) -> usize {
        self.shared.max_packet.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn client(&self) -> AsyncClient {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn window(&self) -> std::sync::MutexGuard<'_, Window<ManualAck>> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drives a session.
struct Runner {
    shared: Arc<Shared>,
    options: Options,
    inbox: Arc<dyn Inbox>,
    /// What came in and is worked on; gone with its connection.
    work: JoinSet<()>,
}

/// What a lost connection leads to.
enum Lost {
    Again,
    WithoutWill,
    Ended(SessionEnd),
}

impl Runner {
    async fn run(mut self, mut events: EventLoop) {
        let mut wait = AGAIN.0;
        loop {
            match events.poll().await {
                Ok(Event::Incoming(Packet::ConnAck(connected))) => {
                    wait = AGAIN.0;
                    self.connected(&connected);
                }
                Ok(Event::Incoming(Packet::Publish(packet))) => self.received(&packet),
                Ok(_) => while self.work.try_join_next().is_some() {},
                Err(error) => {
                    self.lost(&mut events);
                    match self.judge(&error) {
                        Lost::Ended(end) => {
                            self.shared.state.send_replace(SessionState::Ended(end));
                            return;
                        }
                        Lost::WithoutWill => match connect::build(&self.options, false) {
                            Ok((client, anew)) => {
                                *self.shared.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
                                events = anew;
                            }
                            Err(end) => {
                                self.shared.state.send_replace(SessionState::Ended(end));
                                return;
                            }
                        },
                        Lost::Again => {}
                    }
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(AGAIN.1);
                }
            }
        }
    }

    fn connected(&self, connected: &ConnAck) {
        let told = connected
            .properties
            .as_ref()
            .and_then(|told| told.max_packet_size);
        let told = told.and_then(|size| usize::try_from(size).ok());
        self.shared.max_packet.store(
            told.map_or(MAX_PACKET, |told| told.min(MAX_PACKET)),
            Ordering::Relaxed,
        );
        let (shared, filters) = (Arc::clone(&self.shared), self.options.filters.clone());
        // The answer comes through the loop that this is called from.
        tokio::spawn(async move {
            let refused = subscribe(&shared, &filters).await;
            if let Some(refused) = refused {
                tracing::info!(
                    mqtt.client = shared.client_id,
                    refused = refused.len(),
                    "connected to the broker"
                );
                shared.state.send_replace(SessionState::Ready { refused });
            }
        });
    }

    fn received(&mut self, packet: &rumqttc::mqttbytes::v5::Publish) {
        let received = Received {
            publication: wire::read(packet),
            is_repeat: packet.dup,
            packet_id: packet.pkid,
        };
        let acknowledgement = self.shared.client().prepare_ack(packet);
        let place = acknowledgement.map(|acknowledgement| self.shared.window().received(acknowledgement));
        let (shared, inbox) = (Arc::clone(&self.shared), Arc::clone(&self.inbox));
        self.work.spawn(async move {
            inbox.take(received).await;
            let Some(place) = place else { return };
            // Under the lock, so that no acknowledgement passes another, or the end of its connection.
            let mut window = shared.window();
            let client = shared.client();
            for acknowledgement in window.done(place) {
                if client.try_manual_ack(acknowledgement).is_err() {
                    tracing::warn!(
                        mqtt.client = shared.client_id,
                        "an acknowledgement could not be sent"
                    );
                }
            }
        });
        while self.work.try_join_next().is_some() {}
    }

    /// The broker sends again what was not acknowledged, and packet ids begin anew.
    fn lost(&mut self, events: &mut EventLoop) {
        self.shared.state.send_if_modified(|state| {
            let was = std::mem::replace(state, SessionState::Connecting);
            was != SessionState::Connecting
        });
        self.work.abort_all();
        let mut window = self.shared.window();
        window.reset();
        // It has done so itself; what was put into its queue since then belongs to the lost connection too.
        events.clean();
    }

    fn judge(&self, error: &ConnectionError) -> Lost {
        let client = self.shared.client_id.as_str();
        match error {
            ConnectionError::RequestsDone => return Lost::Ended(SessionEnd::Closed),
            ConnectionError::MqttState(StateError::ServerDisconnect {
                reason_code: DisconnectReasonCode::SessionTakenOver,
                ..
            }) => {
                tracing::warn!(
                    mqtt.client = client,
                    "another connection has taken the session over"
                );
                return Lost::Ended(SessionEnd::TakenOver);
            }
            _ => {}
        }
        match refusal(error) {
            Some(ConnectReturnCode::RetainNotSupported | ConnectReturnCode::QoSNotSupported)
                if self.options.will.is_some() =>
            {
                tracing::warn!(
                    mqtt.client = client,
                    "the broker takes no such will: its client connects without one"
                );
                Lost::WithoutWill
            }
            Some(code) => {
                tracing::error!(mqtt.client = client, code = ?code, "the broker refuses the connection");
                Lost::Again
            }
            None => {
                tracing::debug!(mqtt.client = client, error = %error, "the connection to the broker is lost");
                Lost::Again
            }
        }
    }
}

/// The code with which a broker refused the connection.
fn refusal(error: &ConnectionError) -> Option<ConnectReturnCode> {
    match error {
        ConnectionError::ConnectionRefused(code) => Some(*code),
        ConnectionError::MqttState(StateError::ConnFail { reason }) => Some(*reason),
        _ => None,
    }
}

/// Subscribes to the filters; those that were refused, or nothing where the connection broke meanwhile.
async fn subscribe(shared: &Shared, filters: &[String]) -> Option<Vec<String>> {
    let mut refused = Vec::new();
    // One by one: a broker may hold the retained publications of all against one limit.
    for filter in filters {
        let input = SubscribeFilterInput::new(filter.as_str(), QoS::AtLeastOnce);
        let notice = shared.client().subscribe_many_tracked([input]).await.ok()?;
        let answered = notice.wait_async().await.ok()?;
        if answered
            .return_codes
            .iter()
            .any(|code| !matches!(code, SubscribeReasonCode::Success(_)))
        {
            tracing::error!(
                mqtt.client = shared.client_id,
                filter,
                "the broker refuses the subscription"
            );
            refused.push(filter.clone());
        }
    }
    Some(refused)
}
