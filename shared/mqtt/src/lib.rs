//! An MQTT 5 session: what comes in is acknowledged when it is done, what goes out comes back with its reason.
//!
//! The room knows topics and properties ([`a2a::mqtt::Publication`]) and nothing of what they are for. It connects to brokers of
//! the configuration alone: no address that a card or a message names comes here. Nothing is stored here; what was not
//! acknowledged when a process ends is told again by the broker, and what was not published by whoever wanted it published.

mod blank;
mod broker;
mod connect;
mod inbox;
mod options;
mod publisher;
mod runner;
mod session;
mod state;
mod window;
mod wire;

pub use broker::{BrokerUrl, InvalidBroker};
pub use inbox::{Inbox, Received, Taking};
pub use options::{ConnectFault, Options, SessionEnd};
pub use publisher::{PublishError, Published, Publisher};
pub use session::Session;
pub use state::SessionState;
