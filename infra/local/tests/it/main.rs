//! The local system: started in-process, and through its command line.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "the helpers of tests fail the test, as the tests themselves do"
)]

mod binary;
mod commands;
mod deliveries;
mod hosts;
mod http;
mod mcp;
mod pipes;
mod sam_env;
mod system;
mod tenants;
mod up;
