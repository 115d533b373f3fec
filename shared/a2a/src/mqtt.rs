//! A2A over MQTT 5, as the profile `a2a-over-mqtt` 0.1 has it: addresses and topics, the properties that travel beside a
//! payload, requests as a responder reads them, replies as it writes them, calls as a requester makes them, and how what is large is cut into pieces.
//!
//! No IO: what is read or written here is a [`Publication`]; sessions with a broker are the room `mqtt`.
//!
//! ```
//! use a2a::mqtt::{AgentAddress, Recipient, TopicPrefix};
//!
//! let weather: AgentAddress = "switchyard/platform/weather".parse()?;
//! let topic = TopicPrefix::standard().request(&Recipient::Agent(weather));
//! assert_eq!(topic, "$a2a/v1/request/switchyard/platform/weather");
//! # Ok::<(), a2a::mqtt::InvalidAddress>(())
//! ```

mod address;
mod binary;
mod call;
mod error;
mod fit;
mod prefix;
mod publication;
mod reply;
mod request;

pub use address::{AgentAddress, InvalidAddress, PoolAddress, Recipient};
pub use binary::{ArtifactMode, binary_pieces};
pub use call::{
    AnswerKind, CallWebhook, OutgoingCall, ReplyItem, first_answer, is_for_webhook, read_reply,
    refuses_streams,
};
pub use error::{BindingError, TokenChallenge, is_stream_end};
pub use fit::fit;
pub use prefix::{Topic, TopicPrefix};
pub use publication::{BadProperty, Presence, Properties, Publication, presence, property};
pub use reply::{ReplyPath, ReplyWriter};
pub use request::{Asked, Drop, Refused, Request, RequestRules, read_request};

/// What the interface of a card is called that is reached over MQTT.
pub const BINDING: &str = "MQTTv5+JSONRPCv2";
/// Most bytes of Correlation Data that a responder keeps for a requester.
pub const CORRELATION_MAX: usize = 1024;
/// Most bytes of a card as it is published.
pub const CARD_MAX: usize = 64 * 1024;
