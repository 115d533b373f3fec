//! The only way out: HTTP to addresses that others named, behind one guard. An A2A client for both generations and
//! both bindings, push delivery, the registry's client, and the services that our agents ask.
//!
//! The guard checks the address that is really dialled, after DNS resolution: private, loopback, link-local and
//! metadata addresses are never reached, redirects are not followed, bodies and times are bounded. Nothing else opens a
//! connection to a URL that somebody gave us.

pub mod registry_client;

mod client;
mod error;
mod policy;

pub use a2a::{Answer, RemoteTask, SendCall};
pub use client::{Outbound, PushDelivery};
pub use error::{CallError, SetupError};
pub use policy::Policy;
