//! The SDK at work on one connection, until everything that it has spawned has ended.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitationCapability, FormElicitationCapability, Implementation,
    ProtocolVersion, ServerPeerInfo,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RunningService, serve_directly};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{Peer, RoleClient, ServiceError};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::McpError;
use super::error::words;
use super::results::refusal;
use super::wire::Wire;
use crate::{CallError, EventLimits, Outbound};

/// The SDK at work on one connection.
pub(super) struct Session {
    service: RunningService<RoleClient, ClientConfig>,
    wire: Connection,
}

/// What is left to look at when the SDK has gone.
struct Connection {
    until: Instant,
    fault: Arc<OnceLock<McpError>>,
    changed: Arc<AtomicBool>,
    gone: mpsc::Receiver<Infallible>,
}

/// How a connection ended.
pub(super) struct End {
    /// The server has said that its tools are others now.
    pub(super) changed: bool,
    /// What went wrong on the wire, where something did.
    pub(super) fault: Option<McpError>,
}

/// What is known of a server.
#[derive(Clone)]
pub(super) enum Server {
    /// Since 2026-07-28: a call needs nothing before it.
    Stateless(Box<ServerPeerInfo>),
    /// Up to 2025-11-25.
    Handshakes,
}

impl Session {
    /// Connects by what is known of the server, and gives what is known then. Whatever is done ends at the deadline.
    ///
    /// # Errors
    /// [`McpError`].
    pub(super) async fn open(
        outbound: &Outbound,
        (url, (limits, deadline)): (&Url, (EventLimits, Instant)),
        known: Option<Server>,
    ) -> Result<(Self, Option<Server>), McpError> {
        let (held, gone) = mpsc::channel(1);
        let wire = Wire {
            outbound: outbound.clone(),
            limits,
            until: deadline,
            fault: Arc::default(),
            changed: Arc::default(),
            _held: held,
        };
        let connection = Connection {
            until: wire.until,
            fault: Arc::clone(&wire.fault),
            changed: Arc::clone(&wire.changed),
            gone,
        };
        let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
            .max_sse_event_size(limits.bytes)
            .reinit_on_expired_session(false);
        let transport = StreamableHttpClientTransport::with_client(wire, config);
        let mut can = ClientCapabilities::default();
        if !matches!(known, Some(Server::Handshakes)) {
            // Before the newest revision forms come while the call is open, and nobody fills them in that fast.
            can.elicitation =
                Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
        }
        let us = ClientConfig::new(can, Implementation::new("switchyard", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::V_2025_11_25);
        let lifecycle = match known {
            Some(Server::Stateless(server)) => {
                let service = serve_directly(us, transport, Some((*server).clone()));
                let session = Self {
                    service,
                    wire: connection,
                };
                return Ok((session, Some(Server::Stateless(server))));
            }
            Some(Server::Handshakes) => ClientLifecycleMode::Initialize,
            None => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
        };
        let served = timeout_at(connection.until, us.serve_with_lifecycle(transport, lifecycle)).await;
        let error = match served {
            Ok(Ok(service)) => {
                let server = service.peer().peer_info().map(|info| Server::of(&info));
                let session = Self {
                    service,
                    wire: connection,
                };
                return Ok((session, server));
            }
            Ok(Err(refused)) => McpError::HandshakeRefused(words(&refused.to_string())),
            Err(_) => CallError::Timeout.into(),
        };
        Err(connection.ended().await.fault.unwrap_or(error))
    }

    /// The server, to be asked.
    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// What the SDK is asked for, as long as the connection may last.
    pub(super) async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, McpError> {
        let worked = timeout_at(self.wire.until, work).await;
        worked.map_err(|_| CallError::Timeout)?.map_err(refusal)
    }

    /// Waits until the SDK has gone.
    pub(super) async fn close(mut self) -> End {
        let _how_it_ended = self.service.close().await;
        drop(self.service);
        self.wire.ended().await
    }
}

impl Connection {
    async fn ended(mut self) -> End {
        let _nobody_sends = self.gone.recv().await;
        End {
            changed: self.changed.load(Ordering::Relaxed),
            fault: Arc::into_inner(self.fault).and_then(OnceLock::into_inner),
        }
    }
}

impl Server {
    fn of(info: &ServerPeerInfo) -> Self {
        match info.protocol_version >= ProtocolVersion::V_2026_07_28 {
            true => Self::Stateless(Box::new(info.clone())),
            false => Self::Handshakes,
        }
    }
}
