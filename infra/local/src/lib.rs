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
//! Tenants come and go and keys are rotated while it runs (`control`). Functions that run outside of this process, by
//! `sam local` or `cargo lambda`, find their settings with `switchyard sam-env`, their secrets and queues in `aws`.
//!
//! Not here: anything a function decides.

mod admin;
mod assembly;
mod aws;
pub mod cli;
mod client;
mod control;
mod current;
mod database;
mod endpoints;
mod error;
mod folder;
mod follow;
mod functions;
mod gateway;
mod google;
mod hosts;
mod identity;
mod index;
mod key_age;
mod logo;
mod mcp;
mod meter;
mod models;
mod mqtt;
mod named;
mod names;
pub mod onboarding;
mod openapi;
mod options;
mod orders;
mod people;
mod queue;
mod registration;
mod rotation;
mod sam_env;
mod secrets;
mod survival;
mod system;
mod testing;
mod zone;

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
