//! How a session stands: what its handles and the loop that drives it share.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rumqttc::{AsyncClient, ManualAck};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use crate::options::{ConnectFault, SessionEnd};
use crate::window::Window;

/// Most publications that wait for their PUBACK at once.
const IN_FLIGHT: usize = 64;
/// Largest packet of a broker that says nothing of it.
pub(crate) const MAX_PACKET: usize = 256 * 1024;

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

/// What a session's handles and its loop share.
pub(crate) struct Shared {
    pub(crate) client_id: String,
    pub(crate) state: watch::Sender<SessionState>,
    /// Why the last attempt to connect has failed.
    pub(crate) fault: watch::Sender<Option<ConnectFault>>,
    /// By when it is to be over, once somebody wants it over.
    pub(crate) ends: watch::Sender<Option<Instant>>,
    pub(crate) in_flight: Semaphore,
    pub(crate) max_packet: AtomicUsize,
    /// How many publications came in.
    pub(crate) received: AtomicU64,
    client: Mutex<AsyncClient>,
    window: Mutex<Window<ManualAck>>,
    /// Which connection this is, by number; changed together with the state alone.
    connection: AtomicU64,
}

impl Shared {
    pub(crate) fn new(client_id: &str, client: AsyncClient) -> Self {
        Self {
            client_id: client_id.to_owned(),
            state: watch::Sender::new(SessionState::Connecting),
            fault: watch::Sender::new(None),
            ends: watch::Sender::new(None),
            in_flight: Semaphore::new(IN_FLIGHT),
            max_packet: AtomicUsize::new(MAX_PACKET),
            received: AtomicU64::default(),
            client: Mutex::new(client),
            window: Mutex::default(),
            connection: AtomicU64::default(),
        }
    }

    pub(crate) fn client(&self) -> AsyncClient {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn renew(&self, client: AsyncClient) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }

    pub(crate) fn window(&self) -> MutexGuard<'_, Window<ManualAck>> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the connection that there is now.
    pub(crate) fn connection(&self) -> u64 {
        self.connection.load(Ordering::SeqCst)
    }

    /// The subscriptions of that connection are answered. What an earlier one is told late says nothing of this one.
    pub(crate) fn ready(&self, connection: u64, refused: Vec<String>) -> bool {
        self.state.send_if_modified(|state| {
            let is_this = self.connection() == connection && *state == SessionState::Connecting;
            if is_this {
                *state = SessionState::Ready { refused };
            }
            is_this
        })
    }

    /// The connection is lost.
    pub(crate) fn lost(&self) {
        self.state.send_if_modified(|state| {
            self.connection.fetch_add(1, Ordering::SeqCst);
            let was = std::mem::replace(state, SessionState::Connecting);
            was != SessionState::Connecting
        });
    }

    /// It is to be over by then, or earlier where somebody has said so.
    pub(crate) fn end_by(&self, by: Instant) {
        self.ends.send_if_modified(|ends| {
            let is_sooner = ends.is_none_or(|ends| by < ends);
            if is_sooner {
                *ends = Some(by);
            }
            is_sooner
        });
    }

    pub(crate) fn is_connected(&self) -> bool {
        matches!(*self.state.borrow(), SessionState::Ready { .. })
    }
}
