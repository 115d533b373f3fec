//! The whole of Switchyard in one process: every function behind a local gateway, DynamoDB's API over SQLite, queues,
//! sweeper, sandboxes of the services our agents ask. What runs here are the same routers and the same bytes as on
//! AWS; only what AWS itself provides is replaced.
//!
//! The binary `switchyard` starts it and talks to it; tests start it in-process with a clock they move:
//!
//! ```no_run
//! # async fn example() -> Result<(), local::StartError> {
//! let system = local::System::start(local::Options::default()).await?;
//! println!("{}", system.endpoints().gateway);
//! system.stop().await;
//! # Ok(()) }
//! ```
//!
//! Not here: anything a function decides. There is no endpoint that speaks Secrets Manager: the functions here
//! get their keys handed over.

pub mod cli;
mod client;
mod database;
mod endpoints;
mod error;
mod folder;
mod functions;
mod gateway;
mod identity;
mod index;
mod options;
mod orders;
mod probe;
mod queue;
mod registration;
pub mod sandbox;
mod secrets;
mod system;

pub use endpoints::{DemoUser, Endpoints, TenantEndpoints};
pub use error::StartError;
pub use options::{Data, Live, Options};
pub use probe::Signer;
pub use system::System;
