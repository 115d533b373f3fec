//! What goes out, and what came of it.

use a2a::mqtt::Publication;
use async_trait::async_trait;

/// Who publishes, at QoS 1.
#[async_trait]
pub trait Publisher: Send + Sync {
    /// Publishes, and waits until the broker says what became of it.
    ///
    /// # Errors
    /// [`PublishError`].
    async fn publish(&self, publication: Publication) -> Result<Published, PublishError>;

    /// Most bytes of one packet that the broker takes.
    fn max_packet(&self) -> usize;
}

/// What a broker says of a publication that it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It has it.
    Taken,
    /// It has it, and no subscription matches (0x10): nobody gets it, but from what is retained.
    NoMatchingSubscribers,
}

/// Why a publication did not come to the broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// This client may not publish there (0x87).
    #[error("the broker does not allow this client to publish there (0x87)")]
    NotAuthorized,
    /// The broker has enough to do (0x97).
    #[error("the broker's quota is exceeded (0x97)")]
    QuotaExceeded,
    /// The broker keeps nothing for those who subscribe later (0x9A): cards cannot be on it.
    #[error("the broker retains nothing (0x9A)")]
    RetainNotSupported,
    /// The broker refuses it.
    #[error("the broker refuses it ({0:#04x})")]
    Refused(u8),
    /// It is larger than a packet of this broker.
    #[error("it is larger than the broker's largest packet")]
    TooLarge,
    /// There is no connection, or it broke before the broker's answer: it may have been published.
    #[error("the broker cannot be reached")]
    Disconnected,
    /// The broker did not answer in time: it may have been published.
    #[error("the broker did not acknowledge it in time")]
    Timeout,
}

impl PublishError {
    /// Whether the same may go well later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Disconnected | Self::Timeout | Self::QuotaExceeded)
    }

    /// The reason code that MQTT has for it; none where the broker said nothing.
    #[must_use]
    pub fn code(&self) -> Option<u8> {
        match self {
            Self::NotAuthorized => Some(0x87),
            Self::TooLarge => Some(0x95),
            Self::QuotaExceeded => Some(0x97),
            Self::RetainNotSupported => Some(0x9A),
            Self::Refused(code) => Some(*code),
            Self::Disconnected | Self::Timeout => None,
        }
    }
}
