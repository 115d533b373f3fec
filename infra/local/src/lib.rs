//! The whole of Switchyard in one process: every function behind a local gateway, DynamoDB's API over SQLite, queues,
//! sweeper, sandboxes of the services our agents ask. What runs here are the same routers and the same bytes as on
//! AWS; only what AWS itself provides is replaced.
//!
//! The command `switchyard` (`infra/cli`) starts it and talks to it; tests start it in-process with a clock they move:
//!
//! ```no_run
//! # async fn example() -> Result<(), local::StartError> {
//! let system = local::System::start(local::Options::default()).await?;
//! println!("{}", system.endpoints().gateway);
//! system.stop().await;
//! # Ok(()) }
//! ```
//!
//! Tenants come and go and keys are rotated while it runs (`control`). Functions that run outside of this process, by
//! `sam local` or `cargo lambda`, find their settings with `switchyard sam-env`, their secrets and queues in `aws`.
//!
//! Not here: anything a function decides.

pub mod address;
pub mod admin;
mod assembly;
mod aws;
pub mod control;
mod current;
mod database;
pub mod endpoints;
mod error;
pub mod folder;
mod follow;
mod functions;
mod gateway;
mod google;
mod hosts;
pub mod identity;
mod index;
pub mod key_age;
pub mod logo;
pub mod mcp;
mod meter;
pub mod models;
pub mod mqtt;
mod named;
pub mod names;
pub mod openapi;
mod options;
mod orders;
mod people;
mod queue;
mod registration;
pub mod sam_env;
pub mod secrets;
mod survival;
mod system;
mod testing;
pub mod zone;

pub use dynamodb::AccessKey;
pub use endpoints::{DemoUser, Endpoints, MqttEndpoints, TenantEndpoints};
pub use error::{ChangeError, StartError};
pub use functions::{Spec, all as functions};
pub use google::GoogleClient;
pub use hosts::HostName;
pub use meter::{Meter, Metered};
pub use models::{ModelNameError, Models};
pub use mqtt::{BrokerAccess, MqttBroker, OwnBroker};
pub use options::{Data, Joined, Live, Options, Tempo};
pub use system::System;
pub use testing::Signer;

/// What the gateway itself serves, as a list; functions' own routes lie below it.
#[must_use]
pub fn routes() -> Vec<routes::Route> {
    let mut all = gateway::routes();
    all.extend(survival::routes());
    all
}

/// A whole system in one process, its database with it, allocates all the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
