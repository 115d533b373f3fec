//! The only way out: HTTP to addresses that others named, behind one guard. An A2A client for both generations and
//! both bindings, push delivery, the registry's client, and the services that our agents ask.
//!
//! The guard checks the address that is really dialled, after DNS resolution: private, loopback, link-local and
//! metadata addresses are never reached, redirects are not followed, bodies and times are bounded. Nothing else opens a
//! connection to a URL that somebody gave us.

pub mod open_meteo;
pub mod registry_client;

mod agent_calls;
mod card;
mod client;
mod error;
mod guard;
mod json;
mod policy;
mod push;

pub use a2a::{Answer, RemoteTask, SendCall};
pub use client::Outbound;
pub use error::{CallError, SetupError};
pub use policy::Policy;
pub use push::PushDelivery;
