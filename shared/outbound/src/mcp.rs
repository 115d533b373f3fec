//! A client of MCP servers (Model Context Protocol). What the protocol's revisions want is the official SDK's business;
//! every byte goes through the guard, and every tool that is called is one that an operator has pinned.
//!
//! Two revisions are spoken: 2026-07-28, in which a call needs nothing before it, and 2025-11-25 with its handshake, for
//! servers that know no other. Which one a server speaks is remembered for as long as the client lives. What the SDK
//! spawns has ended when a call returns: a function that is frozen between two events must leave nothing behind.
//!
//! A server of the newest revision may answer with a form for its user, which is filled in and sent along with the same call.
//!
//! Not here: what else a server may ask of its client (pages, models, folders), prompts, resources, authorization.

mod error;
mod form;
mod pins;
mod results;
mod wire;

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ElicitationCapability,
    FormElicitationCapability, Implementation, ProtocolVersion, ServerPeerInfo,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RunningService, serve_directly};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceError};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use url::Url;

use self::error::words;
use self::results::{content, list, refusal};
use self::wire::Wire;
use crate::{CallError, EventLimits, Outbound};

pub use error::McpError;
pub use form::{FieldKind, Filled, FormField, McpForm};
pub use pins::{McpTool, Pins};

/// Bounds of one connection: a call answers within half a minute, whatever the server does.
const LIMITS: EventLimits = EventLimits {
    first_byte: Duration::from_secs(8),
    idle: Duration::from_secs(8),
    whole: Duration::from_secs(25),
    bytes: 2 * 1024 * 1024,
};
/// How long a list of tools is good where its server does not say, and at most.
const LIST_FOR: Duration = Duration::from_secs(60);
const LIST_MAX: Duration = Duration::from_secs(3600);

/// A client of one server.
pub struct McpClient {
    outbound: Outbound,
    url: Url,
    limits: EventLimits,
    known: Mutex<Known>,
}

/// What is remembered of the server.
#[derive(Default)]
struct Known {
    server: Option<Server>,
    tools: Option<(Arc<[McpTool]>, Instant)>,
}

#[derive(Clone)]
enum Server {
    /// Since 2026-07-28: a call needs nothing before it.
    Stateless(Box<ServerPeerInfo>),
    /// Up to 2025-11-25.
    Handshakes,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub enum McpAnswer {
    /// Its result: its structured content, or its text where that is JSON.
    Done(Value),
    /// It wants to know something first; the same call goes on with that.
    Asks(McpForm),
}

/// The SDK at work on one connection.
struct Session {
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

impl McpClient {
    /// A client of the server at this address.
    #[must_use]
    pub fn new(outbound: Outbound, url: Url) -> Self {
        Self {
            outbound,
            url,
            limits: LIMITS,
            known: Mutex::default(),
        }
    }

    /// The same with other bounds.
    #[must_use]
    pub fn within(self, limits: EventLimits) -> Self {
        Self { limits, ..self }
    }

    /// The server's tools, as it lists them now or has for as long as it says.
    ///
    /// # Errors
    /// [`McpError`].
    pub async fn tools(&self) -> Result<Arc<[McpTool]>, McpError> {
        let fresh = |known: &mut Known| known.tools.clone().filter(|(_, until)| Instant::now() < *until);
        if let Some((tools, _)) = self.remembered(fresh) {
            return Ok(tools);
        }
        let session = self.open().await?;
        let listed = session.within(list(&session.service)).await;
        let (tools, good_for) = self.closed(session, listed).await?;
        let until = Instant::now() + good_for.unwrap_or(LIST_FOR).min(LIST_MAX);
        self.remembered(|known| known.tools = Some((Arc::clone(&tools), until)));
        Ok(tools)
    }

    /// Calls a tool that is pinned as it is, and gives its answer: its structured content, or its text where that is JSON.
    ///
    /// # Errors
    /// [`McpError`]; [`McpError::Asks`] where it wants to know something first.
    pub async fn call(
        &self,
        pins: &Pins,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, McpError> {
        match self.ask(pins, tool, (arguments, None)).await? {
            McpAnswer::Done(value) => Ok(value),
            McpAnswer::Asks(_) => Err(McpError::Asks("input".to_owned())),
        }
    }

    /// The same for a caller who can ask somebody: with a form that the same call brought before, as it was filled in.
    ///
    /// # Errors
    /// [`McpError`].
    pub async fn ask(
        &self,
        pins: &Pins,
        tool: &str,
        (arguments, filled): (Map<String, Value>, Option<(&McpForm, &Filled)>),
    ) -> Result<McpAnswer, McpError> {
        let tools = self.tools().await?;
        let found = tools.iter().find(|found| found.name == tool);
        let found = found.ok_or_else(|| McpError::ToolGone(tool.to_owned()))?;
        pins.check(found)?;
        found.takes(&arguments)?;
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        if let Some((form, filled)) = filled {
            params = params.with_input_responses([form.answer(filled)].into());
            params.request_state = form.state().map(str::to_owned);
        }
        let session = self.open().await?;
        let called = session
            .within(session.service.peer().call_tool_once(params))
            .await;
        match self.closed(session, called).await? {
            CallToolResponse::Complete(result) => Ok(McpAnswer::Done(content(result)?)),
            CallToolResponse::InputRequired(asked) => Ok(McpAnswer::Asks(McpForm::of(&asked)?)),
            _ => Err(CallError::BadAnswer("it is no result of a tool".to_owned()).into()),
        }
    }

    /// Connects, by what is remembered of the server.
    async fn open(&self) -> Result<Session, McpError> {
        let (held, gone) = mpsc::channel(1);
        let wire = Wire {
            outbound: self.outbound.clone(),
            limits: self.limits,
            until: Instant::now() + self.limits.whole,
            fault: Arc::default(),
            changed: Arc::default(),
            _held: held,
        };
        let mut connection = Connection {
            until: wire.until,
            fault: Arc::clone(&wire.fault),
            changed: Arc::clone(&wire.changed),
            gone,
        };
        let config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str())
            .max_sse_event_size(self.limits.bytes)
            .reinit_on_expired_session(false);
        let transport = StreamableHttpClientTransport::with_client(wire, config);
        let known = self.remembered(|known| known.server.clone());
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
                let service = serve_directly(us, transport, Some(*server));
                return Ok(Session {
                    service,
                    wire: connection,
                });
            }
            Some(Server::Handshakes) => ClientLifecycleMode::Initialize,
            None => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
        };
        let served = timeout_at(connection.until, us.serve_with_lifecycle(transport, lifecycle)).await;
        match served {
            Ok(Ok(service)) => {
                let server = service.peer().peer_info().map(|info| Server::of(&info));
                self.remembered(|known| known.server = server);
                Ok(Session {
                    service,
                    wire: connection,
                })
            }
            other => {
                let error = match other {
                    Ok(Err(refused)) => McpError::HandshakeRefused(words(&refused.to_string())),
                    _ => CallError::Timeout.into(),
                };
                let _nobody_sends = connection.gone.recv().await;
                Err(connection.fault(error))
            }
        }
    }

    /// Waits until the SDK has gone, and says what came of its work. After a failure nothing is taken for known.
    async fn closed<T>(&self, session: Session, worked: Result<T, McpError>) -> Result<T, McpError> {
        let Session {
            mut service,
            mut wire,
        } = session;
        let _how_it_ended = service.close().await;
        drop(service);
        let _nobody_sends = wire.gone.recv().await;
        if worked.is_err() || wire.changed.load(Ordering::Relaxed) {
            self.remembered(|known| *known = Known::default());
        }
        worked.map_err(|error| wire.fault(error))
    }

    fn remembered<T>(&self, with: impl FnOnce(&mut Known) -> T) -> T {
        with(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Session {
    /// What the SDK is asked for, as long as the connection may last.
    async fn within<T>(&self, work: impl Future<Output = Result<T, ServiceError>>) -> Result<T, McpError> {
        let worked = timeout_at(self.wire.until, work).await;
        worked.map_err(|_| CallError::Timeout)?.map_err(refusal)
    }
}

impl Connection {
    /// What went wrong on the wire, or else this.
    fn fault(self, or: McpError) -> McpError {
        Arc::into_inner(self.fault)
            .and_then(OnceLock::into_inner)
            .unwrap_or(or)
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
