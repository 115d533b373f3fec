//! What a session is opened with, and how it ends.

use std::fmt;
use std::time::Duration;

use a2a::mqtt::Publication;
use domain::SecretString;

use crate::BrokerUrl;

/// What a session is opened with.
#[derive(Clone)]
pub struct Options {
    /// The broker.
    pub broker: BrokerUrl,
    /// The client id.
    pub client_id: String,
    /// User name and password.
    pub credentials: Option<(String, SecretString)>,
    /// What the broker publishes when this client is gone without a word.
    pub will: Option<Publication>,
    /// What is subscribed, at QoS 1, whenever a connection begins.
    pub filters: Vec<String>,
    /// For how long the broker keeps the session without a connection; `None` begins a new one each time.
    pub kept_for: Option<Duration>,
    /// Most publications that the broker hands over before one of them is acknowledged.
    pub receive_maximum: u16,
    /// Most bytes of a packet that is taken.
    pub max_packet: u32,
    /// The next filter is subscribed once nothing has come in for so long: a broker may drop retained publications where many
    /// filters have theirs at once. `None` does not wait.
    pub settle: Option<Duration>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("broker", &self.broker)
            .field("client_id", &self.client_id)
            .field("filters", &self.filters)
            .finish_non_exhaustive()
    }
}

/// Why an attempt to connect has failed. A session tries again; whoever cannot wait gives up by it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectFault {
    /// The broker does not know the user, or not with this password (0x86, 0x87).
    #[error("it does not let this user in, or not with this password")]
    NotAdmitted,
    /// The broker refuses the connection for another reason.
    #[error("it refuses the connection: {0}")]
    Refused(String),
    /// There is no connection to it.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
}

/// Why a session has ended for good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionEnd {
    /// It was closed.
    #[error("the session was closed")]
    Closed,
    /// Another connection of the same client id has taken it over (0x8E).
    #[error("another connection of the same client has taken the session over (0x8E)")]
    TakenOver,
    /// The broker takes nothing at QoS 1, by which all is published and subscribed here (Maximum QoS 0, 0x9B).
    #[error("the broker takes nothing at QoS 1 (Maximum QoS 0), which A2A over MQTT needs")]
    QosNotSupported,
    /// It cannot even be tried.
    #[error("the connection cannot be made: {0}")]
    Misconfigured(String),
}
