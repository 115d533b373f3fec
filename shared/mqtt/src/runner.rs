//! The loop that drives a session.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rumqttc::mqttbytes::QoS;
use rumqttc::mqttbytes::v5::{ConnAck, ConnectReturnCode, DisconnectReasonCode, Packet, SubscribeReasonCode};
use rumqttc::{ConnectionError, Event, EventLoop, Outgoing, StateError, SubscribeFilterInput};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::inbox::{Inbox, Received};
use crate::options::{ConnectFault, Options, SessionEnd};
use crate::state::{MAX_PACKET, SessionState, Shared};
use crate::{connect, wire};

/// Waits between two attempts to connect: the first, and the longest.
const AGAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));
/// After a connection that held for this long the waits begin anew. Of two processes with one client id, each ends the other's
/// connection; as this is more than the longest wait, that becomes rare.
const STEADY: Duration = Duration::from_secs(15);

/// Drives a session.
pub(crate) struct Runner {
    shared: Arc<Shared>,
    options: Options,
    inbox: Arc<dyn Inbox>,
    /// What came in and is worked on; gone with its connection.
    work: JoinSet<()>,
    /// Since when there is a connection.
    since: Option<Instant>,
    wait: Duration,
}

/// What a lost connection leads to.
enum Lost {
    Again,
    WithoutWill,
    Ended(SessionEnd),
}

impl Runner {
    pub(crate) fn new(shared: Arc<Shared>, options: Options, inbox: Arc<dyn Inbox>) -> Self {
        Self {
            shared,
            options,
            inbox,
            work: JoinSet::new(),
            since: None,
            wait: AGAIN.0,
        }
    }

    pub(crate) async fn run(mut self, events: EventLoop) {
        let end = self.drive(events).await;
        // The connection is gone with its loop, and so is what came in by it: its inbox may hold handles of this session.
        let Self {
            shared, inbox, work, ..
        } = self;
        drop((inbox, work));
        shared.state.send_replace(SessionState::Ended(end));
    }

    async fn drive(&mut self, mut events: EventLoop) -> SessionEnd {
        let mut ends = self.shared.ends.subscribe();
        loop {
            let event = tokio::select! {
                biased;
                () = over(&mut ends) => return SessionEnd::Closed,
                event = events.poll() => event,
            };
            match event {
                // Whatever is published there ends the connection, and the next one would be no better.
                Ok(Event::Incoming(Packet::ConnAck(connected))) if takes_qos_0_alone(&connected) => {
                    return SessionEnd::QosNotSupported;
                }
                Ok(Event::Incoming(Packet::ConnAck(connected))) => self.connected(&connected),
                Ok(Event::Incoming(Packet::Publish(packet))) => self.received(&packet),
                Ok(Event::Outgoing(Outgoing::PubAck(id))) => self.shared.window().sent(id),
                Ok(_) => while self.work.try_join_next().is_some() {},
                Err(error) => {
                    self.lost(&mut events);
                    match self.judge(&error) {
                        Lost::Ended(end) => return end,
                        // Whoever wants it over would only be kept by another connection.
                        _ if ends.borrow().is_some() => return SessionEnd::Closed,
                        Lost::WithoutWill => match connect::build(&self.options, false) {
                            Ok((client, anew)) => {
                                self.shared.renew(client);
                                events = anew;
                            }
                            Err(end) => return end,
                        },
                        Lost::Again => {}
                    }
                    tokio::select! {
                        () = over(&mut ends) => return SessionEnd::Closed,
                        () = tokio::time::sleep(self.wait) => {}
                    }
                    self.wait = (self.wait * 2).min(AGAIN.1);
                }
            }
        }
    }

    fn connected(&mut self, connected: &ConnAck) {
        self.since = Some(Instant::now());
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
        let settle = self.options.settle;
        let connection = shared.connection();
        // The answer comes through the loop that this is called from.
        tokio::spawn(async move {
            let refused = subscribe(&shared, &filters, settle).await;
            let client = shared.client_id.as_str();
            if !shared.ready(connection, refused.clone()) {
                return;
            }
            tracing::info!(
                mqtt.client = client,
                refused = refused.len(),
                "connected to the broker"
            );
            for filter in &refused {
                tracing::error!(
                    mqtt.client = client,
                    filter,
                    "the broker refuses the subscription"
                );
            }
        });
    }

    fn received(&mut self, packet: &rumqttc::mqttbytes::v5::Publish) {
        let received = Received {
            publication: wire::read(packet),
            is_repeat: packet.dup,
            packet_id: packet.pkid,
        };
        self.shared.received.fetch_add(1, Ordering::Relaxed);
        let acknowledgement = self.shared.client().prepare_ack(packet);
        let place = match acknowledgement {
            Some(acknowledgement) => match self.shared.window().received(packet.pkid, acknowledgement) {
                Some(place) => Some(place),
                // The same again, while the first copy is worked on: one acknowledgement is for both.
                None => return,
            },
            None => None,
        };
        // Here, and not in the task below: tasks begin in any order.
        let taking = self.inbox.take(received);
        let shared = Arc::clone(&self.shared);
        self.work.spawn(async move {
            taking.await;
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
        self.shared.lost();
        if let Some(since) = self.since.take()
            && since.elapsed() >= STEADY
        {
            self.wait = AGAIN.0;
        }
        self.work.abort_all();
        let mut window = self.shared.window();
        window.reset();
        // It has done so itself; what was put into its queue since then belongs to the lost connection too.
        events.clean();
    }

    fn failed(&self, fault: ConnectFault) {
        self.shared.fault.send_replace(Some(fault));
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
            // It is the will's.
            Some(ConnectReturnCode::QoSNotSupported) => Lost::Ended(SessionEnd::QosNotSupported),
            Some(ConnectReturnCode::RetainNotSupported) if self.options.will.is_some() => {
                tracing::warn!(
                    mqtt.client = client,
                    "the broker takes no such will: its client connects without one"
                );
                Lost::WithoutWill
            }
            Some(code) => {
                tracing::error!(mqtt.client = client, code = ?code, "the broker refuses the connection");
                self.failed(match code {
                    ConnectReturnCode::BadUserNamePassword | ConnectReturnCode::NotAuthorized => {
                        ConnectFault::NotAdmitted
                    }
                    code => ConnectFault::Refused(format!("{code:?}")),
                });
                Lost::Again
            }
            None => {
                tracing::debug!(mqtt.client = client, error = %error, "the connection to the broker is lost");
                self.failed(ConnectFault::Unreachable(match error {
                    ConnectionError::Io(error) => error.to_string(),
                    error => error.to_string(),
                }));
                Lost::Again
            }
        }
    }
}

/// Returns once it is to be over.
async fn over(ends: &mut watch::Receiver<Option<Instant>>) {
    loop {
        let by = *ends.borrow_and_update();
        let changed = match by {
            Some(by) => tokio::select! {
                () = tokio::time::sleep_until(by) => return,
                changed = ends.changed() => changed,
            },
            None => ends.changed().await,
        };
        // Shared is held by the loop that asks, so that this does not happen.
        if changed.is_err() {
            return;
        }
    }
}

/// Whether a broker takes publications at QoS 0 alone.
fn takes_qos_0_alone(connected: &ConnAck) -> bool {
    let told = connected.properties.as_ref().and_then(|told| told.max_qos);
    told == Some(0)
}

/// The code with which a broker refused the connection.
fn refusal(error: &ConnectionError) -> Option<ConnectReturnCode> {
    match error {
        ConnectionError::ConnectionRefused(code) => Some(*code),
        ConnectionError::MqttState(StateError::ConnFail { reason }) => Some(*reason),
        _ => None,
    }
}

/// Waits until nothing has come in for so long.
async fn settled(shared: &Shared, quiet: Duration) {
    let count = || shared.received.load(Ordering::Relaxed);
    let mut before = count();
    loop {
        tokio::time::sleep(quiet).await;
        let now = count();
        if now == before || !matches!(*shared.state.borrow(), SessionState::Connecting) {
            return;
        }
        before = now;
    }
}

/// Subscribes to the filters; those that were refused.
async fn subscribe(shared: &Shared, filters: &[String], settle: Option<Duration>) -> Vec<String> {
    let mut refused = Vec::new();
    // One by one: a broker may hold the retained publications of all against one limit.
    for filter in filters {
        let input = SubscribeFilterInput::new(filter.as_str(), QoS::AtLeastOnce);
        let is_granted = match shared.client().subscribe_many_tracked([input]).await {
            // Where there is no answer, the connection broke, or the broker has said that it takes no such filter.
            Ok(notice) => notice.wait_async().await.is_ok_and(|answer| {
                let granted = |code: &SubscribeReasonCode| matches!(code, SubscribeReasonCode::Success(_));
                answer.return_codes.iter().all(granted)
            }),
            Err(_) => false,
        };
        if !is_granted {
            refused.push(filter.clone());
        }
        if let Some(quiet) = settle {
            settled(shared, quiet).await;
        }
    }
    refused
}
