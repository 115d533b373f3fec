//! The words of A2A on the wire, both generations, server side and client side: what an agent is asked, what it
//! answers, what it pushes, its card and its errors. Inside, everybody speaks `domain`.
//!
//! JSON values in, JSON values out: no HTTP, no IO. A2A 1.0 goes through the official types (`a2a-lf`) after a lenient
//! step, because those types know neither `snake_case` names nor `null`; A2A 0.3 has its own types here. What is foreign
//! is bounded and parsed once; nothing that arrives can panic.
//!
//! ```
//! use a2a::{A2aError, Call, jsonrpc};
//!
//! let body = br#"{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "t-1"}}"#;
//! let request = jsonrpc::parse(body, Some("1.0")).map_err(|failure| failure.error)?;
//! assert!(matches!(&request.call, Call::Get { id, .. } if id == "t-1"));
//!
//! let (id, generation) = (request.id, request.generation);
//! let answer = jsonrpc::failure(&jsonrpc::Failure { id, generation, error: A2aError::TaskNotFound });
//! assert_eq!(answer["error"]["code"], -32001);
//! # Ok::<(), A2aError>(())
//! ```

pub mod card;
pub mod decode;
pub mod encode;
pub mod jsonrpc;
pub mod media;
pub mod mqtt;
pub mod rest;
pub mod sieve;

mod call;
mod chunks;
mod common;
mod connections;
mod consent;
mod drafts;
mod error;
mod extensions;
mod lenient;
mod open_agents;
mod params;
mod peer;
mod plain;
mod v0_3;
mod v1_0;
mod version;

pub use call::{Call, ListCall, PushAuth, PushTarget, RemoteTask, SendCall, SendResponse, ShownPush};
pub use connections::{
    CONNECTIONS, Connection, Connections, Disconnected, EVERY_CONNECTION, connections_extension,
    is_connection_id,
};
pub use consent::{
    AUTH_URL, CONSENT, PROOF_FIELD, consent_extension, name_consent, named_consent, proof_scope,
};
pub use domain::{Endpoint, Generation, Transport};
pub use drafts::{DRAFTS, wants_drafts};
pub use error::{A2aError, ERROR_DOMAIN, QuotaExceeded};
pub use extensions::{
    CLIENT_TASK_ID, EVERY_EVENT, carrier_extensions, ends_task, event_number, numbered_push,
    wants_every_event,
};
pub use open_agents::{OPEN_AGENTS, OpenAgents};
pub use version::{
    EXTENSIONS_HEADER, EXTENSIONS_HEADER_0_3, VERSION_HEADER, asked_version, extensions, generation,
    generation_of_path, version,
};

/// The header a push notification carries its token in.
pub const NOTIFICATION_TOKEN_HEADER: &str = "X-A2A-Notification-Token";
/// The same header as some senders write it.
pub const NOTIFICATION_TOKEN_HEADER_SHORT: &str = "A2A-Notification-Token";
/// The media type of the REST binding and of push notifications in A2A 1.0.
pub const MEDIA_TYPE: &str = "application/a2a+json";
