//! Why a call did not bring an answer; the variants are the decisions a caller can make.

use a2a::A2aError;

/// Why a call did not bring an answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The agent refused it in the protocol's own words.
    #[error("the agent refused the call: {0}")]
    Refused(A2aError),
    /// The agent wants a (better) token: 401.
    #[error("{}", if *.expired { "token has expired" } else { "the agent wants a valid token" })]
    Unauthorized {
        /// The token that was sent is expired or otherwise no longer good: refresh it and try once more.
        expired: bool,
        /// The `WWW-Authenticate` header.
        challenge: Option<String>,
    },
    /// The token is good but may not do this: 403.
    #[error("the agent forbids the call")]
    Forbidden {
        /// The `WWW-Authenticate` header.
        challenge: Option<String>,
    },
    /// The address guard does not let the call out.
    #[error("the address is not allowed: {0}")]
    NotAllowed(String),
    /// No connection, or it broke.
    #[error("the address cannot be reached")]
    Unreachable {
        /// What the client says.
        #[source]
        source: reqwest::Error,
    },
    /// No answer in time, or the connection broke after a while of waiting for one.
    #[error("no answer in time")]
    Timeout,
    /// The answer is not what the protocol wants.
    #[error("the answer cannot be used: {0}")]
    BadAnswer(String),
    /// The answer has more bytes than these.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// A status that says all there is to say.
    #[error("the answer was HTTP status {0}")]
    Status(u16),
    /// The agent is called over MQTT, and what lies between did not carry the call.
    #[error(transparent)]
    Mqtt(#[from] MqttFault),
}

/// Why a call over MQTT did not reach its agent, or the agent's answer not us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MqttFault {
    /// No subscription matches the agent's request topic (reason code 0x10): it is not on the broker.
    #[error("nobody takes requests at the broker (MQTT reason code 0x10, no matching subscribers)")]
    NoMatchingSubscribers,
    /// The broker took the request, and no reply came in time.
    #[error("the request reached the broker, and no reply came in time")]
    NoReply,
    /// The agent has too much to do, or the request had expired before it was read.
    #[error("the agent does not take the request at the moment")]
    AgentUnavailable,
    /// The agent does not take such requests over MQTT.
    #[error("the agent does not take such a request over MQTT")]
    NotTaken,
    /// The broker does not allow requests to this agent (reason code 0x87).
    #[error("the broker does not allow requests to this agent (MQTT reason code 0x87, not authorized)")]
    NotAuthorized,
    /// The request is larger than what the broker takes.
    #[error("the request is larger than what the broker takes")]
    TooLarge,
    /// There is no connection to the broker, or the bridge to it does not let us in.
    #[error("the broker cannot be reached")]
    Unreachable,
}

impl MqttFault {
    /// The fault of that name, as the bridge has it in `data.a2a_error`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "no_matching_subscribers" => Self::NoMatchingSubscribers,
            "no_reply" => Self::NoReply,
            "responder_unavailable" | "request_expired" => Self::AgentUnavailable,
            "transport_protocol_error" => Self::NotTaken,
            "not_authorized" => Self::NotAuthorized,
            "packet_too_large" => Self::TooLarge,
            "broker_unavailable" => Self::Unreachable,
            _ => return None,
        })
    }

    fn is_retryable(self) -> bool {
        match self {
            Self::NoMatchingSubscribers | Self::NoReply | Self::AgentUnavailable | Self::Unreachable => true,
            Self::NotTaken | Self::NotAuthorized | Self::TooLarge => false,
        }
    }
}

impl CallError {
    /// True where the call may have reached its receiver and be worked on there, though nothing of that came back.
    #[must_use]
    pub fn may_have_arrived(&self) -> bool {
        matches!(self, Self::Timeout | Self::Status(504))
    }

    /// True where the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout => true,
            Self::Status(status) => matches!(status, 408 | 425 | 429 | 500 | 502..=504),
            // The same message id goes with the next try, so that nothing is done twice.
            Self::Refused(error) => error.code() == A2aError::internal().code(),
            Self::Mqtt(fault) => fault.is_retryable(),
            Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::NotAllowed(_)
            | Self::BadAnswer(_)
            | Self::TooLarge(_) => false,
        }
    }
}
