//! One client's session with a broker, through every break of its connection.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use a2a::mqtt::Publication;
use async_trait::async_trait;
use rumqttc::PublishNoticeError;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::inbox::Inbox;
use crate::options::{ConnectFault, Options, SessionEnd};
use crate::runner::Runner;
use crate::state::{SessionState, Shared};
use crate::{PublishError, Published, Publisher, connect, wire};

/// How long a publication waits for a connection.
const CONNECTED: Duration = Duration::from_secs(5);
/// How long it then waits for its PUBACK.
const ACKNOWLEDGED: Duration = Duration::from_secs(10);
/// How long a session that is closed waits for what is on its way, before it ends without a DISCONNECT.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A session. Clones share it; it ends with [`Session::close`], or when the last of them is dropped, then without a word.
#[derive(Clone)]
pub struct Session {
    handle: Arc<Handle>,
}

struct Handle(Arc<Shared>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.end_by(Instant::now());
    }
}

impl Session {
    /// Opens a session: connects, subscribes, and does so again whenever the connection breaks.
    ///
    /// # Errors
    /// [`SessionEnd::Misconfigured`]; a broker that cannot be reached is no error, and is tried again.
    pub fn open(options: Options, inbox: Arc<dyn Inbox>) -> Result<Self, SessionEnd> {
        let (client, events) = connect::build(&options, true)?;
        let shared = Arc::new(Shared::new(&options.client_id, client));
        let runner = Runner::new(Arc::clone(&shared), options, inbox);
        tokio::spawn(runner.run(events));
        Ok(Self {
            handle: Arc::new(Handle(shared)),
        })
    }

    fn shared(&self) -> &Shared {
        &self.handle.0
    }

    /// Waits until the session is ready, or has ended.
    pub async fn ready(&self) -> SessionState {
        let mut state = self.watch();
        let settled = state.wait_for(|state| *state != SessionState::Connecting).await;
        settled.map_or(SessionState::Ended(SessionEnd::Closed), |state| state.clone())
    }

    /// Waits as [`Session::ready`] does, but for one attempt to connect alone.
    ///
    /// # Errors
    /// [`ConnectFault`] says why it has failed.
    pub async fn ready_at_once(&self) -> Result<SessionState, ConnectFault> {
        let mut fault = self.shared().fault.subscribe();
        tokio::select! {
            biased;
            state = self.ready() => Ok(state),
            Ok(fault) = fault.wait_for(Option::is_some) => match &*fault {
                Some(fault) => Err(fault.clone()),
                None => Ok(SessionState::Connecting),
            },
        }
    }

    /// How it stands, now and from now on.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<SessionState> {
        self.shared().state.subscribe()
    }

    /// Ends it with a DISCONNECT, so that no will is published, once what is on its way is acknowledged; where that takes too
    /// long, or there is no connection, without a word.
    pub async fn close(&self) {
        let shared = self.shared();
        if !shared.is_connected() {
            return self.abandon().await;
        }
        shared.end_by(Instant::now() + LAST_WORDS);
        let _ = shared.client().disconnect().await;
        self.ended().await;
    }

    /// Ends it without a word: the broker publishes its will.
    pub async fn abandon(&self) {
        self.shared().end_by(Instant::now());
        self.ended().await;
    }

    async fn ended(&self) {
        // Its loop always ends, and says so.
        let mut state = self.watch();
        let _ = state
            .wait_for(|state| matches!(state, SessionState::Ended(_)))
            .await;
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("client_id", &self.shared().client_id)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Publisher for Session {
    async fn publish(&self, publication: Publication) -> Result<Published, PublishError> {
        if wire::packet_size(&publication) > self.max_packet() {
            return Err(PublishError::TooLarge);
        }
        let shared = self.shared();
        let Ok(_place) = shared.in_flight.acquire().await else {
            return Err(PublishError::Disconnected);
        };
        // What would wait in the client's own queue could go out long after its publisher has given up.
        match tokio::time::timeout(CONNECTED, self.ready()).await {
            Ok(SessionState::Ready { .. }) => {}
            _ => return Err(PublishError::Disconnected),
        }
        let options = wire::options(&publication);
        let Publication { topic, payload, .. } = publication;
        let sent = shared.client().publish_tracked(topic, payload, options).await;
        let notice = sent.map_err(|_| PublishError::Disconnected)?;
        match tokio::time::timeout(ACKNOWLEDGED, notice.wait_async()).await {
            Ok(Ok(told)) => wire::result(told),
            Ok(Err(PublishNoticeError::RetainNotSupported)) => Err(PublishError::RetainNotSupported),
            Ok(Err(_)) => Err(PublishError::Disconnected),
            Err(_) => Err(PublishError::Timeout),
        }
    }

    fn max_packet(&self) -> usize {
        self.shared().max_packet.load(Ordering::Relaxed)
    }
}
