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
mod session;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{Clock, Timestamp};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Map, Value};
use tokio::time::Instant;
use url::Url;

use self::results::{content, list};
use self::session::{Server, Session};
use crate::{CallError, EventLimits, Outbound};

pub use error::McpError;
pub use form::{FieldKind, Filled, FormField, McpForm};
pub use pins::{McpTool, Pins};

/// Bounds of a call, with the list of tools before it where that is needed: it answers within half a minute, whatever the server does.
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
    /// Tells when a list of tools is too old: other than a timer, it goes on while a function is frozen.
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
}

/// What is remembered of the server.
#[derive(Default)]
struct Known {
    server: Option<Server>,
    tools: Option<(Arc<[McpTool]>, Timestamp)>,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub enum McpAnswer {
    /// Its result: its structured content, or its text where that is JSON.
    Done(Value),
    /// It wants to know something first; the same call goes on with that.
    Asks(McpForm),
}

impl McpClient {
    /// A client of the server at this address.
    #[must_use]
    pub fn new(outbound: Outbound, url: Url, clock: Arc<dyn Clock>) -> Self {
        Self {
            outbound,
            url,
            limits: LIMITS,
            clock,
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
        self.listed(self.deadline()).await
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.limits.whole
    }

    async fn listed(&self, deadline: Instant) -> Result<Arc<[McpTool]>, McpError> {
        let now = self.clock.now();
        let fresh = |known: &mut Known| known.tools.clone().filter(|(_, until)| now < *until);
        if let Some((tools, _)) = self.remembered(fresh) {
            return Ok(tools);
        }
        let session = self.open(deadline).await?;
        let listed = session.within(list(session.peer())).await;
        let (tools, good_for) = self.closed(session, listed).await?;
        let until = now.after(good_for.unwrap_or(LIST_FOR).min(LIST_MAX));
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
        let deadline = self.deadline();
        let tools = self.listed(deadline).await?;
        let found = tools.iter().find(|found| found.name == tool);
        let found = found.ok_or_else(|| McpError::ToolGone(tool.to_owned()))?;
        pins.check(found)?;
        found.takes(&arguments)?;
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        if let Some((form, filled)) = filled {
            params = params.with_input_responses([form.answer(filled)].into());
            params.request_state = form.state().map(str::to_owned);
        }
        let session = self.open(deadline).await?;
        let called = session.within(session.peer().call_tool_once(params)).await;
        match self.closed(session, called).await? {
            CallToolResponse::Complete(result) => Ok(McpAnswer::Done(content(result)?)),
            CallToolResponse::InputRequired(asked) => Ok(McpAnswer::Asks(McpForm::of(&asked)?)),
            _ => Err(CallError::BadAnswer("it is no result of a tool".to_owned()).into()),
        }
    }

    /// Connects, by what is remembered of the server.
    async fn open(&self, deadline: Instant) -> Result<Session, McpError> {
        let known = self.remembered(|known| known.server.clone());
        let bounds = (self.limits, deadline);
        let (session, server) = Session::open(&self.outbound, (&self.url, bounds), known).await?;
        self.remembered(|known| known.server = server);
        Ok(session)
    }

    /// Waits until the SDK has gone, and says what came of its work. After a failure nothing is taken for known.
    async fn closed<T>(&self, session: Session, worked: Result<T, McpError>) -> Result<T, McpError> {
        let end = session.close().await;
        if worked.is_err() || end.changed {
            self.remembered(|known| *known = Known::default());
        }
        worked.map_err(|error| end.fault.unwrap_or(error))
    }

    fn remembered<T>(&self, with: impl FnOnce(&mut Known) -> T) -> T {
        with(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
