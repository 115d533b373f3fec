//! The command line, as a user runs it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of tests fail the test, as the tests themselves do"
)]

mod binary;
mod commands;
mod deliveries;
mod dev;
mod http;
mod issuer;
mod json;
mod mcp;
mod pipes;
mod sam_env;
mod tenants;
mod up;
