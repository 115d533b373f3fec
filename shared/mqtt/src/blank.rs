//! What this client remembers of a session between two processes: nothing.
//!
//! Without a store the client crate either refuses a session that the broker still has, or takes it for receiving alone. A store
//! that always has a session with nothing in flight says what is true here: whatever was on its way when a process ended is
//! published again by whoever wanted it published, as another publication.

use std::pin::Pin;

use rumqttc::{PersistedAckMode, PersistedSession, SessionStore, SessionStoreError, SessionStoreKey};

type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

/// Always has a session with nothing in flight, and keeps none.
#[derive(Debug)]
pub(crate) struct Blank {
    pub(crate) session_expiry_interval: Option<u32>,
}

impl SessionStore for Blank {
    fn load<'a>(&'a self, key: &'a SessionStoreKey) -> Asked<'a, Option<PersistedSession>> {
        Box::pin(async move {
            Ok(Some(PersistedSession {
                format_version: 1,
                client_id: key.client_id().to_owned(),
                clean_start: false,
                session_expiry_interval: self.session_expiry_interval,
                outgoing_inflight_upper_limit: None,
                ack_mode: PersistedAckMode::Manual,
                last_pkid: 0,
                last_puback: 0,
                replay: Vec::new(),
                incoming_qos2: Vec::new(),
            }))
        })
    }

    fn save<'a>(&'a self, _: &'a SessionStoreKey, _: &'a PersistedSession) -> Asked<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn clear<'a>(&'a self, _: &'a SessionStoreKey) -> Asked<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}
