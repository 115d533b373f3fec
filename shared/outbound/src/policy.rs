//! Limits of outgoing HTTP: sizes, timeouts, loopback.

use std::net::IpAddr;
use std::time::Duration;

use crate::TrustedOrigin;

/// What the way out allows.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Plain http to loopback addresses is allowed: for the local system and tests, never deployed.
    pub allow_loopback: bool,
    /// Plain http to this address too: the one at which containers reach the local system. Never deployed either.
    pub allow_host: Option<IpAddr>,
    /// Servers of the operator's own, which may have private addresses. A client that has any is for calls to them alone:
    /// see [`Outbound::trusting`](crate::Outbound::trusting).
    pub trusted_origins: Vec<TrustedOrigin>,
    /// How long a call may take altogether.
    pub timeout: Duration,
    /// How long an agent may take to answer a message, where that is longer: see [`Outbound::patient`](crate::Outbound::patient).
    pub answer_timeout: Option<Duration>,
    /// How long the receiver of a push notification may take: A2A speaks of 10 to 30 seconds.
    pub push_timeout: Duration,
    /// How long a receiver of push notifications that does not answer is not called (the open circuit); each further rest is twice as
    /// long, up to twenty times this.
    pub rest: Duration,
    /// How long a connection may take to open.
    pub connect_timeout: Duration,
    /// How long an unused connection is kept. Short: a frozen sandbox wakes to dead ones.
    pub idle_timeout: Duration,
    /// Most bytes of an answer.
    pub max_body: usize,
    /// Most bytes of an agent's answer, which may have a whole result in it.
    pub max_result: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            allow_loopback: false,
            allow_host: None,
            trusted_origins: Vec::new(),
            timeout: Duration::from_secs(20),
            answer_timeout: None,
            push_timeout: Duration::from_secs(10),
            rest: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(20),
            max_body: 1024 * 1024,
            max_result: 4 * 1024 * 1024,
        }
    }
}
