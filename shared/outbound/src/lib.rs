//! The only way out: HTTP to addresses that others named, behind one guard. An A2A client for both generations and
//! both bindings, push delivery, the registry's client, a client of MCP servers, and the services that our agents ask.
//!
//! The guard checks the address that is really dialled, after DNS resolution: private, loopback, link-local and
//! metadata addresses are never reached, redirects are not followed, bodies and times are bounded. Nothing else opens a
//! connection to a URL that somebody gave us.
//!
//! ```
//! use std::sync::Arc;
//!
//! use domain::SystemEntropy;
//! use outbound::{CallError, Outbound, Policy};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let outbound = Outbound::new(Policy::default(), Arc::new(SystemEntropy));
//! assert!(outbound.check_url(&"https://agents.example/a".parse()?).is_ok());
//! let inside = outbound.check_url(&"https://169.254.169.254/".parse()?);
//! assert!(matches!(inside, Err(CallError::NotAllowed(_))));
//! # Ok(()) }
//! ```

pub mod google_calendar;
pub mod mcp;
pub mod oauth;
pub mod open_meteo;
pub mod registry_client;

mod address;
mod agent_calls;
mod breaker;
mod bridge;
mod broker;
mod card;
mod carry;
mod client;
mod error;
mod events;
mod guard;
mod http_client;
mod json;
mod keys;
mod objects;
mod origin;
mod policy;
mod push;
mod sifting;
mod signature;
mod spoken;
mod web_push;

pub use a2a::{RemoteTask, SendCall, SendResponse};
pub use agent_calls::Sent;
pub use broker::Bridge;
pub use carry::{CarriedAnswer, CarriedCall};
pub use client::Outbound;
pub use error::{CallError, MqttFault};
pub use events::{EventLimits, EventRefusal, EventStream, ServerEvent, Streamed};
pub use guard::Lookup;
pub use keys::{FetchedKeys, PushKeys};
pub use objects::{ListedObject, Objects, ObjectsPlace};
pub use origin::TrustedOrigin;
pub use policy::Policy;
pub use push::{PushDelivery, PushError};
pub use signature::Signer;
pub use web_push::WebPush;

/// The address below a base, whether the base ends in a slash or not.
#[must_use]
pub fn below(base: &url::Url, path: &str) -> url::Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}
