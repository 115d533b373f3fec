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
//! `sam local` or `cargo lambda`, find their settings with `switchyard sam-env`, their secrets and queues in `control::aws`.
//!
//! Seven floors, each of which uses those below it: `system` over `control` (the control plane: what an operator changes while it runs),
//! `functions` (their list, settings and assembly), `options`, `mqtt`, `data` (what lies in the folder), and small things that use nothing.
//!
//! Not here: anything a function decides.

pub mod address;
pub mod control;
pub mod data;
mod error;
pub mod functions;
mod gateway;
mod google;
mod hosts;
mod like_aws;
pub mod logo;
pub mod mcp;
mod meter;
pub mod models;
pub mod mqtt;
pub mod openapi;
mod options;
mod queue;
mod system;
pub mod understanding;
pub mod zone;

pub use data::endpoints::{DemoUser, Endpoints, MqttEndpoints, TenantEndpoints};
pub use dynamodb::AccessKey;
pub use error::{ChangeError, StartError};
pub use functions::{Spec, all as functions};
pub use google::GoogleClient;
pub use hosts::HostName;
pub use like_aws::LikeAws;
pub use meter::{Meter, Metered};
pub use models::{ModelNameError, Models};
pub use mqtt::{BrokerAccess, MqttBroker, OwnBroker};
pub use options::{Data, Joined, Live, Options, Tempo};
pub use system::System;
pub use system::testing::Signer;

/// What the gateway itself serves, as a list; functions' own routes lie below it.
#[must_use]
pub fn routes() -> Vec<routes::Route> {
    let mut all = gateway::routes();
    all.extend(control::survival::routes());
    all
}

/// A whole system in one process, its database with it, allocates all the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
